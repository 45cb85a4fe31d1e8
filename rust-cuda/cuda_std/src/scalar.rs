//! The types that a kernel takes by value.

/// A type that a kernel takes by value: a [`Scalar`], or a struct of scalars that [`plain_data!`](crate::plain_data)
/// declares.
///
/// # Safety
/// The value has no padding, every one of its bytes is initialised, and `SIGNATURE` describes its fields in order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter",
    label = "not a type that is passed by value",
    note = "a kernel takes `&[T]`, `GlobalMut<T>`, u8, u32, u64, usize, i32, i64, f32, f64, F32x4, and structs of them by `plain_data!`; pass a bool as u32"
)]
#[allow(unsafe_code)]
pub unsafe trait ByValue: Copy + Send + Sync + 'static {
    /// The parameter's part of a kernel's [`signature`](crate::signature).
    #[doc(hidden)]
    const SIGNATURE: &'static [u8];
}

// SAFETY: a scalar has no padding.
#[allow(unsafe_code)]
unsafe impl<S: Scalar> ByValue for S {
    const SIGNATURE: &'static [u8] = &[crate::signature::SCALAR, S::CODE];
}

/// A scalar or vector.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar",
    label = "not a scalar",
    note = "scalars are u8, u32, u64, usize, i32, i64, f32, f64 and F32x4"
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

scalars! { u8: b'b' u32: b'u' u64: b'U' usize: b'U' i32: b'i' i64: b'I' f32: b'f' f64: b'd' crate::F32x4: b'q' }

/// Declares a struct of scalars that kernels take by value, so that a launch names what it passes.
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
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $scalar:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $scalar),+
        }

        // SAFETY: every field is a scalar, and there is no padding, since the sizes of the fields add up.
        #[allow(unsafe_code)]
        unsafe impl $crate::ByValue for $name {
            const SIGNATURE: &'static [u8] =
                &[$crate::signature::STRUCT, $(<$scalar as $crate::Scalar>::CODE,)+ $crate::signature::END_OF_STRUCT];
        }

        const _: () = assert!(
            ::core::mem::size_of::<$name>() == 0 $(+ ::core::mem::size_of::<$scalar>())+,
            "a struct of plain data has no padding: order its fields by size"
        );
    };
}
