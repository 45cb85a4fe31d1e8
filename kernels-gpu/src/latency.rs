//! Kernels that do nothing: what a launch and a grid barrier take.

use cuda_std::{GlobalMut, grid, kernel};

/// Nothing. Its launches take the latency of a launch.
#[kernel]
pub fn empty_kernel() {}

/// Waits `rounds` times at the grid barrier, in a cooperative launch.
#[kernel]
pub fn grid_barriers(rounds: u32, barrier: GlobalMut<u32>) {
    for _ in 0..rounds {
        grid::sync(barrier);
    }
}
