//! Recording a warp's accesses together has the same effect as recording them one by one.

use std::ops::Range;

use proptest::prelude::*;
use ptx_interpreter::memory::races::{
    AccessKind, Conflict, Fence, LaneAccess, Observation, Phase, Publication, RaceDetector, Scope, Thread, WarpAccess,
    Watched, Why,
};

const BYTES: usize = 128;
const BLOCKS: u32 = 2;
const WARPS: u32 = 2;

/// The lanes' positions, in units of the access size: lane `l` accesses `start + (l + shift) /
/// repeat % width * stride + l / width * row`.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    start: usize,
    stride: usize,
    repeat: usize,
    width: usize,
    row: usize,
}

impl Pattern {
    fn offset(self, lane: u32, bytes: usize) -> usize {
        let lane = lane as usize;
        let index = self.start + lane / self.repeat % self.width * self.stride + lane / self.width * self.row;
        index * bytes % BYTES
    }
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let widths = prop::sample::select(vec![1, 3, 8, 16, 32]);
    let starts = prop_oneof![2 => Just(0), 2 => (0..4_usize).prop_map(|eight| 8 * eight), 1 => 0..40_usize];
    let strides = prop::sample::select(vec![0, 1, 1, 1, 1, 2, 63]);
    (starts, strides, prop::sample::select(vec![1, 1, 1, 2, 32]), widths, 0..40_usize)
        .prop_map(|(start, stride, repeat, width, row)| Pattern { start, stride, repeat, width, row })
}

#[derive(Clone, Debug)]
enum Event {
    Access {
        warp: (u32, u32),
        kind: AccessKind,
        bytes: usize,
        lanes: u32,
        pattern: Pattern,
        /// The lanes that store bytes of 1. The others store 0.
        ones: u32,
    },
    Barrier {
        block: u32,
    },
    WarpSync {
        warp: (u32, u32),
    },
    Fence {
        thread: ((u32, u32), u32),
    },
    /// A lane acquires and releases at an offset.
    Release {
        thread: ((u32, u32), u32),
        offset: usize,
    },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let warp = || (0..BLOCKS, 0..WARPS);
    let kind = prop_oneof![
        4 => Just(AccessKind::Read),
        1 => Just(AccessKind::ReadOnly),
        4 => Just(AccessKind::Write),
        1 => Just(AccessKind::AtomicWrite(Scope::Device)),
    ];
    let ones = prop_oneof![3 => Just(u32::MAX), 2 => Just(0), 1 => Just(0xFFFF), 1 => any::<u32>()];
    let lane = || prop_oneof![1 => Just(0), 1 => prop::sample::select(vec![8, 16, 24]), 1 => 0..32_u32];
    let lanes = prop_oneof![4 => Just(u32::MAX), 1 => any::<u32>(), 3 => lane().prop_map(|lane| 1 << lane)];
    let bytes = prop::sample::select(vec![1, 1, 2, 4, 4, 4, 4, 8, 16]);
    let access = (warp(), kind, bytes, lanes, patterns(), ones);
    let access = access.prop_map(|(warp, kind, bytes, lanes, pattern, ones)| Event::Access {
        warp,
        kind,
        bytes,
        lanes,
        pattern,
        ones,
    });
    let event = prop_oneof![
        12 => access,
        4 => (0..BLOCKS).prop_map(|block| Event::Barrier { block }),
        1 => warp().prop_map(|warp| Event::WarpSync { warp }),
        1 => (warp(), lane()).prop_map(|thread| Event::Fence { thread }),
        2 => (warp(), lane(), 0..BYTES / 4).prop_map(|(warp, lane, word)| Event::Release {
            thread: (warp, lane),
            offset: 4 * word,
        }),
    ];
    prop::collection::vec(event, 1..40)
}

const FENCE: Fence = Fence { scope: Scope::Device, is_sc: false };

/// A detector and the memory that it watches.
struct Detector {
    detector: RaceDetector,
    region: Watched,
    memory: [u8; BYTES],
    /// Whether accesses are recorded together as far as possible.
    together: bool,
}

type Found = Vec<(u32, Result<Option<Conflict>, Conflict>)>;

impl Detector {
    fn new(together: bool, silent_stores: bool) -> Self {
        // Instructions are numbered by their access sizes.
        let sizes = (0..=16).collect();
        let mut detector = RaceDetector::with_sizes(1, false, sizes).silent_stores(silent_stores);
        let region = detector.watch(BYTES);
        Self { detector, region, memory: [0; BYTES], together }
    }

