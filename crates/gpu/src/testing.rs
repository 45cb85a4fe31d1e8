//! For tests that need a GPU.

use test_skips::{Need, skip};

/// Whether a test that needs a GPU can run: `if !gpu::require_gpu() { return; }`.
///
/// Where there is none, the test counts as skipped, and it is said why.
///
/// # Panics
/// If there is none and the environment has `GPU_TESTS=require`.
#[must_use]
#[track_caller]
pub fn require_gpu() -> bool {
    let Err(reason) = cuda_driver::availability() else { return true };
    skip(Need::Gpu, &reason.to_string());
    false
}
