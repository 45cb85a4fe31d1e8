use cuda_std::{Global, GlobalMut, kernel, math, thread};

use super::batch::Batch;
use super::shape::{AdamRule, Batches, LayerShape};
use super::update::sum_of_parts;

/// The [`AdamRule`] in a step.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    rule: AdamRule,
    scale_of_gradient: f32,
    /// η / (1 − β₁ᵗ).
    rate: f32,
    /// 1 / √(1 − β₂ᵗ).
    root: f32,
}

/// A parameter with its mean gradient m and its mean squared gradient v.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    pub(super) value: f32,
    pub(super) m: f32,
    pub(super) v: f32,
}

impl Rule {
    /// The rule in step `step`, for a batch of `rows` samples. `steps` has the rate and the root of each step.
    #[inline(always)]
    pub(super) fn new(rule: AdamRule, steps: Global<f32>, step: u32, rows: u32) -> Self {
        let AdamRule { scale, is_mean, .. } = rule;
        let scale_of_gradient = if is_mean == 0 { scale } else { scale / rows as f32 };
        Self { rule, scale_of_gradient, rate: steps[2 * step as usize], root: steps[2 * step as usize + 1] }
    }

    /// The rule for biases, which do not decay.
    #[inline(always)]
    pub(super) fn without_decay(self) -> Self {
        Self { rule: AdamRule { decay: 0.0, ..self.rule }, ..self }
    }

    /// The updated parameter. `sum` is its gradient, summed over the batch.
    #[inline(always)]
    pub(super) fn updated(self, Parameter { value, m, v }: Parameter, sum: f32) -> Parameter {
        let AdamRule { beta_1, beta_2, one_minus_beta_2, epsilon, scale, decay, .. } = self.rule;
        let gradient = self.scale_of_gradient * sum;
        let m = math::fma(beta_1, m, (1.0 - beta_1) * gradient);
        let v = math::fma(beta_2, v, one_minus_beta_2 * gradient * gradient);
        let change = scale * self.rate * m / math::fma(self.root, math::sqrt(v), epsilon);
        Parameter { value: math::fma(1.0 - decay, value, -change), m, v }
    }
}

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
        let rule = Rule::new(rule, steps, step, batch.rows);
        let rule = if index / shape.units == shape.features { rule.without_decay() } else { rule };
        let at = (shape.first_parameter + index) as usize;
        let parameter = Parameter { value: parameters.get(at), m: velocities.get(at), v: squares.get(at) };
        let Parameter { value, m, v } = rule.updated(parameter, sum_of_parts(parts, count, size, index));
        velocities.set(at, m);
        squares.set(at, v);
        parameters.set(at, value);
    }
}
