//! With options that are not strict, code that PTX and GPUs since sm_70 define is accepted, and
//! notes tell what an author should know.

use crate::support::kernel::{Kernel, each};
use cuda_launch::LaunchConfig;
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{FaultKind, Machine, Options, Uninitialised};
use rand::{RngExt, SeedableRng, rngs::SmallRng};

const ROOM: &str = ".shared .align 4 .b8 room[512];\n";

fn kernel(body: &str, threads: u32) -> Kernel {
    Kernel::new(body).declare(ROOM).shape(1, threads).by_gpu_rules()
}

/// Names and counts of a launch's notes.
fn notes(kernel: &Kernel) -> Vec<(&'static str, u64)> {
    kernel.report().notes.iter().map(|note| (note.kind.id(), note.count)).collect()
}

#[test]
fn a_barrier_does_not_wait_for_threads_that_have_exited() {
    for leave in ["@p0 ret;", "@p0 exit;", "@p0 bra DONE;"] {
        let body = |threads: u32| {
            format!("setp.ge.u32 p0, tid, {threads}; {leave}\nbar.sync 0; st.global.u32 [cell], 7;\nDONE: ret;")
        };
        // Whole warps exit, before or after the others arrive.
        assert_eq!(notes(&kernel(&body(32), 96)), []);
        assert_eq!(kernel(&body(32), 96).words(32), [7; 32]);
        for order in ["ascending", "descending"] {
            assert_eq!(
                notes(&kernel(&body(40), 70).in_order(order)),
                [("barrier-of-some-lanes", 1)],
                "{leave} {order}"
            );
        }
        // The last warp of a block may have fewer lanes. None of them exits.
        assert_eq!(notes(&kernel(&body(70), 70)), []);
    }
}

#[test]
fn only_an_aligned_barrier_of_some_lanes_is_noted() {
    let body = |barrier: &str| format!("setp.ge.u32 p0, tid, 40; @p0 ret; {barrier}; ret;");
    assert_eq!(notes(&kernel(&body("barrier.sync.aligned 0"), 64)), [("barrier-of-some-lanes", 1)]);
    assert_eq!(notes(&kernel(&body("barrier.sync 0"), 64)), []);
}

#[test]
fn a_reduction_at_a_barrier_is_of_those_that_have_not_exited() {
    let body = "setp.ge.u32 p0, tid, 40; @p0 ret; setp.ge.u32 p1, tid, 0; bar.red.popc.u32 r1, 0, p1; st.global.u32 [cell], r1; ret;";
    assert_eq!(kernel(body, 64).words(40), [40; 40]);
}

#[test]
fn a_barrier_with_a_count_waits_for_warps_that_arrive() {
    // Half a warp has exited; the other half counts as the warp.
    let body = "setp.ge.u32 p0, tid, 48; @p0 ret; bar.sync 1, 64; st.global.u32 [cell], 3; ret;";
    assert_eq!(kernel(body, 64).words(48), [3; 48]);
    // An exited warp does not arrive because the barrier is not for all threads.
    let body = "setp.ge.u32 p0, tid, 32; @p0 ret;\nbar.sync 1, 64;\nret;";
    let kind = kernel(body, 64).fault("bar.sync 1, 64;", 0, 0);
    assert!(matches!(kind, FaultKind::BarrierDivergence { waiting: 32, exited: 32, .. }), "{kind}");
    // Threads that have arrived and exited count once.
    let body = "setp.ge.u32 p0, tid, 32; @!p0 bra WAIT; bar.arrive 1, 64; ret; WAIT: bar.sync 1, 64; st.global.u32 [cell], 3; ret;";
    assert_eq!(kernel(body, 64).words(32), [3; 32]);
}

