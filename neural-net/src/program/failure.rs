//! Error messages for a failed device or a diverged training run, with a hint on how to resume.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use command_line::CHECK_FAILED;
use neural_net::checkpoint;
use neural_net::diagnosis::Cause;
use neural_net::engine::DeviceError;
use neural_net::training::TrainingError;

use super::console::{Console, NotFinite};

/// Reports an error while saving a checkpoint.
pub(super) fn failed(console: &Console, error: anyhow::Error) -> Result<ExitCode> {
    if error.is::<NotFinite>() {
        command_line::note!("error: {error:#}");
        return Ok(ExitCode::from(CHECK_FAILED));
    }
    match error.downcast_ref::<DeviceError>() {
        Some(error) => Err(device_failed(console, "the network is still on the device", error)),
        None => Err(error),
    }
}

/// Reports the error of a training run.
pub(super) fn not_trained(console: &Console, error: TrainingError<anyhow::Error>) -> Result<ExitCode> {
    match error {
        TrainingError::Observer(error) => failed(console, error),
        TrainingError::Diverged { epoch, diverged } => {
            let ways_out = console.diagnosed.flags_for(Cause::LargeSteps);
            command_line::note!(
                "error: training diverged in epoch {epoch}: {diverged}; choose a smaller learning rate: {ways_out}"
            );
            Ok(ExitCode::from(CHECK_FAILED))
        }
        TrainingError::Communication { .. } => bail!("{error}"),
        TrainingError::Device { epoch, error } => {
            let what = if error.is_out_of_memory() {
                "the GPU's memory does not hold the buffers for measuring the accuracy, beside the network and its images, in"
            } else {
                "the training's device failed in"
            };
            Err(device_failed(console, &format!("{what} epoch {epoch}"), &error))
        }
    }
}

/// The error message for a failed device, with a hint on how to resume: the results on the device
/// cannot be saved.
pub(super) fn device_failed(console: &Console, what: &str, error: &DeviceError) -> anyhow::Error {
    let is_full = error.is_out_of_memory();
    let kept = console.checkpoint.as_ref().filter(|directory| checkpoint::path_in(directory).exists());
    let way_out = match kept {
        Some(directory) => {
            let device = if is_full { " --device cpu" } else { "" };
            let directory = directory.display();
            format!("the last checkpoint is valid: resume with --checkpoint {directory} --resume{device}")
        }
        None if is_full => "choose fewer --validation-images, smaller --layers, or --device cpu".to_owned(),
        None => "with --checkpoint DIR training can be resumed, with --device cpu it needs no GPU".to_owned(),
    };
    anyhow::anyhow!("{what}: {error}; {way_out}")
}

/// The error message for a device that failed after training, during the measurement on the test images.
pub(super) fn not_measured(saved: Option<&Path>, console: &Console, error: &DeviceError) -> anyhow::Error {
    let what = "the trained network could not be measured on the test images";
    match (saved, &console.checkpoint) {
        (Some(file), _) => {
            let file = file.display();
            anyhow::anyhow!("{what}: {error}; it is saved: `neural-net evaluate {file}` measures it on the CPU")
        }
        (None, Some(_)) => device_failed(console, what, error),
        (None, None) => {
            anyhow::anyhow!("{what}: {error}; with --save FILE it is not lost, with --device cpu it needs no GPU")
        }
    }
}
