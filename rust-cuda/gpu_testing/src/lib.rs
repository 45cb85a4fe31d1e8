//! Support for tests that need a GPU, or PTX.

use cuda_std::PtxVariant;
use test_skips::{Need, skip};

/// Whether a test that needs a GPU can run: `if !gpu_testing::require_gpu() { return; }`.
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

/// The variants for a test that runs each: none of them, with the test recorded as skipped, if they are stale
/// ([`require_ptx`]).
///
/// # Panics
/// If they are, and the environment has `PTX_TESTS=require`.
#[must_use]
#[track_caller]
pub fn fresh_ptx(variants: &'static [PtxVariant]) -> &'static [PtxVariant] {
    if require_ptx(variants) { variants } else { &[] }
}

/// Whether a test that runs PTX, or looks into it, can do so: `if !gpu_testing::require_ptx(&kernels::PTX) { return; }`.
///
/// If the PTX is older than the kernels, since they were changed on a machine without a toolchain for PTX, the test is
/// recorded as skipped, with the reason.
///
/// # Panics
/// If it is, and the environment has `PTX_TESTS=require`.
#[must_use]
#[track_caller]
pub fn require_ptx(variants: &[PtxVariant]) -> bool {
    let Some(reason) = variants.iter().find_map(PtxVariant::staleness) else { return true };
    skip(Need::Ptx, &format!("stale PTX: {reason}"));
    false
}
