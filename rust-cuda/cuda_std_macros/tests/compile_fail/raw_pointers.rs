//! A safe kernel takes buffers, not addresses, and an unsafe one is a value of unsafe code.

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{LaunchConfig, kernel};

#[kernel]
fn adds(a: *const f32, b: *mut f32) {}

#[kernel]
unsafe fn doubles(a: *mut f32) {}

fn main() {
    let mut a = SimulatorBuffer::from_slice(&[1.0]);
    let _ = simulator::launch(&doubles, LaunchConfig::new(1, 1), (&mut a,));
    let _ = simulator::launch(&doubles(), LaunchConfig::new(1, 1), (&mut a,));
}
