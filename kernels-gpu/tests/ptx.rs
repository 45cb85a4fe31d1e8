//! The PTX has every kernel as an entry point, and accesses shared memory only through `.shared` instructions.

use cuda_std::PtxVariant;
use test_support::{Need, skip};

/// The PTX; none, with the calling test recorded as skipped, if it is stale.
#[track_caller]
fn fresh_ptx() -> &'static [PtxVariant] {
    let Some(reason) = kernels_gpu::PTX.iter().find_map(PtxVariant::staleness) else { return &kernels_gpu::PTX };
    skip(Need::Ptx, &format!("stale PTX: {reason}"));
    &[]
}

/// The names of the entry points, sorted.
fn entries(ptx: &str) -> Vec<&str> {
    let mut names: Vec<&str> =
        ptx.split(".visible .entry ").skip(1).map(|entry| entry.split('(').next().expect("a first part")).collect();
    names.sort_unstable();
    names
}

/// `xtask` checks the names themselves: its list of launches names every kernel by its Rust item.
#[test]
fn ptx_of_each_architecture_has_the_same_kernels_but_those_of_clusters_and_tensor_cores() {
    let [oldest, middle, newest] = fresh_ptx() else { return };
    let kernels = entries(oldest.text());
    assert!(kernels.contains(&"max_kernel") && kernels.contains(&"matmul_kernel_f32"), "{kernels:?}");
    let is_of_tensor_cores = |kernel: &&str| ["tensor", "train_small"].iter().any(|part| kernel.contains(part));
    let (of_tensor_cores, others): (Vec<&str>, Vec<&str>) =
        entries(middle.text()).into_iter().partition(is_of_tensor_cores);
    assert_eq!((of_tensor_cores.len(), &others), (16, &kernels));
    let (of_clusters, others): (Vec<&str>, Vec<&str>) =
        entries(newest.text()).into_iter().partition(|kernel| kernel.contains("cluster"));
    assert_eq!((of_clusters.len(), others), (7, entries(middle.text())));
    let in_clusters_of = |blocks: u32| newest.text().matches(&format!("\n.reqnctapercluster {blocks}, 1, 1\n")).count();
    assert_eq!([2, 4, 8, 16].map(in_clusters_of), [1, 1, 1, 4]);
    for ptx in fresh_ptx() {
        let (major, minor) = ptx.compute_capability();
        assert!(ptx.text().contains(&format!(".target sm_{major}{minor}")));
    }
}

/// No block ends before the others' last accesses to its shared memory.
#[test]
fn ptx_of_kernels_that_map_other_blocks_memory_ends_with_a_barrier_of_the_cluster() {
    let mut mapping = 0;
    for entry in fresh_ptx().iter().flat_map(|ptx| ptx.text().split(".visible .entry ").skip(1)) {
        let body = entry.split("\n}").next().expect("a first part");
        if body.contains("mapa.") {
            mapping += 1;
            let ends = body.matches("\tret;").count();
            let waits = body.matches("\tbarrier.cluster.arrive;\n\tbarrier.cluster.wait;\n\tret;").count();
            assert!(ends > 0 && waits == ends, "{}", &entry[..30]);
        }
    }
    assert!(mapping == 6 || fresh_ptx().is_empty(), "{mapping}");
}

/// A generic access to shared memory is slower, and a sign of a lost address space.
#[test]
fn ptx_of_kernels_with_shared_arrays_has_no_generic_access() {
    for ptx in fresh_ptx() {
        let generic = cuda_builder::generic_accesses(ptx.text());
        assert!(generic.is_empty(), "{generic:?}");
        assert!(
            ptx.text().contains("ld.shared.v4") && ptx.text().contains("st.shared.v4"),
            "quads move by 128-bit instructions"
        );
    }
}

/// These kernels are bound by memory bandwidth: each thread moves four floats with one 128-bit instruction.
#[test]
fn ptx_of_the_greyscale_kernels_has_128_bit_accesses() {
    for ptx in fresh_ptx() {
        let greyscale = |name: &&str| name.contains("normalize") || name.contains("activate");
        for kernel in entries(ptx.text()).into_iter().filter(greyscale) {
            let body = ptx.text().split(&format!(".entry {kernel}(")).nth(1).unwrap();
            let body = body.split(".visible .entry").next().unwrap();
            assert!(body.contains("ld.global.nc.v4") && body.contains("st.global.v4"), "{kernel}");
            assert!(!body.contains("ld.global.nc.b32") && !body.contains("ld.global.nc.f32"), "{kernel}");
        }
    }
}

/// cuda_builder marks a text as stale in the words that `cuda_std` reads.
#[test]
fn ptx_that_is_stale_says_why() {
    let text = format!("{}the sources have changed\n", cuda_builder::STALE);
    // SAFETY: no code is launched.
    #[allow(unsafe_code)]
    let stale = unsafe { PtxVariant::new((7, 5), text.leak()) };
    assert_eq!(stale.staleness(), Some("the sources have changed"));
}
