//! Synchronization patterns of kernels, correct and incorrect.

use ptx_interpreter::memory::races::{
    AccessKind, AccessKind::*, Conflict, Fence, LaneAccess, Observation, Phase, Publication, RaceDetector, Scope,
    Thread, Watched, Why,
};

const ACQUIRE: Observation = Observation { scope: Scope::Device, acquires: true, counts: false };
const RELAXED: Observation = Observation { acquires: false, ..ACQUIRE };
/// Relaxed and releasing atomic operations.
const UPDATE: Publication = Publication { scope: Scope::Device, releases: false, is_update: true, is_volatile: false };
const RELEASE: Publication = Publication { releases: true, ..UPDATE };

/// A detector with a region for data and one for flags.
struct Launch {
    detector: RaceDetector,
    data: Watched,
    flags: Watched,
}

impl Launch {
    fn new() -> Self {
        let mut detector = RaceDetector::new(1, true);
        let (data, flags) = (detector.watch(256), detector.watch(64));
        Self { detector, data, flags }
    }

    fn access(&mut self, who: Thread, offset: usize, bytes: usize, kind: AccessKind) -> Result<(), Conflict> {
        self.detector.record(LaneAccess { location: self.data.at(offset), bytes, kind, thread: who, instruction: 7 })
    }

    fn read(&mut self, who: Thread) -> Result<(), Conflict> {
        self.access(who, 0, 4, Read)
    }

    fn write(&mut self, who: Thread) -> Result<(), Conflict> {
        self.access(who, 0, 4, Write)
    }

    /// A relaxed atomic operation on a flag.
    fn atomic(&mut self, who: Thread) {
        self.detector.observe(self.flags.at(0), who, RELAXED);
        self.detector.publish(self.flags.at(0), who, UPDATE);
    }
}

fn at(block: u32, thread: u32, barriers: u32) -> Thread {
    Thread { phase: Phase { block, warp: thread / 32, barriers, warp_syncs: 0 }, lane: thread % 32 }
}

fn synced(block: u32, thread: u32, warp_syncs: u32) -> Thread {
    Thread { phase: Phase { block, warp: thread / 32, barriers: 0, warp_syncs }, lane: thread % 32 }
}

#[test]
fn a_conflict_names_thread_access_and_offset() {
    let mut launch = Launch::new();
    let (location, thread) = (launch.data.at(8), at(3, 45, 2));
    let access = LaneAccess { location, bytes: 16, kind: Write, thread, instruction: 1234 };
    assert_eq!(launch.detector.record(access), Ok(()));
    let conflict = launch.access(at(3, 77, 2), 16, 4, Read);
    let expected = Conflict { block: 3, thread: 45, kind: Write, instruction: 1234, offset: 16, why: Why::Unordered };
    assert_eq!(conflict, Err(expected));
}

#[test]
fn kinds_race_if_one_writes_and_they_are_not_morally_strong() {
    let [of_device, of_block] = [Scope::Device, Scope::Block].map(AtomicWrite);
    let kinds = [Read, Write, VolatileRead, VolatileWrite, AtomicRead(Scope::Device), of_device, of_block];
    let expected = [
        "- W - W - W W", // Read
        "W W W W W W W", // Write
        "- W - - - - W", // VolatileRead
        "W W - W - - W", // VolatileWrite
        "- W - - - - W", // AtomicRead of the device
        "W W - - - - W", // AtomicWrite of the device
        "W W W W W W W", // AtomicWrite of a block
    ];
    for (first, row) in kinds.into_iter().zip(expected) {
        for (second, expected) in kinds.into_iter().zip(row.split(' ').map(|cell| cell == "W")) {
            let mut launch = Launch::new();
            assert_eq!(launch.access(at(0, 0, 0), 0, 4, first), Ok(()));
            assert_eq!(launch.access(at(1, 0, 0), 0, 4, second).is_err(), expected, "{first:?}, then {second:?}");
            assert_eq!(first.races_with(second, Scope::Device), expected);
        }
    }
    // Within the block, its scope includes both threads.
    for kind in [VolatileRead, VolatileWrite, AtomicRead(Scope::Device), of_device, of_block] {
        assert!(!kind.races_with(of_block, Scope::Block), "{kind:?}");
    }
}

