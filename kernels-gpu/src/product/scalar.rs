use cuda_std::{Element, math};

/// The element types of a product: f32 and f64.
pub(super) trait Scalar: Element + math::Float {
    /// 0, the initial value of a sum.
    const ZERO: Self;
}

impl Scalar for f32 {
    const ZERO: Self = 0.0;
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
}
