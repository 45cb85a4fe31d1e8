//! Diagnoses why a training run fails, from its settings and records, and suggests settings that
//! train.
//!
//! The limits were measured on MNIST with the homework's network and variants of it, for two epochs
//! and the seeds 0 and 1. `neural-net/tests/part1_program/diagnoses.rs` trains with the advice for
//! each cause.

use crate::network::argmax;
use crate::one_class::OneClass;
use crate::training::{EpochRecord, GradientScale, MAX_EFFECTIVE_STEP, Optimizer, USUAL_EFFECTIVE_STEP};
use crate::{Activation, Architecture, Hyperparameters, Loss, Network, Predictor, Samples};

/// Minimum number of samples seen before the diagnosis warns of a network with low accuracy, or of
/// one that predicts one class without a saturated layer. With the homework's settings, 2000
/// samples are enough to tell several classes apart.
const MIN_SEEN: usize = 10_000;
/// Minimum fall of the accuracy from its best value that counts as a collapse.
const MIN_FALL: f64 = 0.2;
/// Accuracy below which a network has not learned its samples.
const LOW: f64 = 0.9;
/// Accuracy below which the network has learned hardly anything.
const VERY_LOW: f64 = 0.5;
/// Improvement between two records below which the accuracy counts as no longer rising.
const STALLED: f64 = 0.01;
/// Minimum difference between the accuracies on training and other samples that counts as overfitting.
const MIN_GAP: f64 = 0.1;
/// Minimum number of sigmoid hidden layers for gradients to vanish. After the first epoch of MNIST
/// with the homework's settings, a network with three predicts one class, while one with two has an
/// accuracy of 88 %.
const DEEP: usize = 3;
/// The usual effective step for networks other than sigmoid ones. With [`USUAL_EFFECTIVE_STEP`], a
/// ReLU network collapses in the second epoch or diverges.
const SMALL_EFFECTIVE_STEP: f64 = 0.16;
/// The maximum momentum that a remedy suggests. With 0.99, none of the measured learning rates trains.
const MAX_MOMENTUM: f64 = 0.9;
/// The usual and the maximum learning rate for [`Optimizer::Adam`]: 0.01 trains, 0.03 does not.
const ADAM_RATE: f64 = 0.001;
const MAX_ADAM_RATE: f64 = 0.01;
/// The maximum weight decay that trains, per sample of a summed batch for gradient descent, and for
/// Adam; then the values that cost no accuracy.
const MAX_DECAY: f64 = 2e-4;
const USUAL_DECAY: f64 = 6.25e-5;
const MAX_ADAM_DECAY: f64 = 0.3;
const USUAL_ADAM_DECAY: f64 = 0.01;
/// Number of units of a hidden layer that replaces a narrow one.
const WIDE: usize = 64;

/// The settings of a training run.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The network's sizes and activations.
    pub architecture: &'a Architecture,
    /// The hyperparameters.
    pub hyperparameters: &'a Hyperparameters,
    /// Number of training samples.
    pub samples: usize,
    /// Number of asynchronous workers; 1 for other training modes.
    pub workers: usize,
}

/// What a network predicts on some samples after a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Examined {
    /// Whether it predicts one class for nearly all samples, training samples or others.
    pub one_class: Option<OneClass>,
    /// The accuracy on training samples, 0 … 1.
    pub training_accuracy: f64,
    /// Number of samples behind the record's accuracy if they are not the training samples.
    pub others: Option<usize>,
}

impl Examined {
    /// Examines a network trained with `loss`: its accuracy on `training` samples, and on `samples`
    /// whether it predicts one class.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(network: &Network, loss: Loss, training: &Samples, samples: &Samples, others: Option<usize>) -> Self {
        let outputs = Predictor::new(network).predict_all(training.inputs().view());
        let is_right =
            |(index, row): &(usize, ndarray::ArrayView1<f32>)| argmax(&row.to_vec()) == argmax(training.target(*index));
        let right = outputs.outer_iter().enumerate().filter(is_right).count();
        Self {
            one_class: OneClass::find(network, loss, samples),
            training_accuracy: right as f64 / training.len().max(1) as f64,
            others,
        }
    }
}

/// The evidence that a training run fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symptom {
    /// The network predicts one class for nearly all samples.
    OneClass(OneClass),
    /// The accuracy fell.
    Collapse {
        /// The record with the best accuracy.
        best: EpochRecord,
        /// The accuracy now, 0 … 1.
        accuracy: f64,
    },
    /// The accuracy is low, on training samples too.
    Low {
        /// The accuracy, 0 … 1.
        accuracy: f64,
    },
    /// The accuracy is high on training samples only.
    Overfitting {
        /// The accuracy on training samples, 0 … 1.
        training: f64,
        /// The accuracy on other samples, 0 … 1.
        others: f64,
    },
}

