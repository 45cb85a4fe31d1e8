//! Codes of the loss functions, as kernel arguments.

use cuda_std::math;

use super::activation;

/// ½ Σᵢ (aᵢ − yᵢ)²
pub const SQUARED_ERROR: u32 = 0;
/// Cross-entropy: of softmax outputs −Σᵢ yᵢ ln aᵢ, of others −Σᵢ (yᵢ ln aᵢ + (1 − yᵢ) ln(1 − aᵢ)).
pub const CROSS_ENTROPY: u32 = 1;

/// The term of a sample's loss for output `a` with target `y`.
#[inline(always)]
pub(super) fn term(activation: u32, loss: u32, a: f32, y: f32) -> f32 {
    if loss == SQUARED_ERROR {
        return 0.5 * (a - y) * (a - y);
    }
    let log_likelihood = y * finite_ln(a);
    -if activation == activation::SOFTMAX {
        log_likelihood
    } else {
        math::fma(1.0 - y, finite_ln(1.0 - a), log_likelihood)
    }
}

/// Whether an output's error depends on the other outputs, by Σⱼ gⱼ aⱼ with g = a − y.
#[inline(always)]
pub(super) fn needs_weighted_sum(activation: u32, loss: u32) -> bool {
    loss == SQUARED_ERROR && activation == activation::SOFTMAX
}

/// An output's error ∂loss/∂z. `weighted` is Σⱼ gⱼ aⱼ where that is needed.
///
/// For cross-entropy it is a − y; for squared error (a − y) · da/dz, and with softmax aᵢ (gᵢ − Σⱼ gⱼ aⱼ)
/// (Bishop, "Pattern Recognition and Machine Learning", 2006, sections 4.3 and 5.3).
#[inline(always)]
pub(super) fn error(activation: u32, loss: u32, a: f32, y: f32, weighted: f32) -> f32 {
    let difference = a - y;
    match loss {
        SQUARED_ERROR if activation == activation::SOFTMAX => a * (difference - weighted),
        SQUARED_ERROR => difference * activation::derivative(activation, a),
        _ => difference,
    }
}

/// The natural logarithm, clamped at 0 to that of the smallest normal f64, as on the CPU. Propagates NaN.
#[inline(always)]
fn finite_ln(p: f32) -> f32 {
    if p <= 0.0 { -708.396_4 } else { math::ln(p) }
}