#[test]
fn lanes_of_an_instruction_must_not_write_the_same_bytes() {
    let mut launch = Launch::new();
    assert_eq!(launch.write(at(0, 4, 0)), Ok(()));
    assert_eq!(launch.write(at(0, 5, 0)).unwrap_err().thread, 4);
}

#[test]
fn neighbouring_bytes_are_tracked_separately() {
    let mut launch = Launch::new();
    for thread in 0..4 {
        assert_eq!(launch.access(at(0, thread, 0), thread as usize, 1, Write), Ok(()));
    }
    assert_eq!(launch.access(at(0, 2, 0), 2, 1, Read), Ok(()));
    let conflict = launch.access(at(0, 2, 0), 2, 2, Read).unwrap_err();
    assert_eq!((conflict.offset, conflict.thread), (3, 3));
    // The bytes inherit the state of their word.
    assert_eq!(launch.access(at(0, 0, 0), 8, 8, Write), Ok(()));
    assert_eq!(launch.access(at(0, 0, 0), 13, 1, Write), Ok(()));
    assert_eq!(launch.access(at(0, 1, 0), 15, 1, Read).unwrap_err().offset, 15);
    assert_eq!(launch.access(at(0, 1, 1), 12, 4, Read), Ok(()));
}

#[test]
fn a_barrier_orders_its_own_block_only() {
    let mut launch = Launch::new();
    assert_eq!(launch.write(at(0, 0, 0)), Ok(()));
    assert_eq!(launch.read(at(0, 99, 1)), Ok(()));
    assert_eq!(launch.read(at(1, 0, 1)).unwrap_err().block, 0);
}

#[test]
fn a_synchronised_warp_is_ordered_and_the_others_are_not() {
    let mut launch = Launch::new();
    assert_eq!(launch.write(synced(0, 0, 0)), Ok(()));
    assert_eq!(launch.read(synced(0, 31, 1)), Ok(()));
    assert_eq!(launch.read(synced(0, 32, 1)).unwrap_err().thread, 0);
    assert!(launch.read(synced(0, 30, 0)).is_err());
}

#[test]
fn lanes_that_read_race_with_one_that_writes() {
    for lanes in [2, 3, 5, 32] {
        for writer in 0..lanes {
            let mut launch = Launch::new();
            for round in 0..2 {
                for lane in 0..lanes {
                    assert_eq!(launch.read(at(0, lane, 0)), Ok(()), "round {round}");
                }
            }
            assert_ne!(launch.write(at(0, writer, 0)).unwrap_err().thread, writer);
        }
    }
}

#[test]
fn a_reader_between_others_is_not_forgotten() {
    // One reader of another block, many of this block, then a writer ordered only with this block's
    // readers.
    let mut launch = Launch::new();
    assert_eq!(launch.read(at(0, 0, 0)), Ok(()));
    for thread in 0..512 {
        assert_eq!(launch.read(at(1, thread, 0)), Ok(()));
    }
    assert_eq!(launch.write(at(1, 0, 1)).unwrap_err().block, 0);
    // Among many readers of the block, the conflict names any thread except the writer.
    let mut launch = Launch::new();
    for thread in 0..512 {
        assert_eq!(launch.read(at(0, thread, 0)), Ok(()));
    }
    for thread in [511, 510, 480, 0] {
        assert_ne!(launch.write(at(0, thread, 0)).unwrap_err().thread, thread);
        launch = Launch::new();
        (0..512).for_each(|thread| launch.read(at(0, thread, 0)).unwrap());
    }
}

