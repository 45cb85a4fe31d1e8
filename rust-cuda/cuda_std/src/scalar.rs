//! What a kernel takes by value.

/// A number that a kernel takes by value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter",
    label = "not a number that is copied to the GPU",
    note = "a kernel takes `&[T]`, `GlobalMut<T>`, integers and floating-point numbers"
)]
pub trait Scalar: Copy + Send + Sync + 'static + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($scalar:ty)*) => {$(
        impl sealed::Sealed for $scalar {}
        impl Scalar for $scalar {}
    )*};
}

scalars! { u8 u32 u64 usize i32 i64 f32 f64 crate::F32x4 }
