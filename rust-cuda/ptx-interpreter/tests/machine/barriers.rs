//! Barriers of the block and of the warp, and fences.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;

const ROOM: &str = ".shared .align 4 .u32 room[1024];\n";

/// Each thread stores its number. After `barrier` it loads the number of the thread `shift`
/// positions later.
fn exchange(barrier: &str, threads: u32, shift: u32) -> Kernel {
    Kernel::new(format!(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid;
         {barrier}
         add.u32 r2, tid, {shift}; rem.u32 r2, r2, {threads}; mad.lo.u32 r2, r2, 4, r0;
         ld.shared.u32 r3, [r2]; st.global.u32 [cell], r3; ret;"
    ))
    .declare(ROOM)
    .shape(1, threads)
}

#[test]
fn a_barrier_waits_for_all_threads_of_the_block() {
    let barriers = [
        "bar.sync 0;",
        "barrier.sync 0;",
        "barrier.sync.aligned 5;",
        "bar.cta.sync 15;",
        "barrier.cta.sync 3;",
        "mov.u32 r5, 7; bar.sync r5;",
        "bar.red.popc.u32 r5, 0, p0;",
    ];
    for barrier in barriers {
        // With a partial last warp, and with a single warp.
        for threads in [1, 31, 32, 33, 100, 1024] {
            let expected = each(threads, |thread| (thread + 77) % threads);
            assert_eq!(exchange(barrier, threads, 77).words(threads as usize), expected, "{barrier} {threads}");
        }
    }
    assert_eq!(exchange("bar.sync 1, 128;", 128, 40).words(128), each(128, |thread| (thread + 40) % 128));
    assert_eq!(
        exchange("mov.u32 r5, 128; bar.sync 1, r5;", 128, 40).words(128),
        each(128, |thread| (thread + 40) % 128)
    );
}

#[test]
fn a_partial_warp_counts_as_a_whole_one() {
    // "The arrival count is incremented by the warp size, not the number of active threads" (PTX ISA, `barrier`).
    let exchanged = exchange("bar.sync 1, 64;", 40, 9).words(40);
    assert_eq!(exchanged, each(40, |thread| (thread + 9) % 40));
}

#[test]
fn a_barrier_can_be_reused() {
    let kernel = Kernel::new(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; mov.u32 r5, tid; mov.u32 r6, 0;
         LOOP: st.shared.u32 [r1], r5; bar.sync 0;
         add.u32 r2, tid, 33; rem.u32 r2, r2, 96; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r5, [r2]; bar.sync 0;
         add.u32 r6, r6, 1; setp.lt.u32 p0, r6, 10; @p0 bra LOOP; st.global.u32 [cell], r5; ret;",
    );
    assert_eq!(kernel.declare(ROOM).shape(2, 96).words(192), each(192, |thread| (thread % 96 + 330) % 96));
}

#[test]
fn some_warps_synchronise_at_their_own_barrier() {
    // Warps 0 and 1 synchronize at barrier 1, warps 2 and 3 at barrier 2. Each pair does so a
    // different number of times.
    let kernel = Kernel::new(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid; shr.u32 r5, tid, 6; add.u32 r6, r5, 1;
         mov.u32 r7, 0;
         LOOP: barrier.sync r6, 64; add.u32 r7, r7, 1; setp.le.u32 p0, r7, r5; @p0 bra LOOP;
         xor.b32 r2, tid, 63; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r3, [r2]; st.global.u32 [cell], r3; ret;",
    );
    assert_eq!(kernel.declare(ROOM).shape(1, 128).words(128), each(128, |thread| thread ^ 63));
}

#[test]
fn producers_arrive_and_continue_and_consumers_wait() {
    // Warp 0 produces four values, one after the other. Warp 1 signals when it has read one.
    let body = "
        mov.u32 r0, room; mov.u32 r6, 0; mov.u32 r7, 0; setp.ge.u32 p0, tid, 32; @p0 bra CONSUME;
        PRODUCE: mad.lo.u32 r1, tid, 4, r0; mad.lo.u32 r2, r6, 1000, tid; st.shared.u32 [r1], r2;
        bar.arrive 1, 64; bar.sync 2, 64;
        add.u32 r6, r6, 1; setp.lt.u32 p1, r6, 4; @p1 bra PRODUCE; ret;
        CONSUME: bar.sync 1, 64; mad.lo.u32 r1, tid, 4, r0; ld.shared.u32 r2, [r1+-128]; add.u32 r7, r7, r2;
        bar.arrive 2, 64;
        add.u32 r6, r6, 1; setp.lt.u32 p1, r6, 4; @p1 bra CONSUME; st.global.u32 [cell], r7; ret;";
    let found = Kernel::new(body).declare(ROOM).shape(1, 64).words(64);
    assert_eq!(found, each(64, |thread| if thread < 32 { 0 } else { (thread - 32) * 4 + 6000 }));
}

