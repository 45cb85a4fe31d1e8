//! Strong accesses that race nevertheless: volatile stores, and scopes that exclude the other
//! thread. Block 1 waits for block 0, which runs first.

use crate::support::kernel::Kernel;
use ptx_interpreter::memory::races::Scope;
use ptx_interpreter::{Access, FaultKind, RaceReason};

/// Block 0 runs `first`, the others run `second`. r9 is the number of the block.
fn blocks(first: &str, second: &str) -> Kernel {
    let body =
        format!("mov.u32 r9, %ctaid.x; setp.ne.u32 p9, r9, 0; @p9 bra SECOND;\n{first}\nret; SECOND:\n{second}\nret;");
    Kernel::new(body).shape(2, 1)
}

#[track_caller]
fn reason(kernel: &Kernel, text: &str, block: u32, thread: u32) -> Option<RaceReason> {
    match kernel.fault(text, block, thread) {
        FaultKind::Race { reason, .. } => reason,
        kind => panic!("{kind}"),
    }
}

const ROOM: &str = ".shared .align 4 .u32 room[4];\n";

const VOLATILE: Option<RaceReason> = Some(RaceReason::Volatile);
const OF_BLOCK: Option<RaceReason> = Some(RaceReason::Scope(Scope::Block));
const OF_CLUSTER: Option<RaceReason> = Some(RaceReason::Scope(Scope::Cluster));

const STORE: &str = "st.volatile.global.u32 [output], r0;";

/// `*n = *n + 1` on a volatile integer.
fn counter(threads: u32) -> Kernel {
    let body = format!("ld.volatile.global.u32 r0, [output];\nadd.u32 r0, r0, 1;\n{STORE}\nret;");
    Kernel::new(body).shape(1, threads).output_bytes(64)
}

#[test]
fn a_volatile_counter_is_no_atomic_one() {
    assert_eq!(reason(&counter(128), STORE, 0, 32), VOLATILE);
    // The lanes of a warp write the same value.
    assert_eq!(counter(32).report().notes[0].count, 31);
    for threads in [32, 128] {
        assert_eq!(reason(&counter(threads).with_plain_volatile(), STORE, 0, 0), None);
    }
    let message = counter(128).fault(STORE, 0, 32).to_string();
    assert!(message.contains("which block (0, 0, 0), thread (31, 0, 0) writes at PTX line"), "{message}");
    assert!(message.ends_with(": a volatile access is not atomic"), "{message}");
}

#[test]
fn unordered_volatile_stores_race_if_the_values_differ() {
    for (space, base) in [("shared", "room"), ("global", "output")] {
        let store = format!("st.volatile.{space}.u32 [{base}], r0;");
        let kernel = |value: &str| Kernel::new(format!("{value}\n{store}\nret;")).declare(ROOM).shape(1, 64);
        assert_eq!(reason(&kernel("mov.u32 r0, tid;"), &store, 0, 1), VOLATILE);
        let report = kernel("mov.u32 r0, 7;").report();
        assert_eq!(report.notes.iter().map(|note| note.count).sum::<u64>(), 63);
        // A thread's own stores are ordered, and a barrier orders the stores of two threads.
        let ordered = format!(
            "setp.eq.u32 p0, tid, 5; mov.u32 r0, 3; @p0 {store} @p0 {store} bar.sync 0;
             setp.eq.u32 p0, tid, 40; mov.u32 r0, 4; @p0 {store} ret;"
        );
        Kernel::new(ordered).declare(ROOM).shape(1, 64).report();
    }
    // A plain store races with a volatile read or store of any value.
    for (first, second) in [
        ("st.global.u32 [output], 1;", "ld.volatile.global.u32 r0, [output];"),
        ("ld.volatile.global.u32 r0, [output];", "st.global.u32 [output], 1;"),
        ("st.global.u32 [output], 1;", "st.volatile.global.u32 [output], 1;"),
        ("st.volatile.global.u32 [output], 1;", "ld.global.u32 r0, [output];"),
    ] {
        let kernel = blocks(first, second);
        assert_eq!(reason(&kernel, second, 1, 0), None, "{first} {second}");
    }
}

