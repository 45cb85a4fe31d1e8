//! The settings of a training run: a preset and the flags that override it.

use std::num::NonZeroUsize;

use anyhow::{Result, bail};
use neural_net::checkpoint::Run;
use neural_net::preset::Preset;
use neural_net::training::{Optimizer, StopAt};
use neural_net::{Architecture, Hyperparameters};

use super::arguments::SettingsArguments;

/// Default number of images between two measurements for `--stop-at`.
const CHECK_EVERY: NonZeroUsize = NonZeroUsize::new(5000).unwrap();

/// Default learning rate and momentum of `--optimizer adam` (Kingma and Ba, 2015).
const ADAM: (f64, f64) = (0.001, 0.9);

/// The settings that determine a training run's result, except the images.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) preset: Preset,
    pub(super) architecture: Architecture,
    pub(super) hyperparameters: Hyperparameters,
    pub(super) images: Images,
    /// Whether the images are distorted.
    pub(super) augment: bool,
}

/// Numbers of images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Images {
    pub(super) train: usize,
    pub(super) validation: usize,
}

impl From<(usize, usize)> for Images {
    fn from((train, validation): (usize, usize)) -> Self {
        Self { train, validation }
    }
}

impl Settings {
    /// The settings of a new training run.
    pub(super) fn new(preset: Preset, flags: &SettingsArguments) -> Result<Self> {
        let settings = Self {
            preset,
            architecture: preset.architecture()?,
            hyperparameters: preset.hyperparameters(),
            images: preset.images().into(),
            augment: false,
        };
        settings.overridden(flags)
    }

    /// The settings of a resumed training run: the checkpoint's. Only the flags for length and
    /// reports may differ: `--epochs`, `--stop-at`, `--check-every` and `--report-every`.
    pub(super) fn of_checkpoint(
        architecture: &Architecture,
        run: &Run,
        preset: Option<Preset>,
        flags: &SettingsArguments,
    ) -> Result<Self> {
        let kept = Self {
            preset: run.preset,
            architecture: architecture.clone(),
            hyperparameters: run.hyperparameters.clone(),
            images: run.images.into(),
            augment: run.augment,
        };
        let mut wanted = kept.overridden(flags)?;
        wanted.preset = preset.unwrap_or(kept.preset);
        let mut differences = kept.differences(&wanted);
        differences.retain(|(flag, ..)| *flag != EPOCHS);
        if !differences.is_empty() {
            let flags: Vec<&str> = differences.iter().map(|(flag, ..)| shown_flag(flag)).collect();
            let values: Vec<String> = differences
                .iter()
                .map(|(flag, kept, wanted)| {
                    format!("{} differs from the checkpoint ({kept} there, {wanted} here)", shown_flag(flag))
                })
                .collect();
            bail!(
                "{}: omit {} to resume, or start a new run in another directory of --checkpoint",
                values.join(", "),
                flags.join(" and ")
            );
        }
        Ok(wanted)
    }

    fn overridden(&self, flags: &SettingsArguments) -> Result<Self> {
        let Self { preset, architecture, hyperparameters, images, augment } = self;
        let sizes = match &flags.layers {
            Some(layers) => layers.iter().map(|size| size.get()).collect(),
            None => architecture.sizes().to_vec(),
        };
        let hidden = flags.activation.unwrap_or(architecture.hidden_activation());
        let output = flags.output_activation.unwrap_or(architecture.output_activation());
        let architecture = Architecture::new(sizes, hidden, output)?;
        let old = hyperparameters;
        let optimizer = flags.optimizer.unwrap_or(old.optimizer);
        let (learning_rate, momentum) = match optimizer {
            Optimizer::Adam if old.optimizer != Optimizer::Adam => ADAM,
            _ => (old.learning_rate, old.momentum),
        };
        let hyperparameters = Hyperparameters {
            loss: flags.loss.unwrap_or(old.loss),
            optimizer,
            learning_rate: flags.learning_rate.unwrap_or(learning_rate),
            schedule: flags.schedule.unwrap_or(old.schedule),
            learning_rate_factors: old.learning_rate_factors.clone(),
            momentum: flags.momentum.unwrap_or(momentum),
            weight_decay: flags.weight_decay.unwrap_or(old.weight_decay),
            batch_size: flags.batch_size.map_or(old.batch_size, |batch_size| batch_size.0),
            gradient: flags.gradient.unwrap_or(old.gradient),
            epochs: flags.epochs.map_or(old.epochs, NonZeroUsize::get),
            shuffle: flags.shuffle.unwrap_or(old.shuffle),
            report_every: flags.report_every.map_or(old.report_every, NonZeroUsize::get),
            stop_at: flags.stop_at.map_or(old.stop_at, |accuracy| {
                let kept = old.stop_at.map(|stop_at| stop_at.check_every);
                let check_every = flags.check_every.or(kept).unwrap_or(CHECK_EVERY);
                Some(StopAt { accuracy, check_every })
            }),
            initialization: flags.initialization.unwrap_or(old.initialization),
            seed: flags.seed.unwrap_or(old.seed),
        };
        architecture.require_loss(hyperparameters.loss)?;
        require_stable_decay(&hyperparameters)?;
        let images = Images {
            train: flags.train_images.map_or(images.train, NonZeroUsize::get),
            validation: flags.validation_images.unwrap_or(images.validation),
        };
        Ok(Self { preset: *preset, architecture, hyperparameters, images, augment: *augment || flags.augment })
    }
}

