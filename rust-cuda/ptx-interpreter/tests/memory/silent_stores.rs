//! Silent stores: the detector agrees with the definition. A read that finds the same value in any
//! order does not race.

use proptest::prelude::*;
use ptx_interpreter::memory::races::{AccessKind, LaneAccess, Phase, RaceDetector, Thread};

const BLOCKS: u32 = 2;
const LANES: u32 = 2;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A thread's access to the whole word or to one byte of it. A write stores this value to each
    /// byte.
    Access {
        thread: (u32, u32),
        byte: Option<usize>,
        stored: Option<u8>,
    },
    Barrier {
        block: u32,
    },
    /// All blocks meet.
    Meet,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let byte = prop_oneof![3 => Just(None), 1 => (0..4_usize).prop_map(Some)];
    let stored = prop_oneof![2 => Just(None), 3 => (0..2_u8).prop_map(Some)];
    let access = ((0..BLOCKS, 0..LANES), byte, stored);
    let access = access.prop_map(|(thread, byte, stored)| Event::Access { thread, byte, stored });
    let event = prop_oneof![
        6 => access,
        2 => (0..BLOCKS).prop_map(|block| Event::Barrier { block }),
        1 => Just(Event::Meet),
    ];
    prop::collection::vec(event, 1..40)
}

/// A thread's position in the order: its block and lane, and the numbers of earlier barriers and
/// meetings.
type Moment = (u32, u32, u32, u32);

/// Whether an earlier event happens before a later one.
fn is_before(earlier: Moment, later: Moment) -> bool {
    let (block, lane, barriers, meetings) = earlier;
    meetings < later.3 || block == later.0 && (lane == later.1 || barriers < later.2)
}

/// The slow detector for one byte, with all its accesses in order.
#[derive(Default)]
struct Byte {
    reads: Vec<Moment>,
    writes: Vec<Moment>,
    /// Start of the last run of writes that kept the byte's value. If a write changed the value,
    /// the run begins with that write.
    run: usize,
    has_changed: bool,
    value: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Ordered,
    SameValue,
    Race,
}

impl Byte {
    fn access(&mut self, now: Moment, stored: Option<u8>) -> Verdict {
        let is_unordered = |earlier: &&Moment| !is_before(**earlier, now);
        // Writes of other values happen before the run or race with it.
        let run = &self.writes[self.run..];
        let races_with_run = run.iter().any(|write| is_unordered(&write));
        let races_with_read = self.reads.iter().any(|read| is_unordered(&read));
        // The value is from before the launch, from the run's first write, or from the thread
        // itself.
        let finds_value = !self.has_changed || is_before(run[0], now) || run.contains(&now);
        let verdict = match stored {
            None if races_with_run => {
                if finds_value {
                    Verdict::SameValue
                } else {
                    Verdict::Race
                }
            }
            Some(stored) if races_with_run || races_with_read => {
                if stored == self.value {
                    Verdict::SameValue
                } else {
                    Verdict::Race
                }
            }
            _ => Verdict::Ordered,
        };
        match stored {
            None => self.reads.push(now),
            Some(stored) => {
                if stored != self.value {
                    (self.run, self.has_changed, self.value) = (self.writes.len(), true, stored);
                }
                self.writes.push(now);
            }
        }
        verdict
    }
}

/// Compares the verdicts up to the first race.
fn compare(events: &[Event], knows_silent_stores: bool) -> Result<(), TestCaseError> {
    let mut detector = RaceDetector::new(1, false).silent_stores(knows_silent_stores);
    let word = detector.watch(4);
    let mut bytes: [Byte; 4] = Default::default();
    let (mut barriers, mut meetings) = ([0; BLOCKS as usize], 0);
    for (number, event) in events.iter().enumerate() {
        match *event {
            Event::Access { thread: (block, lane), byte, stored } => {
                let (offset, length) = byte.map_or((0, 4), |byte| (byte, 1));
                let now = (block, lane, barriers[block as usize], meetings);
                let values = bytes.each_ref().map(|byte| byte.value);
                let verdicts = (offset..offset + length).map(|byte| bytes[byte].access(now, stored));
                let expected = verdicts.max().unwrap_or(Verdict::Ordered);
                let phase = Phase { block, warp: 0, barriers: now.2, warp_syncs: 0 };
                let kind = if stored.is_some() { AccessKind::Write } else { AccessKind::Read };
                let same_value =
                    |mut range: std::ops::Range<usize>, _: bool| range.all(|byte| Some(values[byte]) == stored);
                let (location, thread, instruction) = (word.at(offset), Thread { phase, lane }, number as u32);
                let access = LaneAccess { location, bytes: length, kind, thread, instruction };
                let found = detector.record_value(access, same_value);
                let found = match found {
                    Ok(None) => Verdict::Ordered,
                    Ok(Some(_)) => Verdict::SameValue,
                    Err(_) => Verdict::Race,
                };
                match knows_silent_stores {
                    true => prop_assert_eq!(found, expected, "event {}: {:?}", number, event),
                    false => {
                        prop_assert!(found >= expected, "event {}: {:?}, {:?} {:?}", number, event, found, expected);
                    }
                }
                if found == Verdict::Race {
                    return Ok(());
                }
            }
            Event::Barrier { block } => barriers[block as usize] += 1,
            Event::Meet => {
                meetings += 1;
                barriers.iter_mut().for_each(|barriers| *barriers += 1);
                let phase = |block| Phase { block, warp: 0, barriers: barriers[block as usize], warp_syncs: 0 };
                detector.synchronise(&(0..BLOCKS).map(phase).collect::<Vec<_>>());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_detector_agrees_with_the_definition(events in events()) {
        compare(&events, true)?;
    }

    #[test]
    fn without_silent_stores_no_race_is_missed(events in events()) {
        compare(&events, false)?;
    }
}
