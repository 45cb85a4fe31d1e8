#![allow(unused_variables)]

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel};

#[kernel]
fn scale(x: &[f32], factor: f32, out: GlobalMut<f32>) {}

fn main() {
    let x = SimulatorBuffer::from_slice(&[1.0f64]);
    let y = SimulatorBuffer::from_slice(&[1.0f32]);
    let mut out = SimulatorBuffer::from_slice(&[0.0f32]);
    let config = LaunchConfig::new(1, 1);
    let _ = simulator::launch(&scale, config, (&x, 2.0, &mut out));
    let _ = simulator::launch(&scale, config, (&y, 2u32, &mut out));
    let _ = simulator::launch(&scale, config, (&y, 2.0, &out));
    let _ = simulator::launch(&scale, config, (&y, &mut out));
}