/// Block 0 fills a box and raises a flag. Block 1 waits for the flag and reads the box.
fn mailbox(fill: &str, fence: [&str; 2], read: &str) -> Kernel {
    blocks(
        &format!("{fill}\n{}\nst.volatile.global.u32 [output+4], 1;", fence[0]),
        &format!(
            "WAIT: ld.volatile.global.u32 r0, [output+4]; setp.eq.u32 p0, r0, 0; @p0 bra WAIT;\n{}\n{read}\n",
            fence[1]
        ),
    )
}

#[test]
fn a_volatile_flag_publishes_with_a_fence_on_each_side() {
    let (fill, read, fence) = ("st.global.u32 [output], 42;", "ld.global.u32 r1, [output];", "membar.gl;");
    mailbox(fill, [fence; 2], read).report();
    for fences in [["", fence], [fence, ""], ["", ""], ["membar.cta;", fence], [fence, "membar.cta;"]] {
        assert_eq!(reason(&mailbox(fill, fences, read), read, 1, 0), None, "{fences:?}");
    }
    // Volatile reads may poll without a fence, unless volatile counts as plain.
    let [fill, read] = ["st.volatile.global.u32 [output], 42;", "ld.volatile.global.u32 r1, [output];"];
    mailbox(fill, ["", ""], read).report();
    let strict = mailbox(fill, ["", ""], read).with_plain_volatile();
    assert_eq!(reason(&strict, "ld.volatile.global.u32 r0, [output+4];", 1, 0), None);
}

#[test]
fn volatile_stores_by_turns_are_ordered_by_fences() {
    // Block 1 answers with a store to the same flag.
    let answer = "st.volatile.global.u32 [output+4], 2;";
    let take = format!("ld.global.u32 r1, [output]; membar.gl;\n{answer}");
    mailbox("st.global.u32 [output], 42;", ["membar.gl;"; 2], &take).report();
    let hasty = mailbox("", ["", "membar.gl;"], answer);
    assert_eq!(reason(&hasty, answer, 1, 0), VOLATILE);
    // A lock released by a volatile store.
    let lock = "TAKE: atom.global.cas.b32 r0, [output], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra TAKE; membar.gl;
        ld.global.u32 r1, [output+4]; add.u32 r1, r1, 1; st.global.u32 [output+4], r1; membar.gl; st.volatile.global.u32 [output], 0; ret;";
    Kernel::new(lock).shape(5, 1).output_bytes(64).report();
}

#[test]
fn an_atomic_operation_of_a_block_does_not_exclude_another_block() {
    let text = "atom.global.cta.add.u32 r0, [output], 1;";
    let kernel = Kernel::new(format!("{text}\nret;"));
    kernel.clone().shape(1, 64).report();
    assert_eq!(reason(&kernel.clone().shape(2, 32), text, 1, 0), OF_BLOCK);
    let message = kernel.shape(2, 32).fault(text, 1, 0).to_string();
    assert!(message.ends_with(": the scope of an atomic access is its block (cta)"), "{message}");
    let text = "atom.global.cluster.add.u32 r0, [output], 1;";
    let kernel = Kernel::new(format!("{text}\nret;")).shape(4, 32).clusters_of(2);
    assert_eq!(reason(&kernel, text, 2, 0), OF_CLUSTER);
    kernel.shape(2, 32).clusters_of(2).report();
    // Both scopes must include the other thread, in either order.
    let (wide, narrow) = ("red.global.gpu.add.u32 [output], 1;", "red.global.cta.add.u32 [output], 1;");
    assert_eq!(reason(&blocks(wide, narrow), narrow, 1, 0), OF_BLOCK);
    assert_eq!(reason(&blocks(narrow, wide), wide, 1, 0), OF_BLOCK);
    let read = "ld.relaxed.cta.global.u32 r0, [output];";
    assert_eq!(reason(&blocks(wide, read), read, 1, 0), OF_BLOCK);
    blocks(read, "ld.relaxed.gpu.global.u32 r0, [output];").report();
}