#[test]
fn barriers_reduce_predicates_of_all_threads() {
    for threads in [1, 40, 96] {
        for limit in [0, 1, 33, 40, 96] {
            let body = format!(
                "setp.lt.u32 p0, tid, {limit};
                 bar.red.popc.u32 r0, 0, p0; bar.red.and.pred p1, 1, p0; bar.red.or.pred p2, 0, p0;
                 barrier.red.popc.u32 r1, 0, !p0; bar.red.and.pred p3, 2, !p0; barrier.cta.red.or.aligned.pred p4, 0, !p0;
                 selp.u32 r2, 1, 0, p1; selp.u32 r3, 2, 0, p2; or.b32 r2, r2, r3; selp.u32 r3, 4, 0, p3; or.b32 r2, r2, r3;
                 selp.u32 r3, 8, 0, p4; or.b32 r2, r2, r3;
                 mad.wide.u32 d0, tid, 16, output; st.global.v2.u32 [d0], {{r0, r1}}; st.global.u32 [d0+8], r2; ret;"
            );
            let found = Kernel::new(body).shape(1, threads).words(threads as usize * 4);
            let holds = limit.min(threads);
            let bits = [holds == threads, holds > 0, holds == 0, holds < threads];
            let bits = bits.iter().enumerate().map(|(position, bit)| u32::from(*bit) << position).sum();
            assert_eq!(found, [holds, threads - holds, bits, 0].repeat(threads as usize), "{threads} {limit}");
        }
    }
    let counted =
        Kernel::new("setp.lt.u32 p0, tid, 40; bar.red.popc.u32 r0, 1, 64, p0; st.global.u32 [cell], r0; ret;");
    assert_eq!(counted.shape(1, 64).words(64), [40; 64]);
}

fn divergence(kernel: &Kernel, text: &str, thread: u32) -> (usize, usize, Option<String>) {
    match kernel.fault(text, 0, thread) {
        FaultKind::BarrierDivergence { waiting, exited, other_place, .. } => {
            (waiting, exited, other_place.map(|place| place.text.to_string()))
        }
        kind => panic!("{kind}"),
    }
}

#[test]
fn threads_that_exit_leave_the_others_waiting() {
    for leave in ["@p0 ret;", "@p0 exit;"] {
        let kernel = Kernel::new(format!("setp.lt.u32 p0, tid, 40; {leave}\nbar.sync 0;\nret;")).shape(1, 70);
        assert_eq!(divergence(&kernel, "bar.sync 0;", 40), (30, 40, None));
    }
}

#[test]
fn a_barrier_that_only_some_lanes_reach_is_divergence() {
    let branch = Kernel::new("setp.lt.u32 p0, tid, 40; @p0 bra DONE;\nbar.sync 0;\nDONE: ret;").shape(1, 64);
    assert_eq!(divergence(&branch, "bar.sync 0;", 40).0, 24);
    let guard = Kernel::new("setp.eq.u32 p0, tid, 9;\n@p0 bar.sync 0;\nret;").shape(1, 64);
    assert_eq!(divergence(&guard, "@p0 bar.sync 0;", 9).0, 1);
}

