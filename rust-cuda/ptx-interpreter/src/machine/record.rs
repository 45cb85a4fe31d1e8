//! Race checks: passes a launch's accesses to the race detector and reports the races.

use std::ops::Range;

use super::context::Context;
use super::fault::{Access, Failure, FaultKind, RaceReason};
use super::lane_addresses::{LaneAddress, LaneAddresses, Memory};
use super::lanes::{ALL, lanes_of};
use super::pending_copies::PendingCopy;
use super::resolve::{self, Request};
use super::warp::Warp;
use crate::memory::Region;
use crate::memory::races::{
    AccessKind, Conflict, CopyAccess, Fence, LaneAccess, Observation, Phase, Publication, Thread, Threads, WarpAccess,
    Watched, Why,
};
use crate::program::instruction::{Action, MemoryOrdering};

impl Context<'_> {
    /// The warp's current phase in the race detector.
    pub(super) fn phase(&self, warp: &Warp) -> Phase {
        Phase {
            block: self.state.number,
            warp: warp.number,
            barriers: self.state.barriers_passed,
            warp_syncs: warp.warp_syncs,
        }
    }

    /// A thread of the warp in the race detector.
    pub(super) fn thread(&self, warp: &Warp, lane: usize) -> Thread {
        Thread { phase: self.phase(warp), lane: lane as u32 }
    }

    /// These lanes' threads in the race detector. If no other lanes are live, the whole warp.
    pub(super) fn threads(&self, warp: &Warp, lanes: u32) -> Threads {
        Threads { phase: self.phase(warp), lanes: if lanes == warp.live() { ALL } else { lanes } }
    }

    /// Registers a fence by the active lanes of a warp.
    pub(super) fn fence(&mut self, fence: Fence, warp: &Warp, active: u32) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let phase = self.phase(warp);
        if let Some(races) = &mut self.races {
            for lane in lanes_of(active) {
                races.detector.fence(Thread { phase, lane: lane as u32 }, fence);
            }
        }
    }

    /// The race detector's handle of a memory. `None` without a detector, and for memory that is
    /// private to a thread or read-only.
    #[inline]
    pub(super) fn watched(&mut self, memory: Memory, warp: &Warp) -> Option<Watched> {
        let races = self.races.as_mut()?;
        match (memory, self.state.watched) {
            (Memory::Global(index), _) => Some(match races.global[index] {
                Some(watched) => watched,
                None => {
                    let region = resolve::region(memory, self.launch, &self.state, &self.residents, warp);
                    *races.global[index].insert(races.detector.watch(region.bytes()))
                }
            }),
            (Memory::Shared, Some([shared, _])) => Some(shared),
            (Memory::DynamicShared, Some([_, dynamic])) => Some(dynamic),
            (Memory::OtherShared { rank, is_dynamic }, _) => {
                let watched = self.residents.list[rank as usize].state.watched;
                watched.map(|watched| watched[usize::from(is_dynamic)])
            }
            _ => None,
        }
    }

    /// Registers the beginning of an asynchronous copy by an instruction, or its end.
    pub(super) fn note_flight(&mut self, warp: &Warp, copy: &PendingCopy, begun_by: Option<usize>) {
        let thread = self.thread(warp, copy.lane);
        for ((memory, offset), bytes, data) in copy.accesses() {
            let Some(watched) = self.watched(memory, warp) else { continue };
            let Some(races) = &mut self.races else { return };
            let access = CopyAccess { location: watched.at(offset), bytes, data, thread };
            match begun_by {
                Some(pc) => races.detector.begin_copy(access, pc as u32),
                None => races.detector.end_copy(access),
            }
        }
    }

    /// Records the lanes' accesses in the race detector, as far as it accepts them together.
    /// Returns the lanes that remain to be recorded.
    #[inline]
    pub(super) fn record_warp(
        &mut self,
        warp: &Warp,
        active: u32,
        resolved: &LaneAddresses,
        Request { pc, access, ordering, bytes, stored }: Request<'_>,
    ) -> u32 {
        let kind = kind_of(access, ordering, self.launch.options.volatile_is_plain);
        let is_relaxed_update = access == Access::Atomic && !ordering.acquire && !ordering.release;
        if kind.scope().is_some() && !is_relaxed_update {
            return active;
        }
        let Some(memory) = resolved.memory_of(active) else { return active };
        let phase = self.phase(warp);
        let Some(watched) = self.watched(memory, warp) else { return 0 };
        let region = resolve::region(memory, self.launch, &self.state, &self.residents, warp);
        let Some(races) = &mut self.races else { return 0 };
        let silence = |lanes: Range<u32>| {
            let offset = resolved.at(lanes.start as usize).1;
            let lanes = lanes.start as usize..lanes.end as usize;
            let values =
                lanes.flat_map(|lane| stored.iter().map(move |register| warp.registers[*register as usize][lane]));
            silence(region, offset, bytes / stored.len().max(1), values)
        };
        let access = WarpAccess { region: watched, bytes, kind, phase, instruction: pc as u32 };
        races.detector.record_warp(access, active, |lane| resolved.at(lane as usize).1, silence)
    }

    /// Records a lane's access in the race detector. `copied` holds the bytes written by an
    /// asynchronous copy; `None` for any other access. `same_value` tells whether the access leaves
    /// a range of bytes of its region unchanged, as in
    /// [`RaceDetector::record_value`](crate::memory::races::RaceDetector::record_value).
    ///
    /// # Errors
    /// The race with an earlier access, if it is a fault.
    pub(super) fn record(
        &mut self,
        warp: &Warp,
        lane: usize,
        place: LaneAddress,
        request: Request<'_>,
        copied: Option<&[u8]>,
        same_value: impl Fn(&Region, Range<usize>, bool) -> bool,
    ) -> Result<(), Failure> {
        let (memory, offset) = place;
        let Some(watched) = self.watched(memory, warp) else { return Ok(()) };
        let thread = self.thread(warp, lane);
        let region = resolve::region(memory, self.launch, &self.state, &self.residents, warp);
        let Some(races) = &mut self.races else { return Ok(()) };
        let Request { pc, access, ordering, bytes, .. } = request;
        let kind = kind_of(access, ordering, self.launch.options.volatile_is_plain);
        let recorded = LaneAccess { location: watched.at(offset), bytes, kind, thread, instruction: pc as u32 };
        let same_value = |range, after_others| same_value(region, range, after_others);
        let found = match copied {
            Some(data) => races.detector.record_copy(recorded, data, same_value),
            None => races.detector.record_value(recorded, same_value),
        };
        if kind.scope().is_some() {
            self.record_synchronisation(warp, recorded, request);
        }
        match found {
            Ok(None) => Ok(()),
            Ok(Some(conflict)) if conflict.why != Why::MissingFence => {
                self.same_value_race(warp, lane, place, request, conflict)
            }
            Ok(Some(conflict)) | Err(conflict) => self.race(warp, lane, place, request, kind, conflict),
        }
    }

    /// Registers the acquire and release effects of a lane's strong access.
    fn record_synchronisation(&mut self, warp: &Warp, recorded: LaneAccess, request: Request<'_>) {
        let Some(races) = &mut self.races else { return };
        let LaneAccess { location, kind, thread, .. } = recorded;
        let MemoryOrdering { volatile, scope, acquire, release, .. } = request.ordering;
        let is_update = request.access == Access::Atomic;
        if request.access == Access::Read || is_update {
            let counts = is_update
                && matches!(&self.kernel.instructions[request.pc].action, Action::Atomic(atomic)
                if atomic.counts && warp.registers[atomic.operands[0] as usize][thread.lane as usize] != 0);
            races.detector.observe(location, thread, Observation { scope, acquires: acquire, counts });
        }
        if kind.writes() {
            let publication = Publication { scope, releases: release, is_update, is_volatile: volatile };
            races.detector.publish(location, thread, publication);
        }
    }

    /// Reports a race of a lane's access of this kind.
    ///
    /// # Errors
    /// The race, if it is a fault that ends the launch.
    #[cold]
    fn race(
        &mut self,
        warp: &Warp,
        lane: usize,
        (memory, offset): LaneAddress,
        Request { pc, access, bytes, .. }: Request<'_>,
        kind: AccessKind,
        conflict: Conflict,
    ) -> Result<(), Failure> {
        let reason = reason_of(kind, &conflict);
        let (extent, address) = self.extent_at(memory, offset);
        let race = FaultKind::Race {
            address,
            bytes,
            memory: Box::new(extent),
            access,
            other_access: access_of(conflict.kind),
            reason,
            other_block: self.launch.block_index(u64::from(conflict.block)),
            other_thread: self.thread_index(conflict.thread),
            other_place: Box::new(self.place(conflict.instruction as usize)),
        };
        if reason == Some(RaceReason::MissingFence) && !self.launch.options.strict {
            let instructions = (pc, conflict.instruction as usize);
            self.note("race", instructions, warp.first_thread() + lane as u32, |_| race);
            return Ok(());
        }
        self.add_race(warp, lane, pc, race)
    }

    /// Adds a race to the faults. The accesses still happen.
    ///
    /// # Errors
    /// The race, if the launch ends with it.
    #[cold]
    fn add_race(&mut self, warp: &Warp, lane: usize, pc: usize, kind: FaultKind) -> Result<(), Failure> {
        if !self.goes_on() {
            return Err(Failure::at(lane, kind));
        }
        let fault = self.fault(pc, warp.first_thread() + lane as u32, kind);
        self.add_fault(fault).map_err(|fault| Failure::at(lane, fault.kind))
    }

    /// Records a race of writes of the same value, or of a write with a read of that value.
    ///
    /// # Errors
    /// The race, if the launch's options make it a fault.
    fn same_value_race(
        &mut self,
        warp: &Warp,
        lane: usize,
        (memory, offset): LaneAddress,
        Request { pc, bytes, access, .. }: Request<'_>,
        conflict: Conflict,
    ) -> Result<(), Failure> {
        let kind = |context: &Self| {
            let (memory, address) = context.extent_at(memory, offset);
            FaultKind::SameValueRace {
                access,
                other_access: access_of(conflict.kind),
                address,
                bytes,
                memory: Box::new(memory),
                other_block: context.launch.block_index(u64::from(conflict.block)),
                other_thread: context.thread_index(conflict.thread),
                other_place: Box::new(context.place(conflict.instruction as usize)),
            }
        };
        if self.launch.options.same_value_races_are_faults {
            let kind = kind(self);
            return self.add_race(warp, lane, pc, kind);
        }
        let instructions = (pc, conflict.instruction as usize);
        self.note("same-value-race", instructions, warp.first_thread() + lane as u32, kind);
        Ok(())
    }
}

