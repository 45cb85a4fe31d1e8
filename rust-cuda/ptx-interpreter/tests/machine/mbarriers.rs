//! Mbarriers, and asynchronous stores to the blocks of a cluster.

use cuda_launch::MbarrierError;
use ptx_interpreter::{Fault, FaultKind, LoadError, RaceReason};

use crate::support::kernel::{Kernel, each};

const ROOM: &str = ".shared .align 16 .b8 room[4096];\n.shared .align 8 .b64 bars[2];\n";
/// r1 is the thread's place of 16 bytes in `room`, and r2 an mbarrier with one arrival. r10 is the
/// block's rank, r11 the number of blocks, and r12 the next block's rank. r13 and r14 are the same
/// places in that block. p0 holds in thread 0.
const BEGIN: &str = "
    mov.u32 r0, room; mad.lo.u32 r1, tid, 16, r0; mov.u32 r2, bars; setp.eq.u32 p0, tid, 0;
    mov.u32 r10, %cluster_ctarank; mov.u32 r11, %cluster_nctarank; add.u32 r12, r10, 1; rem.u32 r12, r12, r11;
    mapa.shared::cluster.u32 r13, r1, r12; mapa.shared::cluster.u32 r14, r2, r12;
    @p0 mbarrier.init.shared::cta.b64 [r2], 1; @p0 fence.mbarrier_init.release.cluster; BARRIER;
";
const BARRIER: &str = "barrier.cluster.arrive; barrier.cluster.wait;";
const SEND: &str =
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {tid, index, tid, index}, [r14];";

/// Instructions that wait for the phase with a parity, using a label with this name.
fn wait(name: &str, parity: &str) -> String {
    format!("{name}: mbarrier.try_wait.parity.shared::cta.b64 p1, [r2], {parity};\n@!p1 bra {name};")
}

fn kernel(body: &str, blocks: u32, threads: u32, cluster: u32) -> Kernel {
    let body = format!("{BEGIN}{body}").replace("BARRIER;", BARRIER).replace("SEND;", SEND);
    let bytes = format!("{}", 16 * threads);
    let body = ["WAIT0", "WAIT1", "WAIT2"]
        .iter()
        .fold(body.replace("BYTES", &bytes), |body, name| body.replace(&format!("{name}(0);"), &wait(name, "0")));
    let body =
        ["WAIT1", "WAIT2"].iter().fold(body, |body, name| body.replace(&format!("{name}(1);"), &wait(name, "1")));
    Kernel::new(body).declare(ROOM).shape(blocks, threads).clusters_of(cluster)
}

fn fault_of(kernel: &Kernel) -> Fault {
    let error = kernel.launch_error();
    error.fault().unwrap_or_else(|| panic!("{error}")).clone()
}

/// Sends the thread's index to the next block, and reads the value sent by the previous block.
const EXCHANGE: &str = "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; SEND; WAIT0(0);
    ld.shared.u32 r4, [r1+4]; st.global.u32 [cell], r4; BARRIER; ret;";

#[test]
fn blocks_send_to_each_other() {
    for (blocks, threads, cluster) in [(16, 64, 16), (6, 33, 3), (8, 1, 2), (3, 40, 1), (4, 256, 4)] {
        let neighbour = |index: u32| {
            let (block, thread) = (index / threads, index % threads);
            let rank = (block % cluster + cluster - 1) % cluster;
            (block / cluster * cluster + rank) * threads + thread
        };
        let kernel = kernel(EXCHANGE, blocks, threads, cluster);
        let (count, expected) = ((blocks * threads) as usize, each(blocks * threads, neighbour));
        assert_eq!(kernel.words(count), expected, "{blocks} blocks of {threads}");
        assert_eq!(kernel.without_race_checks().words(count), expected, "{blocks} blocks of {threads}");
    }
}

#[test]
fn every_size_is_stored_and_counted() {
    for (form, values, bytes) in [
        ("b32", "index", 4),
        ("u64", "d0", 8),
        ("f32", "index", 4),
        ("v2.s32", "{index, tid}", 8),
        ("v2.b64", "{d0, d0}", 16),
        ("v4.u32", "{index, tid, tid, tid}", 16),
    ] {
        let form = format!("st.async.shared::cluster.mbarrier::complete_tx::bytes.{form} [r13], {values}, [r14];");
        let body = EXCHANGE.replace("SEND;", &format!("cvt.u64.u32 d0, index; {form}"));
        let body = body.replace("BYTES", &format!("{}", 32 * bytes)).replace("[r1+4]", "[r1]");
        assert_eq!(kernel(&body, 2, 32, 2).words(64), each(64, |index| (index + 32) % 64), "{form}");
    }
}