#[test]
fn two_barriers_for_two_parts_of_a_block_are_divergence() {
    let body =
        "setp.lt.u32 p0, tid, 32; @p0 bra ONE;\nbar.sync 0; // other\nbra DONE;\nONE:\nbar.sync 0; // one\nDONE: ret;";
    let kernel = Kernel::new(body).shape(1, 64);
    let (waiting, _, other) = divergence(&kernel, "bar.sync 0; // other", 32);
    assert_eq!((waiting, other.as_deref()), (32, Some("bar.sync 0")));
    let numbers =
        Kernel::new("setp.lt.u32 p0, tid, 32; @p0 bra ONE;\nbar.sync 1;\nbra DONE;\nONE:\nbar.sync 0;\nDONE: ret;");
    let numbers = numbers.shape(1, 64);
    assert_eq!(divergence(&numbers, "bar.sync 0;", 0), (32, 0, None));
    let text = "barrier divergence: 32 of 64 threads wait at this barrier; 32 are at PTX line 18 `bar.sync 1`";
    assert!(numbers.launch_error().to_string().ends_with(text), "{}", numbers.launch_error());
    // Parts of two warps: lanes elsewhere in a warp count together with other warps' lanes at that
    // line.
    let parts = "setp.lt.u32 p0, tid, 36; @p0 bra ONE;\nbar.sync 1;\nbra DONE;\nONE:\nbar.sync 0;\nDONE: ret;";
    let error = Kernel::new(parts).shape(1, 64).launch_error().to_string();
    let text = "barrier divergence: 36 of 64 threads wait at this barrier; 28 are at PTX line 18 `bar.sync 1`";
    assert!(error.ends_with(text), "{error}");
}

#[test]
fn a_barrier_has_a_number_below_16_and_whole_warps() {
    for (barrier, number, count) in [
        ("bar.sync 16;", 16, 64),
        ("bar.sync 0, 33;", 0, 33),
        ("bar.sync 0, 0;", 0, 0),
        ("bar.sync 0, 96;", 0, 96),
        ("bar.arrive 17, 32;", 17, 32),
        ("bar.red.popc.u32 r0, 1, 40, p0;", 1, 40),
    ] {
        let kernel = Kernel::new(format!("{barrier}\nret;")).shape(1, 64);
        assert_eq!(kernel.fault(barrier, 0, 0), FaultKind::BarrierOperands { number, count }, "{barrier}");
    }
}

#[test]
fn lanes_of_one_warp_name_one_barrier() {
    let number = Kernel::new("and.b32 r0, tid, 1;\nbarrier.sync r0;\nret;");
    assert_eq!(number.fault("barrier.sync r0;", 0, 1), FaultKind::DifferentBarriers);
    let count = Kernel::new(
        "and.b32 r0, tid, 32; add.u32 r0, r0, 32; setp.eq.u32 p0, tid, 5; @p0 mov.u32 r0, 64;\nbarrier.sync 1, r0;\nret;",
    );
    assert_eq!(count.shape(1, 64).fault("barrier.sync 1, r0;", 0, 5), FaultKind::DifferentBarriers);
}

#[test]
fn a_barrier_of_the_warp_waits_for_its_members() {
    let within = "
        mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid; bar.warp.sync -1;
        xor.b32 r2, tid, 31; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r3, [r2]; st.global.u32 [cell], r3; ret;";
    assert_eq!(Kernel::new(within).declare(ROOM).shape(1, 96).words(96), each(96, |thread| thread ^ 31));
    // Each half of the warp synchronizes within its branch.
    let halves = "
        mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid;
        setp.lt.u32 p0, tid, 16; @p0 bra LOW; bar.warp.sync 0xffff0000; mov.u32 r4, 100; bra BOTH;
        LOW: bar.warp.sync 0xffff; mov.u32 r4, 0;
        BOTH: xor.b32 r2, tid, 15; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r3, [r2]; add.u32 r3, r3, r4;
        st.global.u32 [cell], r3; ret;";
    let expected = each(32, |thread| (thread ^ 15) + if thread < 16 { 0 } else { 100 });
    assert_eq!(Kernel::new(halves).declare(ROOM).words(32), expected);
}

#[test]
fn lanes_meet_at_different_barriers_of_the_warp() {
    let halves = "
        mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid;
        setp.lt.u32 p0, tid, 16; @p0 bra LOW; bar.warp.sync -1; mov.u32 r4, 100; bra BOTH;
        LOW: bar.warp.sync -1; mov.u32 r4, 0;
        BOTH: xor.b32 r2, tid, 31; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r3, [r2]; add.u32 r3, r3, r4;
        st.global.u32 [cell], r3; ret;";
    let expected = each(32, |thread| (thread ^ 31) + if thread < 16 { 0 } else { 100 });
    assert_eq!(Kernel::new(halves).declare(ROOM).words(32), expected);
    // One half has two barriers. The other has one within its branch and one after it.
    let nested = "
        mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; setp.lt.u32 p0, tid, 16; @p0 bra LOW;
        bar.warp.sync -1; st.shared.u32 [r1], tid; bar.warp.sync -1; bra BOTH;
        LOW: st.shared.u32 [r1], tid; bar.warp.sync -1; bar.warp.sync -1;
        BOTH: xor.b32 r2, tid, 31; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r3, [r2]; st.global.u32 [cell], r3; ret;";
    assert_eq!(Kernel::new(nested).declare(ROOM).words(32), each(32, |thread| thread ^ 31));
}

