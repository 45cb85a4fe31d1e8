//! Launches with other arguments than the kernel's.

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel, thread};

#[kernel]
fn scale(x: &[f32], factor: f32, out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    out.set(i, factor * x[i]);
}

fn not_a_kernel(x: &[f32], factor: f32) {}

fn main() {
    let values = vec![1.0_f32; 8];
    let x = SimulatorBuffer::from_slice(&values);
    let mut out = SimulatorBuffer::<f32>::uninitialized(8);
    let config = LaunchConfig::new(1, 8);
    // Of the host's memory.
    let _ = simulator::launch(&scale, config, (&values, 2.0, &mut out));
    let _ = simulator::launch(&scale, config, (&values[..], 2.0, &mut out));
    // By value.
    let _ = simulator::launch(&scale, config, (x, 2.0, &mut out));
    // In another order.
    let _ = simulator::launch(&scale, config, (2.0, &x, &mut out));
    // Without a reference to the kernel.
    let _ = simulator::launch(scale, config, (&x, 2.0, &mut out));
    // Without a tuple.
    let _ = simulator::launch(&scale, config, &x, 2.0, &mut out);
    // Of a function that is no kernel.
    let _ = simulator::launch(&not_a_kernel, config, (&x, 2.0));
    // Called.
    scale(&x, 2.0, &mut out);
    // With three numbers of blocks.
    let _ = LaunchConfig::new(1, 8, 1);
}
