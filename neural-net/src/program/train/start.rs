//! The initial state of a training run: its images, and new weights or a checkpoint's.

use anyhow::{Result, bail};
use neural_net::Samples;
use neural_net::checkpoint::{self, Checkpoint, Run};
use neural_net::data::{Dataset, ToSamples};
use neural_net::engine::Parameters;
use neural_net::training::{Progress, initial_parameters};

use crate::program::arguments::TrainArguments;
use crate::program::console::LazyRun;
use crate::program::distributed;
use crate::program::settings::{Images, Settings};

/// The checkpoint to resume from. An existing checkpoint without `--resume` is an error, because it
/// would be overwritten.
pub(super) fn kept_checkpoint(arguments: &TrainArguments) -> Result<Option<Checkpoint>> {
    let Some(directory) = &arguments.checkpoint else { return Ok(None) };
    let kept = checkpoint::read(directory)?.map(|kept| kept.into_content(command_line::warn));
    match (&kept, arguments.resume) {
        (Some(_), false) => {
            let path = checkpoint::path_in(directory);
            bail!("{} exists: add --resume to resume from it, or choose another directory", path.display());
        }
        (None, true) => {
            command_line::note!("no checkpoint in {} yet: starting from the beginning", directory.display());
        }
        _ => {}
    }
    Ok(kept)
}

/// The training samples, and the validation samples if there are any.
pub(super) fn split(dataset: &Dataset, images: Images) -> Result<(Samples, Option<Samples>)> {
    let Images { train, validation } = images;
    let available = dataset.train.len();
    if train.checked_add(validation).is_none_or(|wanted| wanted > available) {
        bail!(
            "{train} training and {validation} validation images are more than the {available} of the training set: \
               choose smaller --train-images and --validation-images"
        );
    }
    let apart = (validation > 0).then(|| dataset.train.samples(train, validation));
    Ok((dataset.train.samples(0, train), apart))
}

/// Some images for examining a network: training images, and validation images if there are any.
pub(super) fn examined(dataset: &Dataset, images: Images) -> (Samples, Option<Samples>) {
    const MAX_IMAGES: usize = 500;
    let Images { train, validation } = images;
    let apart = (validation > 0).then(|| dataset.train.samples(train, validation.min(MAX_IMAGES)));
    (dataset.train.samples(0, train.min(MAX_IMAGES)), apart)
}

/// The initial parameters and progress: new ones, or a checkpoint's, which must be for the same images.
pub(super) fn parameters_and_progress(
    settings: &Settings,
    run: &LazyRun,
    kept: Option<Checkpoint>,
) -> Result<(Parameters, Progress)> {
    let Some(kept) = kept else {
        return Ok((initial_parameters(settings.architecture.clone(), &settings.hyperparameters), Progress::default()));
    };
    if kept.run.data_checksum != run.data_checksum {
        bail!(
            "the checkpoint was trained on other images ({}, not this {}): give the same --data, or start again without \
             --resume",
            kept.run.dataset,
            run.dataset
        );
    }
    Ok((kept.parameters, kept.run.progress))
}

/// The settings in a checkpoint of the run, without its progress.
pub(super) fn new_run(settings: &Settings, dataset: &Dataset) -> Run {
    let Images { train, validation } = settings.images;
    let used = train.saturating_add(validation).min(dataset.train.len());
    let pixels = dataset.train.pixels.as_slice().expect("images are stored row by row");
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&pixels[..used * dataset.train.pixels.ncols()]);
    checksum.update(&dataset.train.labels[..used]);
    Run {
        preset: settings.preset,
        hyperparameters: settings.hyperparameters.clone(),
        dataset: dataset.name.clone(),
        convention: dataset.convention,
        data_checksum: checksum.finalize(),
        images: (train, validation),
        augment: settings.augment,
        progress: Progress::default(),
    }
}

/// Digests of everything that determines a run's result, in the order of [`distributed::DIGESTED`].
pub(super) fn digests(
    run: &Run,
    progress: &Progress,
    settings: &Settings,
    mode: &str,
) -> [u32; distributed::DIGESTED.len()] {
    let images = format!("{} {} {:?}", run.dataset, run.data_checksum, run.convention);
    let flags = format!("{settings:?} {progress:?} {mode}");
    [env!("CARGO_PKG_VERSION"), &flags, &images].map(|text| crc32fast::hash(text.as_bytes()))
}