#[test]
fn phases_alternate() {
    // Each round reads the received value before sending: the other block's next store waits for
    // its own phase, which this one completes.
    let body = "mov.u32 r5, index; mov.u32 r6, 0;
        ROUND: @p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [r2], BYTES; and.b32 r7, r6, 1; BARRIER;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {r5, r5, r5, r5}, [r14];
        POLL: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p1, [r2], r7; @!p1 bra POLL;
        ld.shared.u32 r5, [r1]; add.u32 r5, r5, 1; add.u32 r6, r6, 1; setp.lt.u32 p2, r6, 5; @p2 bra ROUND;
        st.global.u32 [cell], r5; BARRIER; ret;";
    for (blocks, threads) in [(2, 32), (4, 50), (16, 1)] {
        let count = blocks * threads;
        let expected = each(count, |index| (index + count - 5 * threads % count) % count + 5);
        assert_eq!(kernel(body, blocks, threads, blocks).words(count as usize), expected, "{blocks} × {threads}");
    }
}

#[test]
fn what_has_not_been_waited_for_is_a_race() {
    let in_flight = Some(RaceReason::InFlight);
    let own = SEND.replace("r13", "r15").replace("r14", "r16");
    let own = format!("mapa.shared::cluster.u32 r15, r1, r10; mapa.shared::cluster.u32 r16, r2, r10; {own}");
    for (body, reason) in [
        // Reads the value that it sends to itself.
        (format!("{own} ld.shared.u32 r4, [r1]; BARRIER; ret;"), in_flight),
        // The phase completes with half of the bytes.
        (EXCHANGE.replace("BYTES", "256"), None),
        // Only thread 0 waits.
        (EXCHANGE.replace("WAIT0(0);", "@!p0 bra ON; WAIT0(0); ON:"), None),
        // Another block sends again while this one reads.
        (
            EXCHANGE.replace(
                "BARRIER; ret;",
                &format!(
                    "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; {} WAIT1(1); BARRIER; ret;",
                    SEND.replace("{tid, index, tid, index}", "{r11, r11, r11, r11}"),
                ),
            ),
            None,
        ),
        // Sends to itself, and reads the value when the phase is complete, but without waiting for
        // it.
        (format!("@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; {own} ld.shared.u32 r4, [r1]; BARRIER; ret;"), None),
        // Sends to itself twice.
        (
            format!(
                "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; {own} @p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES;
                {} BARRIER; ret;",
                own.replace("{tid, index, tid, index}", "{r11, r11, r11, r11}")
            ),
            None,
        ),
        // The wait is for the previous phase.
        (format!("st.shared.u32 [r1+4], tid; BARRIER; {}", EXCHANGE.replace("WAIT0(0);", "WAIT1(1);")), None),
        // Two threads store to the same place.
        (EXCHANGE.replace("SEND;", "sub.u32 r13, r13, r1; add.u32 r13, r13, r0; SEND;"), None),
        // The mbarrier is initialized without a cluster barrier before its use.
        (format!("@p0 mbarrier.init.shared::cta.b64 [r2], 1; {EXCHANGE}"), None),
    ] {
        let fault = fault_of(&kernel(&body, 2, 32, 2).with_same_value_faults());
        let FaultKind::Race { reason: found, .. } = fault.kind else { panic!("{body}\n{fault}") };
        assert!(reason.is_none() || found == reason, "{body}\n{fault}");
    }
}

/// Two blocks send to each other alternately, without a barrier. The first sends again when it has
/// the answer, which the second sends after reading the received value.
const IN_TURN: &str = "mov.u32 r5, tid; mov.u32 r6, 0; setp.eq.u32 p3, r10, 1; @p3 bra.uni SECOND;
    FIRST: @p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; and.b32 r7, r6, 1;
    ASK: st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {r5, r5, r5, r5}, [r14];
    POLL1: mbarrier.try_wait.parity.shared.b64 p1, [r2], r7; @!p1 bra POLL1;
    ld.shared.u32 r5, [r1]; add.u32 r6, r6, 1; setp.lt.u32 p2, r6, 4; @p2 bra FIRST;
    bra.uni END;
    SECOND: @p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; and.b32 r7, r6, 1;
    POLL2: mbarrier.try_wait.parity.shared.b64 p1, [r2], r7; @!p1 bra POLL2;
    READ: ld.shared.u32 r5, [r1]; add.u32 r5, r5, 1;
    ANSWER: st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {r5, r5, r5, r5}, [r14];
    add.u32 r6, r6, 1; setp.lt.u32 p2, r6, 4; @p2 bra SECOND;
    END: st.global.u32 [cell], r5; BARRIER; ret;";