    /// Records and makes an access of each lane. Returns the findings.
    fn access(
        &mut self,
        phase: Phase,
        (kind, bytes): (AccessKind, usize),
        lanes: u32,
        offset_of: impl Fn(u32) -> usize,
        ones: u32,
    ) -> Found {
        let value = |lane: u32| (ones >> lane & 1) as u8;
        let is_plain_write = kind == AccessKind::Write;
        let (memory, instruction) = (self.memory, bytes as u32);
        let silence = |lanes: Range<u32>| {
            let unit = if bytes < 4 { 1 } else { 4 };
            let units =
                lanes.flat_map(|lane| memory[offset_of(lane)..][..bytes].chunks(unit).map(move |at| (lane, at)));
            let mut silent = units.map(|(lane, at)| at.iter().all(|byte| *byte == value(lane)));
            let first = silent.next()?;
            silent.all(|is_silent| is_silent == first).then_some(first)
        };
        let mut rest = lanes;
        if self.together {
            let access = WarpAccess { region: self.region, bytes, kind, phase, instruction };
            rest = self.detector.record_warp(access, lanes, &offset_of, silence);
            assert_eq!(rest & !lanes, 0);
        }
        let mut found = Found::new();
        for lane in (0..32).filter(|lane| rest >> lane & 1 == 1) {
            let before = |byte: usize| {
                let lanes = (0..lane).filter(|lane| lanes >> lane & 1 == 1);
                let stored = lanes.filter(|lane| (offset_of(*lane)..offset_of(*lane) + bytes).contains(&byte));
                stored.last().map_or(memory[byte], value)
            };
            let same_value = |mut range: Range<usize>, after_others: bool| {
                is_plain_write
                    && range.all(|byte| value(lane) == if after_others { before(byte) } else { memory[byte] })
            };
            let (location, thread) = (self.region.at(offset_of(lane)), Thread { phase, lane });
            let access = LaneAccess { location, bytes, kind, thread, instruction };
            let result = self.detector.record_value(access, same_value);
            if result != Ok(None) {
                found.push((lane, result));
            }
            if kind.scope().is_some() {
                self.synchronise(thread, offset_of(lane), false);
            }
        }
        for lane in (0..32).filter(|lane| is_plain_write && lanes >> lane & 1 == 1) {
            self.memory[offset_of(lane)..][..bytes].fill(value(lane));
        }
        found
    }

    /// A lane's atomic operation orders what comes before and after it.
    fn synchronise(&mut self, thread: Thread, offset: usize, releases: bool) {
        let scope = Scope::Device;
        let observation = Observation { scope, acquires: releases, counts: false };
        let publication = Publication { scope, releases, is_update: true, is_volatile: false };
        self.detector.observe(self.region.at(offset), thread, observation);
        self.detector.publish(self.region.at(offset), thread, publication);
    }
}

/// For each lane, whether it races, where and why. Which of several earlier accesses is named
/// depends on their order, and accesses recorded together come before racing ones of the same
/// instruction.
fn verdicts(found: &Found) -> Vec<(u32, bool, usize, Why)> {
    let conflicts = found.iter().filter_map(|(lane, found)| match *found {
        Ok(same) => same.map(|conflict| (*lane, false, conflict.offset, conflict.why)),
        Err(conflict) => Some((*lane, true, conflict.offset, conflict.why)),
    });
    conflicts.collect()
}

/// The lanes recorded together have no race, and the other lanes have the same results.
fn compare(events: &[Event], silent_stores: bool) -> Result<usize, TestCaseError> {
    let mut together = Detector::new(true, silent_stores);
    let mut one_by_one = Detector::new(false, silent_stores);
    let (mut barriers, mut syncs) = ([0; BLOCKS as usize], [[0; WARPS as usize]; BLOCKS as usize]);
    let mut count = 0;
    for (number, event) in events.iter().enumerate() {
        let phase = |(block, warp): (u32, u32)| Phase {
            block,
            warp,
            barriers: barriers[block as usize],
            warp_syncs: syncs[block as usize][warp as usize],
        };
        match *event {
            Event::Access { warp, kind, bytes, lanes, pattern, ones } => {
                let offset_of = |lane| pattern.offset(lane, bytes);
                let fast = together.access(phase(warp), (kind, bytes), lanes, offset_of, ones);
                let slow = one_by_one.access(phase(warp), (kind, bytes), lanes, offset_of, ones);
                prop_assert_eq!(verdicts(&fast), verdicts(&slow), "event {}: {:?}", number, event);
                count += fast.len();
            }
            Event::Barrier { block } => barriers[block as usize] += 1,
            Event::WarpSync { warp: (block, warp) } => syncs[block as usize][warp as usize] += 1,
            Event::Fence { thread: (warp, lane) } => {
                together.detector.fence(Thread { phase: phase(warp), lane }, FENCE);
                one_by_one.detector.fence(Thread { phase: phase(warp), lane }, FENCE);
            }
            Event::Release { thread: (warp, lane), offset } => {
                together.synchronise(Thread { phase: phase(warp), lane }, offset, true);
                one_by_one.synchronise(Thread { phase: phase(warp), lane }, offset, true);
            }
        }
    }
    Ok(count)
}