#[test]
fn a_fence_orders_what_its_scope_includes() {
    let kernel = |fences: [&str; 2], clusters: u32| {
        let wait = format!(
            "WAIT: atom.global.add.u32 r0, [output+4], 0; setp.eq.u32 p0, r0, 0; @p0 bra WAIT;\n{}\nld.global.u32 r1, [output];",
            fences[1]
        );
        let set = format!("st.global.u32 [output], 42;\n{}\natom.global.exch.b32 r0, [output+4], 1;", fences[0]);
        let kernel = blocks(&set, &wait);
        if clusters == 1 { kernel } else { kernel.clusters_of(clusters) }
    };
    let [block, cluster, device] = ["fence.acq_rel.cta;", "fence.acq_rel.cluster;", "fence.sc.gpu;"];
    let read = "ld.global.u32 r1, [output];";
    kernel([device, device], 1).report();
    kernel([device, "fence.acq_rel.sys;"], 1).report();
    for fences in [[block, device], [device, block], [cluster, device], [device, cluster]] {
        assert_eq!(reason(&kernel(fences, 1), read, 1, 0), None, "{fences:?}");
    }
    kernel([cluster, cluster], 2).report();
    kernel([cluster, device], 2).report();
    assert_eq!(reason(&kernel([block, cluster], 2), read, 1, 0), None);
    // Within a block, block scope is enough.
    let within = |fence: &str| {
        Kernel::new(format!(
            "setp.ge.u32 p0, tid, 32; @p0 bra WAIT; setp.ne.u32 p0, tid, 0; @p0 ret; st.global.u32 [output], 42;\n{fence}\natom.global.exch.b32 r0, [output+4], 1; ret;
             WAIT: setp.ne.u32 p0, tid, 32; @p0 ret; LOOP: atom.global.add.u32 r0, [output+4], 0; setp.eq.u32 p0, r0, 0; @p0 bra LOOP;\n{fence}\n{read}\nret;"
        ))
        .shape(1, 64)
    };
    within(block).report();
    assert_eq!(reason(&within(""), read, 0, 32), None);
}

#[test]
fn a_store_begins_another_release_sequence() {
    // Block 1 overwrites the value released by block 0. Block 2 mistakes it for block 0's value.
    let kernel = |overwrite: &str| {
        let other = format!(
            "setp.eq.u32 p0, r9, 1; @!p0 bra THIRD;\n{overwrite}\nret; THIRD: WAIT: ld.relaxed.gpu.global.u32 r0, [output+4]; setp.lt.u32 p0, r0, 2; @p0 bra WAIT; membar.gl;\nld.global.u32 r1, [output];"
        );
        blocks("st.global.u32 [output], 42; membar.gl; atom.global.exch.b32 r0, [output+4], 1;", &other).shape(3, 1)
    };
    assert_eq!(reason(&kernel("st.relaxed.gpu.global.u32 [output+4], 2;"), "ld.global.u32 r1, [output];", 2, 0), None);
    // An atomic operation continues the release sequence.
    kernel("atom.global.exch.b32 r0, [output+4], 2;").report();
}

#[test]
fn one_thread_of_many_that_does_not_release_is_found() {
    let write = "st.global.u32 [input], 1;";
    let kernel = |threads: u32, all: bool| {
        let releases = if all { "setp.ge.u32 p0, tid, 0;" } else { "setp.ne.u32 p0, tid, 0;" };
        let wait = format!(
            "setp.ne.u32 p0, tid, 0; @p0 ret; WAIT: atom.global.add.u32 r0, [output+4], 0; setp.lt.u32 p0, r0, {}; @p0 bra WAIT; membar.gl;\n{write}",
            threads - u32::from(!all)
        );
        blocks(&format!("ld.global.u32 r1, [input];\n{releases} @!p0 ret; mad.wide.u32 d0, tid, 4, output; st.global.u32 [d0+8], r1; membar.gl; red.global.add.u32 [output+4], 1;"), &wait).shape(2, threads)
    };
    for threads in [2, 3, 4] {
        kernel(threads, true).report();
        let FaultKind::Race { access: Access::Write, other_access: Access::Read, other_thread, .. } =
            kernel(threads, false).fault(write, 1, 0)
        else {
            panic!("{threads} threads");
        };
        assert_eq!(other_thread, cuda_launch::Dim3::default());
    }
}
