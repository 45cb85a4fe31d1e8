//! The simulator detects each bug that a GPU does not report, with its kind, its thread and the line where it shows.
//!
//! The kernels are those of the crate `seeded_bugs`, where a comment `shows: name` marks that line.

use cuda_std::simulator::{self, Access, Fault, FaultKind, LaunchError, Options, Place, SimulatorBuffer};
use cuda_std::{Dim3, Kernel, LaunchConfig};
use seeded_bugs::{
    accumulates_into_nothing, barrier_in_a_branch, lanes_that_left, missing_barrier, missing_second_barrier,
    off_by_one, one_cell_for_all_blocks, panics, reads_the_next_block, swapped_index, two_barriers, unwritten_shared,
    wrong_lane,
};

/// As by default, but writes of the same value by different threads are faults too.
fn strict() -> Options {
    Options { same_value_races_are_faults: true, ..Options::default() }
}

/// The line of the kernels' file with the mark `name`.
fn marked_line(name: &str) -> u32 {
    seeded_bugs::marked_line(name).expect("the kernels' file must have the mark")
}

/// The fault of a launch, which must be in kernel `K` and at the mark `name` of the kernels' file.
fn fault_at<K: Kernel>(_: &K, name: &str, error: LaunchError) -> Fault {
    let LaunchError::Fault(fault) = error else { panic!("no fault: {error}") };
    assert_eq!(fault.location.line, marked_line(name), "{fault}");
    assert_eq!(fault.location.file, seeded_bugs::FILE, "{fault}");
    assert_eq!(fault.kernel, K::NAME);
    *fault
}

#[test]
fn line_numbers_are_counted_as_the_compiler_does() {
    assert_eq!(seeded_bugs::LINE_OF_ITSELF, marked_line("itself"));
    assert_eq!(seeded_bugs::marked_line("nowhere"), None);
}

#[test]
fn an_index_one_beyond_the_end() {
    let x = SimulatorBuffer::filled(1.0, 1000);
    let mut out = SimulatorBuffer::uninitialized(1000);
    for check_races in [true, false] {
        let options = Options { check_races, ..Options::default() };
        let config = LaunchConfig::for_elements(1001, 256);
        let error = simulator::launch_with(options, &off_by_one, config, (&x, &mut out)).unwrap_err();
        let fault = fault_at(&off_by_one, "off_by_one", error);
        assert_eq!(fault.kind, FaultKind::OutOfBounds { place: Place::Global("x"), index: 1000, length: 1000 });
        assert_eq!((fault.block, fault.thread), (Dim3::new(3, 0, 0), Dim3::new(232, 0, 0)));
    }
}

#[test]
fn a_missing_barrier() {
    // The first thread reads the element of the last one, which has not run yet.
    let mut out = SimulatorBuffer::uninitialized(64);
    let error = simulator::launch(&missing_barrier, LaunchConfig::new(1, 64), (&mut out,)).unwrap_err();
    let fault = fault_at(&missing_barrier, "missing_barrier", error);
    assert_eq!(fault.kind, FaultKind::Unwritten { place: Place::Shared, index: 63 });
}

#[test]
fn a_missing_barrier_in_a_loop() {
    let mut out = SimulatorBuffer::uninitialized(64);
    let error = simulator::launch(&missing_second_barrier, LaunchConfig::new(1, 64), (&mut out,)).unwrap_err();
    let fault = fault_at(&missing_second_barrier, "missing_second_barrier", error);
    // Thread 31 is a round ahead.
    let FaultKind::Race { place: Place::Shared, index: 31, access, other_access, other_thread, other_location, .. } =
        fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!((access, other_access), (Access::Read, Access::Write));
    assert_eq!((fault.thread, other_thread), (Dim3::new(32, 0, 0), Dim3::new(31, 0, 0)));
    assert_eq!(other_location.map(|location| location.line), Some(marked_line("overwrote")));
}

#[test]
fn a_barrier_in_a_branch() {
    let mut out = SimulatorBuffer::uninitialized(64);
    for check_races in [true, false] {
        let options = Options { check_races, ..Options::default() };
        let error =
            simulator::launch_with(options, &barrier_in_a_branch, LaunchConfig::new(3, 64), (&mut out,)).unwrap_err();
        let fault = fault_at(&barrier_in_a_branch, "barrier_in_a_branch", error);
        assert_eq!(fault.kind, FaultKind::BarrierDivergence { waiting: 32, exited: 32, other_location: None });
        assert_eq!((fault.block, fault.thread), (Dim3::default(), Dim3::new(1, 0, 0)));
    }
}

#[test]
fn different_barriers() {
    let error = simulator::launch(&two_barriers, LaunchConfig::new(1, 64), ()).unwrap_err();
    let fault = fault_at(&two_barriers, "two_barriers", error);
    let FaultKind::BarrierDivergence { waiting: 64, exited: 0, other_location: Some(other) } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(other.line, marked_line("first_barrier"));
}

#[test]
fn a_swapped_index() {
    let (x, mut out) = (SimulatorBuffer::filled(1.0, 15), SimulatorBuffer::uninitialized(15));
    let arguments = (&x, 3, 5, &mut out);
    let error = simulator::launch(&swapped_index, LaunchConfig::new(1, (8, 8)), arguments).unwrap_err();
    let fault = fault_at(&swapped_index, "swapped_index", error);
    assert_eq!(fault.kind, FaultKind::OutOfBounds { place: Place::Global("out"), index: 15, length: 15 });
    assert_eq!(fault.thread, Dim3::new(3, 0, 0));
}

