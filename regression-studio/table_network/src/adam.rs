//! AdamW and its learning rate.

use std::f64::consts::PI;

use crate::Options;

/// The fraction of the mean gradient that remains after a step.
const MEAN_DECAY: f64 = 0.9;
/// The fraction of the mean squared gradient that remains after a step.
const SQUARE_DECAY: f64 = 0.999;
/// Added to the square root of the mean squared gradient.
const EPSILON: f32 = 1e-8;
/// The fraction of all steps in which the learning rate rises.
const WARM_UP: f64 = 0.05;

/// The update rule of one step: value ← value · (1 − η λ) − η · m̂ / (√v̂ + ε).
///
/// Source: I. Loshchilov and F. Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// η.
    pub(crate) learning_rate: f32,
    /// λ.
    pub(crate) weight_decay: f32,
    pub(crate) mean_decay: f32,
    pub(crate) square_decay: f32,
    /// m̂ / m.
    pub(crate) mean_scale: f32,
    /// v̂ / v.
    pub(crate) square_scale: f32,
    /// ε.
    pub(crate) epsilon: f32,
    /// How far the average moves toward the new value, as a fraction.
    pub(crate) average_rate: f32,
}

impl Rule {
    /// The rule of step `step` of a run, counted from 0. The learning rate rises linearly in the
    /// first twentieth of the steps and then falls along half a cosine.
    pub(crate) fn of_step(options: &Options, step: u64, steps_per_epoch: usize) -> Self {
        let steps_per_epoch = steps_per_epoch as f64;
        let (at, steps) = (step as f64 + 1.0, options.epochs as f64 * steps_per_epoch);
        let warm_up = WARM_UP * steps;
        let part = if at < warm_up {
            at / warm_up
        } else {
            (1.0 + libm::cos(PI * (at - 1.0 - warm_up).max(0.0) / (steps - warm_up))) / 2.0
        };
        let scale = |decay: f64| (1.0 / (1.0 - libm::pow(decay, at))) as f32;
        Self {
            learning_rate: (f64::from(options.learning_rate) * part) as f32,
            weight_decay: options.weight_decay,
            mean_decay: MEAN_DECAY as f32,
            square_decay: SQUARE_DECAY as f32,
            mean_scale: scale(MEAN_DECAY),
            square_scale: scale(SQUARE_DECAY),
            epsilon: EPSILON,
            // After few steps, average over the last half of them.
            average_rate: (1.0 / (at / 2.0).min(f64::from(options.averaged_epochs) * steps_per_epoch).max(1.0)) as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_learning_rate_rises_and_falls_to_almost_zero() {
        let options = Options { learning_rate: 1.0, epochs: 10, ..Options::for_table(1000, &[]) };
        let rates: Vec<f32> = (0..1000).map(|step| Rule::of_step(&options, step, 100).learning_rate).collect();
        assert!(rates[..50].is_sorted() && rates[50..].is_sorted_by(|a, b| a >= b));
        assert!(rates[0] > 0.0 && rates[999] < 1e-4 && rates[50] > 0.999 && (rates[524] - 0.5).abs() < 0.01);
        let options = Options { epochs: 1, ..options };
        assert!(Rule::of_step(&options, 0, 1).learning_rate > 0.0);
    }
}
