// Activation functions; the codes are those of `activation_code` in network.rs.
const IDENTITY: u32 = 0u;
const RELU: u32 = 1u;
const SIGMOID: u32 = 2u;
const TANH: u32 = 3u;
// Softmax needs all sums of a row, so it is a pass of its own; `activate` returns the sum unchanged.
const SOFTMAX: u32 = 4u;

// tanh(x) rounds to 1 in f32 for x ≥ 10; clamping the argument keeps the exponential from overflowing.
const TANH_IS_ONE: f32 = 10.0;

fn activate(z: f32, kind: u32) -> f32 {
    switch kind {
        case RELU: {
            return select(z, 0.0, z < 0.0);
        }
        case SIGMOID: {
            // 1 / (1 + e⁻ᶻ); the argument of the exponential is never positive, so it does not overflow.
            let e = exp(-abs(z));
            return select(1.0, e, z < 0.0) / (1.0 + e);
        }
        case TANH: {
            let t = 1.0 - 2.0 / (exp(2.0 * min(abs(z), TANH_IS_ONE)) + 1.0);
            return select(t, -t, z < 0.0);
        }
        default: {
            return z;
        }
    }
}
