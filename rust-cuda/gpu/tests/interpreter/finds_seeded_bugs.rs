//! Bugs that a GPU does not report are found in the kernels' PTX for each architecture, with the
//! kind, the block, the thread and the line of the Rust source.
//!
//! The kernels are in the crate `seeded_bugs`, where a comment `shows: name` marks that line. The
//! tests of `cuda_std` contain the simulator's errors for them. In PTX, an index out of bounds and
//! a division by zero are both a `trap`, with a comment that says which.

use crate::interpreters::{fault_at, with_and_without_races, with_races};
use cuda_std::{Dim3, LaunchConfig};
use gpu::{Error, InterpreterOptions, LaunchReport};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{Access, Fault, FaultKind, Indexed};
use seeded_bugs::{
    PTX, accumulates_into_nothing, barrier_in_a_branch, lanes_that_left, missing_barrier, missing_second_barrier,
    off_by_one, one_cell_for_all_blocks, panics, reads_the_next_block, swapped_index, two_barriers, unwritten_shared,
    wrong_lane,
};

/// The file and line of a mark, as in the PTX.
fn mark(name: &str) -> (&'static str, u32) {
    ("seeded_bugs/src/lib.rs", seeded_bugs::marked_line(name).expect("the mark is in the kernels' file"))
}

/// The offset of the first uninitialized byte that was read, from the start of the array or buffer.
fn first_unwritten(fault: &Fault) -> u64 {
    match &fault.kind {
        FaultKind::Access { access: Access::Read, error: AccessError::Uninitialised { first, .. } } => *first,
        _ => panic!("{fault}"),
    }
}

/// An out-of-bounds index into a buffer, with the buffer's length.
fn index_of(buffer: &str, bounds: (u64, u64)) -> FaultKind {
    let parameter = if buffer == "x" { 0 } else { 4 };
    let memory = Indexed::Buffer { parameter: Some(parameter), name: Some(buffer.into()) };
    FaultKind::OutOfBounds { memory, bounds: Some(bounds) }
}

/// The error of a launch.
fn error(launched: Result<Option<LaunchReport>, Error>) -> Error {
    launched.expect_err("the kernel has a bug")
}

#[test]
fn an_index_one_beyond_the_end() {
    with_and_without_races(&PTX, |device| {
        let x = device.buffer_from_slice(&[1.0; 1000]).unwrap();
        let mut out = device.uninitialized(1000).unwrap();
        let config = LaunchConfig::for_elements(1001, 256);
        let error = error(device.launch(&off_by_one, config, (&x, &mut out)));
        let fault = fault_at(&off_by_one, mark("off_by_one"), &error);
        assert_eq!(fault.kind, index_of("x", (1000, 1000)));
        assert_eq!((fault.block, fault.thread), (Dim3::new(3, 0, 0), Dim3::new(232, 0, 0)));
        let text = error.to_string();
        let end = "index 1000 is outside of `x`, which has 1000 elements, in `i, x[i], // shows: off_by_one`";
        assert!(text.ends_with(end) && text.contains(" (seeded_bugs/src/lib.rs:43:1"), "{text}");
    });
}

#[test]
fn a_missing_barrier() {
    // The first warp reads elements that the second has not written yet, because the interpreter
    // runs the first warp first.
    with_and_without_races(&PTX, |device| {
        let mut out = device.uninitialized(64).unwrap();
        let error = error(device.launch(&missing_barrier, LaunchConfig::new(1, 64), (&mut out,)));
        let fault = fault_at(&missing_barrier, mark("missing_barrier"), &error);
        assert_eq!((first_unwritten(&fault), fault.thread), (63 * 4, Dim3::default()));
    });
}

