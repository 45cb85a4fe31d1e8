use cuda_std::{Element, math};

/// The elements of a product: f32 and f64.
pub(super) trait Number: Element + math::Float {
    /// 0, where a sum begins.
    const ZERO: Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
}

impl Number for f64 {
    const ZERO: Self = 0.0;
}