#[test]
fn what_a_thread_has_read_before_it_sends_is_ordered() {
    for threads in [1, 32, 70] {
        let count = 2 * threads;
        assert_eq!(kernel(IN_TURN, 2, threads, 2).words(count as usize), each(count, |index| index % threads + 4));
    }
    // Reads after it has answered.
    let answer = "ANSWER: st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {r5, r5, r5, r5}, [r14];";
    let late = IN_TURN.replace(answer, "").replace("READ:", &format!("add.u32 r5, r5, 1; {answer}"));
    let fault = fault_of(&kernel(&late, 2, 32, 2));
    assert!(matches!(fault.kind, FaultKind::Race { reason: None, .. }), "{fault}");
}

#[test]
fn what_a_thread_has_written_before_it_sends_is_not_ordered() {
    let count = 128;
    // Values written by the block's other threads, or by the previous block through its cluster
    // address.
    let written = "st.shared.u32 [r1+1024], index; xor.b32 r8, r1, 32;";
    let remote = "add.u32 r8, r13, 1024; st.shared::cluster.u32 [r8], tid; mov.u32 r8, r1;";
    for (writes, barrier, expected) in [
        (written, "bar.sync 0;", each(count, |index| index ^ 2)),
        (written, "BARRIER;", each(count, |index| index ^ 2)),
        (remote, "BARRIER;", each(count, |index| index % 64)),
    ] {
        let body = EXCHANGE.replace("SEND;", &format!("{writes} SEND;"));
        let body = body.replace("ld.shared.u32 r4, [r1+4];", &format!("{barrier} ld.shared.u32 r4, [r8+1024];"));
        assert_eq!(kernel(&body, 2, 64, 2).words(count as usize), expected, "{body}");
        let fault = fault_of(&kernel(&body.replacen(&format!("{barrier} ld"), "ld", 1), 2, 64, 2));
        assert!(matches!(fault.kind, FaultKind::Race { reason: None, .. }), "{body}\n{fault}");
    }
}

#[test]
fn what_a_thread_has_waited_for_is_ordered_by_what_it_sends() {
    // Each block sends to the next one once it has the previous block's value. The last block reads
    // all of them at their destinations.
    let body = "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; mov.u32 r5, tid; setp.eq.u32 p3, r10, 0; @p3 bra.uni SENT;
        WAIT0(0); ld.shared.u32 r5, [r1]; add.u32 r5, r5, 1; WRITES;
        SENT: setp.eq.u32 p3, r12, 0; @p3 bra.uni LAST;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {r5, r5, r5, r5}, [r14]; bra.uni END;
        LAST: mapa.shared::cluster.u32 r15, r1, 1; ld.shared::cluster.u32 r6, [r15]; mad.lo.u32 r5, r6, 100, r5;
        END: st.global.u32 [cell], r5; BARRIER; ret;";
    let expected = |index: u32| index % 32 * if index / 32 == 3 { 101 } else { 1 } + index / 32;
    assert_eq!(kernel(&body.replace("WRITES;", ""), 4, 32, 4).words(128), each(128, expected));
    // The second block's own write there is not ordered with the last block's read.
    let fault = fault_of(&kernel(&body.replace("WRITES;", "st.shared.u32 [r1], r5;"), 4, 32, 4));
    assert!(matches!(fault.kind, FaultKind::Race { reason: None, .. }), "{fault}");
}