/// Every block writes and increments a counter, and the last block reads all blocks' values.
/// Returns whether all accesses are ordered.
fn last_block_adds_up(fences: bool, barrier: bool) -> bool {
    let mut launch = Launch::new();
    let mut ordered = true;
    for block in 0..3 {
        ordered &= launch.access(at(block, 40, 0), 4 * block as usize, 4, Write).is_ok();
        let leader = at(block, 0, u32::from(barrier));
        if fences {
            launch.detector.fence(leader, Fence { scope: Scope::Device, is_sc: false });
        }
        launch.atomic(leader);
    }
    let barriers = u32::from(barrier);
    if fences {
        launch.detector.fence(at(2, 0, barriers), Fence { scope: Scope::Device, is_sc: false });
    }
    for block in 0..3 {
        ordered &= launch.access(at(2, 9, barriers + 1), 4 * block as usize, 4, Read).is_ok();
    }
    ordered
}

#[test]
fn the_last_block_may_read_the_values_of_all_blocks() {
    assert!(last_block_adds_up(true, true));
    assert!(!last_block_adds_up(false, true), "no fence");
    assert!(!last_block_adds_up(true, false), "no barrier before the count");
}

#[test]
fn a_barrier_of_the_grid_orders_all_blocks() {
    let mut launch = Launch::new();
    for round in 0..4_u32 {
        let barriers = 2 * round;
        for block in 0..4 {
            let offset = 4 * (block ^ (round % 2)) as usize;
            for thread in [0, 50] {
                let offset = offset + 32 * thread as usize / 50;
                assert_eq!(launch.access(at(block, thread, barriers), offset, 4, Read), Ok(()));
            }
            assert_eq!(launch.access(at(block, 50, barriers), 128 + 4 * block as usize, 4, Write), Ok(()));
            let leader = at(block, 0, barriers + 1);
            launch.detector.observe(launch.flags.at(0), leader, ACQUIRE);
            launch.detector.publish(launch.flags.at(0), leader, RELEASE);
        }
        for block in 0..4 {
            launch.detector.observe(launch.flags.at(0), at(block, 0, barriers + 1), ACQUIRE);
        }
        // Reads the neighbor's value of this round, after the block's next barrier.
        for block in 0..4 {
            let offset = 128 + 4 * (block as usize + 1) % 16;
            assert_eq!(launch.access(at(block, 7, barriers + 2), offset, 4, Read), Ok(()));
        }
        // Without waiting, the next round's write races with this round's reads.
        let hasty = launch.access(at(0, 50, barriers + 2), 128, 4, Write);
        assert_eq!(hasty.unwrap_err().kind, Read);
        launch.detector.forget(launch.data);
        launch.data = launch.detector.watch(256);
    }
}

#[test]
fn an_acquire_extends_to_the_warp_after_synchronisation() {
    let release = |launch: &mut Launch| {
        launch.write(synced(0, 0, 0)).unwrap();
        launch.detector.publish(launch.flags.at(4), synced(0, 0, 0), RELEASE);
    };
    let mut launch = Launch::new();
    release(&mut launch);
    launch.detector.observe(launch.flags.at(4), synced(1, 3, 5), ACQUIRE);
    assert_eq!(launch.read(synced(1, 3, 5)), Ok(()));
    assert!(launch.read(synced(1, 4, 5)).is_err(), "not synchronised");
    let mut launch = Launch::new();
    release(&mut launch);
    launch.detector.observe(launch.flags.at(4), synced(1, 3, 5), ACQUIRE);
    assert_eq!(launch.read(synced(1, 4, 6)), Ok(()));
    assert!(launch.read(synced(1, 40, 6)).is_err(), "another warp");
    let mut launch = Launch::new();
    release(&mut launch);
    launch.detector.observe(launch.flags.at(8), synced(1, 3, 5), ACQUIRE);
    assert!(launch.read(synced(1, 3, 5)).is_err(), "another location");
}

