//! The effective step size of stochastic gradient descent: how far a step moves along one sample's
//! gradient.

use super::batches::Batches;
use super::hyperparameters::{GradientScale, Hyperparameters};
use super::optimizer::Optimizer;

/// The effective step of the homework's settings: learning rate 0.1, summed over batches of 16.
pub const USUAL_EFFECTIVE_STEP: f64 = 1.6;

/// Effective steps above this saturate the homework's network, which then predicts one class for
/// all images.
///
/// Measured on MNIST with the seeds 0 to 4, at the default learning rate of 0.1: after five epochs,
/// all networks with batches of up to 64 (an effective step of 6.4) reach 96 %. With batches of 80
/// (a step of 8), three of five stay below 30 %. With 128 (a step of 12.8), all predict one class.
/// Other learning rates with batches of 16 to 128 have the same limit, between 6.4 and 9.6: the
/// step decides, not the batch size. Wider networks and other activations saturate earlier, from
/// 1.6 on. [`OneClass`](crate::one_class::OneClass) detects them after an epoch.
pub const MAX_EFFECTIVE_STEP: f64 = 7.0;

impl Hyperparameters {
    /// The effective step for training on this number of samples. It is learning rate · batch size
    /// if gradients are summed, and the learning rate if they are means. With momentum, it is
    /// divided by 1 − momentum, since each gradient is added that often in total. `None` with Adam,
    /// where the steps do not depend on the gradients' magnitude.
    pub fn effective_step(&self, samples: usize) -> Option<f64> {
        (self.optimizer == Optimizer::Sgd).then(|| self.learning_rate * self.gradients_per_step(samples))
    }

    /// The learning rate that gives this effective step.
    pub fn learning_rate_for(&self, effective_step: f64, samples: usize) -> f64 {
        effective_step / self.gradients_per_step(samples)
    }

    fn gradients_per_step(&self, samples: usize) -> f64 {
        let batch = match self.gradient {
            GradientScale::Sum => Batches::of(samples, self.batch_size).seen(1),
            GradientScale::Mean => 1,
        };
        batch.max(1) as f64 / (1.0 - self.momentum)
    }
}