#[test]
fn a_phase_that_is_never_complete_is_named() {
    for (bytes, arrivals, missing) in [("528", 0, 16), ("496", 0, -16)] {
        let body = EXCHANGE.replace("BYTES", bytes);
        let kernel = kernel(&body, 2, 32, 2);
        let fault = fault_of(&kernel.clone().without_race_checks());
        let FaultKind::PhaseNeverEnds { arrivals: found, bytes, ref memory, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_eq!((found, bytes, &*memory.name), (arrivals, missing, "bars"), "{fault}");
    }
    let body = EXCHANGE.replace("@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES;", "");
    let fault = fault_of(&kernel(&body, 2, 32, 2));
    assert!(matches!(fault.kind, FaultKind::PhaseNeverEnds { arrivals: 1, bytes: -512, .. }), "{fault}");
    assert!(fault.to_string().contains("which still expects 1 arrival and -512 bytes"), "{fault}");
    // The phase after the last one.
    let body = EXCHANGE.replace("BARRIER; ret;", "WAIT1(1); BARRIER; ret;");
    let fault = fault_of(&kernel(&body, 2, 32, 2));
    assert!(matches!(fault.kind, FaultKind::PhaseNeverEnds { arrivals: 1, bytes: 0, .. }), "{fault}");
}

/// Initializes an mbarrier for all threads of the block.
const OF_ALL: &str = "mov.u32 r5, %ntid.x; @p0 mbarrier.init.shared.b64 [r2+8], r5; bar.sync 0;";

/// Instructions that wait for the phase of the state in d0.
fn wait_for_state(name: &str) -> String {
    format!("{name}: mbarrier.test_wait.shared.b64 p1, [r2+8], d0; @!p1 bra {name};")
}

/// A kernel of one block, with an mbarrier of all its threads at [r2+8]. r3 is the previous
/// thread's place.
fn block_kernel(body: &str, threads: u32) -> Kernel {
    let last = threads - 1;
    let begin = format!("{OF_ALL} sub.u32 r3, r1, 16; @p0 mad.lo.u32 r3, {last}, 16, r0;");
    let body = ["STATE1", "STATE2", "STATE3"]
        .iter()
        .fold(body.to_owned(), |body, name| body.replace(&format!("{name};"), &wait_for_state(name)));
    kernel(&format!("{begin} {body}"), 1, threads, 1)
}

/// Each thread reads the value stored by the previous thread, twice.
const ROUNDS: &str =
    "st.shared.u32 [r1], tid; mbarrier.arrive.shared::cta.b64 d0, [r2+8]; STATE1; ld.shared.u32 r4, [r3];
    mbarrier.arrive.release.cta.shared.b64 d0, [r2+8], 1; STATE2; add.u32 r4, r4, 1; st.shared.u32 [r1], r4;
    mbarrier.arrive_drop.shared.b64 d0, [r2+8]; STATE3; ld.shared.u32 r4, [r3]; st.global.u32 [cell], r4; ret;";

#[test]
fn threads_wait_for_the_phase_of_their_arrival() {
    for threads in [1, 2, 31, 32, 33, 200] {
        let expected = each(threads, |index| (index + 2 * threads - 2 % threads) % threads + 1);
        let count = threads as usize;
        assert_eq!(block_kernel(ROUNDS, threads).words(count), expected, "{threads} threads");
        assert_eq!(block_kernel(ROUNDS, threads).without_race_checks().words(count), expected, "{threads} threads");
        // The maximum suspension time is a hint. Also uses the other form of the same wait.
        let body = ROUNDS
            .replace("STATE2;", "ON: mbarrier.try_wait.acquire.cta.shared.b64 p1, [r2+8], d0, 1000; @!p1 bra ON;");
        assert_eq!(block_kernel(&body, threads).words(count), expected, "{threads} threads");
        let body = ROUNDS.replace("STATE2;", "ON: mbarrier.test_wait.parity.shared.b64 p1, [r2+8], 1; @!p1 bra ON;");
        assert_eq!(block_kernel(&body, threads).words(count), expected, "{threads} threads");
        // One thread of the block arrives for all.
        let body = ROUNDS.replacen("mbarrier.arrive.shared::cta.b64 d0, [r2+8]; STATE1;", "bar.sync 0;
            @p0 mbarrier.arrive.shared.b64 d0, [r2+8], r5; ON: mbarrier.test_wait.parity.shared.b64 p1, [r2+8], 0; @!p1 bra ON;", 1);
        assert_eq!(block_kernel(&body, threads).words(count), expected, "{threads} threads");
    }
}

#[test]
fn what_the_phase_of_a_state_does_not_order_is_a_race() {
    for (from, to) in
        [("STATE1;", ""), ("STATE2;", ""), ("STATE3;", ""), ("d0, [r2+8]; STATE1;", "d1, [r2+8]; @p0 bra ON; ON:")]
    {
        let body = ROUNDS.replacen(from, to, 1);
        assert_ne!(body, ROUNDS);
        let body = format!("st.shared.u32 [r1], tid; bar.sync 0; {body}");
        let fault = fault_of(&block_kernel(&body, 64));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{body}\n{fault}");
    }
    // The mbarrier is invalidated while others wait for it.
    let body = ROUNDS.replace("STATE1;", "STATE1; @p0 mbarrier.inval.shared.b64 [r2+8];");
    let fault = fault_of(&block_kernel(&body, 64));
    assert!(matches!(fault.kind, FaultKind::Mbarrier { error: MbarrierError::NotInitialised, .. }), "{fault}");
}

/// Each thread copies its cell's value, and reads the previous thread's copy.
const COPY: &str =
    "st.global.u32 [cell], tid; cp.async.ca.shared.global [r1], [cell], 4; cp.async.mbarrier.arrive.shared.b64 [r2+8];
    mbarrier.arrive.shared.b64 d0, [r2+8]; STATE1; ld.shared.u32 r4, [r3]; st.global.u32 [cell], r4; ret;";

#[test]
fn copies_arrive_at_mbarriers() {
    for threads in [1, 7, 32, 65] {
        let expected = each(threads, |index| (index + threads - 1) % threads);
        let count = threads as usize;
        assert_eq!(block_kernel(COPY, threads).words(count), expected, "{threads} threads");
        // The phase expects only the copies' arrivals.
        let body = COPY.replace(
            "arrive.shared.b64 [r2+8];\n    mbarrier.arrive.shared.b64 d0, [r2+8]; STATE1;",
            "arrive.noinc.shared::cta.b64 [r2+8]; ON: mbarrier.try_wait.parity.shared.b64 p1, [r2+8], 0; @!p1 bra ON;",
        );
        assert_ne!(body, COPY);
        assert_eq!(block_kernel(&body, threads).words(count), expected, "{threads} threads");
    }
    // A barrier of the block does not wait for the copies, and neither does the thread that began
    // them.
    for (wait, reason) in [("bar.sync 0;", RaceReason::InFlight), ("sub.u32 r3, r1, 0;", RaceReason::InFlight)] {
        let body = COPY.replace("STATE1;", wait).replace("mbarrier.arrive.shared.b64 d0, [r2+8];", "");
        let fault = fault_of(&block_kernel(&body, 64));
        assert!(matches!(fault.kind, FaultKind::Race { reason: Some(found), .. } if found == reason), "{fault}");
    }
}

/// Thread 0 copies the block's part of the input, 16 bytes per thread, to the block's own shared
/// memory. All threads read it in another order. Then thread 0 copies the values that they wrote
/// there to the output.
const BULK: &str =
    "mov.u32 r20, %ntid.x; shl.b32 r21, r20, 4; mov.u32 r22, %ctaid.x; mul.lo.u32 r22, r22, r21; cvt.u64.u32 d1, r22;
    add.u64 d2, input, d1; add.u64 d3, output, d1; @!p0 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 _, [r2], r21;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [d2], r21, [r2];
    WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r2], 0; @!p1 bra WAIT;
    ld.shared.v4.u32 {r4, r5, r6, r7}, [r3]; bar.sync 0; st.shared.v4.u32 [r1], {r4, r5, r6, r7};
    fence.proxy.async.shared::cta; bar.sync 0; @!p0 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [d3], [r0], r21; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    END: ret;";

fn bulk_kernel(body: &str, blocks: u32, threads: u32) -> Kernel {
    let begin = format!("sub.u32 r3, r1, 16; @p0 mad.lo.u32 r3, {}, 16, r0;", threads - 1);
    let words: Vec<u32> = (0..4 * blocks * threads).collect();
    let output_bytes = 4 * words.len();
    kernel(&format!("{begin} {body}"), blocks, threads, 1).input(&words).output_bytes(output_bytes)
}

#[test]
fn bulk_copies_are_waited_for() {
    for (blocks, threads) in [(1, 1), (3, 33), (2, 256)] {
        let expected = each(4 * blocks * threads, |word| {
            let (block, cell, part) = (word / 4 / threads, word / 4 % threads, word % 4);
            4 * (block * threads + (cell + threads - 1) % threads) + part
        });
        let count = expected.len();
        assert_eq!(bulk_kernel(BULK, blocks, threads).words(count), expected, "{blocks} blocks of {threads}");
        // The block's own shared memory under its other name; a cache hint; a wait only for reads.
        let body = BULK
            .replace("cp.async.bulk.shared::cluster.global", "cp.async.bulk.shared::cta.global")
            .replace(
                "complete_tx::bytes [r0], [d2], r21, [r2];",
                "complete_tx::bytes.L2::cache_hint [r0], [d2], r21, [r2], d4;",
            )
            .replace("wait_group 0;", "wait_group.read 0;");
        assert_eq!(bulk_kernel(&body, blocks, threads).words(count), expected, "{blocks} blocks of {threads}");
    }
}

#[test]
fn wrong_bulk_copies_are_faults() {
    let kind = |from: &str, to: &str| {
        assert!(BULK.contains(from));
        fault_of(&bulk_kernel(&BULK.replace(from, to), 1, 64)).kind
    };
    let is_in_flight = |kind: FaultKind| match kind {
        FaultKind::Race { reason, .. } => reason == Some(RaceReason::InFlight),
        kind => panic!("{kind}"),
    };
    // No thread waits for the copy.
    let wait = "mbarrier.try_wait.parity.shared.b64 p1, [r2], 0; @!p1 bra WAIT;";
    assert!(matches!(kind(wait, ""), FaultKind::Race { .. }));
    // Its source is overwritten, or its target is read.
    let end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    assert!(is_in_flight(kind(end, "st.shared.u32 [r0], 1;")));
    assert!(is_in_flight(kind(
        end,
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ld.global.u32 r4, [d3];"
    )));
    assert!(is_in_flight(kind(end, "cp.async.bulk.commit_group; cp.async.bulk.wait_group 1; st.shared.u32 [r0], 1;")));
    assert!(matches!(
        kind("expect_tx.shared.b64 _, [r2], r21", "expect_tx.shared.b64 _, [r2], 2048"),
        FaultKind::PhaseNeverEnds { bytes: 1024, .. }
    ));
    assert!(matches!(kind("[r0], [d2], r21", "[r0], [d2], 24"), FaultKind::BulkSize { bytes: 24 }));
    assert!(matches!(kind("[r0], [d2], r21", "[r0+8], [d2], r21"), FaultKind::Access { .. }));
    assert!(matches!(kind("[r0], [d2], r21", "[r0], [d2+16], r21"), FaultKind::Access { .. }));
}

#[test]
fn threads_arrive_at_the_mbarrier_of_another_block() {
    let body = "@p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [r2], 0; st.global.u32 [cell], tid; BARRIER;
        @p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r14];
        ON: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p1, [r2], 0; @!p1 bra ON; BARRIER; ret;";
    assert_eq!(kernel(body, 2, 32, 2).words(64), each(64, |index| index % 32));
    // No thread arrives at the first block's mbarrier.
    let fault = fault_of(&kernel(
        &body.replace("[r14]", "[r15]").replace("BARRIER;\n", "BARRIER; mapa.shared::cluster.u32 r15, r2, 1;\n"),
        2,
        32,
        2,
    ));
    assert!(matches!(fault.kind, FaultKind::Mbarrier { .. } | FaultKind::PhaseNeverEnds { .. }), "{fault}");
}