/// The reason for the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The steps are too large.
    LargeSteps,
    /// The steps are too small.
    SmallSteps,
    /// Gradients vanish in sigmoid layers.
    VanishingGradients {
        /// Number of hidden layers.
        hidden_layers: usize,
    },
    /// The weight decay outweighs the gradients.
    WeightDecay,
    /// A hidden layer has fewer units than there are classes.
    NarrowLayer {
        /// Its index, 1 for the first hidden layer.
        layer: usize,
        /// Number of its units.
        units: usize,
    },
    /// Asynchronous workers use stale gradients.
    Staleness {
        /// Number of workers.
        workers: usize,
    },
    /// There are few training samples, or the same ones are used too often.
    FewSamples,
    /// There were too few steps.
    FewEpochs,
}

/// A change that makes training work.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// Other settings.
    Settings {
        /// The network's sizes and activations.
        architecture: Architecture,
        /// The hyperparameters.
        hyperparameters: Box<Hyperparameters>,
    },
    /// Synchronous instead of asynchronous training.
    Synchronous,
    /// More training samples.
    MoreSamples,
}

/// Why a training run fails, and the remedies.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The evidence.
    pub symptom: Symptom,
    /// The cause.
    pub cause: Cause,
    /// Changes, each sufficient by itself.
    pub remedies: Vec<Remedy>,
}

impl Diagnosis {
    /// Examines a training run after its last record. `is_end` says whether training has ended;
    /// then, a low accuracy is a finding even if it is still rising.
    pub fn find(setup: &Setup, history: &[EpochRecord], examined: &Examined, is_end: bool) -> Option<Self> {
        let symptom = symptom(setup, history, examined, is_end)?;
        let cause = setup.cause(&symptom);
        Some(Self { symptom, cause, remedies: setup.remedies(cause) })
    }
}

/// Whether the accuracy has risen over the last [`MIN_SEEN`] samples. Also true if there is no
/// record that old.
fn is_rising(setup: &Setup, history: &[EpochRecord]) -> bool {
    let Some(last) = history.last() else { return true };
    let epochs = MIN_SEEN.div_ceil(setup.samples.max(1));
    let before = history.iter().rev().find(|record| record.epoch.saturating_add(epochs) <= last.epoch);
    before.is_none_or(|before| last.accuracy >= before.accuracy + STALLED)
}

fn symptom(setup: &Setup, history: &[EpochRecord], examined: &Examined, is_end: bool) -> Option<Symptom> {
    let last = history.last()?;
    let (accuracy, training) = (last.accuracy, examined.training_accuracy);
    let seen = last.epoch.saturating_mul(setup.samples);
    if let Some(found) = examined.one_class.filter(|found| found.saturated_layer.is_some() || seen >= MIN_SEEN) {
        return Some(Symptom::OneClass(found));
    }
    let best = history.iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
    // With few samples, the accuracies differ by chance.
    let chance = |accuracy: f64, count: usize| 3.0 * (accuracy * (1.0 - accuracy) / count.max(1) as f64).sqrt();
    let noise = chance(accuracy, examined.others.unwrap_or(setup.samples));
    if best.accuracy - accuracy > MIN_FALL + noise {
        return Some(Symptom::Collapse { best: *best, accuracy });
    }
    if examined.others.is_some() && training >= LOW && training - accuracy > MIN_GAP + noise {
        return Some(Symptom::Overfitting { training, others: accuracy });
    }
    let is_low = seen >= MIN_SEEN && accuracy < LOW && training < LOW;
    (is_low && (is_end || !is_rising(setup, history))).then_some(Symptom::Low { accuracy })
}

