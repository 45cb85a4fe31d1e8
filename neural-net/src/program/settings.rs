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

/// The settings that a training run's result depends on, except the images.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) preset: Preset,
    pub(super) architecture: Architecture,
    pub(super) hyperparameters: Hyperparameters,
    /// Numbers of training and validation images.
    pub(super) images: (usize, usize),
    /// Whether the images are distorted.
    pub(super) augment: bool,
}

impl Settings {
    /// The settings of a new training run.
    pub(super) fn new(preset: Preset, flags: &SettingsArguments) -> Result<Self> {
        let settings = Self {
            preset,
            architecture: preset.architecture()?,
            hyperparameters: preset.hyperparameters(),
            images: preset.images(),
            augment: false,
        };
        settings.overridden(flags)
    }

    /// The settings of a resumed training run: those of the checkpoint. Only the flags for its length and its reports
    /// may differ: `--epochs`, `--stop-at`, `--check-every` and `--report-every`.
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
            images: run.images,
            augment: run.augment,
        };
        let mut wanted = kept.overridden(flags)?;
        wanted.preset = preset.unwrap_or(kept.preset);
        if let Some(flag) = first_difference(&kept, &wanted) {
            bail!("{flag} differs from the checkpoint: omit it to resume, or start again without --resume");
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
        let train = flags.train_images.map_or(images.0, NonZeroUsize::get);
        let validation = flags.validation_images.unwrap_or(images.1);
        Ok(Self {
            preset: *preset,
            architecture,
            hyperparameters,
            images: (train, validation),
            augment: *augment || flags.augment,
        })
    }
}

/// The flag of the first setting that differs, among those that must be equal.
fn first_difference(a: &Settings, b: &Settings) -> Option<&'static str> {
    let (x, y) = (&a.hyperparameters, &b.hyperparameters);
    let pairs = [
        ("--preset", a.preset == b.preset),
        ("--layers", a.architecture.sizes() == b.architecture.sizes()),
        ("--activation", a.architecture.hidden_activation() == b.architecture.hidden_activation()),
        ("--output-activation", a.architecture.output_activation() == b.architecture.output_activation()),
        ("--loss", x.loss == y.loss),
        ("--optimizer", x.optimizer == y.optimizer),
        ("--learning-rate", x.learning_rate == y.learning_rate),
        ("--schedule", x.schedule == y.schedule),
        ("--momentum", x.momentum == y.momentum),
        ("--weight-decay", x.weight_decay == y.weight_decay),
        ("--batch-size or --batch-per-rank", x.batch_size == y.batch_size),
        ("--gradient", x.gradient == y.gradient),
        ("--shuffle", x.shuffle == y.shuffle),
        ("--initialization", x.initialization == y.initialization),
        ("--seed", x.seed == y.seed),
        ("--augment", a.augment == b.augment),
        ("--train-images", a.images.0 == b.images.0),
        ("--validation-images", a.images.1 == b.images.1),
    ];
    pairs.into_iter().find(|(_, same)| !same).map(|(flag, _)| flag)
}
