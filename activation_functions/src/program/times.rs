//! Times the CPU versions and, on a GPU, each version by GPU events and with the copies of input
//! and result.

use std::num::NonZeroUsize;

use activation_functions::{
    ActivationGpu, ActivationGpuError, Step, Version, activate, activate_rayon, fused_rayon, label, normalize,
    normalize_rayon, weigh, weigh_rayon,
};
use anyhow::{Context, Result};
use command_line::counted;
use gpu::{Device, Error};
use timing::{Measurement, Report, measure};

use super::Input;

pub(super) fn cpu(report: &mut Report, input: Input, threads: usize, repeats: NonZeroUsize) {
    let Input { values, weights } = input;
    // As in the exercise, the time includes freeing the intermediates.
    let trivial = || weigh(&normalize(values), weights).map(|weighed| activate(&weighed));
    report.time("CPU", ", three passes", measure(repeats, trivial));
    let parallel = || weigh_rayon(&normalize_rayon(values), weights).map(|weighed| activate_rayon(&weighed));
    report.time("Rayon", &format!(", three passes, {}", counted(threads, "thread")), measure(repeats, parallel));
    let fused = || fused_rayon(values, weights);
    report.time("Rayon fused", &format!(", one pass, {}", counted(threads, "thread")), measure(repeats, fused));
    report.speedup("Rayon", "CPU");
    report.speedup("Rayon fused", "CPU");
    report.speedup("Rayon fused", "Rayon");
}

/// Times every version with reused buffers, and its kernels with data in memory and in the L2
/// cache. Finally times three launches with copies to the host and back after every step.
pub(super) fn cuda(report: &mut Report, device: &Device, input: Input, repeats: NonZeroUsize) -> Result<()> {
    let mut sets = ActivationGpu::beyond_cache(device, input.values, input.weights)?;
    let count = sets.len();
    for version in Version::ALL {
        for (label, used) in [(version.kernel_label(), count), (version.kernel_in_l2_label(), 1)] {
            let seconds = device.time_repeats(repeats, |call| sets[call % used].launch(version))?;
            time_kernel(report, &label, device, seconds.context("the GPU measured no time")?)?;
        }
    }
    report.gpu_facts(device.l2_bytes(), device.clock_rate()?);
    let mut work = sets.swap_remove(0);
    drop(sets);
    for version in Version::ALL {
        let whole = || -> Result<_, ActivationGpuError> {
            work.upload(input.values, input.weights)?;
            work.launch(version)?;
            Ok(work.result(Step::Activate)?)
        };
        time_whole(report, version.label(), "with copies", repeats, whole)?;
    }

    // The first one is the warm-up.
    let seconds = (0..=repeats.get()).map(|_| kernels_alone(device, &mut work)).skip(1).collect::<Result<_, _>>()?;
    time_kernel(report, &format!("{} kernel", label::COPIED), device, seconds)?;
    let whole = || -> Result<_, ActivationGpuError> {
        work.upload(input.values, input.weights)?;
        for step in [Step::Normalize, Step::Weigh] {
            work.launch_step(step)?;
            work.copy_to_host_and_back(step)?;
        }
        work.launch_step(Step::Activate)?;
        Ok(work.result(Step::Activate)?)
    };
    time_whole(report, label::COPIED, "with copies after every step", repeats, whole)?;

    for version in Version::ALL {
        report.speedup(&version.kernel_label(), "Rayon fused");
        report.speedup(version.label(), "CPU");
        report.speedup(version.label(), "Rayon fused");
    }
    report.speedup(Version::ThreeLaunches.label(), label::COPIED);
    report.speedup(&Version::Fused.kernel_label(), &Version::ThreeLaunches.kernel_label());
    Ok(())
}

fn time_kernel(report: &mut Report, label: &str, device: &Device, seconds: Vec<f64>) -> Result<()> {
    let measurement = Measurement::of(seconds).context("no repeats")?;
    report.time(label, &format!(", {}", device.name()), measurement);
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
