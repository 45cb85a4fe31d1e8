//! Support for tests that need a GPU.

use test_skips::{Need, skip};

/// Whether a test that needs a GPU can run: `if !gpu::require_gpu() { return; }`.
///
/// If there is none, the test is recorded as skipped, with the reason.
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
