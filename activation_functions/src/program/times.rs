//! Timing of the CPU versions, and on a GPU of each version by GPU events and with the copies of input and result.

use std::num::NonZeroUsize;

use activation_functions::{
    ActivationGpu, ActivationGpuError, Step, Version, activate, activate_rayon, fused_rayon, normalize,
    normalize_rayon, weigh, weigh_rayon,
};
use anyhow::{Context, Result};
use gpu::{Device, Error};
use timing::{Measurement, Report, measure};

use super::Input;

pub(super) fn cpu(report: &mut Report, input: Input, threads: usize, repeats: NonZeroUsize) {
    let Input { values, weights } = input;
    // The time includes the freeing of intermediates, as in the exercise.
    let trivial = || weigh(&normalize(values), weights).map(|weighed| activate(&weighed));
    report.time("CPU", ", three passes", measure(repeats, trivial));
    let parallel = || weigh_rayon(&normalize_rayon(values), weights).map(|weighed| activate_rayon(&weighed));
    report.time("Rayon", &format!(", three passes, {threads} threads"), measure(repeats, parallel));
    let fused = || fused_rayon(values, weights);
    report.time("Rayon fused", &format!(", one pass, {threads} threads"), measure(repeats, fused));
    report.speedup("Rayon", "CPU");
    report.speedup("Rayon fused", "CPU");
    report.speedup("Rayon fused", "Rayon");
}

/// The versions that keep intermediates on the GPU, with their labels.
const VERSIONS: [(Version, &str); 3] = [
    (Version::ThreeLaunches, "CUDA three launches"),
    (Version::Fused, "CUDA fused"),
    (Version::FusedFast, "CUDA fused fast"),
];

/// Times every version with reused buffers, and last three launches with copies to the host and back after every step.
pub(super) fn cuda(report: &mut Report, device: &Device, input: Input, repeats: NonZeroUsize) -> Result<()> {
    let mut work = ActivationGpu::new(device, input.values.len())?;
    work.upload(input.values, input.weights)?;
    for (version, label) in VERSIONS {
        let seconds = device.time_repeats(repeats, || work.launch(version))?.context("the GPU measured no time")?;
        time_kernel(report, label, device, seconds)?;
        let whole = || -> Result<_, ActivationGpuError> {
            work.upload(input.values, input.weights)?;
            work.launch(version)?;
            Ok(work.result(Step::Activate)?)
        };
        time_whole(report, label, "with copies", repeats, whole)?;
    }

    let label = "CUDA copied";
    // The first is the warm-up.
    let seconds = (0..=repeats.get()).map(|_| kernels_alone(device, &mut work)).skip(1).collect::<Result<_, _>>()?;
    time_kernel(report, label, device, seconds)?;
    let whole = || -> Result<_, ActivationGpuError> {
        work.upload(input.values, input.weights)?;
        for step in [Step::Normalize, Step::Weigh] {
            work.launch_step(step)?;
            work.copy_to_host_and_back(step)?;
        }
        work.launch_step(Step::Activate)?;
        Ok(work.result(Step::Activate)?)
    };
    time_whole(report, label, "with copies after every step", repeats, whole)?;

    for (_, label) in VERSIONS {
        report.speedup(&format!("{label} kernel"), "Rayon fused");
        report.speedup(label, "CPU");
        report.speedup(label, "Rayon fused");
    }
    report.speedup("CUDA three launches", label);
    report.speedup("CUDA fused kernel", "CUDA three launches kernel");
    Ok(())
}

fn time_kernel(report: &mut Report, label: &str, device: &Device, seconds: Vec<f64>) -> Result<()> {
    let measurement = Measurement::of(seconds).context("no repeats")?;
    report.time(&format!("{label} kernel"), &format!(", {}", device.name()), measurement);
    Ok(())
}

/// Times `work` by host time.
fn time_whole(
    report: &mut Report,
    label: &str,
    note: &str,
    repeats: NonZeroUsize,
    mut work: impl FnMut() -> Result<Vec<f32>, ActivationGpuError>,
) -> Result<()> {
    let mut outcome = Ok(());
    let measurement = measure(repeats, || work().map_err(|error| outcome = Err(error)));
    outcome?;
    report.time(label, &format!(", {note}"), measurement);
    Ok(())
}

/// Seconds of the three kernels by GPU events, excluding the copies between them.
fn kernels_alone(device: &Device, work: &mut ActivationGpu) -> Result<f64, Error> {
    let mut sum = 0.0;
    for step in Step::ALL {
        let ((), seconds) = device.time(|| work.launch_step(step))?;
        sum += seconds.expect("a GPU measures event times");
        work.copy_to_host_and_back(step)?;
    }
    Ok(sum)
}
