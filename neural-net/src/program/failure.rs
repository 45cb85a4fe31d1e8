//! What the program says when a device fails or a training diverges: what happened, and how to go on.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use neural_net::checkpoint;
use neural_net::engine::DeviceError;
use timing::program::CHECK_FAILED;

use super::console::{Console, NotFinite};

/// What stopped a training that was being kept.
pub(super) fn failed(console: &Console, error: anyhow::Error) -> Result<ExitCode> {
    if error.is::<NotFinite>() {
        timing::note!("error: {error:#}");
        return Ok(ExitCode::from(CHECK_FAILED));
    }
    match error.downcast_ref::<DeviceError>() {
        Some(error) => Err(device_failed(console, "the network is still on the device", error)),
        None => Err(error),
    }
}

/// Says how to go on: what is on a device that failed cannot be kept.
pub(super) fn device_failed(console: &Console, what: &str, error: &DeviceError) -> anyhow::Error {
    let is_full = matches!(error, DeviceError::OutOfMemory { .. });
    let kept = console.checkpoint.as_ref().filter(|directory| checkpoint::path_in(directory).exists());
    let way_out = match kept {
        Some(directory) => {
            let device = if is_full { " --device cpu" } else { "" };
            let directory = directory.display();
            format!("the last checkpoint stands: go on with --checkpoint {directory} --resume{device}")
        }
        None if is_full => "choose fewer --validation-images, smaller --layers, or --device cpu".to_owned(),
        None => "with --checkpoint DIR a training can go on, with --device cpu it needs no GPU".to_owned(),
    };
    anyhow::anyhow!("{what}: {error}; {way_out}")
}

/// The network is trained, and the device failed when it was measured.
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
