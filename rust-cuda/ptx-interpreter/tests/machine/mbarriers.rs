//! Mbarriers, and asynchronous stores to the blocks of a cluster.

use cuda_launch::MbarrierError;
use ptx_interpreter::{Fault, FaultKind, LoadError, RaceReason};

use crate::support::kernel::{Kernel, each};

const ROOM: &str = ".shared .align 16 .b8 room[4096];\n.shared .align 8 .b64 bars[2];\n";
/// r1 is the thread's place in `room`, of 16 bytes, r2 an mbarrier of one arrival; r10 the block's rank, r11 the number of blocks, r12
/// the next block's rank, and r13 and r14 the same places there. p0 holds in thread 0.
const BEGIN: &str = "
    mov.u32 r0, room; mad.lo.u32 r1, tid, 16, r0; mov.u32 r2, bars; setp.eq.u32 p0, tid, 0;
    mov.u32 r10, %cluster_ctarank; mov.u32 r11, %cluster_nctarank; add.u32 r12, r10, 1; rem.u32 r12, r12, r11;
    mapa.shared::cluster.u32 r13, r1, r12; mapa.shared::cluster.u32 r14, r2, r12;
    @p0 mbarrier.init.shared::cta.b64 [r2], 1; @p0 fence.mbarrier_init.release.cluster; BARRIER;
";
const BARRIER: &str = "barrier.cluster.arrive; barrier.cluster.wait;";
const SEND: &str =
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r13], {tid, index, tid, index}, [r14];";

/// Instructions that wait for the phase with a parity, with a label of this name.
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

/// Sends the thread's index to the next block, and reads what the block before has sent.
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
    // Each round reads what has come before it sends on: the other block's next store waits for its own phase, which this one completes.
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
        // It reads what it sends to itself.
        (format!("{own} ld.shared.u32 r4, [r1]; BARRIER; ret;"), in_flight),
        // The phase is complete with half of the bytes.
        (EXCHANGE.replace("BYTES", "256"), None),
        // Thread 0 alone waits.
        (EXCHANGE.replace("WAIT0(0);", "@!p0 bra ON; WAIT0(0); ON:"), None),
        // Another block sends again while this one reads.
        (
            EXCHANGE.replace(
                "BARRIER; ret;",
                "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], BYTES; SEND; WAIT1(1); BARRIER; ret;",
            ),
            None,
        ),
        // The wait is for the phase before.
        (format!("st.shared.u32 [r1+4], tid; BARRIER; {}", EXCHANGE.replace("WAIT0(0);", "WAIT1(1);")), None),
        // Two threads store to one place.
        (EXCHANGE.replace("SEND;", "sub.u32 r13, r13, r1; add.u32 r13, r13, r0; SEND;"), None),
        // The mbarrier is initialised without a barrier of the cluster before its use.
        (format!("@p0 mbarrier.init.shared::cta.b64 [r2], 1; {EXCHANGE}"), None),
    ] {
        let fault = fault_of(&kernel(&body, 2, 32, 2).with_same_value_faults());
        let FaultKind::Race { reason: found, .. } = fault.kind else { panic!("{body}\n{fault}") };
        assert!(reason.is_none() || found == reason, "{body}\n{fault}");
    }
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
    // The phase after the last.
    let body = EXCHANGE.replace("BARRIER; ret;", "WAIT1(1); BARRIER; ret;");
    let fault = fault_of(&kernel(&body, 2, 32, 2));
    assert!(matches!(fault.kind, FaultKind::PhaseNeverEnds { arrivals: 1, bytes: 0, .. }), "{fault}");
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
    assert_eq!(error(twice), MbarrierError::TooManyArrivals { expected: 1, bytes: 4 });
    let bytes = "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [r2], 1048576; ret;";
    assert_eq!(error(bytes), MbarrierError::Bytes(1 << 20));
    // Nothing has written the second mbarrier; the data and the mbarrier are in different blocks; a misaligned mbarrier.
    let poll = "mbarrier.try_wait.parity.shared.b64 p1, [r2+8], 0; ret;";
    assert!(matches!(kind(poll), FaultKind::Access { .. }));
    let apart = format!("{} ret;", SEND.replace("[r14]", "[r2]"));
    assert_eq!(kind(&apart), FaultKind::StoreAsyncBlocks);
    assert!(matches!(kind("@p0 mbarrier.init.shared.b64 [r2+4], 1; ret;"), FaultKind::Access { .. }));
    // A block that has not started, or has ended.
    let body = format!("{} ret;", BEGIN.replace("BARRIER;", SEND));
    let early = Kernel::new(body).declare(ROOM).shape(2, 32).clusters_of(2);
    assert!(matches!(fault_of(&early).kind, FaultKind::BlockNotStarted { .. }));
}

#[test]
fn other_forms_are_rejected() {
    for text in [
        "mbarrier.arrive.shared.b64 d0, [r2];",
        "mbarrier.arrive.expect_tx.shared.b64 d0, [r2], 4;",
        "mbarrier.arrive.expect_tx.b64 _, [r2], 4;",
        "mbarrier.try_wait.shared.b64 p1, [r2], d0;",
        "mbarrier.try_wait.parity.cluster.shared.b64 p1, [r2], 0;",
        "mbarrier.inval.shared.b64 [r2];",
        "st.async.shared::cluster.b32 [r13], tid, [r14];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [r13], {d0, d0, d0, d0}, [r14];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [r13], h0, [r14];",
        "fence.mbarrier_init.acquire.cluster;",
    ] {
        let error = kernel(text, 2, 32, 2).load_error();
        assert!(matches!(error, LoadError::Statement { .. }), "{text}: {error}");
    }
}