impl Setup<'_> {
    /// The usual effective step for the network.
    fn usual_step(&self) -> f64 {
        let is_sigmoid = self.architecture.hidden_activation() == Activation::Sigmoid
            && matches!(self.architecture.output_activation(), Activation::Sigmoid | Activation::Softmax);
        if is_sigmoid { USUAL_EFFECTIVE_STEP } else { SMALL_EFFECTIVE_STEP }
    }

    /// The steps as a multiple of the usual ones for the network.
    fn steps(&self) -> f64 {
        match self.hyperparameters.effective_step(self.samples) {
            Some(step) => step / self.usual_step(),
            None => self.hyperparameters.learning_rate / ADAM_RATE,
        }
    }

    fn decay_unit(&self) -> f64 {
        let Hyperparameters { gradient, batch_size, .. } = self.hyperparameters;
        match gradient {
            GradientScale::Sum => batch_size.map_or(self.samples, |size| size.min(self.samples)) as f64,
            GradientScale::Mean => 1.0,
        }
    }

    fn cause(&self, symptom: &Symptom) -> Cause {
        let Hyperparameters { weight_decay, learning_rate, .. } = *self.hyperparameters;
        let (is_saturated, accuracy) = match symptom {
            Symptom::Overfitting { .. } => return Cause::FewSamples,
            Symptom::OneClass(found) => (found.saturated_layer.is_some(), 0.0),
            Symptom::Collapse { accuracy, .. } | Symptom::Low { accuracy } => (false, *accuracy),
        };
        let (is_too_large, max_decay) = match self.hyperparameters.effective_step(self.samples) {
            Some(step) => (step > MAX_EFFECTIVE_STEP, MAX_DECAY * self.decay_unit()),
            None => (learning_rate > MAX_ADAM_RATE, MAX_ADAM_DECAY),
        };
        if weight_decay > max_decay {
            return Cause::WeightDecay;
        }
        if is_too_large {
            return Cause::LargeSteps;
        }
        let sizes = self.architecture.sizes();
        let hidden = &sizes[1..sizes.len() - 1];
        let is_deep = hidden.len() >= DEEP && self.architecture.hidden_activation() == Activation::Sigmoid;
        if is_deep && accuracy < VERY_LOW {
            return Cause::VanishingGradients { hidden_layers: hidden.len() };
        }
        let is_collapse = matches!(symptom, Symptom::Collapse { .. });
        if self.workers > 1 && !is_saturated {
            return Cause::Staleness { workers: self.workers };
        }
        if is_saturated || is_collapse {
            return Cause::LargeSteps;
        }
        let narrowest = (1..).zip(hidden.iter().copied()).min_by_key(|&(_, units)| units);
        if let Some((layer, units)) = narrowest.filter(|&(_, units)| units < sizes[sizes.len() - 1]) {
            return Cause::NarrowLayer { layer, units };
        }
        match self.steps() {
            steps if steps > 1.5 => Cause::LargeSteps,
            steps if steps < 0.5 => Cause::SmallSteps,
            _ => Cause::FewEpochs,
        }
    }

    /// The changes that remedy a cause.
    pub fn remedies(&self, cause: Cause) -> Vec<Remedy> {
        let old = self.hyperparameters;
        let with = |hyperparameters: Hyperparameters| Remedy::Settings {
            architecture: self.architecture.clone(),
            hyperparameters: Box::new(hyperparameters),
        };
        let with_step = |setup: &Setup, step: f64| {
            let moved = Hyperparameters { momentum: old.momentum.min(MAX_MOMENTUM), ..old.clone() };
            Hyperparameters { learning_rate: rounded(moved.learning_rate_for(step, setup.samples)), ..moved }
        };
        let adam = || Hyperparameters {
            optimizer: Optimizer::Adam,
            learning_rate: ADAM_RATE,
            momentum: MAX_MOMENTUM,
            weight_decay: old.weight_decay.min(USUAL_ADAM_DECAY),
            ..old.clone()
        };
        let by_adam = || (self.workers == 1).then(adam);
        match cause {
            Cause::LargeSteps => match old.effective_step(self.samples) {
                Some(step) => {
                    let smaller = with_step(self, self.usual_step().min(step / 4.0));
                    std::iter::once(smaller).chain(by_adam()).map(with).collect()
                }
                None => {
                    let learning_rate = rounded(ADAM_RATE.min(old.learning_rate / 10.0));
                    vec![with(Hyperparameters { learning_rate, ..old.clone() })]
                }
            },
            Cause::SmallSteps => match old.optimizer {
                Optimizer::Sgd => {
                    let larger = with_step(self, self.usual_step());
                    std::iter::once(larger).chain(by_adam()).map(with).collect()
                }
                Optimizer::Adam => vec![with(Hyperparameters { learning_rate: ADAM_RATE, ..old.clone() })],
            },
            Cause::VanishingGradients { .. } => {
                let (sizes, output) = (self.architecture.sizes().to_vec(), self.architecture.output_activation());
                let hidden = if self.workers == 1 { Activation::Relu } else { Activation::Tanh };
                let Ok(architecture) = Architecture::new(sizes, hidden, output) else { return vec![] };
                let setup = Setup { architecture: &architecture, ..*self };
                let hyperparameters = match self.workers {
                    1 => adam(),
                    _ => with_step(&setup, setup.usual_step()),
                };
                let hyperparameters = Box::new(hyperparameters);
                vec![Remedy::Settings { architecture: setup.architecture.clone(), hyperparameters }]
            }
            Cause::WeightDecay => {
                let weight_decay = match old.optimizer {
                    Optimizer::Sgd => rounded(USUAL_DECAY * self.decay_unit()),
                    Optimizer::Adam => USUAL_ADAM_DECAY,
                };
                vec![with(Hyperparameters { weight_decay, ..old.clone() })]
            }
            Cause::NarrowLayer { .. } => {
                let mut sizes = self.architecture.sizes().to_vec();
                let (last, outputs) = (sizes.len() - 1, self.architecture.outputs());
                let narrow = sizes[1..last].iter_mut().filter(|units| **units < outputs);
                narrow.for_each(|units| *units = WIDE.max(outputs));
                let (hidden, output) = (self.architecture.hidden_activation(), self.architecture.output_activation());
                let Ok(architecture) = Architecture::new(sizes, hidden, output) else { return vec![] };
                vec![Remedy::Settings { architecture, hyperparameters: Box::new(old.clone()) }]
            }
            Cause::Staleness { .. } => vec![Remedy::Synchronous],
            Cause::FewSamples => vec![Remedy::MoreSamples],
            Cause::FewEpochs => {
                let epochs = old.epochs.saturating_mul(4);
                vec![with(Hyperparameters { epochs, ..old.clone() })]
            }
        }
    }
}

