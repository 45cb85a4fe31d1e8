//! Asynchronous stores and mbarriers in the simulator: exchanges between the blocks of a cluster, and each wrong use.

use cuda_launch::MbarrierError;
use cuda_std::mbarrier::Mbarriers;
use cuda_std::simulator::{self, Fault, FaultKind, LaunchError, Options, Place, SimulatorBuffer};
use cuda_std::{F32x4, GlobalMut, Kernel, LaunchConfig, cluster, dynamic_shared, kernel, shared_array, thread};

/// Each of `rounds` times, each thread adds up what the threads of the same index in all blocks have, and its block's rank.
#[kernel]
fn sum_up(rounds: u32, out: GlobalMut<f32>) {
    let (rank, blocks) = (cluster::rank() as usize, cluster::size() as usize);
    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let shared = dynamic_shared::<F32x4>();
    let arrivals = Mbarriers::<2>::new(shared_array![u64; 2]);
    if t == 0 {
        arrivals.init(0, 1);
        arrivals.init(1, 1);
    }
    cluster::sync();
    let mut value = thread::index_1d() as f32;
    for round in 0..rounds {
        let half = round as usize % 2;
        if t == 0 {
            arrivals.arrive_expecting(half, (16 * blocks * threads) as u32);
        }
        for block in 0..blocks {
            let place = (half * blocks + rank) * threads + t;
            cluster::map_shared(&shared, block as u32).set_async(place, F32x4::splat(value), &arrivals, half);
        }
        arrivals.wait(half, round / 2 % 2);
        value = rank as f32;
        for block in 0..blocks {
            value += shared.get((half * blocks + block) * threads + t).z;
        }
        // What the block has received is read before one of its threads sends for the round after the next.
        thread::sync_threads();
    }
    out.set(thread::index_1d() as usize, value);
}

#[test]
fn blocks_exchange_values() {
    for (blocks, threads, rounds) in [(16, 40, 3), (3, 1, 7), (2, 33, 2), (1, 4, 3)] {
        for check_races in [true, false] {
            let count = (2 * blocks * threads) as usize;
            let mut out = SimulatorBuffer::uninitialized(count);
            let config = LaunchConfig::new(2 * blocks, threads).clusters_of(blocks);
            let config = config.with_dynamic_shared(16 * 2 * blocks * threads);
            let options = Options { check_races, ..Options::default() };
            simulator::launch_with(options, &sum_up, config, (rounds, &mut out)).unwrap();
            let mut expected: Vec<f32> = (0..count as u32).map(|index| index as f32).collect();
            for _ in 0..rounds {
                let of = |index: u32| {
                    let (block, t) = (index / threads, index % threads);
                    let all = (0..blocks).map(|other| (block / blocks * blocks + other) * threads + t);
                    all.fold((block % blocks) as f32, |sum, other| sum + expected[other as usize])
                };
                expected = (0..count as u32).map(of).collect();
            }
            assert_eq!(out.to_vec(), expected, "{blocks} blocks of {threads}, {rounds} rounds, races: {check_races}");
        }
    }
}

/// Two blocks answer each other `rounds` times through one place in each, without a barrier.
#[kernel]
fn answer(rounds: u32, out: GlobalMut<f32>) {
    let (shared, t) = (dynamic_shared::<F32x4>(), thread::thread_idx_x() as usize);
    let (arrivals, bytes) = (Mbarriers::<1>::new(shared_array![u64; 1]), 16 * thread::block_dim_x());
    if t == 0 {
        arrivals.init(0, 1);
    }
    cluster::sync();
    let other = cluster::map_shared(&shared, 1 - cluster::rank());
    let mut value = 0.0;
    for round in 0..rounds {
        if t == 0 {
            arrivals.arrive_expecting(0, bytes);
        }
        if cluster::rank() == 0 {
            other.set_async(t, F32x4::splat(value), &arrivals, 0);
        }
        arrivals.wait(0, round % 2);
        value = shared.get(t).x + 1.0;
        if cluster::rank() == 1 {
            other.set_async(t, F32x4::splat(value), &arrivals, 0);
        }
    }
    out.set(thread::index_1d() as usize, value);
    cluster::sync();
}