#[test]
fn accesses_after_a_release_are_not_released() {
    let mut launch = Launch::new();
    launch.detector.publish(launch.flags.at(0), at(0, 0, 0), RELEASE);
    assert_eq!(launch.write(at(0, 0, 0)), Ok(()));
    launch.detector.observe(launch.flags.at(0), at(1, 0, 0), ACQUIRE);
    assert!(launch.read(at(1, 0, 0)).is_err());
    // Accesses between a fence and the store after it are not published either.
    let mut launch = Launch::new();
    launch.detector.fence(at(0, 0, 0), Fence { scope: Scope::Device, is_sc: false });
    assert_eq!(launch.write(at(0, 0, 0)), Ok(()));
    launch.atomic(at(0, 0, 0));
    launch.detector.observe(launch.flags.at(0), at(1, 0, 0), ACQUIRE);
    assert!(launch.read(at(1, 0, 0)).is_err());
}

#[test]
fn a_release_covers_its_warps_accesses_before_their_synchronisation() {
    for (syncs, ordered) in [(0, false), (1, true)] {
        let mut launch = Launch::new();
        launch.write(synced(0, 5, 0)).unwrap();
        launch.detector.publish(launch.flags.at(0), synced(0, 0, syncs), RELEASE);
        launch.detector.observe(launch.flags.at(0), synced(1, 0, 0), ACQUIRE);
        assert_eq!(launch.read(synced(1, 0, 0)).is_ok(), ordered);
    }
}

#[test]
fn several_threads_of_a_block_may_release() {
    for order in [[0, 40], [40, 0]] {
        let mut launch = Launch::new();
        for thread in order {
            launch.access(at(0, thread, 0), 4 * thread as usize, 4, Write).unwrap();
            launch.detector.observe(launch.flags.at(0), at(0, thread, 0), ACQUIRE);
            launch.detector.publish(launch.flags.at(0), at(0, thread, 0), RELEASE);
        }
        launch.detector.observe(launch.flags.at(0), at(1, 0, 0), ACQUIRE);
        for thread in order {
            assert_eq!(launch.access(at(1, 0, 0), 4 * thread as usize, 4, Read), Ok(()));
        }
    }
}

#[test]
fn a_second_acquire_does_not_extend_to_the_warp_before_synchronisation() {
    let mut launch = Launch::new();
    launch.detector.publish(launch.flags.at(0), synced(0, 0, 0), RELEASE);
    launch.detector.observe(launch.flags.at(0), synced(1, 3, 0), ACQUIRE);
    launch.write(synced(0, 0, 0)).unwrap();
    launch.detector.publish(launch.flags.at(0), synced(0, 0, 0), RELEASE);
    launch.detector.observe(launch.flags.at(0), synced(1, 3, 1), ACQUIRE);
    assert!(launch.read(synced(1, 4, 1)).is_err());
}

#[test]
fn a_lock_orders_its_holders() {
    let mut launch = Launch::new();
    for thread in [0, 33, 64, 1, 0] {
        for block in [0, 1] {
            let who = at(block, thread, 0);
            launch.detector.observe(launch.flags.at(0), who, ACQUIRE);
            assert_eq!(launch.read(who), Ok(()));
            assert_eq!(launch.write(who), Ok(()));
            launch.detector.publish(launch.flags.at(0), who, RELEASE);
        }
    }
    assert!(launch.write(at(1, 99, 0)).is_err());
}

#[test]
fn forgotten_regions_and_blocks_leave_nothing_behind() {
    let mut launch = Launch::new();
    launch.write(at(0, 0, 0)).unwrap();
    launch.detector.publish(launch.data.at(16), at(0, 0, 0), RELEASE);
    launch.detector.forget(launch.data);
    launch.detector.end_block(0);
    launch.data = launch.detector.watch(16);
    assert_eq!(launch.write(at(1, 0, 0)), Ok(()));
    // The accesses of a block stay recorded after its end.
    launch.detector.end_block(1);
    assert_eq!(launch.write(at(2, 0, 0)).unwrap_err().block, 1);
}
