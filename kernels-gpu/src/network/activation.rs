//! The activations, as kernels are told them.

use cuda_std::math;

/// 1 / (1 + e⁻ᶻ)
pub const SIGMOID: u32 = 0;
/// max(0, z)
pub const RELU: u32 = 1;
/// The hyperbolic tangent.
pub const TANH: u32 = 2;
/// z
pub const IDENTITY: u32 = 3;
/// eᶻⁱ / Σⱼ eᶻʲ over the layer. It needs all of a layer's sums: `network_forward` leaves them as they are, and
/// `network_output` and `network_evaluate` replace them.
pub const SOFTMAX: u32 = 4;

/// The activation for the sum `z`; for softmax, z itself. A NaN passes.
#[inline(always)]
pub(super) fn apply(activation: u32, z: f32) -> f32 {
    match activation {
        SIGMOID => math::sigmoid(z),
        RELU if z < 0.0 => 0.0,
        TANH => math::tanh(z),
        _ => z,
    }
}

/// The derivative da/dz, expressed by the activation `a`; 1 for softmax, which is treated with the loss.
#[inline(always)]
pub(super) fn derivative(activation: u32, a: f32) -> f32 {
    match activation {
        SIGMOID => a * (1.0 - a),
        // Written so that a NaN gives 0, as on the CPU.
        RELU if a > 0.0 => 1.0,
        RELU => 0.0,
        TANH => math::fma(-a, a, 1.0),
        _ => 1.0,
    }
}
