//! The simulator writes what a thread copies asynchronously when the thread has waited for it, and finds uses before that.

use cuda_std::simulator::{self, Access, Fault, FaultKind, LaunchError, Options, Place, SimulatorBuffer};
use cuda_std::{Dim3, GlobalMut, LaunchConfig, async_copy, dynamic_shared, kernel, shared_array, thread};

/// What a thread does with its element after the copy began.
const READS_AT_ONCE: u32 = 0;
const READS_WITHOUT_BARRIER: u32 = 1;
const OTHERS_READ_IN_FLIGHT: u32 = 2;
const OVERWRITES: u32 = 3;
const WAITS_FOR_TOO_FEW: u32 = 4;
const FORGETS_TO_COMMIT: u32 = 5;
const OVERWRITES_WHAT_IS_READ: u32 = 6;
const RIGHT: u32 = 7;

#[kernel]
fn uses_copies(way: u32, x: &[u32], out: GlobalMut<u32>) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    tile[t] = 0;
    thread::sync_threads();
    if way == OVERWRITES_WHAT_IS_READ {
        out[t] = tile[63 - t];
    }
    tile.copy_async(t, x, t);
    if way != FORGETS_TO_COMMIT {
        async_copy::commit();
    }
    match way {
        READS_AT_ONCE => out[t] = tile[t],
        READS_WITHOUT_BARRIER => {
            async_copy::wait::<0>();
            out[t] = tile[63 - t];
        }
        OTHERS_READ_IN_FLIGHT => {
            thread::sync_threads();
            out[t] = tile[63 - t];
        }
        OVERWRITES => tile[t] = 1,
        _ => {}
    }
    if way == WAITS_FOR_TOO_FEW {
        async_copy::wait::<1>();
    } else {
        async_copy::wait::<0>();
    }
    thread::sync_threads();
    out[t] = tile[63 - t];
}

fn launch(way: u32) -> Result<Vec<u32>, LaunchError> {
    let x: Vec<u32> = (100..164).collect();
    let (x, mut out) = (SimulatorBuffer::from_slice(&x), SimulatorBuffer::uninitialized(64));
    simulator::launch(&uses_copies, LaunchConfig::new(1, 64), (way, &x, &mut out))?;
    Ok(out.to_vec())
}

fn fault(way: u32) -> Fault {
    match launch(way) {
        Err(LaunchError::Fault(fault)) => *fault,
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn copies_that_are_waited_for() {
    assert_eq!(launch(RIGHT).unwrap(), (100..164).rev().collect::<Vec<_>>());
}

/// The access, by the first thread to make one, to an element that the other thread's copy writes.
#[track_caller]
fn assert_race(way: u32, (access, thread): (Access, u32), other: (Access, u32)) {
    let fault = fault(way);
    let FaultKind::Race { place: Place::Shared, access: found, other_access, other_thread, .. } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((found, fault.thread), (access, Dim3::new(thread, 0, 0)), "{fault}");
    assert_eq!((other_access, other_thread), (other.0, Dim3::new(other.1, 0, 0)), "{fault}");
}

#[test]
fn a_threads_own_read_before_the_wait() {
    assert_race(READS_AT_ONCE, (Access::Read, 0), (Access::Write, 0));
}

#[test]
fn a_read_before_the_barrier() {
    // The first 32 threads have read what the others, which start later, copy to.
    assert_race(READS_WITHOUT_BARRIER, (Access::Write, 32), (Access::Read, 31));
}

#[test]
fn a_read_after_a_barrier_and_before_the_wait() {
    assert_race(OTHERS_READ_IN_FLIGHT, (Access::Read, 0), (Access::Write, 63));
}

#[test]
fn a_write_before_the_wait() {
    assert_race(OVERWRITES, (Access::Write, 0), (Access::Write, 0));
}

#[test]
fn groups_that_are_not_waited_for() {
    assert_race(WAITS_FOR_TOO_FEW, (Access::Read, 0), (Access::Write, 63));
    assert_race(FORGETS_TO_COMMIT, (Access::Read, 0), (Access::Write, 63));
}

#[test]
fn a_copy_to_what_others_still_read() {
    assert_race(OVERWRITES_WHAT_IS_READ, (Access::Read, 32), (Access::Write, 31));
}

/// The last thread's copy is in flight when it ends.
#[kernel]
fn ends_with_copies(x: &[f32], out: GlobalMut<f32>) {
    let tile = dynamic_shared::<f32>();
    let t = thread::thread_idx_x() as usize;
    tile.copy_async(t, x, t);
    out[t] = x[t];
}

#[test]
fn a_thread_may_end_before_its_copy_does() {
    let (x, mut out) = (SimulatorBuffer::filled(2.0, 40), SimulatorBuffer::uninitialized(40));
    let config = LaunchConfig::new(1, 40).with_dynamic_shared(160);
    for check_races in [true, false] {
        let options = Options { check_races, ..Options::default() };
        simulator::launch_with(options, &ends_with_copies, config, (&x, &mut out)).unwrap();
        assert_eq!(out.to_vec(), [2.0; 40]);
    }
}

#[test]
fn an_index_out_of_bounds() {
    let (x, mut out) = (SimulatorBuffer::filled(2.0, 40), SimulatorBuffer::uninitialized(40));
    let config = LaunchConfig::new(1, 40).with_dynamic_shared(156);
    let error = simulator::launch(&ends_with_copies, config, (&x, &mut out)).unwrap_err();
    let LaunchError::Fault(fault) = error else { panic!("{error}") };
    assert_eq!(fault.kind, FaultKind::OutOfBounds { place: Place::Shared, index: 39, length: 39 });
}

/// Without race checks the values are those of a GPU that copies as late as it may.
#[test]
fn copies_without_checks() {
    let x: Vec<u32> = (100..164).collect();
    let (x, mut out) = (SimulatorBuffer::from_slice(&x), SimulatorBuffer::uninitialized(64));
    let options = Options { check_races: false, ..Options::default() };
    let config = LaunchConfig::new(1, 64);
    simulator::launch_with(options.clone(), &uses_copies, config, (RIGHT, &x, &mut out)).unwrap();
    assert_eq!(out.to_vec(), (100..164).rev().collect::<Vec<_>>());
    simulator::launch_with(options, &uses_copies, config, (WAITS_FOR_TOO_FEW, &x, &mut out)).unwrap();
    // The copies of the threads that have ended are complete.
    assert_eq!(out.to_vec(), [vec![0; 32], (100..132).rev().collect()].concat());
}
