//! An instance that a generic kernel has not.

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{Element, GlobalMut, LaunchConfig, kernel};

#[kernel(f32, f64)]
fn copies<T: Element>(x: &[T], out: GlobalMut<T>) {
    out[0] = x[0];
}

fn main() {
    let (x, mut out) = (SimulatorBuffer::from_slice(&[1_u32]), SimulatorBuffer::filled(0_u32, 1));
    let _ = simulator::launch(&copies, LaunchConfig::new(1, 1), (&x, &mut out));
}
