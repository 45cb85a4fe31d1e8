//! What the race detector is told of a launch.

use std::collections::HashMap;

use super::block::{BlockState, Context};
use super::fault::{Access, FaultKind};
use super::places::Memory;
use super::warp::{Failure, Warp};
use crate::memory::Region;
use crate::memory::races::{AccessKind, RaceDetector, Watched};
use crate::program::instruction::Ordering;

/// The race detector of a launch and what it watches.
#[derive(Debug, Default)]
pub(super) struct Races {
    pub(super) detector: RaceDetector,
    /// The allocations that have been accessed.
    global: HashMap<usize, Watched>,
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
    /// Tells the race detector of a lane's access.
    ///
    /// # Errors
    /// The race that it makes.
    pub(super) fn record(
        &mut self,
        warp: &Warp,
        lane: usize,
        (memory, offset): (Memory, usize),
        recorded: Recorded,
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
        let conflict = races.detector.record((watched, offset), bytes, kind, who, pc as u32);
        let at = (watched, offset);
        if matches!(kind, AccessKind::AtomicRead) || access == Access::Atomic {
            races.detector.observe(at, who, ordering.acquire);
        }
        if matches!(kind, AccessKind::AtomicWrite) {
            races.detector.publish(at, who, ordering.release);
        }
        let Err(conflict) = conflict else { return Ok(()) };
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
}
