//! The effective step of stochastic gradient descent: how far a step goes along the gradient of one sample's loss.

use super::batches::Batches;
use super::hyperparameters::{GradientScale, Hyperparameters};
use super::optimizer::Optimizer;

/// The effective step of the homework's settings: learning rate 0.1, summed over batches of 16.
pub const USUAL_EFFECTIVE_STEP: f64 = 1.6;

/// Effective steps above this saturate the homework's network, so that it reads all images as one class.
///
/// Measured on MNIST with the seeds 0 to 4, at the default learning rate of 0.1: after five epochs all networks with
/// batches of up to 64, an effective step of 6.4, reach 96 %; with batches of 80, a step of 8, three of five stay below
/// 30 %, and with 128, a step of 12.8, all read one class. Other learning rates with batches of 16 to 128 have the same
/// limit, between 6.4 and 9.6: the step decides, not the batch. Wider networks and other activations saturate earlier,
/// from 1.6 on; [`OneClass`](crate::one_class::OneClass) notices them after an epoch.
pub const MAX_EFFECTIVE_STEP: f64 = 7.0;

impl Hyperparameters {
    /// The effective step in training on this number of samples: learning rate · batch size where gradients are summed,
    /// the learning rate where they are means; with momentum, divided by 1 − momentum, since each gradient is added that
    /// often in all. None with Adam, whose steps do not depend on the gradients' size.
    pub fn effective_step(&self, samples: usize) -> Option<f64> {
        (self.optimizer == Optimizer::Sgd).then(|| self.learning_rate * self.gradients_per_step(samples))
    }

    /// The learning rate with which the effective step is this one.
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