#[test]
fn what_a_thread_has_read_before_it_sends_is_ordered() {
    let mut out = SimulatorBuffer::uninitialized(10);
    let config = LaunchConfig::new(2, 5).clusters_of(2).with_dynamic_shared(80);
    simulator::launch(&answer, config, (4, &mut out)).unwrap();
    assert_eq!(out.to_vec(), [[8.0; 5], [7.0; 5]].concat());
}

/// A kernel whose only thread of each block has two mbarriers of one arrival, and the next block's memory.
macro_rules! wrong {
    ($name:ident, |$shared:ident, $arrivals:ident, $next:ident, $out:ident| $body:block) => {
        #[kernel]
        fn $name(out: GlobalMut<f32>) {
            let $shared = dynamic_shared::<F32x4>();
            let $arrivals = Mbarriers::<2>::new(shared_array![u64; 2]);
            $arrivals.init(0, 1);
            cluster::sync();
            let $next = cluster::map_shared(&$shared, (cluster::rank() + 1) % cluster::size());
            let $out = out;
            $body
            cluster::sync();
        }
    };
}

const VALUE: F32x4 = F32x4 { x: 1.0, y: 2.0, z: 3.0, w: 4.0 };

wrong!(reads_before_the_wait, |shared, arrivals, next, out| {
    arrivals.arrive_expecting(0, 32);
    next.set_async(0, VALUE, &arrivals, 0);
    out.set(thread::index_1d() as usize, shared.get(0).x);
    next.set_async(1, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
});

wrong!(reads_what_it_sends_itself, |shared, arrivals, _next, out| {
    arrivals.arrive_expecting(0, 32);
    cluster::map_shared(&shared, cluster::rank()).set_async(0, VALUE, &arrivals, 0);
    out.set(thread::index_1d() as usize, shared.get(0).x);
});

wrong!(reads_what_it_has_sent_itself, |shared, arrivals, _next, out| {
    arrivals.arrive_expecting(0, 16);
    cluster::map_shared(&shared, cluster::rank()).set_async(0, VALUE, &arrivals, 0);
    out.set(thread::index_1d() as usize, shared.get(0).x);
});

wrong!(writes_before_it_sends, |shared, arrivals, next, out| {
    arrivals.arrive_expecting(0, 16);
    next.set(1, VALUE);
    next.set_async(0, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
    out.set(thread::index_1d() as usize, shared.get(1).x);
});

wrong!(expects_too_few_bytes, |shared, arrivals, next, out| {
    arrivals.arrive_expecting(0, 16);
    next.set_async(0, VALUE, &arrivals, 0);
    next.set_async(1, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
    out.set(thread::index_1d() as usize, shared.get(1).x);
});

wrong!(expects_too_many_bytes, |_shared, arrivals, next, _out| {
    arrivals.arrive_expecting(0, 48);
    next.set_async(0, VALUE, &arrivals, 0);
    next.set_async(1, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
});

wrong!(expects_nothing, |_shared, arrivals, next, _out| {
    next.set_async(0, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
});

wrong!(waits_for_the_phase_before, |shared, arrivals, next, out| {
    arrivals.arrive_expecting(0, 16);
    arrivals.wait(0, 1);
    out.set(thread::index_1d() as usize, shared.get(0).x);
    next.set_async(0, VALUE, &arrivals, 0);
});

wrong!(waits_for_one_phase_twice, |shared, arrivals, next, out| {
    arrivals.arrive_expecting(0, 16);
    next.set_async(0, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
    arrivals.arrive_expecting(0, 16);
    next.set_async(1, VALUE, &arrivals, 0);
    arrivals.wait(0, 0);
    out.set(thread::index_1d() as usize, shared.get(1).x);
});

wrong!(sends_again_before_it_is_read, |shared, arrivals, next, out| {
    for round in 0..2 {
        arrivals.arrive_expecting(0, 16);
        next.set_async(0, VALUE, &arrivals, 0);
        arrivals.wait(0, round);
        out.set(thread::index_1d() as usize, shared.get(0).x);
    }
});

wrong!(sends_twice_to_one_place, |_shared, arrivals, next, _out| {
    arrivals.arrive_expecting(0, 32);
    next.set_async(0, VALUE, &arrivals, 0);
    next.set_async(0, F32x4::splat(0.0), &arrivals, 0);
    arrivals.wait(0, 0);
});

wrong!(uses_another_mbarrier, |_shared, arrivals, next, _out| {
    next.set_async(0, VALUE, &arrivals, 1);
});

wrong!(waits_for_another_mbarrier, |_shared, arrivals, _next, _out| {
    arrivals.wait(1, 0);
});

wrong!(arrives_twice, |_shared, arrivals, _next, _out| {
    arrivals.arrive_expecting(0, 16);
    arrivals.arrive_expecting(0, 16);
});

wrong!(initialises_for_no_arrival, |_shared, arrivals, _next, _out| {
    arrivals.init(1, 0);
});

wrong!(initialises_too_late, |_shared, arrivals, next, _out| {
    arrivals.init(1, 1);
    next.set_async(0, VALUE, &arrivals, 1);
});

wrong!(names_no_mbarrier, |_shared, arrivals, _next, _out| {
    arrivals.init(2, 1);
});

fn fault<K>(kernel: &K, check_races: bool) -> Box<Fault>
where
    K: for<'a> Kernel<Arguments<'a, simulator::SimulatorMemory> = (&'a mut SimulatorBuffer<f32>,)>,
{
    let mut out = SimulatorBuffer::uninitialized(4);
    let options = Options { same_value_races_are_faults: true, check_races, ..Options::default() };
    let config = LaunchConfig::new(4, 1).clusters_of(4).with_dynamic_shared(64);
    match simulator::launch_with(options, kernel, config, (&mut out,)) {
        Err(LaunchError::Fault(fault)) => fault,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn what_has_not_been_waited_for_is_a_race() {
    let is_race = |fault: &Fault| matches!(fault.kind, FaultKind::Race { place: Place::Shared, .. });
    for fault in [
        fault(&reads_what_it_sends_itself, true),
        fault(&reads_what_it_has_sent_itself, true),
        fault(&writes_before_it_sends, true),
        fault(&expects_too_few_bytes, true),
        fault(&sends_again_before_it_is_read, true),
        fault(&sends_twice_to_one_place, true),
    ] {
        assert!(is_race(&fault), "{fault}");
    }
    // Of the first block nothing is there yet; it is a race in the others.
    for fault in [
        fault(&reads_before_the_wait, true),
        fault(&waits_for_the_phase_before, true),
        fault(&waits_for_one_phase_twice, true),
    ] {
        assert!(is_race(&fault) || matches!(fault.kind, FaultKind::Unwritten { .. }), "{fault}");
    }
}

#[test]
fn a_phase_that_is_never_complete_is_named() {
    for check_races in [true, false] {
        let waits = fault(&expects_too_many_bytes, check_races);
        assert_eq!(waits.kind, FaultKind::PhaseNeverEnds { arrivals: 0, bytes: 16 });
        assert!(waits.to_string().contains(
            "waits forever: no thread completes the phase of the mbarrier, which still expects 0 arrivals and 16 bytes"
        ));
        let waits = fault(&expects_nothing, check_races);
        assert_eq!(waits.kind, FaultKind::PhaseNeverEnds { arrivals: 1, bytes: -16 });
    }
}

#[test]
fn wrong_uses_of_mbarriers_are_faults() {
    for check_races in [true, false] {
        for fault in [
            fault(&uses_another_mbarrier, check_races),
            fault(&waits_for_another_mbarrier, check_races),
            fault(&initialises_too_late, check_races),
        ] {
            assert_eq!(fault.kind, FaultKind::Mbarrier(MbarrierError::NotInitialised), "{fault}");
        }
        let twice = fault(&arrives_twice, check_races);
        let too_many = MbarrierError::TooManyArrivals { arrivals: 1, pending: 0, expected: 1, bytes: 16 };
        assert_eq!(twice.kind, FaultKind::Mbarrier(too_many), "{twice}");
        let none = fault(&initialises_for_no_arrival, check_races);
        assert_eq!(none.kind, FaultKind::Mbarrier(MbarrierError::Arrivals(0)), "{none}");
        let beyond = fault(&names_no_mbarrier, check_races);
        assert_eq!(beyond.kind, FaultKind::OutOfBounds { place: Place::Shared, index: 2, length: 2 }, "{beyond}");
    }
}
