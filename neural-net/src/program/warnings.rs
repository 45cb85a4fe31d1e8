//! Warnings about failing training runs: before training, if steps are too large or too small, and
//! after a record, from a diagnosis.

use neural_net::diagnosis::{Cause, Diagnosis, Remedy, Setup, Symptom};
use neural_net::training::{GradientScale, MAX_EFFECTIVE_STEP};

use super::settings::{Images, Settings};

/// The batch size of the default settings.
const USUAL_BATCH: usize = 16;
/// Learning rates and effective steps below this change no weight noticeably in an epoch. With a
/// step of 1e-4, MNIST's 50,000 images move a weight by a few thousandths.
const MIN_STEP: f64 = 1e-5;

/// The inputs of a training run's diagnosis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Diagnosed<'a> {
    pub(super) settings: &'a Settings,
    /// Number of asynchronous workers; 1 for other training modes.
    pub(super) workers: usize,
    /// Number of images in the training set.
    pub(super) available: usize,
}

impl<'a> Diagnosed<'a> {
    pub(super) fn setup(&self) -> Setup<'a> {
        Setup {
            architecture: &self.settings.architecture,
            hyperparameters: &self.settings.hyperparameters,
            samples: self.settings.images.train,
            workers: self.workers,
        }
    }

    /// The warning before training if the steps are too large or too small.
    pub(super) fn of_steps(&self) -> Option<String> {
        let (hyperparameters, images) = (&self.settings.hyperparameters, self.settings.images.train);
        let step = hyperparameters.effective_step(images);
        if step.unwrap_or(hyperparameters.learning_rate) < MIN_STEP {
            let rate = hyperparameters.learning_rate;
            return Some(format!(
                "the learning rate of {rate:e} is so small that training hardly changes the weights; {}",
                self.ways_out(Cause::SmallSteps)
            ));
        }
        let step = step.filter(|&step| step > MAX_EFFECTIVE_STEP)?;
        let divided = if hyperparameters.momentum == 0.0 { "" } else { " / (1 − momentum)" };
        let why = match hyperparameters.gradient {
            GradientScale::Sum => {
                let batch = hyperparameters.batch_size.map_or(images, |size| size.min(images));
                format!(
                    "gradients are summed over batches of {batch}: the effective step, learning rate · batch size{divided}, is"
                )
            }
            GradientScale::Mean => format!("the effective step, the learning rate{divided}, is"),
        };
        Some(format!(
            "{why} {}; above {MAX_EFFECTIVE_STEP} the network ends up reading all images as one class, or diverges; {}",
            shown(step),
            self.ways_out(Cause::LargeSteps)
        ))
    }

    /// The warning for a diagnosis after an epoch.
    pub(super) fn in_words(&self, diagnosis: &Diagnosis, epoch: usize) -> String {
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        let what = match &diagnosis.symptom {
            Symptom::OneClass(found) => {
                let saturated =
                    found.saturated_layer.map(|layer| format!("; layer {layer} is saturated, and hardly learns"));
                format!(
                    "the network reads {} of {} images as class {}{}",
                    found.assigned,
                    found.count,
                    found.class,
                    saturated.unwrap_or_default()
                )
            }
            Symptom::Collapse { best, accuracy } => {
                format!(
                    "the accuracy is {}, after {} in epoch {}",
                    percent(*accuracy),
                    percent(best.accuracy),
                    best.epoch
                )
            }
            Symptom::Low { accuracy } => format!("the accuracy is only {}, on training images too", percent(*accuracy)),
            Symptom::Overfitting { training, others } => format!(
                "the network reads {} of the training images, but {} of others: it has memorized the training images",
                percent(*training),
                percent(*others)
            ),
        };
        let why = self.cause_in_words(diagnosis.cause);
        format!("after epoch {epoch} {what}: {why}; {}", self.ways_out(diagnosis.cause))
    }

    fn cause_in_words(&self, cause: Cause) -> String {
        let (architecture, hyperparameters) = (&self.settings.architecture, &self.settings.hyperparameters);
        match cause {
            Cause::LargeSteps => format!(
                "the steps are too large for {} and {} with {}",
                architecture.hidden_activation().name(),
                architecture.output_activation().name(),
                hyperparameters.loss.name()
            ),
            Cause::SmallSteps => "the steps are too small".to_owned(),
            Cause::VanishingGradients { hidden_layers } => format!(
                "gradients vanish in {hidden_layers} hidden layers of sigmoid, because each multiplies them by at most 1/4"
            ),
            Cause::WeightDecay => {
                format!("--weight-decay {} pulls the weights to 0 faster than they learn", hyperparameters.weight_decay)
            }
            Cause::NarrowLayer { layer, units } => format!(
                "hidden layer {layer} has {}, too few to tell {} classes apart",
                command_line::counted(units, "unit"),
                architecture.outputs()
            ),
            Cause::Staleness { workers } => format!(
                "the {workers} asynchronous workers use gradients that are about {} updates stale, and results differ from \
                 run to run",
                workers - 1
            ),
            Cause::FewSamples => {
                format!("{} are few", command_line::counted(self.settings.images.train, "training image"))
            }
            Cause::FewEpochs => "it has had few steps".to_owned(),
        }
    }

    /// The flags that help, each sufficient by itself.
    pub(super) fn flags_for(&self, cause: Cause) -> String {
        let remedies = self.setup().remedies(cause);
        remedies.iter().map(|remedy| self.flags(remedy)).collect::<Vec<_>>().join(", or ")
    }

    /// The advice for a cause.
    fn ways_out(&self, cause: Cause) -> String {
        let is_large = self.settings.hyperparameters.batch_size.is_none_or(|size| size > USUAL_BATCH);
        let epochs = match cause {
            Cause::LargeSteps | Cause::SmallSteps if is_large => {
                "; an epoch of large batches has few steps: choose more --epochs as well"
            }
            _ => "",
        };
        format!("choose {}{epochs}", self.flags_for(cause))
    }

    fn flags(&self, remedy: &Remedy) -> String {
        let Images { train: images, validation } = self.settings.images;
        match remedy {
            Remedy::Settings { architecture, hyperparameters } => self.settings.flags_to(architecture, hyperparameters),
            Remedy::Synchronous => "--distributed sync".to_owned(),
            Remedy::MoreSamples => match self.available.saturating_sub(validation).min(images.saturating_mul(10)) {
                more if more > images => format!("--train-images {more}"),
                _ => "other --data with more images".to_owned(),
            },
        }
    }
}

/// Formats a number with three significant digits, without trailing zeros.
fn shown(number: f64) -> String {
    format!("{number:.2e}").parse().map_or_else(|_| number.to_string(), |rounded: f64| rounded.to_string())
}