/// The kind of an access. A volatile one may count as plain.
fn kind_of(access: Access, ordering: MemoryOrdering, volatile_is_plain: bool) -> AccessKind {
    let MemoryOrdering { strong, volatile, scope, read_only, .. } = ordering;
    let is_plain = !strong || volatile && volatile_is_plain;
    match (access, is_plain, volatile) {
        (Access::Read, true, _) if read_only => AccessKind::ReadOnly,
        (Access::Read, true, _) => AccessKind::Read,
        (Access::Read, _, true) => AccessKind::VolatileRead,
        (Access::Read, ..) => AccessKind::AtomicRead(scope),
        (Access::Write, true, _) => AccessKind::Write,
        (Access::Write, _, true) => AccessKind::VolatileWrite,
        (Access::Write | Access::Atomic, ..) => AccessKind::AtomicWrite(scope),
    }
}

/// The reason why an access of this kind and an earlier one race although both synchronize threads,
/// or although one happens before the other.
fn reason_of(kind: AccessKind, conflict: &Conflict) -> Option<RaceReason> {
    match (conflict.why, kind, conflict.kind) {
        (Why::InFlight, ..) => Some(RaceReason::InFlight),
        (Why::ReadOnly, ..) => Some(RaceReason::ReadOnly),
        (Why::Size, ..) => Some(RaceReason::Size),
        (Why::MissingFence, ..) => Some(RaceReason::MissingFence),
        (_, AccessKind::VolatileWrite, AccessKind::VolatileWrite) => Some(RaceReason::Volatile),
        (_, one, other) => Some(RaceReason::Scope(one.scope()?.min(other.scope()?))),
    }
}

/// Whether consecutive values stored by lanes equal the values in memory. `None` if only some are
/// equal. Values of less than a word are compared byte by byte, others word by word.
fn silence(region: &Region, offset: usize, element: usize, values: impl Iterator<Item = u64>) -> Option<bool> {
    let unit = if element.is_multiple_of(4) { 4 } else { 1 };
    let is_silent = |(offset, value): (usize, u64)| {
        (0..element / unit).map(move |part| {
            let value = (value >> (8 * unit * part)) & (u64::MAX >> (64 - 8 * unit));
            let offset = offset + unit * part;
            region.load(offset, unit) == value && region.is_initialised(offset, unit)
        })
    };
    let mut all = values.enumerate().map(|(index, value)| (offset + element * index, value)).flat_map(is_silent);
    let first = all.next()?;
    all.all(|is_silent| is_silent == first).then_some(first)
}

fn access_of(kind: AccessKind) -> Access {
    match kind {
        AccessKind::Read | AccessKind::ReadOnly | AccessKind::VolatileRead | AccessKind::AtomicRead(_) => Access::Read,
        AccessKind::Write | AccessKind::VolatileWrite => Access::Write,
        AccessKind::AtomicWrite(_) => Access::Atomic,
    }
}