#[test]
fn lanes_of_a_warp_at_two_barriers_are_divergence() {
    let body = "setp.lt.u32 p0, tid, 40; @!p0 bra LAST; bar.sync 0;\nLAST:\nbar.sync 0;\nret;";
    let kind = kernel(body, 64).launch_error();
    let FaultKind::BarrierDivergence { other_place, .. } = &kind.fault().unwrap().kind else { panic!("{kind}") };
    assert!(other_place.is_some(), "{kind}");
    // Unaligned barriers may be different instructions.
    let unaligned = body.replace("bar.sync", "barrier.sync");
    kernel(&unaligned.replace("LAST:\nbarrier.sync 0;", "ret; LAST: barrier.sync 0;"), 64).report();
}

#[test]
fn warps_at_two_instructions_of_barrier_0_are_noted() {
    let body = |number: u32| {
        format!("setp.lt.u32 p0, tid, 32; @p0 bra ONE; bar.sync {number}; ret; ONE: bar.sync {number}; ret;")
    };
    assert_eq!(notes(&kernel(&body(0), 64)), [("barrier-in-two-arms", 1)]);
    // Barriers with other numbers exist only in PTX.
    assert_eq!(notes(&kernel(&body(1), 64)), []);
    let message = kernel(&body(0), 64).report().notes[0].to_string();
    assert!(message.contains(": barrier in two arms: other warps wait at barrier 0 at PTX line "), "{message}");
}

#[test]
fn a_cluster_barrier_does_not_wait_for_threads_that_have_exited() {
    let body = "setp.ge.u32 p0, index, 40; @p0 ret; barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [cell], 4; ret;";
    for blocks in [1, 2] {
        let kernel = Kernel::new(body).shape(2, 32).clusters_of(blocks).by_gpu_rules();
        assert_eq!(kernel.words(40), [4; 40], "clusters of {blocks}");
        let descending = kernel.in_order("descending");
        assert_eq!(descending.words(40), [4; 40], "clusters of {blocks}");
    }
    // A thread may arrive and exit.
    let body = "barrier.cluster.arrive; setp.ge.u32 p0, index, 40; @p0 ret; barrier.cluster.wait; st.global.u32 [cell], 4; ret;";
    assert_eq!(Kernel::new(body).shape(2, 32).clusters_of(2).by_gpu_rules().words(40), [4; 40]);
}

/// Each thread passes its own number of rounds with a barrier, and ends. The remaining threads meet
/// at each barrier.
#[test]
fn barriers_of_random_numbers_of_rounds_order_those_that_are_left() {
    let seed = test_support::seed(7);
    let mut random = SmallRng::seed_from_u64(seed);
    for _ in 0..20 {
        let threads = random.random_range(1..=160);
        let rounds: Vec<u32> = (0..threads).map(|_| random.random_range(0..5)).collect();
        // In round i, a thread writes i to its cell. After a barrier it adds up the values of all
        // threads. A thread that has ended contributes its last round's value.
        let body = format!(
            "mad.wide.u32 d1, tid, 4, input; ld.global.u32 r1, [d1]; shl.b32 r2, tid, 2; mov.u32 r3, room; add.u32 r2, r2, r3;
             st.shared.u32 [r2], 0; mov.u32 r4, 0; mov.u32 r8, 0;
             ROUND: setp.ge.u32 p0, r4, r1; @p0 bra DONE; add.u32 r4, r4, 1; st.shared.u32 [r2], r4; barrier.sync 0;
             mov.u32 r5, 0; mov.u32 r8, 0;
             SUM: setp.ge.u32 p1, r5, {threads}; @p1 bra SUMMED; shl.b32 r6, r5, 2; add.u32 r6, r6, r3;
             ld.shared.u32 r7, [r6]; add.u32 r8, r8, r7; add.u32 r5, r5, 1; bra SUM;
             SUMMED: barrier.sync 0; bra ROUND;
             DONE: st.global.u32 [cell], r8; ret;"
        );
        let room = format!(".shared .align 4 .b8 room[{}];\n", 4 * threads);
        let kernel = Kernel::new(body).declare(&room).shape(1, threads).input(&rounds).by_gpu_rules();
        let sum = |last: u32| rounds.iter().map(|&of_thread| of_thread.min(last)).sum::<u32>();
        let expected: Vec<u32> = rounds.iter().map(|&last| if last == 0 { 0 } else { sum(last) }).collect();
        for order in ["ascending", "descending"] {
            assert_eq!(
                kernel.clone().in_order(order).words(threads as usize),
                expected,
                "seed {seed}: {rounds:?}, {order}"
            );
        }
    }
}

