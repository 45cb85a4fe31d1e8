//! Support for tests that need a GPU or PTX.

use std::collections::BTreeMap;
use std::path::Path;

use cuda_std::PtxVariant;
use test_support::{Need, skip};

/// Whether a test that needs a GPU can run: `if !gpu_testing::require_gpu() { return; }`.
///
/// Without a GPU, the test is recorded as skipped, with the reason.
///
/// # Panics
/// If there is no GPU and the environment has `GPU_TESTS=require`.
#[must_use]
#[track_caller]
pub fn require_gpu() -> bool {
    let Err(reason) = cuda_driver::availability() else { return true };
    skip(Need::Gpu, &reason.to_string());
    false
}

/// The variants for a test that runs each of them. If they are stale, returns none and records the
/// test as skipped ([`require_ptx`]).
///
/// # Panics
/// If they are stale and the environment has `PTX_TESTS=require`.
#[must_use]
#[track_caller]
pub fn fresh_ptx(variants: &'static [PtxVariant]) -> &'static [PtxVariant] {
    if require_ptx(variants) { variants } else { &[] }
}

/// Whether a test that runs or inspects PTX can do so:
/// `if !gpu_testing::require_ptx(&kernels::PTX) { return; }`.
///
/// The PTX is older than the kernels if they were changed on a machine without a toolchain for PTX.
/// The test is then recorded as skipped, with the reason.
///
/// # Panics
/// If the PTX is stale and the environment has `PTX_TESTS=require`.
#[must_use]
#[track_caller]
pub fn require_ptx(variants: &[PtxVariant]) -> bool {
    let Some(reason) = variants.iter().find_map(PtxVariant::staleness) else { return true };
    skip(Need::Ptx, &format!("stale PTX: {reason}"));
    false
}

/// The files below a folder of kernel sources, by their names in the PTX. The names begin with
/// `name`, such as "kernels/src".
///
/// # Panics
/// If there is no such folder, or a file is not text.
#[must_use]
pub fn kernel_sources(folder: &Path, name: &str) -> BTreeMap<String, String> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
        let name = format!("{name}/{}", path.file_name().unwrap_or_default().display());
        if path.is_dir() {
            files.extend(kernel_sources(&path, &name));
        } else {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            files.insert(name, text);
        }
    }
    files
}
