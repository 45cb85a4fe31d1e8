//! Misuse of the grid-wide barrier is found in the kernels' PTX. On a GPU it causes undefined
//! results or a deadlock.
//!
//! The kernels are in `seeded_bugs::cooperative`. The tests of `cuda_std` contain the simulator's
//! errors for them. In PTX the barrier is a loop that reads its state until all blocks have added
//! to it. The interpreter does not know its meaning: deadlocked blocks spin as on a GPU, until one
//! reaches the limit of instructions per block.

use crate::interpreters::{fault_at, of_rustc_with_and_without_races, with_and_without_races, with_races};
use cuda_std::{Dim3, LaunchConfig};
use gpu::{Error, InterpreterOptions, LaunchReport};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{Access, Fault, FaultKind};
use seeded_bugs::PTX;
use seeded_bugs::cooperative::{
    barrier_of_the_block, block_or_grid, block_that_returns, missing_grid_barrier, one_round_more,
    panics_after_the_barrier, race_in_a_later_epoch, threads_that_return, two_grid_barriers, two_states, waits,
    warp_or_grid, writes_the_state,
};

/// Limit of instructions per block: more than these kernels need, and quickly reached by a spinning block.
const LIMIT: u64 = 1 << 15;

/// The file and line of a mark, as in the PTX.
fn mark(name: &str) -> (&'static str, u32) {
    let line = seeded_bugs::cooperative::marked_line(name).expect("the mark is in the kernels' file");
    ("seeded_bugs/src/cooperative.rs", line)
}

fn config(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig::new(blocks, threads).cooperative()
}

/// The error of a launch.
fn error(launched: Result<Option<LaunchReport>, Error>) -> Error {
    launched.expect_err("the kernel has a bug")
}

/// Asserts the error of a block that waits for others. It is reported at once, or at the limit if
/// they run on other host threads.
#[track_caller]
fn assert_waits(fault: &Fault, check_races: bool) {
    match fault.kind {
        FaultKind::WaitsForever { unstarted, .. } => assert_eq!(unstarted.count, 0, "{fault}"),
        FaultKind::Endless { instructions } => assert!(instructions > LIMIT && !check_races, "{fault}"),
        _ => panic!("{fault}"),
    }
}