#[test]
fn a_shuffles_distance_is_modulo_32() {
    let body = "add.u32 r1, tid, 100; shfl.sync.up.b32 r2, r1, 32, 0, -1; shfl.sync.down.b32 r3, r1, 33, 31, -1;
         shl.b32 r3, r3, 16; or.b32 r2, r2, r3; st.global.u32 [cell], r2; ret;";
    assert_eq!(kernel(body, 32).words(32), each(32, |lane| (lane + 100) | (lane.min(30) + 101) << 16));
}

#[test]
fn the_last_block_lacks_a_fence_behind_its_counter() {
    // Each block adds its part. The block that counts to two reads both parts, with a barrier after
    // the counter, in another of its threads.
    let body = |operation: &str, fence: &str, reader: u32| {
        format!(
            "mov.u32 r1, %ctaid.x; mad.wide.u32 d1, r1, 4, output; setp.ne.u32 p0, tid, 0; @p0 bra READ; st.global.u32 [d1], 5; membar.gl;
             {operation}; {fence} st.shared.u32 [room], r2; READ: bar.sync 0; ld.shared.u32 r2, [room]; setp.ne.u32 p1, r2, 1;
             setp.ne.or.u32 p1, tid, {reader}, p1; @p1 ret; ld.volatile.global.u32 r3, [output];\nld.volatile.global.u32 r4, [output+4];
             add.u32 r3, r3, r4; st.global.u32 [output+16], r3; ret;"
        )
    };
    let launched = |operation: &str, fence: &str, reader: u32| {
        Kernel::new(body(operation, fence, reader)).declare(ROOM).shape(2, 64).by_gpu_rules()
    };
    let count = "atom.global.add.u32 r2, [output+8], 1";
    for reader in [0, 40] {
        assert_eq!(notes(&launched(count, "", reader)), [("race", 1)], "thread {reader}");
        assert_eq!(launched(count, "", reader).words(5)[4], 10);
        assert_eq!(notes(&launched(count, "membar.gl;", reader)), []);
        let message = launched(count, "", reader).report().notes[0].to_string();
        assert!(
            message
                .ends_with("is missing behind the atomic operation that told the thread, or its block, of the write"),
            "{message}"
        );
    }
    // A poll is not a counter, and without the writer's fence the counter orders nothing. Both are
    // races.
    let poll = launched("mov.u32 r5, 1; atom.global.exch.b32 r2, [output+8], r5", "", 0);
    assert!(matches!(poll.error().unwrap().fault().unwrap().kind, FaultKind::Race { reason: None, .. }));
    let unfenced = body(count, "", 0).replacen("membar.gl;", "", 1);
    let unfenced = Kernel::new(unfenced).declare(ROOM).shape(2, 64).by_gpu_rules();
    assert!(matches!(unfenced.error().unwrap().fault().unwrap().kind, FaultKind::Race { reason: None, .. }));
}

/// Whether the load of an unwritten word is a note rather than a fault.
fn is_noted(body: &str) -> bool {
    match kernel(body, 32).launched() {
        Ok(report) => {
            assert_eq!(report.notes.len(), 1, "{body}: {:?}", report.notes);
            let kind = &report.notes[0].kind;
            assert!(
                matches!(kind, FaultKind::Access { error: AccessError::Uninitialised { .. }, .. }),
                "{body}: {kind}"
            );
            true
        }
        Err(error) => {
            let fault = error.fault().unwrap_or_else(|| panic!("{body}: {error}"));
            assert_eq!(fault.kind.id(), "uninitialised-read", "{body}: {fault}");
            assert_eq!(&*fault.place.text, "ld.shared.u32 r1, [room]", "{body}: {fault}");
            false
        }
    }
}

