//! Clusters: their barrier, and access to other blocks' shared memory.

use cuda_launch::Dim3;
use ptx_interpreter::{Fault, FaultKind, LaunchError};

use crate::support::kernel::{Kernel, each};

const ROOM: &str = ".shared .align 16 .b8 room[4096];\n.extern .shared .align 16 .b8 more[];\n";
const BARRIER: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
/// r1 is the thread's place in `room` and r2 its place in `more`. r10 is the block's rank, r11 the
/// number of blocks, and r12 the next block's rank. r13 and r14 are the thread's places in that
/// block.
const PLACES: &str = "
    mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; mov.u32 r0, more; mad.lo.u32 r2, tid, 4, r0;
    mov.u32 r10, %cluster_ctarank; mov.u32 r11, %cluster_nctarank;
    add.u32 r12, r10, 1; rem.u32 r12, r12, r11;
    mapa.shared::cluster.u32 r13, r1, r12; mapa.shared::cluster.u32 r14, r2, r12;
";

fn kernel(body: &str, blocks: u32, threads: u32, cluster: u32) -> Kernel {
    let body = format!("{PLACES}{}", body.replace("BARRIER;", BARRIER));
    Kernel::new(body).declare(ROOM).shape(blocks, threads).dynamic_shared(4096).clusters_of(cluster)
}

fn fault_of(kernel: &Kernel) -> Fault {
    let error = kernel.launch_error();
    error.fault().unwrap_or_else(|| panic!("{error}")).clone()
}

/// Writes the thread's index to the next block's memory, and reads the value that the previous
/// block has written.
const WRITE: &str = "BARRIER; st.shared::cluster.u32 [r13], index; add.u32 r3, index, 1;
    st.shared::cluster.u32 [r14], r3; BARRIER; ld.shared.u32 r4, [r1]; ld.shared::cta.u32 r5, [r2];
    add.u32 r4, r4, r5; st.global.u32 [cell], r4; ret;";
/// Reads the next block's memory.
const READ: &str = "st.shared.u32 [r1], index; add.u32 r3, index, 1; st.shared::cluster.u32 [r2], r3; BARRIER;
    ld.shared::cluster.u32 r4, [r13]; ld.shared::cluster.u32 r5, [r14]; BARRIER;
    add.u32 r4, r4, r5; st.global.u32 [cell], r4; ret;";

#[test]
fn blocks_write_and_read_each_others_memory() {
    for (blocks, threads, cluster) in [(16, 64, 16), (6, 33, 3), (8, 1, 2), (3, 40, 1), (4, 256, 4)] {
        let neighbour = |index: u32, distance: u32| {
            let (block, thread) = (index / threads, index % threads);
            let rank = (block % cluster + distance) % cluster;
            2 * ((block / cluster * cluster + rank) * threads + thread) + 1
        };
        let count = (blocks * threads) as usize;
        let generic = |body: &str| {
            let pointers = "cvt.u64.u32 d1, r1; cvta.shared.u64 d1, d1; mapa.u64 d3, d1, r12;
                cvt.u64.u32 d2, r2; mapa.shared::cluster.u64 d4, d2, r12;";
            format!("{pointers} {}", body.replace("shared::cluster.u32 [r13]", "u32 [d3]").replace("[r14]", "[d4]"))
        };
        for (body, distance) in [(WRITE, cluster - 1), (READ, 1), (&*generic(WRITE), cluster - 1), (&*generic(READ), 1)]
        {
            let expected = each(blocks * threads, |index| neighbour(index, distance));
            let kernel = kernel(body, blocks, threads, cluster);
            assert_eq!(kernel.words(count), expected, "{blocks} blocks of {threads}");
            assert_eq!(kernel.without_race_checks().words(count), expected, "{blocks} blocks of {threads}");
        }
    }
}

#[test]
fn a_vector_moves_between_blocks() {
    let body = "BARRIER; mul.lo.u32 r3, tid, 12; add.u32 r13, r13, r3; add.u32 r1, r1, r3;
        st.shared::cluster.v4.u32 [r13], {tid, index, tid, index}; BARRIER;
        ld.shared.v4.u32 {r4, r5, r6, r7}, [r1]; add.u32 r7, r7, r4; st.global.u32 [cell], r7; ret;";
    let expected = each(64, |index| (index + 32) % 64 + index % 32);
    assert_eq!(kernel(body, 2, 32, 2).words(64), expected);
}