#[test]
fn a_missing_barrier_between_blocks_is_a_race() {
    with_races(&PTX, |device| {
        let (mut values, mut barrier) = (device.zeroed(8).unwrap(), device.zeroed(1).unwrap());
        let error = error(device.launch(&missing_grid_barrier, config(8, 1), (&mut values, &mut barrier)));
        let fault = fault_at(&missing_grid_barrier, mark("missing_grid_barrier"), &error);
        let FaultKind::Race { access, other_access, other_block, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!((access, other_access), (Access::Write, Access::Read));
        assert_eq!((fault.block, other_block), (Dim3::new(1, 0, 0), Dim3::default()));
    });
}

#[test]
fn a_race_after_some_barriers_is_found_there() {
    with_races(&PTX, |device| {
        let (mut values, mut barrier) = (device.zeroed(4).unwrap(), device.zeroed(1).unwrap());
        let error = error(device.launch(&race_in_a_later_epoch, config(4, 1), (&mut values, &mut barrier)));
        let fault = fault_at(&race_in_a_later_epoch, mark("race_in_a_later_epoch"), &error);
        let FaultKind::SameValueRace { other_place, other_block, .. } = &fault.kind else { panic!("{fault}") };
        assert_eq!(**other_place, fault.place);
        // Two neighboring blocks write each element. The third block is the last to reach the
        // second barrier, and therefore the first to leave it.
        assert_eq!((fault.block, *other_block), (Dim3::new(3, 0, 0), Dim3::new(2, 0, 0)));
    });
}

#[test]
fn a_barrier_of_the_block_does_not_order_blocks() {
    with_races(&PTX, |device| {
        let (mut values, mut out) = (device.zeroed(64).unwrap(), device.uninitialized(64).unwrap());
        let error = error(device.launch(&barrier_of_the_block, config(2, 32), (&mut values, &mut out)));
        // The scheduler switches blocks at barriers: the second block has written when the first
        // continues, two lines below.
        let (file, line) = mark("barrier_of_the_block");
        let fault = fault_at(&barrier_of_the_block, (file, line + 2), &error);
        let FaultKind::Race { access: Access::Read, other_access: Access::Write, other_block, other_place, .. } =
            fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!((fault.block, fault.thread), (Dim3::default(), Dim3::new(31, 0, 0)));
        assert_eq!((other_block, other_place.source.unwrap().line), (Dim3::new(1, 0, 0), line));
    });
}

#[test]
fn a_block_that_returns_early() {
    for check_races in [true, false] {
        for ptx in PTX {
            let device = crate::interpreters::device(
                &ptx,
                match check_races {
                    true => InterpreterOptions::default(),
                    false => InterpreterOptions { check_races, block_instructions: LIMIT, ..Default::default() },
                },
            );
            let mut barrier = device.zeroed(1).unwrap();
            let error = error(device.launch(&block_that_returns, config(5, 32), (100, &mut barrier)));
            let fault = fault_at(&block_that_returns, mark("block_that_returns"), &error);
            assert_waits(&fault, check_races);
            assert_eq!(fault.thread, Dim3::default());
        }
    }
}

#[test]
fn a_block_that_waits_once_more_than_the_others() {
    with_races(&PTX, |device| {
        let mut barrier = device.zeroed(1).unwrap();
        let error = error(device.launch(&one_round_more, config(3, 40), (&mut barrier,)));
        let fault = fault_at(&one_round_more, mark("one_round_more"), &error);
        assert_waits(&fault, true);
        assert_eq!((fault.block, fault.thread), (Dim3::default(), Dim3::default()));
    });
}

/// Blocks synchronize through the barrier's state, wherever they are in the kernel: in PTX this is
/// not a bug.
#[test]
fn different_barriers_of_the_grid_with_one_state_are_one() {
    with_and_without_races(&PTX, |device| {
        let mut barrier = device.zeroed::<u32>(1).unwrap();
        device.launch(&two_grid_barriers, config(3, 8), (&mut barrier,)).unwrap();
        assert_eq!(barrier.to_vec().unwrap(), [1 << 31]);
    });
}

#[test]
fn different_states() {
    with_races(&PTX, |device| {
        let (mut a, mut b) = (device.zeroed(1).unwrap(), device.zeroed(1).unwrap());
        let error = error(device.launch(&two_states, config(2, 8), (&mut a, &mut b)));
        assert_waits(&fault_at(&two_states, mark("two_states"), &error), true);
    });
}

#[test]
fn threads_that_return_early() {
    of_rustc_with_and_without_races(&PTX, |device| {
        let mut barrier = device.zeroed(1).unwrap();
        let error = error(device.launch(&threads_that_return, config(4, 32), (100, &mut barrier)));
        let fault = fault_at(&threads_that_return, mark("threads_that_return"), &error);
        // The other lanes wait for these at the reconvergence point, which is the kernel's end.
        let FaultKind::BarrierDivergence { waiting: 4, threads: 32, elsewhere, .. } = &fault.kind else {
            panic!("{fault}")
        };
        assert_eq!(elsewhere.iter().map(|(count, _)| count).sum::<usize>(), 28, "{fault}");
        assert_eq!((fault.block, fault.thread), (Dim3::new(3, 0, 0), Dim3::default()));
    });
}

#[test]
fn a_barrier_of_the_block_beside_one_of_the_grid() {
    of_rustc_with_and_without_races(&PTX, |device| {
        let mut barrier = device.zeroed(1).unwrap();
        let error = error(device.launch(&block_or_grid, config(2, 32), (&mut barrier,)));
        let fault = fault_at(&block_or_grid, mark("block_or_grid"), &error);
        let FaultKind::BarrierDivergence { exited: 0, other_place: Some(other), .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_eq!(other.source.map(|source| source.line), Some(mark("waits_for_the_block").1));
    });
}

#[test]
fn a_lane_that_waits_for_its_warp_beside_the_grid() {
    with_and_without_races(&PTX, |device| {
        let mut barrier = device.zeroed(1).unwrap();
        let error = error(device.launch(&warp_or_grid, config(2, 32), (&mut barrier,)));
        let fault = fault_at(&warp_or_grid, mark("warp_or_grid"), &error);
        assert_eq!(fault.kind, FaultKind::MissingLanes { expected: u32::MAX, missing: !(1 << 3) });
    });
}

#[test]
fn a_launch_that_is_not_cooperative() {
    with_races(&PTX, |device| {
        let mut barrier = device.zeroed(1).unwrap();
        let error = device.launch(&waits, LaunchConfig::new(3, 32), (&mut barrier,)).unwrap_err();
        assert!(matches!(error, Error::NeedsCooperative { kernel: "waits" }), "{error}");
    });
}

#[test]
fn a_missing_or_uninitialised_state() {
    of_rustc_with_and_without_races(&PTX, |device| {
        let mut unwritten = device.uninitialized(1).unwrap();
        let error = error(device.launch(&waits, config(2, 32), (&mut unwritten,)));
        let fault = fault_at(&waits, mark("waits"), &error);
        let FaultKind::Access { access: Access::Atomic, error: AccessError::Uninitialised { first: 0, .. } } =
            fault.kind
        else {
            panic!("{fault}")
        };
    });
    of_rustc_with_and_without_races(&PTX, |device| {
        let mut empty = device.zeroed(0).unwrap();
        let error = error(device.launch(&waits, config(2, 32), (&mut empty,)));
        let fault = fault_at(&waits, mark("waits"), &error);
        assert_eq!(fault.kind.to_string(), "index 0 is outside of a buffer, which has 0 elements");
    });
}

/// Only the first block toggles the highest bit and continues; the others wait for it to change.
#[test]
fn a_state_that_is_not_zero() {
    with_races(&PTX, |device| {
        let mut barrier = device.buffer_from_slice(&[5]).unwrap();
        let error = error(device.launch(&waits, config(2, 32), (&mut barrier,)));
        assert_waits(&fault_at(&waits, mark("waits"), &error), true);
        assert_eq!(barrier.to_vec().unwrap(), [(1 << 31) + 5]);
    });
}

#[test]
fn a_state_that_the_kernel_changes() {
    with_races(&PTX, |device| {
        let mut barrier = device.zeroed(1).unwrap();
        let error = error(device.launch(&writes_the_state, config(3, 2), (&mut barrier,)));
        assert_waits(&fault_at(&writes_the_state, mark("writes_the_state"), &error), true);
    });
}

#[test]
fn a_panic_after_a_barrier_names_its_block_and_the_next_launch_succeeds() {
    with_and_without_races(&PTX, |device| {
        let mut out = device.uninitialized(12).unwrap();
        for _ in 0..2 {
            let mut barrier = device.zeroed(1).unwrap();
            let error = error(device.launch(&panics_after_the_barrier, config(3, 4), (&mut barrier, &mut out)));
            let fault = fault_at(&panics_after_the_barrier, mark("panics_after_the_barrier"), &error);
            assert_eq!(fault.kind.to_string(), "panic: attempt to divide by zero");
            // The thread is not checked: which one leaves the barrier first is nondeterministic.
            assert_eq!(fault.block, Dim3::new(2, 0, 0));
            let mut barrier = device.zeroed::<u32>(1).unwrap();
            device.launch(&waits, config(4, 4), (&mut barrier,)).unwrap();
            assert_eq!(barrier.to_vec().unwrap(), [1 << 31]);
        }
    });
}