#[test]
fn an_unwritten_value_is_a_fault_where_it_matters() {
    let load = |then: &str| format!("mov.u32 r9, room; ld.shared.u32 r1, [room]; {then} ret;");
    for harmless in [
        "",
        "add.u32 r2, r1, 1;",
        "st.global.u32 [cell], r1;",
        "mov.u32 r2, r1; st.global.u32 [cell], r2;",
        "add.u32 r2, r1, 1; setp.eq.u32 p5, tid, 0; @p5 st.shared.u32 [room+4], r2;",
        "add.u32 r2, r1, 1; mov.u32 r2, 5; st.global.u32 [cell], r2;",
        "setp.ge.u32 p0, tid, 0; add.u32 r2, r1, 1; selp.u32 r3, 4, r2, p0; st.global.u32 [cell], r3;",
        "shfl.sync.idx.b32 r2, r1, 0, 31, -1;",
        "and.b32 r2, r1, 0; st.global.u32 [cell], r2;",
        "setp.eq.u32 p0, r1, 3;",
        "setp.eq.u32 p0, r1, 3; setp.ge.u32 p1, tid, 0; or.pred p0, p0, p1; @p0 st.global.u32 [cell], 1;",
        "setp.eq.u32 p0, r1, 3; selp.u32 r2, 4, 5, p0; mov.u32 r2, 6; st.global.u32 [cell], r2;",
        "setp.eq.u32 p0, r1, 3; selp.u32 r2, tid, tid, p0; st.global.u32 [cell], r2;",
    ] {
        assert!(is_noted(&load(harmless)), "{harmless}");
    }
    for harmful in [
        "add.u32 r2, r1, 1; st.global.u32 [cell], r2;",
        "setp.eq.u32 p0, r1, 3; @p0 bra NEXT; NEXT:",
        "setp.eq.u32 p0, r1, 3; @!p0 st.global.u32 [cell], 1;",
        "setp.eq.u32 p0, r1, 3; not.pred p1, p0; selp.u32 r2, 4, 5, p1; st.global.u32 [cell], r2;",
        "setp.eq.u32 p0, r1, 3; mov.u32 r2, 4; @p0 mov.u32 r2, 5; st.global.u32 [cell], r2;",
        "setp.eq.u32 p0, r1, 3; vote.sync.any.pred p1, p0, -1;",
        "setp.eq.u32 p0, r1, 3; setp.ge.and.u32 p1, tid, 0, p0; @p1 ret;",
        "cvt.u64.u32 d1, r1; add.u64 d1, d1, cell; ld.global.u32 r2, [d1];",
        "cvt.u64.u32 d1, r1; add.u64 d1, d1, cell; st.global.u32 [d1], 0;",
        "atom.global.add.u32 r2, [output], r1;",
        "shfl.sync.idx.b32 r2, r1, 0, 31, -1; add.u32 r2, r2, 1; st.global.u32 [cell], r2;",
        "shfl.sync.idx.b32 r2, tid, r1, 31, -1;",
        "add.u32 r2, r1, 1; setp.eq.u32 p5, tid, 0; @p5 st.shared.u32 [room+4], r2; bar.warp.sync -1; ld.shared.u32 r3, [room+4]; st.global.u32 [cell], r3;",
    ] {
        assert!(!is_noted(&load(harmful)), "{harmful}");
    }
}

/// The first declared register is like all others.
#[test]
fn the_first_register_may_hold_an_unwritten_value() {
    let text = |then: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry first() {{ .reg .b32 first; .shared .align 4 .b8 room[4]; \
             .reg .pred p;\nld.shared.u32 first, [room];\n{then} ret; }}"
        )
    };
    let launched = |then: &str| {
        let options = Options { strict: false, uninitialised: Uninitialised::Note, ..Options::default() };
        Machine::new(&text(then)).unwrap().launch(options, "first", LaunchConfig::new(1, 32), &[])
    };
    assert_eq!(launched("mov.u32 first, 3; setp.eq.u32 p, first, 3;").unwrap().notes.len(), 1);
    let error = launched("setp.eq.u32 p, first, 3; @p ret;").unwrap_err();
    assert_eq!(error.fault().unwrap().kind.id(), "uninitialised-read");
}