/// Rounds a number to three significant digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    fn record(epoch: usize, accuracy: f64) -> EpochRecord {
        EpochRecord { epoch, samples: None, seconds: 1.0, loss: 0.1, accuracy }
    }

    fn examined(training_accuracy: f64) -> Examined {
        Examined { one_class: None, training_accuracy, others: Some(10_000) }
    }

    fn one_class(saturated_layer: Option<usize>) -> Examined {
        let found = OneClass { class: 3, assigned: 500, count: 500, saturated_layer };
        Examined { one_class: Some(found), ..examined(0.1) }
    }

    struct Case {
        architecture: Architecture,
        hyperparameters: Hyperparameters,
        samples: usize,
        workers: usize,
    }

    impl Case {
        fn new(sizes: &[usize], hidden: Activation, change: impl FnOnce(&mut Hyperparameters)) -> Self {
            let mut hyperparameters = Preset::Homework.hyperparameters();
            change(&mut hyperparameters);
            let architecture = Architecture::new(sizes.to_vec(), hidden, Activation::Sigmoid).unwrap();
            Self { architecture, hyperparameters, samples: 50_000, workers: 1 }
        }

        fn setup(&self) -> Setup<'_> {
            Setup {
                architecture: &self.architecture,
                hyperparameters: &self.hyperparameters,
                samples: self.samples,
                workers: self.workers,
            }
        }

        fn find(&self, history: &[EpochRecord], examined: &Examined, is_end: bool) -> Option<Diagnosis> {
            Diagnosis::find(&self.setup(), history, examined, is_end)
        }

        fn cause(&self, history: &[EpochRecord], examined: &Examined) -> Option<Cause> {
            self.find(history, examined, true).map(|diagnosis| diagnosis.cause)
        }
    }

    const HOMEWORK: [usize; 4] = [784, 128, 64, 10];

    fn homework() -> Case {
        Case::new(&HOMEWORK, Activation::Sigmoid, |_| {})
    }

    #[test]
    fn part1_a_run_that_learns_has_no_diagnosis() {
        let histories: [&[f64]; 4] = [&[0.89], &[0.89, 0.94, 0.955], &[0.95, 0.85, 0.95], &[0.5, 0.91]];
        for accuracies in histories {
            let history: Vec<EpochRecord> = (1..).zip(accuracies).map(|(epoch, &a)| record(epoch, a)).collect();
            assert_eq!(homework().find(&history, &examined(0.95), true), None, "{accuracies:?}");
        }
        assert_eq!(homework().find(&[], &examined(0.95), true), None);
        // It is still rising.
        assert_eq!(homework().find(&[record(1, 0.3), record(2, 0.6)], &examined(0.6), false), None);
    }

    #[test]
    fn part1_each_cause_is_found_by_its_symptom() {
        let low = [record(1, 0.30), record(2, 0.301)];
        let sgd = |change: fn(&mut Hyperparameters)| Case::new(&HOMEWORK, Activation::Sigmoid, change);
        let adam = |rate: f64| {
            Case::new(&HOMEWORK, Activation::Sigmoid, |it| {
                (it.optimizer, it.learning_rate, it.momentum) = (Optimizer::Adam, rate, 0.9);
            })
        };
        let deep = Case::new(&[784, 64, 64, 64, 64, 10], Activation::Sigmoid, |_| {});
        let deep_relu = Case::new(&[784, 64, 64, 64, 64, 10], Activation::Relu, |_| {});
        for (case, history, examined, cause) in [
            (homework(), &[record(1, 0.93), record(2, 0.21)][..], examined(0.2), Cause::LargeSteps),
            (homework(), &low, one_class(Some(2)), Cause::LargeSteps),
            (sgd(|it| it.momentum = 0.9), &low, one_class(None), Cause::LargeSteps),
            (deep_relu, &low, one_class(None), Cause::LargeSteps),
            (adam(0.1), &low, one_class(None), Cause::LargeSteps),
            (adam(1e-6), &low, examined(0.3), Cause::SmallSteps),
            (sgd(|it| it.learning_rate = 1e-9), &low, one_class(None), Cause::SmallSteps),
            (deep, &low[..1], one_class(None), Cause::VanishingGradients { hidden_layers: 4 }),
            (sgd(|it| it.weight_decay = 1.0), &low, one_class(None), Cause::WeightDecay),
            (
                Case::new(&[784, 128, 2, 10], Activation::Sigmoid, |_| {}),
                &low,
                examined(0.3),
                Cause::NarrowLayer { layer: 2, units: 2 },
            ),
            (Case { workers: 4, ..homework() }, &low, examined(0.3), Cause::Staleness { workers: 4 }),
            (Case { samples: 100, ..homework() }, &[record(300, 0.61)], examined(1.0), Cause::FewSamples),
            (homework(), &[record(1, 0.5)], examined(0.5), Cause::FewEpochs),
        ] {
            let found = case.cause(history, &examined);
            assert_eq!(found, Some(cause), "{:?} {:?}", case.architecture.sizes(), case.hyperparameters);
        }
    }

    #[test]
    fn part1_few_samples_are_neither_a_collapse_nor_overfitting_by_chance() {
        let case = Case { samples: 500, ..homework() };
        let few = Examined { others: Some(20), ..examined(0.95) };
        assert_eq!(case.find(&[record(1, 0.95), record(2, 0.7)], &few, false), None);
        let many = Examined { others: Some(10_000), ..few };
        let found = case.find(&[record(1, 0.95), record(2, 0.7)], &many, false).unwrap();
        assert!(matches!(found.symptom, Symptom::Collapse { best, .. } if best.epoch == 1), "{found:?}");
        // A network that has only begun to learn.
        assert_eq!(case.find(&[record(1, 0.1)], &one_class(None), true), None);
    }

    #[test]
    fn part1_every_remedy_is_valid_and_changes_something() {
        let causes = [
            Cause::LargeSteps,
            Cause::SmallSteps,
            Cause::VanishingGradients { hidden_layers: 4 },
            Cause::WeightDecay,
            Cause::NarrowLayer { layer: 1, units: 3 },
            Cause::Staleness { workers: 4 },
            Cause::FewSamples,
            Cause::FewEpochs,
        ];
        for hidden in [Activation::Sigmoid, Activation::Relu, Activation::Tanh] {
            for (momentum, batch_size, optimizer, weight_decay) in [
                (0.0, Some(16), Optimizer::Sgd, 1.0),
                (0.9, None, Optimizer::Sgd, 0.5),
                (0.99, Some(128), Optimizer::Sgd, 3.0),
                (0.9, Some(16), Optimizer::Adam, 5.0),
            ] {
                let case = Case::new(&[784, 3, 64, 64, 10], hidden, |it| {
                    (it.momentum, it.batch_size, it.optimizer) = (momentum, batch_size, optimizer);
                    (it.weight_decay, it.learning_rate) = (weight_decay, 0.7);
                });
                for cause in causes {
                    let remedies = case.setup().remedies(cause);
                    assert!(!remedies.is_empty(), "{cause:?}");
                    for remedy in remedies {
                        let Remedy::Settings { architecture, hyperparameters } = remedy else { continue };
                        hyperparameters.validate().unwrap();
                        architecture.require_loss(hyperparameters.loss).unwrap();
                        let is_changed = architecture != case.architecture || *hyperparameters != case.hyperparameters;
                        assert!(is_changed, "{cause:?} {hyperparameters:?}");
                        let step = hyperparameters.effective_step(case.samples);
                        let is_steps = matches!(cause, Cause::LargeSteps | Cause::SmallSteps);
                        assert!(!is_steps || step.is_none_or(|step| step <= USUAL_EFFECTIVE_STEP * 1.01), "{cause:?}");
                    }
                }
            }
        }
    }
}
