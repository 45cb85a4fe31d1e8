//! The types that a kernel takes by value.

use core::marker::PhantomData;

/// A type that a kernel takes by value: a [`Scalar`], an array of such types, or a struct of them that
/// [`plain_data!`](crate::plain_data) declares or that derives it:
///
/// ```
/// use cuda_std::ByValue;
///
/// #[derive(Clone, Copy, ByValue)]
/// #[repr(C)]
/// pub struct Camera {
///     position: [f32; 3],
///     zoom: f32,
///     lens: Lens,
/// }
///
/// #[derive(Clone, Copy, ByValue)]
/// #[repr(C)]
/// pub struct Lens {
///     focus: f32,
///     is_wide: u32,
/// }
/// ```
///
/// # Safety
/// The value has no padding, every one of its bytes is initialised, and `SIGNATURE` and `PART` describe its fields in order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter",
    label = "not a type that is passed by value",
    note = "a kernel takes `&[T]`, `GlobalMut<T>`, integers, bool, f32, f64, F32x4, I32x4, arrays of them, and structs of them by `plain_data!` or `#[derive(ByValue)]`"
)]
#[allow(unsafe_code)]
pub unsafe trait ByValue: Copy + Send + Sync + 'static {
    /// The parameter's part of a kernel's [`signature`](crate::signature).
    #[doc(hidden)]
    const SIGNATURE: &'static [u8];

    /// The type's part of the signature of a struct or an array that contains it.
    #[doc(hidden)]
    const PART: &'static [u8];
}

// SAFETY: a scalar has no padding.
#[allow(unsafe_code)]
unsafe impl<S: Scalar> ByValue for S {
    const SIGNATURE: &'static [u8] = &[crate::signature::SCALAR, S::CODE];
    const PART: &'static [u8] = &[S::CODE];
}

// SAFETY: between the elements of an array there is no padding.
#[allow(unsafe_code)]
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {
    const SIGNATURE: &'static [u8] = ArrayPart::<T, N>::PART;
    const PART: &'static [u8] = ArrayPart::<T, N>::PART;
}

/// The signature of an array, which is computed in a buffer of fixed size.
struct ArrayPart<T, const N: usize>(PhantomData<T>);

impl<T: ByValue, const N: usize> ArrayPart<T, N> {
    const BUFFER: &'static ([u8; crate::signature::MAX_ARRAY], usize) = &crate::signature::array(T::PART, N);
    const PART: &'static [u8] = Self::BUFFER.0.split_at(Self::BUFFER.1).0;
}

/// A scalar or vector.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar",
    label = "not a scalar",
    note = "scalars are the integers, bool, f32, f64, F32x4 and I32x4"
)]
pub trait Scalar: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The type's code in a kernel's [`signature`](crate::signature).
    #[doc(hidden)]
    const CODE: u8;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($scalar:ty: $code:literal)*) => {$(
        impl sealed::Sealed for $scalar {}
        impl Scalar for $scalar {
            const CODE: u8 = $code;
        }
    )*};
}

scalars! {
    u8: b'b' u16: b'h' u32: b'u' u64: b'U' usize: b'U' u128: b'w'
    i8: b'c' i16: b'j' i32: b'i' i64: b'I' isize: b'I' i128: b'W'
    bool: b'B' f32: b'f' f64: b'd' crate::F32x4: b'q' crate::I32x4: b'Q'
}

#[cfg(feature = "half")]
scalars! {
    crate::half::f16: b'e' crate::half::bf16: b'E'
}

/// Declares a struct that kernels take by value, of scalars, arrays and such structs, so that a launch names what it passes.
///
/// ```
/// cuda_std::plain_data! {
///     /// A matrix's shape.
///     pub struct Shape {
///         /// Number of rows.
///         pub rows: u32,
///         /// Number of columns.
///         pub columns: u32,
///     }
/// }
/// let shape = Shape { rows: 2, columns: 3 };
/// ```
///
/// A struct with padding does not compile: order the fields by size, largest first.
#[macro_export]
macro_rules! plain_data {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, $crate::ByValue)]
        #[repr(C)]
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $type),+
        }
    };
}
