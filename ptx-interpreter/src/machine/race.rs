//! What the race detector is told of a launch.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::block::{BlockState, Context};
use super::fault::{Access, FaultKind};
use super::places::{self, Memory};
use super::warp::{Failure, Warp};
use crate::memory::Region;
use crate::memory::races::{AccessKind, Conflict, RaceDetector, Watched};
use crate::program::Place;
use crate::program::instruction::Ordering;

/// The race detector of a launch and what it watches.
#[derive(Debug, Default)]
pub(super) struct Races {
    pub(super) detector: RaceDetector,
    /// The allocations that have been accessed.
    global: HashMap<usize, Watched>,
    /// By the numbers of the two instructions, the later first.
    pub(super) same_value: BTreeMap<(u32, u32), SameValueRace>,
}

/// Writes of the same value to the same bytes by several threads, with nothing that orders them: memory holds that value
/// whichever comes last. Compilers emit them where lanes hold copies of one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameValueRace {
    /// The later write, in the order in which the interpreter ran.
    pub place: Place,
    /// The earlier write; it may be the same instruction of another thread.
    pub other_place: Place,
    /// What the first such write is in.
    pub memory: String,
    /// Its address within the space.
    pub address: u64,
    /// How often these two instructions made such a race.
    pub count: u64,
}

impl Races {
    /// Watches the shared memory of a block: its arrays, and what the launch adds.
    pub(super) fn start_block(&mut self, shared: &Region, dynamic: &Region) -> [Watched; 2] {
        [self.detector.watch(shared.bytes()), self.detector.watch(dynamic.bytes())]
    }

    pub(super) fn end_block(&mut self, state: &mut BlockState) {
        for watched in state.watched.take().into_iter().flatten() {
            self.detector.forget(watched);
        }
        self.detector.end_block(state.number);
    }
}

/// An access, for the race detector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) pc: usize,
    pub(super) access: Access,
    pub(super) ordering: Ordering,
    pub(super) bytes: usize,
}

impl Context<'_> {
    /// Tells the race detector of a lane's access. `same_value` says whether it leaves some bytes of its region as they
    /// are.
    ///
    /// # Errors
    /// The race that it makes, if that is a fault.
    pub(super) fn record(
        &mut self,
        warp: &Warp,
        lane: usize,
        (memory, offset): (Memory, usize),
        recorded: Recorded,
        same_value: impl Fn(&Region, Range<usize>) -> bool,
    ) -> Result<(), Failure> {
        if self.races.is_none() {
            return Ok(());
        }
        let Recorded { pc, access, ordering, bytes } = recorded;
        let phase = self.phase(warp);
        let length = self.region(memory, warp).bytes();
        let (Some(races), who) = (&mut self.races, (phase, lane as u32)) else { return Ok(()) };
        let watched = match (memory, self.state.watched) {
            (Memory::Global(index), _) => *races.global.entry(index).or_insert_with(|| races.detector.watch(length)),
            (Memory::Shared, Some([shared, _])) => shared,
            (Memory::DynamicShared, Some([_, dynamic])) => dynamic,
            // Only the thread itself reaches local memory, and nobody writes parameters and constants.
            _ => return Ok(()),
        };
        let kind = match (access, ordering.strong) {
            (Access::Read, false) => AccessKind::Read,
            (Access::Read, true) => AccessKind::AtomicRead,
            (Access::Write, false) => AccessKind::Write,
            (Access::Write, true) | (Access::Atomic, _) => AccessKind::AtomicWrite,
        };
        let region = places::region(memory, self.launch, &self.state, warp);
        let same_value = |range| same_value(region, range);
        let conflict = races.detector.record_value((watched, offset), bytes, kind, who, pc as u32, same_value);
        let at = (watched, offset);
        if matches!(kind, AccessKind::AtomicRead) || access == Access::Atomic {
            races.detector.observe(at, who, ordering.acquire);
        }
        if matches!(kind, AccessKind::AtomicWrite) {
            races.detector.publish(at, who, ordering.release);
        }
        let conflict = match conflict {
            Ok(None) => return Ok(()),
            Ok(Some(conflict)) => return self.same_value_race(lane, (memory, offset), recorded, conflict),
            Err(conflict) => conflict,
        };
        let (extent, start) = self.extent_at(memory, offset);
        let other_access = match conflict.kind {
            AccessKind::Read | AccessKind::AtomicRead => Access::Read,
            AccessKind::Write => Access::Write,
            AccessKind::AtomicWrite => Access::Atomic,
        };
        let kind = FaultKind::Race {
            address: start,
            bytes,
            memory: extent,
            access,
            other_access,
            other_block: self.launch.block_index(u64::from(conflict.block)),
            other_thread: self.thread_index(conflict.thread),
            other_place: Box::new(self.place(conflict.instruction as usize)),
        };
        Err(Failure::at(lane, kind))
    }

    /// Counts a race of two writes of the same value.
    ///
    /// # Errors
    /// The race, if the launch takes it for a fault.
    fn same_value_race(
        &mut self,
        lane: usize,
        (memory, offset): (Memory, usize),
        Recorded { pc, bytes, .. }: Recorded,
        conflict: Conflict,
    ) -> Result<(), Failure> {
        if self.launch.options.same_value_races_are_faults {
            let (memory, address) = self.extent_at(memory, offset);
            let kind = FaultKind::SameValueRace {
                address,
                bytes,
                memory,
                other_block: self.launch.block_index(u64::from(conflict.block)),
                other_thread: self.thread_index(conflict.thread),
                other_place: Box::new(self.place(conflict.instruction as usize)),
            };
            return Err(Failure::at(lane, kind));
        }
        let pair = (pc as u32, conflict.instruction);
        let Some(races) = &mut self.races else { return Ok(()) };
        if let Some(race) = races.same_value.get_mut(&pair) {
            race.count += 1;
            return Ok(());
        }
        let (memory, address) = self.extent_at(memory, offset);
        let (place, other_place) = (self.place(pc), self.place(conflict.instruction as usize));
        let race = SameValueRace { place, other_place, memory, address, count: 1 };
        if let Some(races) = &mut self.races {
            races.same_value.insert(pair, race);
        }
        Ok(())
    }
}