#[test]
fn unwritten_values_may_be_errors_or_nothing() {
    let body = "\nld.shared.u32 r1, [room];\nret;";
    let with = |option| kernel(body, 32).with_uninitialised(option);
    assert_eq!(with(Uninitialised::Off).report().notes, []);
    assert_eq!(with(Uninitialised::Note).report().notes.len(), 1);
    with(Uninitialised::Error).fault("ld.shared.u32 r1, [room];", 0, 0);
    // Local memory behaves no differently.
    for (space, load) in [("local", "\nld.local.u32 r1, [own];\n"), ("shared", "\nld.shared.u32 r1, [room];\n")] {
        let body = format!(".local .align 4 .b8 own[4];{load}setp.eq.u32 p0, r1, 3; @p0 bra DONE; DONE: ret;");
        kernel(&body, 32).with_uninitialised(Uninitialised::Off).report();
        let error = kernel(&body, 32).with_uninitialised(Uninitialised::Note).launch_error();
        assert_eq!(error.fault().unwrap().kind.id(), "uninitialised-read", "{space}");
    }
}

#[test]
fn a_lane_goes_on_after_an_unwritten_value() {
    // Its use is the only fault. The lane still reaches the shuffle where the others wait.
    let body = "setp.lt.u32 p0, tid, 3; shl.b32 r9, tid, 2; mov.u32 r8, room; add.u32 r9, r9, r8; @p0 st.shared.u32 [r9], 1;
         ld.shared.u32 r1, [r9]; setp.gt.u32 p1, r1, 5; @p1 add.u32 r5, r5, 1; @p1 bra NEXT; NEXT: shfl.sync.down.b32 r2, r1, 1, 31, -1; st.global.u32 [cell], r2; ret;";
    let error = kernel(body, 32).with_max_faults(20).launch_error();
    let fault = error.fault().unwrap();
    assert_eq!((fault.kind.id(), fault.thread.x, fault.others.len()), ("uninitialised-read", 3, 0), "{error}");
}

#[test]
fn a_missing_barrier_is_a_race_and_not_an_unwritten_value() {
    let body = |barrier: &str| {
        format!(
            "shl.b32 r9, tid, 2; mov.u32 r8, room; add.u32 r9, r9, r8;\nst.shared.u32 [r9], tid;\n{barrier} xor.b32 r7, tid, 32; shl.b32 r7, r7, 2;
             add.u32 r7, r7, r8;\nld.shared.u32 r1, [r7];\nadd.u32 r1, r1, 1; st.global.u32 [cell], r1; ret;"
        )
    };
    let kind = kernel(&body(""), 64).fault("st.shared.u32 [r9], tid;", 0, 32);
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
    assert_eq!(kernel(&body("bar.sync 0;"), 64).words(64), each(64, |thread| (thread ^ 32) + 1));
    // Without race checks, no other cause is known.
    let kind = kernel(&body(""), 64).without_race_checks().fault("ld.shared.u32 r1, [r7];", 0, 0);
    assert!(matches!(kind, FaultKind::Access { .. }), "{kind}");
}

