//! The hyperparameters of a training run.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::optimizer::{Optimizer, SQUARES_DECAY};
use super::schedule::Schedule;
use super::stop_at::StopAt;
use crate::Loss;
use crate::names::display_and_parse_names;
use crate::network::Initialization;

/// The reduction of a batch's gradients over its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GradientScale {
    /// The sum, as in the homework.
    Sum,
    /// The mean, which makes the learning rate independent of the batch size.
    Mean,
}

display_and_parse_names!(GradientScale, "gradient scale");

impl GradientScale {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::Sum, Self::Mean];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Sum => "The sum, as in the homework",
            Self::Mean => "The mean, so that the learning rate does not depend on the batch size",
        }
    }
}

/// The hyperparameters of a training run. With [`Optimizer::Sgd`], one step on a batch adds v to
/// each weight w (and likewise to each bias, without decay):
///
/// v ← momentum · v − learning_rate · (factor · ∂loss/∂w + weight_decay · w)
///
/// Here, factor is the layer's value in [`Hyperparameters::learning_rate_factors`], 1 by default.
/// With [`Optimizer::Adam`], β₁ = momentum, β₂ = 0.999, ε = 10⁻⁸ and s = √factor, step t, counted
/// from 1, is
///
/// m ← β₁ · m + (1 − β₁) · s · ∂loss/∂w;  v ← β₂ · v + (1 − β₂) · (s · ∂loss/∂w)²
///
/// w ← w − learning_rate · (s · m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε) + weight_decay · w)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hyperparameters {
    /// The loss function.
    pub loss: Loss,
    /// The update rule.
    #[serde(default, skip_serializing_if = "Optimizer::is_sgd")]
    pub optimizer: Optimizer,
    /// The step size, above 0: the learning rate of the first epoch.
    pub learning_rate: f64,
    /// The learning rate of later epochs.
    #[serde(default, skip_serializing_if = "Schedule::is_constant")]
    pub schedule: Schedule,
    /// The gradient factor of each layer with weights, starting at the inputs; 1 beyond the list's
    /// end. With the factor f, a step equals one of a layer with the parameters w / √f. Weight
    /// decay and momentum are not scaled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learning_rate_factors: Vec<f64>,
    /// The fraction of the last change that is added to the next one, 0 ≤ momentum < 1. With Adam,
    /// the fraction of the mean gradient that remains after a step.
    pub momentum: f64,
    /// The coefficient of the decay of each weight towards 0.
    pub weight_decay: f64,
    /// Number of samples in a batch; `None` for all samples (full batch).
    pub batch_size: Option<usize>,
    /// Sum or mean over a batch.
    pub gradient: GradientScale,
    /// Number of passes over the samples.
    pub epochs: usize,
    /// Whether each epoch has a new permutation of the samples. Otherwise, they keep their order.
    pub shuffle: bool,
    /// Number of epochs between measurements of the accuracy. The last epoch is always measured.
    pub report_every: usize,
    /// Early stopping at an accuracy.
    #[serde(default)]
    pub stop_at: Option<StopAt>,
    /// The distribution of the initial weights.
    pub initialization: Initialization,
    /// Seed of the weights and the permutations.
    pub seed: u64,
}

impl Hyperparameters {
    /// The gradient factor of layer `layer` with weights, counted from 0.
    pub fn learning_rate_factor(&self, layer: usize) -> f64 {
        self.learning_rate_factors.get(layer).copied().unwrap_or(1.0)
    }

    /// The learning rate of an epoch. `epoch` is counted from 0 and below [`Hyperparameters::epochs`].
    pub fn learning_rate_of_epoch(&self, epoch: usize) -> f64 {
        match self.schedule {
            Schedule::Constant => self.learning_rate,
            Schedule::Cosine => self.learning_rate * 0.5 * (1.0 + libm::cos(PI * epoch as f64 / self.epochs as f64)),
        }
    }
}

/// Step t of [`Optimizer::Adam`] after bias correction: η · m̂ / (√v̂ + ε) = rate · m / (root · √v + ε).
#[derive(Clone, Copy, Debug)]
pub struct CorrectedStep {
    /// η / (1 − β₁ᵗ).
    pub rate: f64,
    /// 1 / √(1 − β₂ᵗ).
    pub root: f64,
}

impl CorrectedStep {
    /// Step `step` of a training run, counted from 0.
    pub fn new(hyperparameters: &Hyperparameters, step: usize) -> Self {
        let t = step as f64 + 1.0;
        let rate = hyperparameters.learning_rate / (1.0 - libm::pow(hyperparameters.momentum, t));
        Self { rate, root: 1.0 / (1.0 - libm::pow(SQUARES_DECAY, t)).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn part1_the_cosine_falls_from_the_rate_and_stays_above_0() {
        let rates = |schedule, epochs| -> Vec<f64> {
            let hyperparameters =
                Hyperparameters { learning_rate: 0.2, epochs, schedule, ..Preset::Homework.hyperparameters() };
            (0..epochs).map(|epoch| hyperparameters.learning_rate_of_epoch(epoch)).collect()
        };
        assert_eq!(rates(Schedule::Constant, 3), [0.2; 3]);
        assert_eq!(rates(Schedule::Cosine, 1), [0.2]);
        let four = rates(Schedule::Cosine, 4);
        for (rate, expected) in four.iter().zip([0.2, 0.170_710_678, 0.1, 0.029_289_322]) {
            assert!((rate - expected).abs() < 1e-9, "{four:?}");
        }
        assert!(rates(Schedule::Cosine, 1000).is_sorted_by(|a, b| a > b && *b > 0.0));
    }
}