impl Settings {
    /// The flags with different values in `other`, with both values, among those that a resumed run
    /// must not change. `--epochs` comes last.
    fn differences(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        let both = self.values().into_iter().zip(other.values());
        let all = both.map(|((flag, own), (_, others))| (flag, own, others));
        all.filter(|(_, own, others)| own != others).collect()
    }

    /// The command-line flags that turn these settings into the others.
    pub(super) fn flags_to(&self, architecture: &Architecture, hyperparameters: &Hyperparameters) -> String {
        let other =
            Self { architecture: architecture.clone(), hyperparameters: hyperparameters.clone(), ..self.clone() };
        let flags = self.differences(&other).into_iter().map(|(flag, _, value)| format!("{flag} {value}"));
        flags.collect::<Vec<_>>().join(" ")
    }

    /// Each flag with its value.
    fn values(&self) -> [(&'static str, String); 19] {
        let (architecture, x) = (&self.architecture, &self.hyperparameters);
        [
            ("--preset", self.preset.name().to_owned()),
            ("--layers", joined(architecture.sizes())),
            ("--activation", architecture.hidden_activation().name().to_owned()),
            ("--output-activation", architecture.output_activation().name().to_owned()),
            ("--loss", x.loss.name().to_owned()),
            ("--optimizer", x.optimizer.name().to_owned()),
            ("--learning-rate", x.learning_rate.to_string()),
            ("--schedule", x.schedule.name().to_owned()),
            ("--momentum", x.momentum.to_string()),
            ("--weight-decay", x.weight_decay.to_string()),
            ("--batch-size", x.batch_size.map_or("full".to_owned(), |size| size.to_string())),
            ("--gradient", x.gradient.name().to_owned()),
            ("--shuffle", x.shuffle.to_string()),
            ("--initialization", x.initialization.name().to_owned()),
            ("--seed", x.seed.to_string()),
            ("--augment", self.augment.to_string()),
            ("--train-images", self.images.train.to_string()),
            ("--validation-images", self.images.validation.to_string()),
            (EPOCHS, x.epochs.to_string()),
        ]
    }
}

/// Checks that the weight decay alone does not make the weights grow. A step multiplies a weight by
/// 1 − p, where p is learning rate · weight decay. With momentum, the weights grow if p ≥ 2 · (1 +
/// momentum) (B. T. Polyak, "Some methods of speeding up the convergence of iteration methods",
/// 1964). Adam's decay has no momentum.
fn require_stable_decay(hyperparameters: &Hyperparameters) -> Result<()> {
    let Hyperparameters { optimizer, learning_rate, weight_decay, momentum, .. } = *hyperparameters;
    let momentum = if optimizer == Optimizer::Adam { 0.0 } else { momentum };
    let max = 2.0 * (1.0 + momentum) / learning_rate;
    if weight_decay >= max {
        bail!(
            "--weight-decay {weight_decay} with --learning-rate {learning_rate} makes the weights grow in every step until \
             training diverges: it must be below {max}, and useful values are far smaller, for example 0.001"
        );
    }
    Ok(())
}

/// The flags that may have set a value.
fn shown_flag(flag: &'static str) -> &'static str {
    if flag == "--batch-size" { "--batch-size or --batch-per-rank" } else { flag }
}

/// The flag that a resumed run may change.
const EPOCHS: &str = "--epochs";

fn joined(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
