//! The public tests of the activation. `cargo test -p activation_functions`

use std::convert::Infallible;

use activation_functions::{activate, activation_gpu, normalize, verify, weigh};
use gpu::{Device, SimulatorOptions};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, for_any, seed_of_the_tests};

/// The simulator; two threads that write one element are a fault, also if they write the same value.
fn simulator() -> Device {
    Device::simulator_with(SimulatorOptions { same_value_races_are_faults: true, ..SimulatorOptions::default() })
}

/// A version: its name, and the function.
type Version = (&'static str, fn(&[f32], &[f32]) -> Result<Vec<f32>, String>);

const LOOPS: Version = ("activate(weigh(normalize))", |values, weights| {
    call(|| Ok::<_, Infallible>(activate(&weigh(&normalize(values), weights))))
});
const GPU: Version = ("activation_gpu", |values, weights| call(|| activation_gpu(&simulator(), values, weights)));

fn is_right((name, version): Version, count: usize, seed: u64) -> Result<(), Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    let values: Vec<f32> = (0..count).map(|_| rng.random_range(0..256) as f32).collect();
    let weights: Vec<f32> = (0..count).map(|_| rng.random_range(-2.0..2.0)).collect();
    check(name, version(&values, &weights).and_then(|y| verify(&y, &values, &weights)))
}

/// Any number of values, also none, and more than a block has threads.
fn is_right_for_all(version: Version) -> Result<(), Failure> {
    for_any(40, (0..600_usize, 0..1000_u64), |(count, seed)| is_right(version, count, seed))?;
    is_right(version, 10_001, 1)
}

#[test]
fn the_loops_are_right() -> Result<(), Failure> {
    is_right_for_all(LOOPS)
}

#[test]
fn the_kernels_are_right_on_the_simulator() -> Result<(), Failure> {
    is_right_for_all(GPU)
}

#[test]
fn each_step_is_right() -> Result<(), Failure> {
    let steps: [(&str, Result<Vec<f32>, String>, [f32; 2]); 3] = [
        ("normalize", call(|| Ok::<_, Infallible>(normalize(&[0.0, 127.5]))), [0.0, 0.5]),
        ("weigh", call(|| Ok::<_, Infallible>(weigh(&[0.5, 3.0], &[2.0, -1.0]))), [1.0, -3.0]),
        ("activate", call(|| Ok::<_, Infallible>(activate(&[0.0, 1.0]))), [0.0, 0.761_594_2]),
    ];
    for (name, found, expected) in steps {
        let found = found.map_err(|error| format!("{name}: {error}"))?;
        let agrees = found.len() == 2 && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        if !agrees {
            return Err(format!("{name}: the result is {found:?}, expected {expected:?}").into());
        }
    }
    Ok(())
}
