// What a layer does with its weighted sums; the numbers are those of `Activation` in network.rs.
const IDENTITY: u32 = 0u;
const RELU: u32 = 1u;
const SIGMOID: u32 = 2u;
const TANH: u32 = 3u;
// Softmax needs a layer's sums, all of them: it has a pass of its own, and leaves each sum as it is here.
const SOFTMAX: u32 = 4u;

// tanh(10) and all beyond are 1 in f32; a larger argument would only overflow the exponential.
const TANH_IS_ONE: f32 = 10.0;

fn activate(z: f32, kind: u32) -> f32 {
    switch kind {
        case RELU: {
            return select(z, 0.0, z < 0.0);
        }
        case SIGMOID: {
            // 1 / (1 + e⁻ᶻ), with an exponential that never overflows.
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
