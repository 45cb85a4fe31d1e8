//! The PTX holds every kernel, and the instructions for which the kernels are there.

use std::path::Path;

use cuda_builder::{Arch, PtxasError, generic_accesses, ptxas};
use test_kernels::PTX;
use test_skips::{Need, skip};

/// The kernels of every architecture.
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

/// Those that are only for sm_80 and later.
const KERNELS_OF_SM_80: [&str; 4] = ["through_bf16", "copies_past_registers", "tile_product_tf32", "tile_product_f16"];

#[test]
fn ptx_has_every_kernel_of_its_architecture() {
    for ptx in PTX {
        let is_new = ptx.compute_capability() >= (8, 0);
        for kernel in KERNELS.iter().chain(&["through_f16", "atomics"]) {
            assert!(ptx.text().contains(&format!(".visible .entry {kernel}(")), "{kernel}");
        }
        for kernel in KERNELS_OF_SM_80 {
            assert_eq!(ptx.text().contains(&format!(".visible .entry {kernel}(")), is_new, "{kernel}");
        }
    }
}

#[test]
fn ptx_has_the_instructions_that_the_kernels_are_for() {
    let everywhere = [
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
    let of_sm_80 = [
        "cp.async.cg.shared.global",
        "cp.async.wait_group 1",
        "cvt.rn.bf16.f32",
        "mma.sync.aligned.m16n8k8",
        "mma.sync.aligned.m16n8k16",
    ];
    for ptx in PTX {
        let expected = everywhere.iter().chain(of_sm_80.iter().filter(|_| ptx.compute_capability() >= (8, 0)));
        let missing: Vec<_> = expected.filter(|instruction| !ptx.text().contains(**instruction)).collect();
        assert!(missing.is_empty(), "sm_{}: {missing:?}", ptx.compute_capability().0);
    }
}

/// The compiler duplicates no barrier: the threads of a warp must come to the same one.
#[test]
fn ptx_has_as_many_barriers_as_the_source() {
    for ptx in PTX {
        for (kernel, barriers) in [("block_sum", 1), ("histogram", 2), ("reverse_blocks", 1), ("sums_and_maxima", 2)] {
            let start = ptx.text().find(&format!(".visible .entry {kernel}(")).expect("the kernel is there");
            let body = ptx.text()[start..].split("\n}\n").next().expect("a body ends");
            assert_eq!(body.matches("bar.sync").count(), barriers, "{kernel}");
        }
    }
}

/// The kernels are written in this crate, and so are the lines that the PTX tells; line 0 is that of no one line.
#[test]
fn ptx_tells_lines_of_these_kernels() {
    for ptx in PTX {
        let files: Vec<_> = ptx.text().lines().filter_map(|line| line.strip_prefix(".file\t")).collect();
        assert!(files.iter().any(|file| file.ends_with("\"test_kernels/src/lib.rs\"")), "{files:?}");
        let of_others: Vec<_> = files.iter().filter(|file| !file.contains("\"test_kernels/src/")).collect();
        assert!(of_others.is_empty(), "{of_others:?}");
    }
}

#[test]
fn ptx_accesses_no_memory_without_saying_which() {
    for ptx in PTX {
        assert_eq!(generic_accesses(ptx.text()), []);
    }
}

/// A fence, the addition, loads that acquire, all between two barriers of the block: what `grid::sync` is.
#[test]
fn ptx_orders_the_barrier_of_the_grid() {
    for ptx in PTX {
        let kernel =
            ptx.text().split(".entry ").find(|entry| entry.starts_with("grid_sums(")).expect("the kernel is there");
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
}

#[test]
fn ptx_is_accepted_by_the_assembler_without_spills() {
    for ptx in PTX {
        let target = ptx.text().lines().find_map(|line| line.strip_prefix(".target "));
        let arch: Arch = target.expect("the target is there").parse().unwrap();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("test_kernels.{arch}.ptx"));
        std::fs::write(&path, ptx.text()).unwrap();
        match ptxas(&path, arch) {
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