#[test]
fn a_silent_store_beside_reads_is_noted() {
    // One thread stores the value already in memory while the others read, before them or after
    // them.
    let body = |stored: u32, address: &str| {
        format!(
            "setp.ne.u32 p0, tid, 3; @p0 bra READ;\nst.{address}, {stored};\nbra DONE; READ:\nld.{address_of_load};\nDONE: ret;",
            address_of_load = address.replacen(" ", " r1, ", 1)
        )
    };
    for order in ["ascending", "descending"] {
        for threads in [32, 96] {
            let silent = kernel(&body(0, "global.u32 [input]"), threads).in_order(order);
            assert_eq!(notes(&silent).iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["same-value-race"], "{order}");
            let other = kernel(&body(1, "global.u32 [input]"), threads).in_order(order);
            assert_eq!(other.launch_error().fault().unwrap().kind.id(), "race", "{order}");
        }
        // A value that may be read before it is written is not a silent store, whatever memory
        // contains.
        let unwritten = kernel(&body(u32::MAX, "shared.u32 [room]"), 96).in_order(order);
        assert_eq!(unwritten.launch_error().fault().unwrap().kind.id(), "race", "{order}");
    }
    let strict = Kernel::new(body(0, "global.u32 [input]")).launch_error();
    assert_eq!(strict.fault().unwrap().kind.id(), "race");
    let faults = kernel(&body(0, "global.u32 [input]"), 32).with_same_value_faults().launch_error();
    assert_eq!(faults.fault().unwrap().kind.id(), "same-value-race");
    let message = kernel(&body(0, "global.u32 [input]"), 64).in_order("descending").report().notes[0].to_string();
    assert!(
        message
            .contains("thread (3, 0, 0), PTX line 19 `st.global.u32 [input], 0`: same-value race: writes 4 bytes at ")
            && message.contains(" reads at PTX line 21 `ld.global.u32 r1, [input]`; the write leaves the same value"),
        "{message}"
    );
}

#[test]
fn stores_of_two_values_by_one_instruction_are_no_silent_ones() {
    // Lanes 0 and 1 store the old value and a different one to the same word, in either order.
    for (first, second) in [(0, 7), (7, 0)] {
        let body = format!(
            "setp.eq.u32 p0, tid, 0; selp.u32 r1, {first}, {second}, p0; shr.u32 r2, tid, 1; mad.wide.u32 d1, r2, 4, input;
             \nst.global.u32 [d1], r1;\nret;"
        );
        assert_eq!(kernel(&body, 2).launch_error().fault().unwrap().kind.id(), "race");
    }
}

#[test]
fn a_store_of_a_value_that_the_thread_has_stored_before_is_silent() {
    // Like in Numba's tests of `syncwarp`: lane 0 stores again the value that it stored before a
    // barrier, while the others read.
    let body =
        "setp.ne.u32 p0, tid, 0; @!p0 st.shared.u32 [room], 42; bar.warp.sync -1;\n@!p0 st.shared.u32 [room], 42;
         ld.shared.u32 r1, [room]; st.global.u32 [cell], r1; ret;";
    assert_eq!(notes(&kernel(body, 32)), [("same-value-race", 31)]);
    // Without the barrier, the others may read the earlier value.
    let unordered = kernel(&body.replace("bar.warp.sync -1;", ""), 32).launch_error();
    assert_eq!(unordered.fault().unwrap().kind.id(), "race");
}

#[test]
fn an_asynchronous_copy_may_copy_unwritten_bytes() {
    // A thread writes the first two bytes of its word in global memory, and copies the word through
    // shared memory.
    let body = |value: u32, then: &str| {
        format!(
            "shl.b32 r9, tid, 2; mov.u32 r8, room; add.u32 r9, r9, r8; ld.shared.u32 r1, [r9]; st.global.u32 [cell], r1;
             st.global.u16 [cell], {value}; cp.async.ca.shared.global [r9], [cell], 4; cp.async.wait_all;\nld.shared.u32 r2, [r9];\n{then} ret;"
        )
    };
    let used = kernel(&body(5, "and.b32 r2, r2, 0xffff; add.u32 r2, r2, 1; st.global.u32 [cell], r2;"), 32);
    assert_eq!(used.words(32), [6; 32]);
    let copied = kernel(&body(5, "st.global.u32 [cell8+256], r2;"), 32);
    assert_eq!(notes(&copied), [("uninitialised-read", 1); 2]);
    let computed = kernel(&body(5, "add.u32 r2, r2, 1; st.global.u32 [cell], r2;"), 32);
    assert_eq!(computed.fault("ld.shared.u32 r2, [r9];", 0, 0).id(), "uninitialised-read");
}