#[test]
fn a_wait_that_reads_a_clock_is_found() {
    // Waits like libcu++, for a barrier with one more thread than the block has.
    let body =
        "add.u32 r5, r5, 1; @p0 mbarrier.init.shared.b64 [r2+8], r5; bar.sync 0; mbarrier.arrive.shared.b64 d0, [r2+8];
        mov.u64 d3, %globaltimer; POLL: mbarrier.try_wait.shared.b64 p1, [r2+8], d0; @p1 bra END;
        mov.u64 d2, %globaltimer; sub.u64 d2, d2, d3; cvt.u32.u64 r6, d2; nanosleep.u32 r6; bra POLL; END: ret;";
    let fault = fault_of(&block_kernel(body, 64).at_most_without_progress(1 << 26));
    assert!(matches!(fault.kind, FaultKind::PhaseNeverEnds { arrivals: 1, bytes: 0, .. }), "{fault}");
    // A thread with a long computation before its arrival keeps the others waiting.
    let long =
        "mov.u32 r6, 0; @!p0 bra ARRIVE; LOOP: add.u32 r6, r6, 1; setp.lt.u32 p2, r6, 50000; @p2 bra LOOP; ARRIVE: ";
    let body = format!(
        "{long} {}",
        body.replace("add.u32 r5, r5, 1; @p0 mbarrier.init.shared.b64 [r2+8], r5; bar.sync 0;", "")
    );
    assert!(block_kernel(&body, 64).at_most_without_progress(1 << 26).error().is_none());
}

