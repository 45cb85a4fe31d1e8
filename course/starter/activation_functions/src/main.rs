//! Given: checks both versions on a hundred thousand values. `cargo run -p activation_functions`

use std::convert::Infallible;
use std::process::ExitCode;

use activation_functions::{activate, activation_gpu, normalize, verify, weigh};
use clap::Parser;
use gpu::Device;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::call;
use timing::Report;

/// Greyscale values normalized, weighed and activated
#[derive(Parser)]
struct Arguments {}

fn main() -> ExitCode {
    let Arguments {} = command_line::arguments();
    command_line::run(|| {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let values: Vec<f32> = (0..100_000).map(|_| rng.random_range(0..256) as f32).collect();
        let weights: Vec<f32> = values.iter().map(|_| rng.random_range(0.0..2.0)).collect();
        let device = Device::simulator();
        let mut report = Report::new("activation_functions", false);
        let check = |y: Result<Vec<f32>, String>| y.and_then(|y| verify(&y, &values, &weights));
        let loops = || Ok::<_, Infallible>(activate(&weigh(&normalize(&values), &weights)));
        report.check("activate", check(call(loops)));
        report.check_on("activation_gpu", " (simulator)", check(call(|| activation_gpu(&device, &values, &weights))));
        Ok(report.finish())
    })
}
