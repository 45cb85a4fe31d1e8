//! A bug that a GPU does not report, and the simulator's report: `cargo run -p cuda_std --example missing_barrier`.

#![allow(missing_docs)]

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, kernel, shared_array, thread};

/// Reverses each block's 64 elements through shared memory. A barrier is missing between the two lines.
#[kernel]
pub fn turn_around(x: &[f32], out: GlobalMut<f32>) {
    let numbers = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    numbers.set(t, x[t]);
    out.set(t, numbers.get(63 - t));
}

fn main() {
    let x = SimulatorBuffer::from_slice(&[1.0; 64]);
    let mut out = SimulatorBuffer::uninitialized(64);
    match simulator::launch(&turn_around, LaunchConfig::new(1, 64), (&x, &mut out)) {
        Ok(report) => println!("{report:?}"),
        Err(error) => println!("{error}"),
    }
}
