//! Destructors of a kernel's values that run because of a fault cannot harm the process: whatever they call, the launch reports the
//! first fault, and the next launch is unaffected.

use std::cell::Cell;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};

use cuda_std::atomic::Ordering;
use cuda_std::mbarrier::Mbarriers;
use cuda_std::simulator::{self, Fault, FaultKind, LaunchError, LaunchReport, Options, SimulatorBuffer};
use cuda_std::{
    F32x4, GlobalMut, LaunchConfig, async_copy, cluster, dynamic_shared, grid, kernel, shared_array, thread, warp,
};

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn fault(outcome: Result<LaunchReport, LaunchError>) -> Box<Fault> {
    match outcome {
        Err(LaunchError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// Each warp's lanes pass their sum around a barrier.
#[kernel]
fn sums(x: GlobalMut<u32>) {
    let t = thread::thread_idx_x() as usize;
    let shared = shared_array![u32; 64];
    shared.set(t, warp::reduce_add(x.get(t)));
    thread::sync_threads();
    x.set(t, shared.get((t + 32) % 64));
}

fn check_next_launch() {
    let ones: Vec<u32> = (0..64).map(|t| u32::from(t < 32) + 1).collect();
    let mut x = SimulatorBuffer::from_slice(&ones);
    simulator::launch(&sums, LaunchConfig::new(1, 64), (&mut x,)).unwrap();
    assert_eq!(x.to_vec(), [vec![32; 32], vec![64; 32]].concat());
}

/// With and without checks of races, launches of two blocks of 64 threads, thread 5 of which faults while the other threads of its block
/// wait at a barrier; the launch is cooperative or has clusters if `config` says so.
macro_rules! check_fault_in_other_thread {
    ($kernel:ident, $config:expr) => {
        for check_races in [true, false] {
            let mut x = SimulatorBuffer::filled(0_u32, 64);
            let options = Options { check_races, ..Options::default() };
            let fault = fault(simulator::launch_with(options, &$kernel, $config, (&mut x,)));
            assert!(matches!(fault.kind, FaultKind::OutOfBounds { index: 1000, .. }), "{fault}");
            assert_eq!((fault.block.x, fault.thread.x), (0, 5));
            check_next_launch();
        }
    };
}

/// Declares a kernel with a value whose destructor runs `$drop`, before and after the fault.
macro_rules! dropping_kernels {
    ($($test:ident: $name:ident, $config:expr, |$x:ident, $t:ident| $drop:expr;)*) => {$(
        #[kernel]
        fn $name($x: GlobalMut<u32>) {
            let $t = thread::thread_idx_x() as usize;
            let _guard = OnDrop(|| $drop);
            thread::sync_threads();
            if $t == 5 {
                $x.set(1000, 1);
            }
            thread::sync_threads();
        }

        #[test]
        fn $test() {
            check_fault_in_other_thread!($name, $config);
        }
    )*};
}

fn two_blocks() -> LaunchConfig {
    LaunchConfig::new(2, 64).with_dynamic_shared(1024)
}

dropping_kernels! {
    a_destructor_may_wait_for_the_block: block_barrier, two_blocks(), |x, _t| {
        thread::sync_threads();
        assert!(thread::sync_threads_and(true));
        assert_eq!(thread::sync_threads_count(false), 0);
        _ = x;
    };
    a_destructor_may_wait_for_its_warp: warp_operations, two_blocks(), |x, t| {
        warp::sync_warp();
        assert_eq!(warp::shuffle_xor(t as u64, 1), t as u64);
        assert_eq!(warp::shuffle_up(t as u32, 40), t as u32);
        assert!(warp::all(true) && warp::any(true) && warp::activemask() != 0);
        _ = warp::reduce_add(1_u32) + warp::match_any(7_u32) + warp::ballot(false);
        _ = dynamic_shared::<F32x4>().load_matrices(t);
        _ = x;
    };
    a_destructor_may_wait_for_the_grid: grid_barrier, two_blocks().cooperative(), |x, _t| grid::sync(x);
    a_destructor_may_wait_for_a_grid_that_is_not_cooperative: no_grid_barrier, two_blocks(), |x, _t| grid::sync(x);
    a_destructor_may_wait_for_its_cluster: cluster_barrier, two_blocks().clusters_of(2), |x, t| {
        cluster::sync();
        cluster::map_shared(&dynamic_shared::<F32x4>(), 7).set(t, F32x4::splat(1.0));
        let other = cluster::map_shared(&dynamic_shared::<F32x4>(), 1 - cluster::rank());
        other.set(t, other.get(t));
        let barriers = Mbarriers::<2>::new(shared_array![u64; 2]);
        other.set_async(1000, F32x4::splat(1.0), &barriers, 9);
        _ = x;
    };
    a_destructor_may_use_barriers_that_were_not_initialised: mbarriers, two_blocks(), |x, _t| {
        let barriers = Mbarriers::<2>::new(shared_array![u64; 2]);
        barriers.wait(0, 0);
        barriers.arrive_expecting(5, 16);
        barriers.init(5, 0);
        _ = x;
    };
    a_destructor_may_wait_for_copies: copies, two_blocks(), |x, t| {
        let tile = dynamic_shared::<F32x4>();
        tile.set(t, F32x4::splat(1.0));
        async_copy::commit();
        async_copy::wait::<0>();
        _ = x;
    };
    a_destructor_may_access_memory: accesses, two_blocks(), |x, t| {
        thread::sync_threads();
        let shared = shared_array![u32; 64];
        // Unwritten, racing and out of bounds.
        shared.set(63 - t, shared.get(t));
        shared.set(0, 1);
        shared.set(64, shared.get(usize::MAX));
        shared.atomic(64).fetch_add(1);
        x.set(0, t as u32);
        x.set(64, x.get(usize::MAX));
        x.atomic(0).ordered(Ordering::AcqRel).fetch_add(1);
        x.atomic(1000).fetch_add(1);
        let view = x.view(0, [8, 8], [8, 1]);
        view.set([8, 0], view.get([0, 9]));
        let quads = dynamic_shared::<F32x4>();
        quads.view(0, [8, 8], [8, 1]).set([9, 0], quads.get(64));
        quads.view(9, [8, 8], [8, 1]).set([9, 0], quads.split_at(100).1.get(0));
        x.view(100, [2], [1]).set([0], 1);
        dynamic_shared::<u32>().set(0, 1);
        shared_array![u8; 1 << 20].set(0, 1);
        let table = shared_array![[u32; 8]; 4];
        table.set([4, 8], table.get([9, 0]));
    };
    destructors_may_nest: nested, two_blocks(), |x, t| {
        let _inner = OnDrop(|| {
            let _innermost = OnDrop(thread::sync_threads);
            warp::sync_warp();
        });
        thread::sync_threads();
        _ = (x, t);
    };
    a_destructor_may_catch_a_panic: catching, two_blocks(), |x, _t| {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _guard = OnDrop(thread::sync_threads);
            panic!("of a destructor");
        }));
        assert!(caught.is_err());
        thread::sync_threads();
        _ = x;
    };
    a_destructor_sees_the_indices_of_its_own_thread: indices, two_blocks(), |x, t| {
        assert_eq!([thread::thread_idx_x() as usize, warp::lane_id() as usize], [t, t % 32]);
        assert_eq!([thread::block_dim_x(), thread::grid_dim_x()], [64, 2]);
        _ = x;
    };
}

