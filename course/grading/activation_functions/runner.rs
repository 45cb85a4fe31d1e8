//! The activation's functions, for the judge.

use activation_functions::{activate, activation_gpu, normalize, weigh};
use grader::{Functions, by_simulator};

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("normalize", |values: Vec<f32>| Ok(normalize(&values)))
        .with("weigh", |(values, weights): (Vec<f32>, Vec<f32>)| Ok(weigh(&values, &weights)))
        .with("activate", |values: Vec<f32>| Ok(activate(&values)))
        .with("activation_gpu", |(values, weights): (Vec<f32>, Vec<f32>)| {
            by_simulator(|device| activation_gpu(device, &values, &weights).map_err(|error| error.to_string()))
        })
        .serve()
}
