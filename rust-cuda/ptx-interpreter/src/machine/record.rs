//! Race checks: feeds a launch's accesses to the race detector and reports the races.

use std::ops::Range;

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::Memory;
use super::race::{RecordedAccess, SameValueRace};
use super::resolve;
use super::warp::Warp;
use crate::memory::Region;
use crate::memory::races::{AccessKind, Conflict};

impl Context<'_> {
    /// Records a lane's access in the race detector. `same_value` says whether the access leaves a range of bytes of
    /// its region unchanged.
    ///
    /// # Errors
    /// The race with an earlier access, if it is a fault.
    pub(super) fn record(
        &mut self,
        warp: &Warp,
        lane: usize,
        (memory, offset): (Memory, usize),
        recorded: RecordedAccess,
        same_value: impl Fn(&Region, Range<usize>) -> bool,
    ) -> Result<(), Failure> {
        if self.races.is_none() {
            return Ok(());
        }
        let RecordedAccess { pc, access, ordering, bytes } = recorded;
        let phase = self.phase(warp);
        let length = self.region(memory, warp).bytes();
        let (Some(races), thread) = (&mut self.races, (phase, lane as u32)) else { return Ok(()) };
        let watched = match (memory, self.state.watched) {
            (Memory::Global(index), _) => *races.global.entry(index).or_insert_with(|| races.detector.watch(length)),
            (Memory::Shared, Some([shared, _])) => shared,
            (Memory::DynamicShared, Some([_, dynamic])) => dynamic,
            (Memory::OtherShared { rank, is_dynamic }, _) => match self.schedule.residents[rank as usize].state.watched
            {
                Some(watched) => watched[usize::from(is_dynamic)],
                None => return Ok(()),
            },
            // Local memory is private to a thread; parameters and constants are read-only.
            _ => return Ok(()),
        };
        let kind = match (access, ordering.strong) {
            (Access::Read, false) => AccessKind::Read,
            (Access::Read, true) => AccessKind::AtomicRead,
            (Access::Write, false) => AccessKind::Write,
            (Access::Write, true) | (Access::Atomic, _) => AccessKind::AtomicWrite,
        };
        let region = resolve::region(memory, self.launch, &self.state, &self.schedule, warp);
        let same_value = |range| same_value(region, range);
        let conflict = races.detector.record_value((watched, offset), bytes, kind, thread, pc as u32, same_value);
        let at = (watched, offset);
        if matches!(kind, AccessKind::AtomicRead) || access == Access::Atomic {
            races.detector.observe(at, thread, ordering.acquire);
        }
        if matches!(kind, AccessKind::AtomicWrite) {
            races.detector.publish(at, thread, ordering.release);
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
    /// The race, if the launch's options make it a fault.
    fn same_value_race(
        &mut self,
        lane: usize,
        (memory, offset): (Memory, usize),
        RecordedAccess { pc, bytes, .. }: RecordedAccess,
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