#[test]
fn a_read_of_uninitialised_shared_memory() {
    let mut out = SimulatorBuffer::uninitialized(1);
    let error = simulator::launch(&unwritten_shared, LaunchConfig::new(1, 48), (&mut out,)).unwrap_err();
    let fault = fault_at(&unwritten_shared, "unwritten_shared", error);
    assert_eq!(fault.kind, FaultKind::Unwritten { place: Place::Shared, index: 48 });
}

#[test]
fn a_read_of_uninitialised_global_memory() {
    let (x, mut out) = (SimulatorBuffer::filled(1.0, 64), SimulatorBuffer::uninitialized(64));
    for check_races in [true, false] {
        let options = Options { check_races, ..Options::default() };
        let config = LaunchConfig::new(2, 32);
        let error = simulator::launch_with(options, &accumulates_into_nothing, config, (&x, &mut out)).unwrap_err();
        let fault = fault_at(&accumulates_into_nothing, "accumulates_into_nothing", error);
        assert_eq!(fault.kind, FaultKind::Unwritten { place: Place::Global("out"), index: 0 });
    }
}

#[test]
fn two_blocks_that_write_one_element() {
    let mut out = SimulatorBuffer::uninitialized(1);
    let error =
        simulator::launch_with(strict(), &one_cell_for_all_blocks, LaunchConfig::new(4, 32), (&mut out,)).unwrap_err();
    let fault = fault_at(&one_cell_for_all_blocks, "one_cell_for_all_blocks", error);
    let FaultKind::Race { place: Place::Global("out"), index: 0, other_block, other_location: Some(other), .. } =
        fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!((other_block, fault.block), (Dim3::default(), Dim3::new(1, 0, 0)));
    assert_eq!(other.line, marked_line("one_cell_for_all_blocks"));
}

#[test]
fn a_block_that_reads_what_another_writes() {
    let mut values = SimulatorBuffer::filled(0.0, 8);
    let error = simulator::launch(&reads_the_next_block, LaunchConfig::new(8, 1), (&mut values,)).unwrap_err();
    let fault = fault_at(&reads_the_next_block, "reads_the_next_block", error);
    let FaultKind::Race { other_access: Access::Read, access: Access::Write, index: 1, .. } = fault.kind else {
        panic!("{fault}")
    };
}

#[test]
fn a_shuffle_from_a_lane_that_does_not_exist() {
    let mut out = SimulatorBuffer::uninitialized(64);
    let error = simulator::launch(&wrong_lane, LaunchConfig::new(1, 64), (&mut out,)).unwrap_err();
    let fault = fault_at(&wrong_lane, "wrong_lane", error);
    assert_eq!(fault.kind, FaultKind::NoSuchLane { lane: 32, lanes: 32 });
}

#[test]
fn missing_lanes() {
    let mut out = SimulatorBuffer::uninitialized(64);
    let error = simulator::launch(&lanes_that_left, LaunchConfig::new(1, 32), (&mut out,)).unwrap_err();
    let fault = fault_at(&lanes_that_left, "lanes_that_left", error);
    // The first exchange is with the lane 16 above or below.
    assert_eq!((fault.kind, fault.thread), (FaultKind::ExitedLane { lane: 20 }, Dim3::new(4, 0, 0)));
}

#[test]
fn a_panic() {
    let divisors = SimulatorBuffer::from_slice(&[1, 2, 0, 4]);
    let mut out = SimulatorBuffer::uninitialized(4);
    let error = simulator::launch(&panics, LaunchConfig::new(1, 4), (&divisors, &mut out)).unwrap_err();
    let fault = fault_at(&panics, "panics", error);
    assert!(matches!(&fault.kind, FaultKind::Panic { message } if message.contains("divide by zero")), "{fault}");
    assert_eq!(fault.thread, Dim3::new(2, 0, 0));
}

#[test]
fn the_lowest_faulting_block_is_reported() {
    let divisors: Vec<u32> = (0..64 * 512).map(|i| u32::from(i < 64 * 100 || i % 3 == 0)).collect();
    let divisors = SimulatorBuffer::from_slice(&divisors);
    let options = Options { check_races: false, ..Options::default() };
    for _ in 0..50 {
        let mut out = SimulatorBuffer::uninitialized(64 * 512);
        let error = simulator::launch_with(options.clone(), &panics, LaunchConfig::new(512, 64), (&divisors, &mut out));
        let fault = fault_at(&panics, "panics", error.unwrap_err());
        assert_eq!((fault.block, fault.thread), (Dim3::new(100, 0, 0), Dim3::default()));
    }
}

#[test]
fn the_text_of_a_fault() {
    let mut out = SimulatorBuffer::uninitialized(1);
    let error =
        simulator::launch_with(strict(), &one_cell_for_all_blocks, LaunchConfig::new(2, 32), (&mut out,)).unwrap_err();
    let line = marked_line("one_cell_for_all_blocks");
    let place = format!("{}:{line}:13", seeded_bugs::FILE);
    let expected = format!(
        "kernel one_cell_for_all_blocks, block (1, 0, 0), thread (0, 0, 0), {place}: \
         race: writes element 0 of `out`, which block (0, 0, 0), thread (0, 0, 0) writes at {place}"
    );
    assert_eq!(error.to_string(), expected);
}
