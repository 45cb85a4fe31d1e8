//! Faults that only some orders of blocks and threads show in the simulator, and threads that wait for each other.

use cuda_std::simulator::{self, FaultKind, LaunchError, Options, SimulatorBuffer};
use cuda_std::{GlobalMut, LaunchConfig, Search, kernel, shared_array, thread};

const MANY: Search = Search { runs: 100, seconds: u32::MAX, seed: 1 };

fn orders(search: Search) -> Options {
    Options { search, ..Options::default() }
}

fn in_order(schedule: &str) -> Options {
    Options { schedule: schedule.parse().unwrap(), ..Options::default() }
}

/// The order of the fault that a search finds, which shows it again in the same words; None if there is none.
#[track_caller]
fn order(launch: impl Fn(Options) -> Result<(), LaunchError>, search: Search) -> Option<String> {
    let error = launch(orders(search)).err()?;
    let schedule = error.fault().unwrap_or_else(|| panic!("{error}")).schedule.to_string();
    let again = launch(in_order(&schedule)).unwrap_err().to_string();
    assert_eq!(again, error.to_string());
    assert_eq!(again.ends_with(&format!(" (order: {schedule})")), schedule != "ascending", "{again}");
    Some(schedule)
}

/// Thread 0 raises a flag; the others write out[0] if they see it down.
#[kernel]
pub fn early_birds(flag: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d();
    if i == 0 {
        flag.atomic(0).fetch_add(1);
    } else if flag.atomic(0).fetch_add(0) == 0 {
        out.set(0, i);
    }
}

/// Thread 0 raises a flag; the others write out[0] if they see it raised.
#[kernel]
pub fn late_birds(flag: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d();
    if i == 0 {
        flag.atomic(0).fetch_add(1);
    } else if flag.atomic(0).fetch_add(0) == 1 {
        out.set(0, i);
    }
}

/// As many threads as `goers` write.
#[kernel]
pub fn first_come(tickets: GlobalMut<u32>, out: GlobalMut<u32>, goers: u32) {
    if tickets.atomic(0).fetch_add(1) < goers {
        out.set(0, thread::index_1d());
    }
}

/// Each of two threads looks at the other's flag and raises its own, and writes if it has seen the other's down.
#[kernel]
pub fn looks_first(flags: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d();
    let other = flags.atomic(1 - i as usize).fetch_add(0);
    flags.atomic(i as usize).fetch_add(1);
    if other == 0 {
        out.set(0, i);
    }
}

/// The same in the right order: at most one writes.
#[kernel]
pub fn raises_first(flags: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d();
    flags.atomic(i as usize).fetch_add(1);
    let other = flags.atomic(1 - i as usize).fetch_add(0);
    if other == 0 {
        out.set(0, i);
    }
}

/// Thread 0 of block 0 waits for the last thread of the last block.
#[kernel]
pub fn waits(flag: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d();
    if i == 0 {
        while flag.atomic(0).fetch_add(0) == 0 {}
        out.set(0, 7);
    } else if i + 1 == thread::grid_dim_x() * thread::block_dim_x() {
        flag.atomic(0).fetch_add(1);
    }
}

/// Every thread waits for a flag that none raises.
#[kernel]
pub fn waits_forever(flag: GlobalMut<u32>) {
    while flag.atomic(0).fetch_add(0) == 0 {}
}

