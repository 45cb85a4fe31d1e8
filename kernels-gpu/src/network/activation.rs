//! Codes of the activation functions, as kernel arguments.

use cuda_std::math;

/// 1 / (1 + e⁻ᶻ)
pub const SIGMOID: u32 = 0;
/// max(0, z)
pub const RELU: u32 = 1;
/// The hyperbolic tangent.
pub const TANH: u32 = 2;
/// z
pub const IDENTITY: u32 = 3;
/// eᶻⁱ / Σⱼ eᶻʲ over the layer. It needs all of a layer's sums: `network_forward` stores the sums, and `network_output`
/// and `network_evaluate` replace them by the activations.
pub const SOFTMAX: u32 = 4;

/// The activation of the sum `z`; for softmax, z itself. Propagates NaN.
#[inline(always)]
pub(super) fn apply(activation: u32, z: f32) -> f32 {
    match activation {
        SIGMOID => math::sigmoid(z),
        RELU if z < 0.0 => 0.0,
        TANH => math::tanh(z),
        _ => z,
    }
}

/// The derivative da/dz as a function of the activation `a`; 1 for softmax, whose derivative is part of
/// [`super::loss`].
#[inline(always)]
pub(super) fn derivative(activation: u32, a: f32) -> f32 {
    match activation {
        SIGMOID => a * (1.0 - a),
        // NaN fails the comparison and gives 0, as on the CPU.
        RELU if a > 0.0 => 1.0,
        RELU => 0.0,
        TANH => math::fma(-a, a, 1.0),
        _ => 1.0,
    }
}
