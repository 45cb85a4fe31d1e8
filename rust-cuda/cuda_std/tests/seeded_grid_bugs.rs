//! The simulator detects each bug around the grid barrier, which on a GPU gives arbitrary results or a hang, and
//! reports its kind, its block and the line where it shows.
//!
//! The kernels are those of the crate `seeded_bugs`, where a comment `shows: name` marks that line.

use cuda_std::simulator::{self, Access, Fault, FaultKind, LaunchError, Options, Place, SimulatorBuffer};
use cuda_std::{Dim3, Kernel, LaunchConfig};
use seeded_bugs::cooperative::{
    barrier_of_the_block, block_or_grid, block_that_returns, missing_grid_barrier, one_round_more,
    panics_after_the_barrier, race_in_a_later_epoch, threads_that_return, two_grid_barriers, two_states, waits,
    warp_or_grid, writes_the_state,
};

/// The line of the kernels' file with the mark `name`.
fn marked_line(name: &str) -> u32 {
    seeded_bugs::cooperative::marked_line(name).expect("the kernels' file must have the mark")
}

/// The fault of a launch, which must be in kernel `K` and at the mark `name` of the kernels' file.
fn fault_at<K: Kernel>(_: &K, name: &str, error: LaunchError) -> Fault {
    let LaunchError::Fault(fault) = error else { panic!("no fault: {error}") };
    assert_eq!(fault.location.line, marked_line(name), "{fault}");
    assert_eq!(fault.location.file, seeded_bugs::cooperative::FILE, "{fault}");
    assert_eq!(fault.kernel, K::NAME);
    *fault
}

fn zero() -> SimulatorBuffer<u32> {
    SimulatorBuffer::filled(0, 1)
}

fn config(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig::new(blocks, threads).cooperative()
}

#[test]
fn a_missing_barrier_between_blocks_is_a_race() {
    let mut values = SimulatorBuffer::filled(0, 8);
    let error = simulator::launch(&missing_grid_barrier, config(8, 1), (&mut values, &mut zero())).unwrap_err();
    let fault = fault_at(&missing_grid_barrier, "missing_grid_barrier", error);
    let FaultKind::Race { place, index: 1, access, other_access, other_block, .. } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((place, access, other_access), (Place::Global("values"), Access::Write, Access::Read));
    assert_eq!((fault.block, other_block), (Dim3::new(1, 0, 0), Dim3::default()));
}

#[test]
fn a_race_in_a_later_epoch_is_detected() {
    let mut values = SimulatorBuffer::filled(0, 4);
    let error = simulator::launch_with(
        Options { same_value_races_are_faults: true, ..Options::default() },
        &race_in_a_later_epoch,
        config(4, 1),
        (&mut values, &mut zero()),
    )
    .unwrap_err();
    let fault = fault_at(&race_in_a_later_epoch, "race_in_a_later_epoch", error);
    let FaultKind::Race { index: 0, other_location: Some(other), .. } = fault.kind else { panic!("{fault}") };
    assert_eq!(other.line, marked_line("race_in_a_later_epoch"));
    assert_eq!(fault.block, Dim3::new(1, 0, 0));
}

#[test]
fn a_barrier_of_the_block_does_not_order_blocks() {
    let mut values = SimulatorBuffer::filled(0, 64);
    let mut out = SimulatorBuffer::uninitialized(64);
    let error = simulator::launch(&barrier_of_the_block, config(2, 32), (&mut values, &mut out)).unwrap_err();
    let fault = fault_at(&barrier_of_the_block, "barrier_of_the_block", error);
    assert!(matches!(fault.kind, FaultKind::Race { index: 32, other_access: Access::Read, .. }), "{fault}");
    assert_eq!((fault.block, fault.thread), (Dim3::new(1, 0, 0), Dim3::default()));
}

#[test]
fn a_block_that_returns_early() {
    for check_races in [true, false] {
        let options = Options { check_races, ..Options::default() };
        let error = simulator::launch_with(options, &block_that_returns, config(5, 32), (100, &mut zero()));
        let fault = fault_at(&block_that_returns, "block_that_returns", error.unwrap_err());
        assert_eq!(fault.kind, FaultKind::GridDivergence { waiting: 4, exited: 1, other_location: None });
        assert_eq!((fault.block, fault.thread), (Dim3::default(), Dim3::default()));
        let text = "grid barrier divergence: 4 blocks wait at a grid::sync, 1 has left the kernel";
        assert_eq!(fault.kind.to_string(), text);
    }
}

#[test]
fn a_block_that_waits_once_more_than_the_others() {
    let error = simulator::launch(&one_round_more, config(3, 40), (&mut zero(),)).unwrap_err();
    let fault = fault_at(&one_round_more, "one_round_more", error);
    assert_eq!(fault.kind, FaultKind::GridDivergence { waiting: 1, exited: 2, other_location: None });
}