/// Threads reverse their block's elements in shared memory, and count on the way.
#[kernel]
pub fn reverses(count: GlobalMut<u32>, out: GlobalMut<u32>) {
    let room = shared_array![u32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    room.set(63 - t, out.get(i));
    count.atomic(0).fetch_add(1);
    thread::sync_threads();
    out.set(i, room.get(t));
}

macro_rules! launches {
    ($kernel:ident, $config:expr, $($extra:expr)?) => {
        |options: Options| {
            let mut flags = SimulatorBuffer::filled(0u32, 2);
            let mut out = SimulatorBuffer::filled(0u32, 2);
            simulator::launch_with(options, &$kernel, $config, (&mut flags, &mut out $(, $extra)?)).map(|_| ())
        }
    };
}

#[test]
fn threads_that_run_before_the_first_are_found_in_the_other_order() {
    for threads in [4, 32, 100] {
        let early = launches!(early_birds, LaunchConfig::new(1, threads),);
        assert_eq!(order(early, Search::ONE), None);
        assert_eq!(order(early, Search::TWO).as_deref(), Some("descending"));
    }
    // As each block is a thread, too.
    let blocks = launches!(early_birds, LaunchConfig::new(4, 1),);
    assert_eq!((order(blocks, Search::ONE), order(blocks, Search::TWO).as_deref()), (None, Some("descending")));
    let late = launches!(late_birds, LaunchConfig::new(1, 4),);
    assert_eq!(order(late, Search::ONE).as_deref(), Some("ascending"));
    let two = launches!(first_come, LaunchConfig::new(2, 4), 2);
    assert_eq!(order(two, Search::ONE).as_deref(), Some("ascending"));
    assert_eq!(order(launches!(first_come, LaunchConfig::new(2, 4), 1), MANY), None);
}

#[test]
fn a_thread_gives_way_between_two_operations_and_the_order_is_shrunk() {
    for (blocks, threads) in [(1, 2), (2, 1)] {
        let config = LaunchConfig::new(blocks, threads);
        assert_eq!(order(launches!(looks_first, config,), Search::TWO), None);
        assert_eq!(order(launches!(looks_first, config,), MANY).as_deref(), Some("ascending@2"));
        assert_eq!(order(launches!(raises_first, config,), MANY), None);
    }
}

#[test]
fn a_thread_may_wait_for_another_of_its_block_or_of_another() {
    for (blocks, threads) in [(1, 2), (1, 64), (5, 1), (3, 70)] {
        for check_races in [true, false] {
            for cooperative in [true, false] {
                let mut config = LaunchConfig::new(blocks, threads);
                config.cooperative = cooperative;
                let (mut flag, mut out) = (SimulatorBuffer::filled(0u32, 1), SimulatorBuffer::filled(0u32, 1));
                let options = Options { check_races, ..orders(Search { runs: 5, ..MANY }) };
                simulator::launch_with(options, &waits, config, (&mut flag, &mut out)).unwrap();
                assert_eq!((flag.as_slice(), out.as_slice()), (&[1][..], &[7][..]));
            }
        }
    }
}

#[test]
fn threads_that_wait_for_nothing_are_a_fault_soon() {
    for config in [LaunchConfig::new(1, 1), LaunchConfig::new(2, 3), LaunchConfig::new(2, 3).cooperative()] {
        let mut flag = SimulatorBuffer::filled(0u32, 1);
        let error = simulator::launch(&waits_forever, config, (&mut flag,)).unwrap_err();
        let fault = error.fault().unwrap();
        assert!(matches!(fault.kind, FaultKind::WaitsForever { .. }), "{fault}");
        let line =
            include_str!("schedules.rs").lines().position(|line| line.starts_with("    while flag")).unwrap() + 1;
        assert_eq!(fault.location.line as usize, line);
        assert!(fault.to_string().contains(": waits forever: the threads of the block have taken "), "{fault}");
    }
}

#[test]
fn a_search_leaves_memory_and_counts_as_the_default_order_does() {
    let run = |options: Options| {
        let mut count = SimulatorBuffer::filled(0u32, 1);
        let mut out = SimulatorBuffer::uninitialized(256);
        out.copy_from_slice(&(0..256).collect::<Vec<u32>>());
        let report = simulator::launch_with(options, &reverses, LaunchConfig::new(4, 64), (&mut count, &mut out));
        (report.unwrap(), count.to_vec(), out.to_vec())
    };
    let expected: Vec<u32> = (0..256).map(|i| i / 64 * 64 + 63 - i % 64).collect();
    let alone = run(Options::default());
    assert_eq!((&alone.1, &alone.2), (&vec![256], &expected));
    assert_eq!(run(orders(MANY)), alone);
    // Elements that were not written before are not afterwards either.
    let mut out = SimulatorBuffer::uninitialized(2);
    let mut flags = SimulatorBuffer::filled(0u32, 2);
    simulator::launch_with(orders(MANY), &raises_first, LaunchConfig::new(1, 2), (&mut flags, &mut out)).unwrap();
    assert_eq!((out.first_unwritten(), out.as_slice()[0]), (Some(1), 0));
}

/// Notes the order in which threads take tickets.
#[kernel]
pub fn tickets(next: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    let first = next.atomic(0).fetch_add(1);
    let second = next.atomic(0).fetch_add(1);
    out.set(i, first << 16 | second);
}

#[test]
fn a_schedule_is_replayed_to_the_bit_a_thousand_times() {
    let search = Search { runs: u32::MAX, seconds: u32::MAX, seed: 2 };
    let run = |options: Options| {
        let (mut next, mut out) = (SimulatorBuffer::filled(0u32, 1), SimulatorBuffer::uninitialized(60));
        simulator::launch_with(options, &tickets, LaunchConfig::new(3, 20), (&mut next, &mut out)).unwrap();
        out.to_vec()
    };
    let mut results = std::collections::HashSet::new();
    for number in 1..1000 {
        let schedule = search.schedule(number, 120).to_string();
        let result = run(in_order(&schedule));
        assert_eq!(run(in_order(&schedule)), result, "{schedule}");
        results.insert(result);
    }
    assert!(results.len() > 900, "{} results", results.len());
    // Of descending threads the last takes the first two tickets.
    let descending = run(in_order("descending"));
    assert_eq!((descending[59], descending[0]), (1, 118 << 16 | 119));
}

/// Each thread writes the same value to one element and reads it again.
#[kernel]
pub fn same_value_and_own_read(value: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    value.set(0, 5);
    out.set(i, value.get(0));
}

/// The last thread reads what the others have written.
#[kernel]
pub fn same_value_and_others_read(value: GlobalMut<u32>, out: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < 63 {
        value.set(0, 5);
    } else {
        out.set(0, value.get(0));
    }
}

#[test]
fn a_thread_may_read_the_value_that_it_and_others_have_written() {
    let run = |options: Options| {
        let (mut value, mut out) = (SimulatorBuffer::filled(0u32, 1), SimulatorBuffer::uninitialized(64));
        simulator::launch_with(options, &same_value_and_own_read, LaunchConfig::new(2, 32), (&mut value, &mut out))?;
        Ok::<_, LaunchError>(out.to_vec())
    };
    assert_eq!(run(orders(MANY)).unwrap(), [5; 64]);
    let strict = Options { same_value_races_are_faults: true, ..Options::default() };
    assert!(matches!(run(strict).unwrap_err().fault().unwrap().kind, FaultKind::Race { .. }));
    let (mut value, mut out) = (SimulatorBuffer::filled(0u32, 1), SimulatorBuffer::uninitialized(64));
    let others = simulator::launch(&same_value_and_others_read, LaunchConfig::new(2, 32), (&mut value, &mut out));
    assert!(matches!(others.unwrap_err().fault().unwrap().kind, FaultKind::Race { .. }));
}
