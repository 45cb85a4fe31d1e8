//! Where this machine has a toolchain, the kernels that cuda_std is tested with become PTX that NVIDIA's assembler accepts
//! for the oldest GPUs and for later ones.

mod support;

use std::path::{Path, PathBuf};

use cuda_builder::{Arch, CudaBuilder, PtxasError, generic_accesses, ptxas};
use support::{Place, real_toolchain, skip};

/// One folder for both architectures and all runs, so that `core` is compiled once for each.
fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvptx")
}

fn test_kernels_build_for(arch: Arch) {
    if real_toolchain(arch).is_none() {
        return;
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test_kernels");
    let mut builder = CudaBuilder::new(kernels).arch(arch).target_dir(target_dir());
    if arch == Arch::Sm75 {
        // The default, 6.3, lacks the instruction tanh.
        builder = builder.ptx_version(7, 0);
    }
    let rebuilt = builder.rebuild().unwrap();
    let text = rebuilt.text();
    assert_eq!(generic_accesses(&text), []);
    barrier_of_the_grid_is_ordered(&text);

    let place = Place::new();
    let path = place.path("test_kernels.ptx");
    rebuilt.write_to(&path).unwrap();
    match ptxas(&path, arch) {
        Ok(report) => {
            let names: Vec<_> = report.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            assert!(names.contains(&"grid_sums") && names.contains(&"matmul_transpose"), "{names:?}");
            assert!(report.kernels.iter().all(|kernel| kernel.spill_stores == 0), "{report:?}");
        }
        Err(PtxasError::NotFound) => skip("ptxas is not installed"),
        Err(error) => panic!("{error}"),
    }
}

/// A fence, the addition, loads that acquire, all between two barriers of the block: what `grid::sync` is.
fn barrier_of_the_grid_is_ordered(text: &str) {
    let kernel = text.split(".entry ").find(|entry| entry.starts_with("grid_sums(")).expect("the kernel is there");
    let barrier = ["bar.sync", "fence.acq_rel.gpu", "atom.relaxed.gpu.global.add.u32", "ld.acquire.gpu.global.u32"];
    let mut rest = kernel;
    for instruction in barrier.into_iter().chain(["bar.sync"]) {
        let Some((_, after)) = rest.split_once(instruction) else {
            panic!("no {instruction} in its place in\n{kernel}")
        };
        rest = after;
    }
    let syncs = kernel.matches(barrier[1]).count();
    assert!(barrier.iter().skip(1).all(|instruction| kernel.matches(instruction).count() == syncs), "{kernel}");
}

#[test]
fn test_kernels_build_for_turing() {
    test_kernels_build_for(Arch::Sm75);
}

#[test]
fn test_kernels_build_for_hopper() {
    test_kernels_build_for(Arch::Sm90);
}