/// Like in Numba's own reduction: two lanes pass a barrier of all lanes, the others continue
/// without it and exit.
#[test]
fn a_barrier_of_the_warp_does_not_wait_for_lanes_that_exit() {
    let partial = |index: &str| {
        Kernel::new(format!(
            "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; setp.gt.u32 p0, tid, 1; @p0 bra DONE;\nst.shared.u32 [r1], tid;\n\
             bar.warp.sync -1;\nDONE: setp.ne.u32 p1, tid, {index}; mov.u32 r3, tid; @p1 bra END;\nld.shared.u32 r3, [room+4];\n\
             END: st.global.u32 [cell], r3; ret;"
        ))
        .declare(ROOM)
    };
    assert_eq!(partial("0").words(32), each(32, |lane| if lane == 0 { 1 } else { lane }));
    // The barrier does not order reads of a lane that did not pass it.
    let kind = partial("9").fault("ld.shared.u32 r3, [room+4];", 0, 9);
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
}

#[test]
fn a_barrier_of_the_warp_does_not_end_without_its_members() {
    let missing = Kernel::new(
        "setp.lt.u32 p0, tid, 4; @!p0 bra DONE;\nbar.warp.sync -1;\nDONE: add.u32 r0, r0, 1; bar.sync 0; ret;",
    );
    let kind = FaultKind::MissingLanes { expected: u32::MAX, missing: 0xffff_fff0 };
    assert_eq!(missing.fault("bar.warp.sync -1;", 0, 0), kind);
    let outside = Kernel::new("bar.warp.sync 0xfffffffb;\nret;");
    assert_eq!(outside.fault("bar.warp.sync 0xfffffffb;", 0, 2), FaultKind::NotAMember { members: 0xffff_fffb });
}

#[test]
fn every_form_of_fence_is_accepted_and_changes_no_value() {
    let fences = [
        "membar.cta;",
        "membar.gl;",
        "membar.sys;",
        "fence.acq_rel.cta;",
        "fence.acq_rel.gpu;",
        "fence.acq_rel.sys;",
        "fence.sc.cta;",
        "fence.sc.gpu;",
        "fence.sc.sys;",
        "fence.gpu;",
        "fence.sys;",
        "fence.cta;",
        "fence.gpu.acq_rel;",
        "fence.acq_rel.cluster;",
        "fence.proxy.alias;",
        "fence.proxy.async;",
        "fence.proxy.async.global;",
        "fence.proxy.async.shared::cta;",
        "fence.proxy.async.shared::cluster;",
    ];
    let kernel = Kernel::new(format!("mov.u32 r0, tid; {} st.global.u32 [cell], r0; ret;", fences.join(" ")));
    assert_eq!(kernel.words(32), each(32, |thread| thread));
    for unknown in ["membar;", "membar.warp;", "membar.gpu;", "fence.acq_rel;", "fence.gl;", "fence.proxy;"] {
        let error = Kernel::new(format!("{unknown} ret;")).load_error().to_string();
        assert!(error.contains(unknown.trim_end_matches(';')), "{error}");
    }
}

#[test]
fn threads_that_have_exited_are_counted_beside_two_barriers() {
    let kernel = Kernel::new(
        "setp.lt.u32 p0, tid, 40; @p0 ret; setp.lt.u32 p0, tid, 64; @p0 bra FIRST;\nbarrier.sync 0;\nret; FIRST: barrier.sync 0; ret;",
    );
    let error = kernel.shape(1, 96).launch_error();
    let FaultKind::BarrierDivergence { waiting, exited, other_place, .. } = &error.fault().unwrap().kind else {
        panic!("{error}")
    };
    assert_eq!((*waiting, *exited, other_place.is_some()), (32, 40, true), "{error}");
    let text = "barrier divergence: 32 of 96 threads wait at this barrier; 24 are at PTX line ";
    assert!(error.to_string().contains(text), "{error}");
    assert!(error.to_string().ends_with("; 40 have exited the kernel"), "{error}");
}