#[test]
fn wrong_uses_are_faults() {
    let kind = |body: &str| fault_of(&kernel(body, 2, 32, 2)).kind;
    let error = |body: &str| match kind(body) {
        FaultKind::Mbarrier { error, .. } => error,
        kind => panic!("{kind}"),
    };
    assert_eq!(error("@p0 mbarrier.init.shared.b64 [r2+8], 0; ret;"), MbarrierError::Arrivals(0));
    let overwritten = "@p0 st.shared.u64 [r2+8], 5; @p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2+8], 4; ret;";
    assert_eq!(error(overwritten), MbarrierError::NotInitialised);
    let twice = "mbarrier.arrive.expect_tx.shared.b64 _, [r2], 4; ret;";
    assert_eq!(error(twice), MbarrierError::TooManyArrivals { arrivals: 1, pending: 0, expected: 1, bytes: 4 });
    let bytes = "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], 1048576; ret;";
    assert_eq!(error(bytes), MbarrierError::Bytes(1 << 20));
    let invalid = "@p0 mbarrier.inval.shared.b64 [r2]; @p0 mbarrier.arrive.shared.b64 _, [r2]; ret;";
    assert_eq!(error(invalid), MbarrierError::NotInitialised);
    assert_eq!(error("mov.u64 d0, 1; mbarrier.test_wait.shared.b64 p1, [r2], d0; ret;"), MbarrierError::State);
    let many = "@p0 mbarrier.arrive.shared.b64 _, [r2], 5; ret;";
    assert_eq!(error(many), MbarrierError::TooManyArrivals { arrivals: 5, pending: 1, expected: 1, bytes: 0 });
    // The second mbarrier was never written; the data and the mbarrier are in different blocks; a
    // misaligned mbarrier.
    let poll = "mbarrier.try_wait.parity.shared.b64 p1, [r2+8], 0; ret;";
    assert!(matches!(kind(poll), FaultKind::Access { .. }));
    let apart = format!("{} ret;", SEND.replace("[r14]", "[r2]"));
    assert_eq!(kind(&apart), FaultKind::StoreAsyncBlocks);
    assert!(matches!(kind("@p0 mbarrier.init.shared.b64 [r2+4], 1; ret;"), FaultKind::Access { .. }));
    // A block that has not started or has ended.
    let body = format!("{} ret;", BEGIN.replace("BARRIER;", SEND));
    let early = Kernel::new(body).declare(ROOM).shape(2, 32).clusters_of(2);
    assert!(matches!(fault_of(&early).kind, FaultKind::BlockNotStarted { .. }));
}