/// All lanes access consecutive words.
const SUCCESSIVE: Pattern = Pattern { start: 0, stride: 1, repeat: 1, width: 32, row: 0 };

/// All lanes access the same word.
const SAME: Pattern = Pattern { stride: 0, ..SUCCESSIVE };

/// An access of words by lanes of a warp.
fn access(warp: (u32, u32), kind: AccessKind, lanes: u32, pattern: Pattern) -> Event {
    Event::Access { warp, kind, bytes: 4, lanes, pattern, ones: u32::MAX }
}

fn release(block: u32, warp: u32, lane: u32) -> Event {
    Event::Release { thread: ((block, warp), lane), offset: 64 }
}

/// The number of racing accesses, including same-value races.
fn races(events: &[Event]) -> usize {
    compare(events, true).unwrap()
}

#[test]
fn a_later_write_races_with_each_lane_that_has_read_its_word() {
    let (read, write) = (AccessKind::Read, AccessKind::Write);
    // A lane comes after its own read and after the other warp's read of the next word, but not
    // after the next lane's read.
    let next = Pattern { start: 1, ..SAME };
    let reads = [access((0, 0), read, u32::MAX, SUCCESSIVE), access((0, 1), read, u32::MAX, SUCCESSIVE)];
    let rest = [release(0, 1, 1), release(0, 0, 0), access((0, 0), write, 1, next)];
    assert_eq!(races(&[reads.as_slice(), &rest].concat()), 1);
    // The first and the last lane's reads come before; the others do not.
    let events = [
        access((0, 0), read, u32::MAX, SAME),
        release(0, 0, 0),
        release(0, 0, 31),
        release(1, 0, 0),
        access((1, 0), write, 1, SAME),
    ];
    assert_eq!(races(&events), 1);
}

#[test]
fn what_one_lane_has_acquired_orders_no_other_lane() {
    let events = [
        access((0, 0), AccessKind::Write, u32::MAX, SUCCESSIVE),
        release(0, 0, 0),
        release(1, 0, 0),
        access((1, 0), AccessKind::Read, u32::MAX, SUCCESSIVE),
    ];
    assert_eq!(races(&events), 31);
    // Even after a barrier, another lane's writes are not ordered.
    let (acquired, read) = events.split_at(3);
    assert_eq!(races(&[acquired, &[Event::Barrier { block: 1 }], read].concat()), 31);
    let events = [
        access((0, 0), AccessKind::Write, 1, SAME),
        release(0, 0, 0),
        release(1, 0, 0),
        access((1, 0), AccessKind::Read, u32::MAX, SAME),
    ];
    assert_eq!(races(&events), 31);
}

#[test]
fn a_write_races_with_the_reads_of_another_lane_by_the_same_instruction() {
    let ahead = Pattern { start: 8, ..SUCCESSIVE };
    let events = [
        release(0, 0, 0),
        access((0, 0), AccessKind::Read, u32::MAX, ahead),
        access((0, 0), AccessKind::Read, u32::MAX, SUCCESSIVE),
        access((0, 0), AccessKind::ReadOnly, u32::MAX, SUCCESSIVE),
        access((0, 0), AccessKind::Write, u32::MAX, SUCCESSIVE),
    ];
    assert_eq!(races(&events), 32);
}

#[test]
fn an_atomic_operation_observes_what_was_released_before() {
    let flag = Pattern { start: 16, ..SAME };
    let read = |lanes| access((1, 0), AccessKind::Read, lanes, SAME);
    let mut events = vec![
        access((0, 0), AccessKind::Write, 1, SAME),
        release(0, 0, 0),
        access((1, 0), AccessKind::AtomicWrite(Scope::Device), 1, flag),
        Event::Fence { thread: ((1, 0), 0) },
        read(1),
    ];
    assert_eq!(races(&events), 0);
    events.push(read(2));
    assert_eq!(races(&events), 1);
}

#[test]
fn a_write_of_a_word_is_silent_in_some_of_its_bytes() {
    let of_byte = |warp, kind| Event::Access { warp, kind, bytes: 1, lanes: 1, pattern: SAME, ones: u32::MAX };
    let events = [
        of_byte((0, 0), AccessKind::Write),
        Event::Barrier { block: 0 },
        access((0, 0), AccessKind::Write, 1, SAME),
        of_byte((0, 1), AccessKind::Read),
    ];
    // A same-value race, which the comparison with the other detector has already checked.
    assert_eq!(races(&events), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_warps_accesses_are_recorded_as_those_of_its_lanes(events in events(), silent_stores in any::<bool>()) {
        compare(&events, silent_stores)?;
    }
}
