//! Snapshots of observed launches: from each snapshot, the rest of the launch executes as it did
//! without it.

use std::cell::RefCell;
use std::ops::ControlFlow;

use ptx_interpreter::{FaultKind, Observer, Snapshot};

use crate::observer::{PLACE, ROOM, go_on, kernels, trace};
use crate::support::kernel::Kernel;

/// Like `kernels`, plus some with other kinds of block state: many warps at barriers, copies in
/// flight, local memory, diverged lanes that wait for each other, and the grid's workspace.
fn launches() -> Vec<Kernel> {
    let barriers = "mov.u32 r2, 0; mov.u32 r6, room;
        LOOP: shl.b32 r3, tid, 2; add.u32 r4, r6, r3; st.shared.u32 [r4], r2; bar.sync 0;
        xor.b32 r5, tid, 33; shl.b32 r5, r5, 2; add.u32 r5, r6, r5; ld.shared.u32 r7, [r5]; bar.sync 0;
        add.u32 r2, r7, 1; setp.lt.u32 p0, r2, 3; @p0 bra LOOP; st.global.u32 [cell], r2; ret;";
    let copies = format!(
        "{PLACE} mul.wide.u32 d1, tid, 4; add.u64 d1, input, d1; cp.async.ca.shared.global [r1], [d1], 4;
        cp.async.commit_group; mov.u32 r2, 7; add.u32 r2, r2, tid; cp.async.wait_all; bar.sync 0;
        ld.shared.u32 r3, [r1]; add.u32 r3, r3, r2; st.global.u32 [cell], r3; ret;"
    );
    let local = ".local .align 8 .b8 own[16]; mov.u32 r1, own; st.local.u32 [r1+4], tid; ld.local.u64 d1, [r1];
        st.local.u64 [r1+8], d1; ld.local.u32 r2, [r1+12];
        setp.lt.u32 p0, tid, 9; @p0 bra LOW; add.u32 r2, r2, 5; bra MEET; LOW: mul.lo.u32 r2, r2, 3;
        MEET: shfl.sync.bfly.b32 r3, r2, 1, 31, -1; st.global.u32 [cell], r3; ret;";
    let workspace = "mov.u32 r0, %envreg1; mov.u32 r1, %envreg2; mov.b64 d1, {r1, r0};
        atom.add.acq_rel.gpu.u32 r2, [d1+4], 1; SPIN: ld.acquire.gpu.u32 r3, [d1+4]; setp.lt.u32 p0, r3, 96;
        @p0 bra SPIN; st.global.u32 [cell], r3; ret;";
    let words: Vec<u32> = (0..64).collect();
    let more = [
        Kernel::new(barriers).declare(".shared .align 4 .b8 room[4352];\n").shape(1, 1024),
        Kernel::new(copies).declare(ROOM).shape(2, 32).input(&words),
        Kernel::new(local).shape(7, 70),
        Kernel::new(workspace).shape(3, 32).cooperative(),
    ];
    kernels().into_iter().chain(more).collect()
}

/// Snapshots of a launch before every `interval`th instruction, each with its index. With `after`,
/// snapshots of the rest of the launch.
fn snapshots(kernel: &Kernel, after: Option<&Snapshot>, interval: usize) -> Vec<(usize, Snapshot)> {
    let taken = RefCell::new(Vec::new());
    let mut next = 0..;
    let stops = |_| next.next().is_some_and(|index: usize| index.is_multiple_of(interval));
    let mut trace = trace(stops, |_, block| {
        taken.borrow_mut().push(block.snapshot().unwrap());
        ControlFlow::Continue(())
    });
    _ = match after {
        None => kernel.observe(&mut trace).0,
        Some(snapshot) => kernel.resume(snapshot, &mut trace).0,
    };
    drop(trace);
    (0..).step_by(interval).zip(taken.into_inner()).collect()
}

#[test]
fn the_rest_of_a_launch_is_the_same() {
    for kernel in launches() {
        let mut unbroken = trace(|_| false, go_on);
        let (result, bytes) = kernel.observe(&mut unbroken);
        assert!(result.unwrap());
        let interval = unbroken.steps.len() / 25 + 1;
        let rest_is_the_same = |step: usize, snapshot: &Snapshot| {
            let mut rest = trace(|_| false, go_on);
            let (result, rest_bytes) = kernel.resume(snapshot, &mut rest);
            assert!(result.unwrap());
            assert!(rest.steps == unbroken.steps[step..], "from step {step}");
            let accesses = unbroken.accesses.len() - rest.accesses.len();
            assert!(rest.accesses == unbroken.accesses[accesses..], "from step {step}");
            assert!(rest_bytes == bytes, "from step {step}");
        };
        let all = snapshots(&kernel, None, interval);
        assert!(all.len() >= unbroken.steps.len() / interval, "{}", all.len());
        for (step, snapshot) in &all {
            rest_is_the_same(*step, snapshot);
        }
        // A snapshot of a resumed launch works equally well.
        let (middle, snapshot) = &all[all.len() / 2];
        for (step, snapshot) in snapshots(&kernel, Some(snapshot), 3 * interval) {
            rest_is_the_same(middle + step, &snapshot);
        }
    }
}

/// All faults except races: a resumed launch does not check them.
#[test]
fn faults_come_again_except_races() {
    let deadlock = "setp.lt.u32 p0, tid, 32; @p0 bar.sync 0; ret;";
    let endless = "AGAIN: add.u32 r1, r1, 1; bra AGAIN; ret;";
    let race = format!("{PLACE} shr.u32 r2, tid, 5; st.shared.u32 [r0], r2; ret;");
    let kernels = [
        (Kernel::new(deadlock).shape(3, 64), false),
        (Kernel::new(endless).shape(1, 64).at_most(20_000), false),
        (Kernel::new(race).declare(ROOM).shape(1, 64), true),
    ];
    for (kernel, is_race) in kernels {
        let fault = kernel.observe(&mut trace(|_| false, go_on)).0.unwrap_err().fault().unwrap().clone();
        assert_eq!(matches!(fault.kind, FaultKind::Race { .. }), is_race);
        for (_, snapshot) in snapshots(&kernel, None, 11) {
            let mut rest = trace(|_| false, go_on);
            match kernel.resume(&snapshot, &mut rest).0 {
                Ok(completes) => assert!(completes && is_race),
                Err(error) => assert_eq!((error.fault(), &rest.faults[..]), (Some(&fault), &[fault.clone()][..])),
            }
        }
    }
}

#[test]
fn a_snapshots_size_counts_registers_and_memory() {
    let of = |kernel: &Kernel| snapshots(kernel, None, 1)[0].1.host_bytes();
    let kernel = |warps: u32, output: usize| Kernel::new("ret;").shape(1, warps * 32).output_bytes(output);
    let [small, tall, wide] = [kernel(1, 1024), kernel(9, 1024), kernel(1, 1 << 20)].map(|kernel| of(&kernel));
    // 135 registers of a warp, 8 bytes per lane.
    assert!(tall - small > 8 * 100 * 32 * 8, "{tall} and {small}");
    // Each byte has a bit that tells whether it is initialized.
    assert_eq!(wide - small, ((1 << 20) - 1024) / 8 * 9);
}

#[test]
#[should_panic(expected = "a snapshot of another launch")]
fn a_snapshot_of_another_launch_is_rejected() {
    let kernel = Kernel::new("ret;");
    let snapshot = snapshots(&kernel, None, 1).remove(0).1;
    let observer: &mut dyn Observer = &mut trace(|_| false, go_on);
    _ = kernel.shape(2, 32).resume(&snapshot, observer);
}