/// The panics of other kernels, too: thread 0 panics while the others wait, or before they start.
#[kernel]
fn panics(x: GlobalMut<u32>) {
    let _guard = OnDrop(|| {
        thread::sync_threads();
        warp::sync_warp();
        x.set(0, 1);
    });
    if thread::thread_idx_x() == x.get(0) {
        panic!("by thread {}", thread::thread_idx_x());
    }
    thread::sync_threads();
}

#[test]
fn a_destructor_may_wait_while_its_own_thread_or_another_one_panics() {
    for thread in [0, 1, 31, 63] {
        let mut x = SimulatorBuffer::from_slice(&[thread]);
        let fault = fault(simulator::launch(&panics, LaunchConfig::new(1, 64), (&mut x,)));
        assert_eq!(fault.kind, FaultKind::Panic { message: format!("by thread {thread}") });
        assert_eq!(fault.thread.x, thread);
        check_next_launch();
    }
}

/// Each thread catches what unwinds it around a barrier, waits again, and marks its element if that returns.
#[kernel]
fn catches(x: GlobalMut<u32>, ends: GlobalMut<u32>) {
    let t = thread::thread_idx_x() as usize;
    let around = || {
        let _guard = OnDrop(thread::sync_threads);
        thread::sync_threads();
        if t == 5 {
            x.set(1000, 1);
        }
        thread::sync_threads();
    };
    for _ in 0..3 {
        let caught = catch_unwind(AssertUnwindSafe(around));
        if t == 5 && caught.is_err() {
            panic!("thread 5 ends");
        }
        _ = catch_unwind(AssertUnwindSafe(warp::sync_warp));
    }
    ends.set(t, 1);
}

#[test]
fn a_thread_that_catches_its_end_ends_nevertheless() {
    let (mut x, mut ends) = (SimulatorBuffer::filled(0_u32, 1), SimulatorBuffer::filled(0_u32, 64));
    let fault = fault(simulator::launch(&catches, LaunchConfig::new(1, 64), (&mut x, &mut ends)));
    assert_eq!(fault.kind, FaultKind::Panic { message: "thread 5 ends".to_owned() });
    assert_eq!(ends.to_vec()[5], 0);
    check_next_launch();
}

/// A thread that catches its end starts no other one.
#[kernel]
fn starts(x: GlobalMut<u32>) {
    let t = thread::thread_idx_x() as usize;
    x.set(t, 1);
    if t == 0 {
        _ = catch_unwind(thread::sync_threads);
    }
    if t == 1 {
        panic!("thread 1 ends");
    }
}

