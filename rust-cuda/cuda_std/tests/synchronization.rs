//! What atomic operations order is no race in the simulator, and what they don't is.

use cuda_std::atomic::{Ordering, Scope, fence};
use cuda_std::simulator::{self, Fault, FaultKind, LaunchError, SimulatorBuffer};
use cuda_std::{GlobalMut, Kernel, LaunchConfig, kernel, thread};

/// Declares a kernel whose first block writes data and then sets a flag, for which the second one waits before it reads the data.
macro_rules! passing_kernels {
    ($($name:ident: |$flag:ident| $set:expr, $get:expr;)*) => {$(
        #[kernel]
        fn $name(data: GlobalMut<u32>, flag: GlobalMut<u32>) {
            let place = thread::thread_idx_x() as usize;
            if thread::block_idx_x() == 0 {
                data.set(place, 7 + place as u32);
                thread::sync_threads();
                if place == 0 {
                    let $flag = flag.atomic(0);
                    $set;
                }
            } else {
                if place == 0 {
                    let $flag = || flag.atomic(0);
                    while $get == 0 {}
                }
                thread::sync_threads();
                data.set(2 + place, data.get(1 - place));
            }
        }
    )*};
}

passing_kernels! {
    releases_and_acquires: |flag| flag.ordered(Ordering::Release).store(1), flag().ordered(Ordering::Acquire).load();
    updates: |flag| flag.ordered(Ordering::AcqRel).fetch_add(1), flag().ordered(Ordering::AcqRel).fetch_or(0);
    in_one_order: |flag| flag.ordered(Ordering::SeqCst).swap(1), flag().ordered(Ordering::SeqCst).load();
    by_fences: |flag| { fence(Ordering::Release, Scope::Device); flag.store(1) }, {
        let value = flag().load();
        fence(Ordering::Acquire, Scope::Device);
        value
    };
    of_the_system: |flag| flag.ordered(Ordering::Release).scope(Scope::System).store(1), flag().ordered(Ordering::Acquire).load();
    relaxed: |flag| flag.store(1), flag().load();
    does_not_release: |flag| flag.store(1), flag().ordered(Ordering::Acquire).load();
    does_not_acquire: |flag| flag.ordered(Ordering::Release).store(1), flag().load();
    of_a_block: |flag| flag.ordered(Ordering::Release).scope(Scope::Block).store(1), flag().ordered(Ordering::Acquire).load();
    for_a_block: |flag| flag.ordered(Ordering::Release).store(1), flag().ordered(Ordering::Acquire).scope(Scope::Block).load();
    fence_too_late: |flag| { flag.store(1); fence(Ordering::Release, Scope::Device) }, flag().ordered(Ordering::Acquire).load();
}

fn pass<K>(kernel: &K) -> Result<Vec<u32>, LaunchError>
where
    K: for<'a> Kernel<
        Arguments<'a, simulator::SimulatorMemory> = (&'a mut SimulatorBuffer<u32>, &'a mut SimulatorBuffer<u32>),
    >,
{
    let (mut data, mut flag) = (SimulatorBuffer::from_slice(&[0; 4]), SimulatorBuffer::from_slice(&[0]));
    simulator::launch(kernel, LaunchConfig::new(2, 2), (&mut data, &mut flag))?;
    Ok(data.to_vec())
}

fn fault(outcome: Result<Vec<u32>, LaunchError>) -> Box<Fault> {
    match outcome {
        Err(LaunchError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_released_and_acquired_is_no_race() {
    let passed = [7, 8, 8, 7];
    assert_eq!(pass(&releases_and_acquires).unwrap(), passed);
    assert_eq!(pass(&updates).unwrap(), passed);
    assert_eq!(pass(&in_one_order).unwrap(), passed);
    assert_eq!(pass(&by_fences).unwrap(), passed);
    assert_eq!(pass(&of_the_system).unwrap(), passed);
}

#[test]
fn what_is_not_is_a_race() {
    let is_race = |fault: Box<Fault>| assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    is_race(fault(pass(&relaxed)));
    is_race(fault(pass(&does_not_release)));
    is_race(fault(pass(&does_not_acquire)));
    is_race(fault(pass(&of_a_block)));
    is_race(fault(pass(&for_a_block)));
    is_race(fault(pass(&fence_too_late)));
}

#[kernel]
fn relaxed_fence(_x: GlobalMut<u32>) {
    fence(Ordering::Relaxed, Scope::Device);
}

#[test]
fn a_fence_is_not_relaxed() {
    let mut x = SimulatorBuffer::from_slice(&[0]);
    let outcome = simulator::launch(&relaxed_fence, LaunchConfig::new(1, 1), (&mut x,)).map(|_| vec![]);
    assert_eq!(fault(outcome).kind, FaultKind::RelaxedFence);
}