#[test]
fn different_barriers_of_the_grid() {
    let error = simulator::launch(&two_grid_barriers, config(3, 8), (&mut zero(),)).unwrap_err();
    let fault = fault_at(&two_grid_barriers, "two_grid_barriers", error);
    let FaultKind::GridDivergence { waiting: 3, exited: 0, other_location: Some(other) } = &fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(other.line, marked_line("first_grid_barrier"));
    assert_eq!(fault.block, Dim3::new(2, 0, 0));
    let text = fault.kind.to_string();
    assert!(text.ends_with(&format!("0 have left the kernel, one waits at {other}")), "{text}");
}

#[test]
fn different_states() {
    let error = simulator::launch(&two_states, config(2, 8), (&mut zero(), &mut zero())).unwrap_err();
    let fault = fault_at(&two_states, "two_states", error);
    assert_eq!((fault.block, fault.kind), (Dim3::new(1, 0, 0), FaultKind::GridState { value: 0 }));
}

#[test]
fn threads_that_return_early() {
    let error = simulator::launch(&threads_that_return, config(4, 32), (100, &mut zero())).unwrap_err();
    let fault = fault_at(&threads_that_return, "threads_that_return", error);
    assert_eq!(fault.kind, FaultKind::BarrierDivergence { waiting: 4, exited: 28, other_location: None });
    assert_eq!(fault.block, Dim3::new(3, 0, 0));
}

#[test]
fn a_barrier_of_the_block_beside_one_of_the_grid() {
    let error = simulator::launch(&block_or_grid, config(2, 32), (&mut zero(),)).unwrap_err();
    let fault = fault_at(&block_or_grid, "block_or_grid", error);
    let FaultKind::BarrierDivergence { waiting: 32, exited: 0, other_location: Some(other) } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(other.line, marked_line("waits_for_the_block"));
}

#[test]
fn a_lane_that_waits_for_its_warp_beside_the_grid() {
    let error = simulator::launch(&warp_or_grid, config(2, 32), (&mut zero(),)).unwrap_err();
    let fault = fault_at(&warp_or_grid, "warp_or_grid", error);
    assert_eq!(fault.kind, FaultKind::MissingLanes { expected: u32::MAX, missing: !(1 << 3) });
}

#[test]
fn a_launch_that_is_not_cooperative() {
    for blocks in [1, 3] {
        let error = simulator::launch(&waits, LaunchConfig::new(blocks, 32), (&mut zero(),)).unwrap_err();
        let fault = fault_at(&waits, "waits", error);
        assert_eq!((fault.block, &fault.kind), (Dim3::default(), &FaultKind::NotCooperative));
        let text = "grid::sync in a launch that is not cooperative: a GPU may wait for ever; \
                    launch with LaunchConfig::cooperative()";
        assert_eq!(fault.kind.to_string(), text);
    }
}

#[test]
fn a_state_that_is_not_zero() {
    let mut state = SimulatorBuffer::from_slice(&[5]);
    let error = simulator::launch(&waits, config(2, 32), (&mut state,)).unwrap_err();
    let fault = fault_at(&waits, "waits", error);
    assert_eq!(fault.kind, FaultKind::GridState { value: 5 });

    let error = simulator::launch(&waits, config(2, 32), (&mut SimulatorBuffer::uninitialized(1),)).unwrap_err();
    let fault = fault_at(&waits, "waits", error);
    assert_eq!(fault.kind, FaultKind::Unwritten { place: Place::Global("barrier"), index: 0 });

    let error = simulator::launch(&waits, config(2, 32), (&mut SimulatorBuffer::filled(0, 0),)).unwrap_err();
    let fault = fault_at(&waits, "waits", error);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { index: 0, length: 0, .. }), "{fault}");
}

#[test]
fn a_state_that_the_kernel_writes() {
    let error = simulator::launch(&writes_the_state, config(3, 2), (&mut zero(),)).unwrap_err();
    let fault = fault_at(&writes_the_state, "writes_the_state", error);
    // The first barrier has flipped the highest bit, and the first block has already added 2³¹ − 2.
    assert_eq!(fault.kind, FaultKind::GridState { value: u32::MAX });
    assert_eq!(fault.block, Dim3::new(1, 0, 0));
}

#[test]
fn a_panic_after_a_barrier_names_its_block_and_leaves_the_next_launch_intact() {
    let mut out = SimulatorBuffer::uninitialized(12);
    for _ in 0..2 {
        let error = simulator::launch(&panics_after_the_barrier, config(3, 4), (&mut zero(), &mut out)).unwrap_err();
        let fault = fault_at(&panics_after_the_barrier, "panics_after_the_barrier", error);
        assert!(matches!(&fault.kind, FaultKind::Panic { message } if message.contains("divide by zero")), "{fault}");
        assert_eq!((fault.block, fault.thread), (Dim3::new(2, 0, 0), Dim3::default()));
        let report = simulator::launch(&waits, config(4, 4), (&mut zero(),)).unwrap();
        assert_eq!((report.grid_barriers, report.atomics), (1, 4));
    }
}