#[test]
fn other_forms_are_rejected() {
    for text in [
        "mbarrier.arrive.shared.b64 r3, [r2];",
        "mbarrier.arrive.shared::cluster.b64 d0, [r2];",
        "mbarrier.arrive.expect_tx.shared.b64 d0, [r2];",
        "mbarrier.arrive.expect_tx.b64 _, [r2], 4;",
        "mbarrier.try_wait.shared.b64 p1, [r2], r3;",
        "mbarrier.try_wait.shared::cluster.b64 p1, [r2], d0;",
        "mbarrier.test_wait.shared.b64 p1, [r2], d0, 100;",
        "mbarrier.try_wait.parity.cluster.shared.b64 p1, [r2], 0;",
        "mbarrier.inval.shared::cluster.b64 [r2];",
        "cp.async.mbarrier.arrive.b64 [r2];",
        "cp.async.bulk.global.shared::cluster.bulk_group [d0], [r0], 16;",
        "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [d0], [r0], 16, [r2];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [d0], 16;",
        "st.async.shared::cluster.b32 [r13], tid, [r14];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [r13], {d0, d0, d0, d0}, [r14];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [r13], h0, [r14];",
        "fence.mbarrier_init.acquire.cluster;",
    ] {
        let error = kernel(text, 2, 32, 2).load_error();
        assert!(matches!(error, LoadError::Statement { .. }), "{text}: {error}");
    }
}