#[test]
fn no_thread_starts_after_the_launch_has_failed() {
    let mut x = SimulatorBuffer::filled(0_u32, 64);
    let fault = fault(simulator::launch(&starts, LaunchConfig::new(1, 64), (&mut x,)));
    assert_eq!(fault.thread.x, 1);
    assert_eq!(x.to_vec().iter().sum::<u32>(), 2);
}

/// A payload of a panic whose destructor waits, and panics in thread 0.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        thread::sync_threads();
        assert!(thread::thread_idx_x() > 0);
    }
}

#[kernel]
fn throws(how: u32) {
    throw(thread::thread_idx_x(), how);
    thread::sync_threads();
}

fn throw(thread: u32, how: u32) {
    match (thread, how) {
        (2, 0) => resume_unwind(Box::new(1)),
        (2, 1) => panic_any(2),
        (_, 2) => panic_any(Payload),
        (_, 3) => resume_unwind(Box::new(Payload)),
        _ => {}
    }
}

#[test]
fn a_panic_with_any_payload_is_a_fault_of_its_thread() {
    for how in 0..4 {
        let fault = fault(simulator::launch(&throws, LaunchConfig::new(1, 4), (how,)));
        assert_eq!(fault.kind, FaultKind::Panic { message: String::new() });
        assert_eq!((fault.kernel, fault.location.file.ends_with("unwinding.rs")), ("throws", true));
        check_next_launch();
    }
}

thread_local! {
    static KEPT: Cell<Option<Box<dyn std::any::Any + Send>>> = const { Cell::new(None) };
}

/// What ends thread 0 is kept, and ends a thread of the next launch.
#[kernel]
fn keeps(x: GlobalMut<u32>) {
    if let Some(kept) = KEPT.take() {
        resume_unwind(kept);
    }
    if thread::thread_idx_x() == 0 {
        KEPT.set(catch_unwind(thread::sync_threads).err());
    } else {
        x.set(1000, 1);
    }
}

#[test]
fn what_ends_a_thread_may_be_kept_for_another_launch() {
    let mut x = SimulatorBuffer::filled(0_u32, 1);
    let mut launch = || fault(simulator::launch(&keeps, LaunchConfig::new(1, 2), (&mut x,))).kind;
    assert!(matches!(launch(), FaultKind::OutOfBounds { .. }));
    assert_eq!(launch(), FaultKind::Panic { message: String::new() });
    check_next_launch();
}

#[kernel]
fn leaks(x: GlobalMut<u32>) {
    let shared = shared_array![u32; 64];
    forget(OnDrop(thread::sync_threads));
    forget(shared.clone());
    thread::sync_threads();
    forget(shared);
    x.set(if thread::thread_idx_x() == 5 { 1000 } else { 0 }, 1);
}

/// Reads beyond its input, before the fault and after it.
#[kernel]
fn reads(x: &[f32], out: GlobalMut<f32>) {
    let t = thread::thread_idx_x() as usize;
    let _guard = OnDrop(|| {
        let quads = x.quads(0, 100);
        out.set(t, x[t + 1000] + x.quad(usize::MAX).x + x.slice(60..70).get(0) + quads.get(99).x);
        out.set_quad(usize::MAX, out.quad(1001));
    });
    thread::sync_threads();
    out.set(t, x[if t == 5 { 1000 } else { t }]);
    thread::sync_threads();
}

#[test]
fn a_destructor_may_read_beyond_an_input() {
    let (x, mut out) = (SimulatorBuffer::filled(1.0, 64), SimulatorBuffer::uninitialized(64));
    let fault = fault(simulator::launch(&reads, LaunchConfig::new(1, 64), (&x, &mut out)));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { index: 1000, .. }), "{fault}");
    check_next_launch();
}

#[test]
fn a_kernel_may_leak_its_values() {
    check_fault_in_other_thread!(leaks, two_blocks());
}

/// The destructor of a thread that does not unwind waits as any code does.
#[kernel]
fn waits(x: GlobalMut<u32>) {
    let t = thread::thread_idx_x() as usize;
    let _guard = OnDrop(|| {
        thread::sync_threads();
        x.set(t, x.get(t) + warp::shuffle_xor(t as u32, 1));
    });
    x.set(63 - t, 100);
}

#[test]
fn a_destructor_waits_if_no_fault_unwinds_it() {
    let mut x = SimulatorBuffer::filled(0_u32, 64);
    simulator::launch(&waits, LaunchConfig::new(1, 64), (&mut x,)).unwrap();
    assert_eq!(x.to_vec(), (0..64).map(|t| 100 + (t ^ 1)).collect::<Vec<u32>>());
}

#[test]
fn a_kernel_that_is_launched_during_a_panic_runs_as_any() {
    let panicked = catch_unwind(|| {
        let _guard = OnDrop(check_next_launch);
        resume_unwind(Box::new(1));
    });
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&1));
}
