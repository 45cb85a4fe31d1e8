#![allow(unused_variables)]

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel};

#[kernel]
fn copy(x: &[f32], out: GlobalMut<f32>) {}

fn main() {
    let mut x = SimulatorBuffer::from_slice(&[1.0f32]);
    let _ = simulator::launch(&copy, LaunchConfig::new(1, 1), (&x, &mut x));
}