/// A thread does other work between its arrival and its wait, and threads wait in different turns.
#[test]
fn arrival_and_wait_are_apart() {
    let body = "BARRIER; st.shared::cluster.u32 [r13], index; barrier.cluster.arrive;
        mov.u32 r6, 0; LOOP: add.u32 r6, r6, 1; setp.le.u32 p0, r6, index; @p0 bra LOOP;
        barrier.cluster.wait; ld.shared.u32 r4, [r1]; add.u32 r4, r4, r6; st.global.u32 [cell], r4; ret;";
    let expected = each(128, |index| (index + 96) % 128 + index + 1);
    assert_eq!(kernel(body, 4, 32, 4).words(128), expected);
}

#[test]
fn races_between_blocks_are_faults() {
    // Without the second barrier, and with a barrier of the block in its place.
    for between in ["", "bar.sync 0;"] {
        let body = WRITE.replacen("[r14], r3; BARRIER;", &format!("[r14], r3; {between}"), 1);
        let body = format!("st.shared.u32 [r1], tid; st.shared.u32 [r2], tid; {body}");
        let fault = fault_of(&kernel(&body, 4, 32, 4));
        let FaultKind::Race { ref memory, other_block, .. } = fault.kind else { panic!("{fault}") };
        assert!(["room", "shared1"].contains(&&*memory.name), "{fault}");
        assert_ne!(fault.block, other_block);
    }
    // The barrier of a cluster orders accesses to global memory, but not another cluster's
    // accesses.
    let body = "mov.u32 r6, %ctaid.x; rem.u32 r6, r6, MODULUS; mad.wide.u32 d0, r6, 4, output;
        mov.u32 r7, 0; setp.ne.u32 p1, tid, 0; setp.ne.u32 p0, r10, 0; or.pred p0, p0, p1;
        @!p0 st.global.u32 [d0], index; BARRIER; setp.ne.u32 p2, r10, 1; or.pred p2, p2, p1;
        @!p2 st.global.u32 [d0+-4], index; ret;";
    kernel(&body.replace("MODULUS", "8"), 4, 32, 2).report();
    let fault = fault_of(&kernel(&body.replace("MODULUS", "2"), 4, 32, 2));
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
}

#[test]
fn memory_is_accessed_only_between_two_barriers() {
    let fault = fault_of(&kernel("st.shared::cluster.u32 [r13], index; BARRIER; ret;", 4, 32, 4));
    let FaultKind::BlockNotStarted { rank: 1, .. } = fault.kind else { panic!("{fault}") };
    let fault = fault_of(&kernel("st.shared.u32 [r1], tid; BARRIER; ld.shared::cluster.u32 r4, [r13]; ret;", 4, 32, 4));
    let FaultKind::BlockEnded { rank: 0, .. } = fault.kind else { panic!("{fault}") };
    assert_eq!(fault.block, Dim3::new(3, 0, 0));
    assert!(fault.to_string().contains("which has ended: no cluster barrier is after the access"), "{fault}");
    let body = "BARRIER; mapa.shared::cluster.u32 r13, r1, r11; st.shared::cluster.u32 [r13], tid; ret;";
    let fault = fault_of(&kernel(body, 4, 32, 4));
    assert!(matches!(fault.kind, FaultKind::NoSuchBlock { rank: 4, blocks: 4, .. }), "{fault}");
    let fault = fault_of(&kernel("BARRIER; st.shared::cluster.u32 [r13+4096], tid; ret;", 2, 32, 2));
    assert!(matches!(fault.kind, FaultKind::Access { .. }), "{fault}");
    // For an instruction on the block's shared memory, the current block's address is not an
    // address of the cluster.
    let fault = fault_of(&kernel("BARRIER; st.shared.u32 [r13], tid; ret;", 2, 32, 2));
    assert!(matches!(fault.kind, FaultKind::Access { .. }), "{fault}");
    let fault = fault_of(&kernel("BARRIER; ld.shared::cluster.u32 r4, [r13]; BARRIER; ret;", 2, 32, 2));
    assert!(fault.to_string().contains("has never been written"), "{fault}");
}

