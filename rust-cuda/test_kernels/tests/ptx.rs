//! The PTX has every kernel, and the instructions that the kernels exercise.

use std::path::Path;

use cuda_builder::{Arch, PtxasError, generic_accesses, ptxas};
use test_kernels::PTX;
use test_support::{Need, skip};

/// The kernels of all architectures.
const KERNELS: [&str; 21] = [
    "vector_max",
    "matmul_transpose",
    "block_sum",
    "warp_operations",
    "histogram",
    "reverse_blocks",
    "indices",
    "scale_vectors",
    "functions",
    "double_precision",
    "sums_and_maxima",
    "divisions",
    "shifts",
    "bits",
    "bytes",
    "local_counts",
    "table",
    "quads",
    "doubles",
    "calls",
    "interpreter",
];

/// The kernels of sm_80 and later only.
const KERNELS_OF_SM_80: [&str; 5] =
    ["tile_product__Tf32", "tile_product__f16", "tile_product__bf16", "matmul_by_tiles__bf16", "double_tile_product"];

#[test]
fn ptx_has_every_kernel_of_its_architecture() {
    for ptx in PTX {
        let is_new = ptx.compute_capability() >= (8, 0);
        for kernel in KERNELS.iter().chain(&["narrowed__f16", "narrowed__bf16", "sums_of_rows__u64", "atomics"]) {
            assert!(ptx.text().contains(&format!(".visible .entry {kernel}(")), "{kernel}");
        }
        for kernel in KERNELS_OF_SM_80 {
            assert_eq!(ptx.text().contains(&format!(".visible .entry {kernel}(")), is_new, "{kernel}");
        }
    }
}

#[test]
fn ptx_has_the_instructions_that_the_kernels_exercise() {
    let all_architectures = [
        "ld.local.",
        "st.local.",
        ".func ",
        "call.uni",
        "brx.idx",
        ".global .align",
        "div.s32",
        "rem.u64",
        "shf.",
        "popc.b32",
        "clz.b32",
        "brev.b32",
        "ld.global.nc.b8",
        "st.global.v4.b32",
        "div.rn.f64",
        "sqrt.rn.f64",
        "cvt.rn.f16.f32",
        "atom.",
        "red.global.add.f64",
        "bar.sync",
        "shfl.sync.",
        "vote.sync.",
    ];
    let sm_80 = [
        "cp.async.cg.shared.global",
        "cp.async.wait_group 1",
        "cvt.rn.bf16.f32",
        "mma.sync.aligned.m16n8k8",
        "mma.sync.aligned.m16n8k16",
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
    ];
    for ptx in PTX {
        let expected = all_architectures.iter().chain(sm_80.iter().filter(|_| ptx.compute_capability() >= (8, 0)));
        let missing: Vec<_> = expected.filter(|instruction| !ptx.text().contains(**instruction)).collect();
        assert!(missing.is_empty(), "sm_{}: {missing:?}", ptx.compute_capability().0);
    }
}

/// The compiler duplicates no barrier: all threads must reach the same one.
#[test]
fn ptx_has_each_barrier_of_the_source_once() {
    for ptx in PTX {
        for (kernel, barriers) in [("block_sum", 1), ("histogram", 2), ("reverse_blocks", 1), ("sums_and_maxima", 2)] {
            let start = ptx.text().find(&format!(".visible .entry {kernel}(")).expect("the PTX must have the kernel");
            let body = ptx.text()[start..].split("\n}\n").next().expect("the body must end");
            assert_eq!(body.matches("bar.sync").count(), barriers, "{kernel}");
        }
    }
}

/// All line information refers to the sources of this crate, but for functions of other crates that the kernels call.
#[test]
fn ptx_has_line_information_of_these_kernels() {
    for ptx in PTX {
        let files: Vec<_> = ptx.text().lines().filter_map(|line| line.strip_prefix(".file\t")).collect();
        assert!(files.iter().any(|file| file.ends_with("\"test_kernels/src/lib.rs\"")), "{files:?}");
        let is_known = |file: &str| {
            [
                "test_kernels/src/",
                "cuda_std/src/nvptx/functions.rs",
                "cuda_std/src/math/gpu_float.rs",
                // A function of `cuda_std` that is not inlined, and what is inlined there.
                "cuda_std/src/nvptx/record.rs",
                "core_arch/src/nvptx/mod.rs",
                // Loops, stores and atomic operations that LLVM has merged from several places, of which none is theirs.
                "cuda_std/src/lanes.rs",
                "cuda_std/src/shared_2d.rs",
                "cuda_std/src/element.rs",
                "cuda_std/src/nvptx/atomic.rs",
                "core/src/",
                "libm-",
                "src/math/",
            ]
            .iter()
            .any(|known| file.contains(&format!("\"{known}")))
        };
        let other_files: Vec<_> = files.iter().filter(|file| !is_known(file)).collect();
        assert!(other_files.is_empty(), "{other_files:?}");
    }
}

#[test]
fn ptx_has_no_generic_accesses() {
    for ptx in PTX {
        assert_eq!(generic_accesses(ptx.text()), []);
    }
}

/// `grid::sync` is a fence, the addition and acquiring loads, between two barriers of the block.
#[test]
fn ptx_has_the_memory_order_of_the_grid_barrier() {
    for ptx in PTX {
        let kernel = ptx
            .text()
            .split(".entry ")
            .find(|entry| entry.starts_with("grid_sums("))
            .expect("the PTX must have the kernel");
        let barrier = ["bar.sync", "fence.acq_rel.gpu", "atom.relaxed.gpu.global.add.u32", "ld.acquire.gpu.global.u32"];
        let mut rest = kernel;
        for instruction in barrier.into_iter().chain(["bar.sync"]) {
            let Some((_, after)) = rest.split_once(instruction) else {
                panic!("{instruction} is missing or out of order in\n{kernel}")
            };
            rest = after;
        }
        let syncs = kernel.matches(barrier[1]).count();
        assert!(barrier.iter().skip(1).all(|instruction| kernel.matches(instruction).count() == syncs), "{kernel}");
    }
}

#[test]
fn ptx_is_accepted_by_the_assembler_without_spills() {
    for ptx in PTX {
        let target = ptx.text().lines().find_map(|line| line.strip_prefix(".target "));
        let arch: Arch = target.expect("the PTX must have a target").parse().unwrap();
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("test_kernels.{arch}-{}.ptx", std::process::id()));
        std::fs::write(&path, ptx.text()).unwrap();
        let report = ptxas(&path, arch);
        std::fs::remove_file(path).unwrap();
        match report {
            Ok(report) => {
                let names: Vec<_> = report.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                assert!(names.contains(&"grid_sums") && names.contains(&"matmul_transpose"), "{names:?}");
                assert!(report.kernels.iter().all(|kernel| kernel.spill_stores == 0), "{report:?}");
            }
            Err(error @ PtxasError::NotFound) => return skip(Need::Ptxas, &error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
}
