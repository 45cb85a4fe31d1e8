//! The types that a kernel takes by value.

/// A scalar or vector that a kernel takes by value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter",
    label = "not a scalar that is passed by value",
    note = "a kernel takes `&[T]`, `GlobalMut<T>`, integers and floating-point numbers"
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