#[test]
fn barriers_that_not_all_threads_reach_are_faults() {
    let fault = fault_of(&kernel("setp.eq.u32 p0, r10, 2; @p0 ret; BARRIER; ret;", 4, 32, 4));
    assert_eq!(fault.kind, FaultKind::ClusterBarrierDivergence { arrived: 96, threads: 128, exited: 32 });
    let fault = fault_of(&kernel("setp.eq.u32 p0, tid, 2; @p0 ret; BARRIER; ret;", 2, 64, 2));
    assert_eq!(fault.kind, FaultKind::ClusterBarrierDivergence { arrived: 126, threads: 128, exited: 2 });
    let fault = fault_of(&kernel("barrier.cluster.wait; ret;", 2, 64, 2));
    assert_eq!(fault.kind, FaultKind::ClusterBarrierOrder { waits: true });
    let fault = fault_of(&kernel("barrier.cluster.arrive; barrier.cluster.arrive; ret;", 2, 64, 2));
    assert_eq!(fault.kind, FaultKind::ClusterBarrierOrder { waits: false });
    assert_eq!(fault.kind.to_string(), "the thread arrives at the cluster's barrier twice before it waits");
}

#[test]
fn a_launch_has_the_cluster_size_of_the_directive() {
    let with = |cluster| kernel("BARRIER; ret;", 8, 32, cluster).directive(".reqnctapercluster 4");
    with(4).report();
    let error = with(2).launch_error();
    assert!(matches!(error, LaunchError::Cluster { cluster: 2, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "kernel kernel: clusters of 2 blocks; it was compiled for .reqnctapercluster (4, 1, 1)"
    );
}

#[test]
fn a_launch_has_at_most_the_blocks_of_a_cluster_of_the_directive() {
    let with = |cluster| kernel("BARRIER; ret;", 8, 32, cluster).directive(".maxntid 32 .maxclusterrank 4");
    with(1).report();
    with(4).report();
    let error = with(8).launch_error();
    assert!(matches!(error, LaunchError::ClusterRank { cluster: 8, max: 4, .. }), "{error}");
    assert_eq!(error.to_string(), "kernel kernel: clusters of 8 blocks; it was compiled for .maxclusterrank 4");
}

#[test]
fn special_registers_have_the_place_of_a_block_in_its_cluster_and_of_that_in_the_grid() {
    let read = |name: &str, cluster: u32| {
        let body = format!("mov.u32 r0, %{name}; st.global.u32 [cell], r0; ret;");
        let grid = Dim3::new(8, 2, 1);
        let body = format!(
            "mov.u32 r1, %ctaid.y; mov.u32 r2, %nctaid.x; mul.lo.u32 r1, r1, r2; mad.wide.u32 cell, r1, 4, cell; {body}"
        );
        Kernel::new(body).shape(grid, 1).clusters_of(cluster).output_bytes(64).words(16)
    };
    let of = |value: fn(u32, u32) -> u32| (0..16).map(|block| value(block % 8, block / 8)).collect::<Vec<_>>();
    for (name, in_fours, alone) in [
        ("clusterid.x", of(|x, _| x / 4), of(|x, _| x)),
        ("clusterid.y", of(|_, y| y), of(|_, y| y)),
        ("clusterid.z", of(|_, _| 0), of(|_, _| 0)),
        ("nclusterid.x", of(|_, _| 2), of(|_, _| 8)),
        ("nclusterid.y", of(|_, _| 2), of(|_, _| 2)),
        ("nclusterid.z", of(|_, _| 1), of(|_, _| 1)),
        ("cluster_ctaid.x", of(|x, _| x % 4), of(|_, _| 0)),
        ("cluster_ctaid.y", of(|_, _| 0), of(|_, _| 0)),
        ("cluster_nctaid.x", of(|_, _| 4), of(|_, _| 1)),
        ("cluster_nctaid.z", of(|_, _| 1), of(|_, _| 1)),
        ("cluster_ctarank", of(|x, _| x % 4), of(|_, _| 0)),
        ("cluster_nctarank", of(|_, _| 4), of(|_, _| 1)),
        ("clusterid.w", of(|_, _| 0), of(|_, _| 0)),
        ("cluster_nctaid.w", of(|_, _| 0), of(|_, _| 0)),
    ] {
        assert_eq!([read(name, 4), read(name, 1)], [in_fours, alone], "{name}");
    }
    let explicit = "mov.pred p0, %is_explicit_cluster; selp.u32 r0, 1, 0, p0; st.global.u32 [cell], r0; ret;";
    let read = |cluster| Kernel::new(explicit).shape(4, 1).clusters_of(cluster).words(4);
    assert_eq!([read(1), read(4)], [[0; 4], [1; 4]]);
}