#[test]
fn a_missing_barrier_in_a_loop() {
    // The compiler unrolls the loop.
    with_races(&PTX, |device| {
        let mut out = device.uninitialized(64).unwrap();
        let error = error(device.launch(&missing_second_barrier, LaunchConfig::new(1, 64), (&mut out,)));
        let fault = fault_at(&missing_second_barrier, mark("missing_second_barrier"), &error);
        let FaultKind::Race { access, other_access, bytes: 4, other_thread, other_place, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_eq!((access, other_access), (Access::Read, Access::Write));
        // The second warp reads, in reverse order, elements that the first has overwritten in its next iteration.
        assert_eq!((fault.thread, other_thread), (Dim3::new(32, 0, 0), Dim3::new(31, 0, 0)));
        assert_eq!(other_place.source.map(|source| source.line), Some(mark("overwrote").1));
    });
}

#[test]
fn a_barrier_in_a_branch() {
    with_and_without_races(&PTX, |device| {
        let mut out = device.uninitialized(64).unwrap();
        let error = error(device.launch(&barrier_in_a_branch, LaunchConfig::new(3, 64), (&mut out,)));
        let fault = fault_at(&barrier_in_a_branch, mark("barrier_in_a_branch"), &error);
        assert_eq!((fault.block, fault.thread), (Dim3::default(), Dim3::new(1, 0, 0)));
        // The other lanes of each warp wait for these at the reconvergence point, so they have not
        // left the kernel.
        let FaultKind::BarrierDivergence { waiting: 32, threads: 64, elsewhere, .. } = &fault.kind else {
            panic!("{fault}")
        };
        assert_eq!(elsewhere.iter().map(|(count, _)| count).sum::<usize>(), 32, "{fault}");
    });
}

#[test]
fn different_barriers() {
    with_and_without_races(&PTX, |device| {
        let error = error(device.launch(&two_barriers, LaunchConfig::new(1, 64), ()));
        let fault = fault_at(&two_barriers, mark("two_barriers"), &error);
        let FaultKind::BarrierDivergence { waiting: 32, threads: 64, exited: 0, other_place: Some(other), .. } =
            fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!(fault.thread, Dim3::new(32, 0, 0));
        assert_eq!(other.source.map(|source| source.line), Some(mark("first_barrier").1));
    });
}

#[test]
fn a_swapped_index() {
    with_and_without_races(&PTX, |device| {
        let x = device.buffer_from_slice(&[1.0; 15]).unwrap();
        let mut out = device.uninitialized(15).unwrap();
        let arguments = (&x, 3, 5, &mut out);
        let error = error(device.launch(&swapped_index, LaunchConfig::new(1, (8, 8)), arguments));
        let fault = fault_at(&swapped_index, mark("swapped_index"), &error);
        assert_eq!(fault.kind, index_of("out", (15, 15)));
        assert_eq!(fault.thread, Dim3::new(3, 0, 0));
    });
}

#[test]
fn a_read_of_unwritten_shared_memory() {
    with_and_without_races(&PTX, |device| {
        let mut out = device.uninitialized(1).unwrap();
        let error = error(device.launch(&unwritten_shared, LaunchConfig::new(1, 48), (&mut out,)));
        let fault = fault_at(&unwritten_shared, mark("unwritten_shared"), &error);
        assert_eq!((first_unwritten(&fault), fault.thread), (48 * 4, Dim3::default()));
    });
}

#[test]
fn a_read_of_unwritten_global_memory() {
    with_and_without_races(&PTX, |device| {
        let (x, mut out) = (device.buffer_from_slice(&[1.0; 64]).unwrap(), device.uninitialized(64).unwrap());
        let error = error(device.launch(&accumulates_into_nothing, LaunchConfig::new(2, 32), (&x, &mut out)));
        let fault = fault_at(&accumulates_into_nothing, mark("accumulates_into_nothing"), &error);
        assert_eq!(first_unwritten(&fault), 0);
        assert_eq!((fault.block, fault.thread), (Dim3::default(), Dim3::default()));
    });
}

#[test]
fn two_blocks_that_write_one_element() {
    with_races(&PTX, |device| {
        let mut out = device.uninitialized(1).unwrap();
        let error = error(device.launch(&one_cell_for_all_blocks, LaunchConfig::new(4, 32), (&mut out,)));
        let fault = fault_at(&one_cell_for_all_blocks, mark("one_cell_for_all_blocks"), &error);
        let FaultKind::SameValueRace { other_block, other_place, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!((other_block, fault.block), (Dim3::default(), Dim3::new(1, 0, 0)));
        assert_eq!(other_place, fault.place.into());
    });
}

#[test]
fn a_block_that_reads_what_another_writes() {
    with_races(&PTX, |device| {
        let mut values = device.buffer_from_slice(&[0.0; 8]).unwrap();
        let error = error(device.launch(&reads_the_next_block, LaunchConfig::new(8, 1), (&mut values,)));
        let fault = fault_at(&reads_the_next_block, mark("reads_the_next_block"), &error);
        let FaultKind::Race { access: Access::Write, other_access: Access::Read, other_block, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_eq!((other_block, fault.block), (Dim3::default(), Dim3::new(1, 0, 0)));
    });
}

#[test]
fn a_shuffle_from_no_lane() {
    with_and_without_races(&PTX, |device| {
        let mut out = device.uninitialized(64).unwrap();
        let error = error(device.launch(&wrong_lane, LaunchConfig::new(1, 64), (&mut out,)));
        let fault = fault_at(&wrong_lane, mark("wrong_lane"), &error);
        assert_eq!((fault.kind, fault.thread), (FaultKind::NoSuchLane { lane: 32 }, Dim3::default()));
    });
}

#[test]
fn missing_lanes() {
    with_and_without_races(&PTX, |device| {
        let mut out = device.uninitialized(64).unwrap();
        let error = error(device.launch(&lanes_that_left, LaunchConfig::new(1, 32), (&mut out,)));
        let fault = fault_at(&lanes_that_left, mark("lanes_that_left"), &error);
        // The first exchange is with the lane 16 above or below.
        assert_eq!((fault.kind, fault.thread), (FaultKind::NoSuchLane { lane: 20 }, Dim3::new(4, 0, 0)));
    });
}

#[test]
fn a_panic() {
    with_and_without_races(&PTX, |device| {
        let divisors = device.buffer_from_slice(&[1, 2, 0, 4]).unwrap();
        let mut out = device.uninitialized(4).unwrap();
        let error = error(device.launch(&panics, LaunchConfig::new(1, 4), (&divisors, &mut out)));
        let fault = fault_at(&panics, mark("panics"), &error);
        let message = "attempt to divide by zero".to_owned();
        assert_eq!((fault.kind, fault.thread), (FaultKind::Panic { message }, Dim3::new(2, 0, 0)));
        assert!(error.to_string().contains("): panic: attempt to divide by zero, in `"), "{error}");
    });
}

#[test]
fn the_lowest_faulting_block_is_reported_in_any_schedule() {
    let divisors: Vec<u32> = (0..64 * 512).map(|i| u32::from(i < 64 * 100 || i % 3 == 0)).collect();
    let options = InterpreterOptions { check_races: false, ..InterpreterOptions::default() };
    let device = crate::interpreters::device(&PTX[0], options);
    let divisors = device.buffer_from_slice(&divisors).unwrap();
    for _ in 0..50 {
        let mut out = device.uninitialized(64 * 512).unwrap();
        let error = error(device.launch(&panics, LaunchConfig::new(512, 64), (&divisors, &mut out)));
        let fault = fault_at(&panics, mark("panics"), &error);
        // The first element of block 100 is not a multiple of three: 6400 = 3 · 2133 + 1.
        assert_eq!((fault.block, fault.thread), (Dim3::new(100, 0, 0), Dim3::default()));
    }
}

/// Every kernel in the PTX has a test, here or in `finds_grid_bugs`.
#[test]
fn every_kernel_with_a_bug_is_run() {
    let tests = [include_str!("finds_seeded_bugs.rs"), include_str!("finds_grid_bugs.rs")];
    for ptx in PTX {
        for entry in ptx.text().split(".visible .entry ").skip(1) {
            let name = entry.split('(').next().unwrap();
            let launch = format!("device.launch(&{name}, ");
            assert!(tests.iter().any(|test| test.contains(&launch)), "no test launches {name}");
        }
    }
}
