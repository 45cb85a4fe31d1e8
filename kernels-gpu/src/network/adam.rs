use cuda_std::{GlobalMut, kernel, math, thread};

use super::batch::Batch;
use super::shape::{AdamRule, Batches, LayerShape};
use super::update::sum_of_parts;

/// Updates a layer's parameters by the sums of `count` partial gradients, added in order, and Adam: one thread per
/// parameter, of which there are (features + 1) × units. The biases, which are the last row, do not decay.
///
/// `squares` has v in the layout of `parameters`, as `velocities` has m. `steps` has two values for each step of the
/// epoch: η / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ).
#[kernel]
pub fn network_update_by_adam(
    parts: &[f32],
    order: &[u32],
    state: &[u32],
    steps: &[f32],
    parameters: GlobalMut<f32>,
    velocities: GlobalMut<f32>,
    squares: GlobalMut<f32>,
    count: u32,
    shape: LayerShape,
    batches: Batches,
    rule: AdamRule,
) {
    let step = state[0];
    let batch = Batch::new(order, step, batches);
    let size = (shape.features + 1) * shape.units;
    let index = thread::index_1d();
    if index < size {
        let AdamRule { beta_1, beta_2, one_minus_beta_2, epsilon, scale, decay, is_mean } = rule;
        let scale_of_gradient = if is_mean == 0 { scale } else { scale / batch.rows as f32 };
        let gradient = scale_of_gradient * sum_of_parts(parts, count, size, index);
        let at = (shape.first_parameter + index) as usize;
        let m = math::fma(beta_1, velocities.get(at), (1.0 - beta_1) * gradient);
        let v = math::fma(beta_2, squares.get(at), one_minus_beta_2 * gradient * gradient);
        velocities.set(at, m);
        squares.set(at, v);
        let (rate, root) = (steps[2 * step as usize], steps[2 * step as usize + 1]);
        let change = scale * rate * m / math::fma(root, math::sqrt(v), epsilon);
        let decay = if index / shape.units == shape.features { 0.0 } else { decay };
        parameters.set(at, math::fma(1.0 - decay, parameters.get(at), -change));
    }
}
