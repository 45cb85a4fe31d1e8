//! Checks every version against double precision before any timing.

use activation_functions::{
    ActivationGpu, Step, TOLERANCE, TOLERANCE_FAST, Version, activate, activate_rayon, fused_rayon, normalize,
    normalize_rayon, verify, weigh, weigh_rayon,
};
use anyhow::Result;
use gpu::Device;
use serde_json::Map;
use timing::Report;

use super::Input;

/// Maximum number of values to check on the simulator and the interpreter: the exercise's number.
const MAX_CHECKED: usize = 1_000_000;

pub(super) fn run(report: &mut Report, device: &Device, input: Input) -> Result<()> {
    let mut checks = Checks { report, largest_errors: Map::new() };
    checks.trivial(input)?;
    checks.parallel(input)?;
    checks.gpu(device, input)?;
    let Checks { report, largest_errors } = checks;
    report.fact("largest_errors", largest_errors);
    Ok(())
}

struct Checks<'a> {
    report: &'a mut Report,
    largest_errors: Map<String, serde_json::Value>,
}

impl Checks<'_> {
    fn trivial(&mut self, input: Input) -> Result<()> {
        let normalized = normalize(input.values);
        self.check("normalize", "", Step::Normalize, &normalized, input, TOLERANCE);
        let weighed = weigh(&normalized, input.weights)?;
        self.check("weigh", "", Step::Weigh, &weighed, input, TOLERANCE);
        self.check("activate", "", Step::Activate, &activate(&weighed), input, TOLERANCE);
        Ok(())
    }

    fn parallel(&mut self, input: Input) -> Result<()> {
        let normalized = normalize_rayon(input.values);
        self.check("normalize_rayon", "", Step::Normalize, &normalized, input, TOLERANCE);
        let weighed = weigh_rayon(&normalized, input.weights)?;
        self.check("weigh_rayon", "", Step::Weigh, &weighed, input, TOLERANCE);
        self.check("activate_rayon", "", Step::Activate, &activate_rayon(&weighed), input, TOLERANCE);
        let fused = fused_rayon(input.values, input.weights)?;
        self.check("fused_rayon", "", Step::Activate, &fused, input, TOLERANCE);
        Ok(())
    }

    /// Checks every kernel. Without a GPU, checks at most the first [`MAX_CHECKED`] values.
    fn gpu(&mut self, device: &Device, input: Input) -> Result<()> {
        let number = match device.is_gpu() {
            true => input.values.len(),
            false => input.values.len().min(MAX_CHECKED),
        };
        let place = match number == input.values.len() {
            true => format!("{}, ", device.name()),
            false => format!("{}, the first {number}, ", device.name()),
        };
        let input = Input { values: &input.values[..number], weights: &input.weights[..number] };
        let mut work = ActivationGpu::new(device, number)?;
        work.upload(input.values, input.weights)?;
        for (step, name) in Step::ALL.into_iter().zip(["normalize_gpu", "weigh_gpu", "activate_gpu"]) {
            work.launch_step(step)?;
            self.check(name, &place, step, &work.result(step)?, input, TOLERANCE);
        }
        work.launch(Version::Fused)?;
        self.check("fused_gpu", &place, Step::Activate, &work.result(Step::Activate)?, input, TOLERANCE);
        work.launch(Version::FusedFast)?;
        let (place, tolerance) = match device.is_gpu() {
            // The simulator and the interpreter do not model the GPU's approximation.
            false => (format!("{place}with an accurate tanh, "), TOLERANCE),
            true => (format!("{place}tanh.approx, "), TOLERANCE_FAST),
        };
        self.check("fused_fast_gpu", &place, Step::Activate, &work.result(Step::Activate)?, input, tolerance);
        Ok(())
    }

    fn check(&mut self, name: &str, place: &str, step: Step, results: &[f32], input: Input, tolerance: f64) {
        match verify(step, results, input.values, input.weights, tolerance) {
            Ok(error) => {
                self.report.check_on(name, &format!(" ({place}largest error {error:.1e})"), Ok(()));
                self.largest_errors.insert(name.to_owned(), error.into());
            }
            Err(difference) => self.report.check_on(name, "", Err(difference)),
        }
    }
}
