//! The update of a parameter.

use cuda_std::{GlobalReadView, math};

use super::super::adam::Parameter;

cuda_std::plain_data! {
    /// The update rule, of gradient descent with momentum as [`UpdateRule`](super::super::UpdateRule) or of Adam as
    /// [`AdamRule`](super::super::AdamRule).
    pub struct SmallRule {
        /// If not 0, the rule is Adam's.
        pub is_adam: u32,
        /// If not 0, the gradient is divided by the batch's number of samples.
        pub is_mean: u32,
        /// The learning rate; Adam's is in the launch's `steps`.
        pub rate: f32,
        /// Learning rate · weight decay.
        pub decay: f32,
        /// The factor of the last update, or of Adam's m.
        pub momentum: f32,
        /// The factor of Adam's v.
        pub beta_2: f32,
        /// 1 − beta_2, rounded once.
        pub one_minus_beta_2: f32,
        /// Keeps Adam's denominator above 0.
        pub epsilon: f32,
    }
}

/// The rule in a step.
#[derive(Clone, Copy)]
pub(super) struct StepRule {
    rule: SmallRule,
    /// The factor of summed gradients.
    scale: f32,
    /// The learning rate, Adam's η / (1 − β₁ᵗ), and 1 / √(1 − β₂ᵗ).
    rate: f32,
    root: f32,
}

impl StepRule {
    /// The rule for a batch of `rows` samples, with Adam's two numbers of the step.
    #[inline(always)]
    pub(super) fn new(rule: SmallRule, numbers: GlobalReadView<f32, 2>, steps: u32, step: u32, rows: u32) -> Self {
        let scale = if rule.is_mean == 0 { 1.0 } else { math::fast::recip(rows as f32) };
        let (rate, root) = match rule.is_adam {
            0 => (rule.rate, 0.0),
            // The rule of a step after the last is not used; any numbers will do.
            _ => {
                let step = step.min(steps - 1);
                (numbers.get([step, 0]), numbers.get([step, 1]))
            }
        };
        Self { rule, scale, rate, root }
    }

    /// The parameters after the step. Gradient descent keeps its velocity in m. `sums` are the gradients, summed over the batch. `scales` are
    /// the factors of gradients and changes: of the even parameters, and of the odd ones. Biases do not decay.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn updated(
        self,
        mut parameters: [Parameter; 4],
        sums: [f32; 4],
        scales: [f32; 2],
        are_biases: bool,
    ) -> [Parameter; 4] {
        let SmallRule { momentum, beta_2, one_minus_beta_2, epsilon, .. } = self.rule;
        let decay = if are_biases { 0.0 } else { self.rule.decay };
        let (scales, rates) = (scales.map(|scale| scale * self.scale), scales.map(|scale| scale * self.rate));
        if self.rule.is_adam == 0 {
            unrolled!(|I: 0 1 2 3| {
                let Parameter { value, m, v } = parameters[I];
                let gradient = scales[I % 2] * sums[I];
                let m = math::fma(-decay, value, math::fma(momentum, m, -rates[I % 2] * gradient));
                parameters[I] = Parameter { value: value + m, m, v };
            });
            return parameters;
        }
        unrolled!(|I: 0 1 2 3| {
            let Parameter { value, m, v } = parameters[I];
            let gradient = scales[I % 2] * sums[I];
            let m = math::fma(momentum, m, (1.0 - momentum) * gradient);
            let v = math::fma(beta_2, v, one_minus_beta_2 * gradient * gradient);
            let denominator = math::fma(self.root, math::fast::sqrt(v), epsilon);
            let change = rates[I % 2] * m * math::fast::recip(denominator);
            parameters[I] = Parameter { value: math::fma(1.0 - decay, value, -change), m, v };
        });
        parameters
    }
}
