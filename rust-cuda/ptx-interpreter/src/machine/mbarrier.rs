//! Mbarriers, and asynchronous stores to the shared memory of the cluster's blocks, which complete their phases (`st.async`).

use cuda_launch::{Mbarrier as State, MbarrierError};

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::{LaneAddress, Memory};
use super::lanes::{groups, lanes_in, lanes_of};
use super::race::StoreInFlight;
use super::warp::Warp;
use crate::memory::races::BarrierOf;
use crate::program::instruction::{
    AccessSpace, MBARRIER_BYTES as BYTES, Mbarrier, MbarrierOperation, MemoryOrdering, StoreAsync,
};
use crate::syntax::Space;

/// An access that races with no other operation on an mbarrier. What it orders, the mbarrier's phase says.
const ATOMIC: MemoryOrdering = MemoryOrdering { volatile: false, ..MemoryOrdering::VOLATILE };

impl Warp {
    /// The active lanes initialise mbarriers, arrive at them or test their phases.
    pub(super) fn mbarrier(
        &mut self,
        pc: usize,
        mbarrier: &Mbarrier,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (access, ordering) = match mbarrier.operation {
            MbarrierOperation::Init { .. } => (Access::Write, MemoryOrdering::default()),
            MbarrierOperation::ArriveExpecting { .. } => (Access::Atomic, ATOMIC),
            MbarrierOperation::TryWait { .. } => (Access::Read, ATOMIC),
        };
        let access = (BYTES, access, ordering, &[][..]);
        let places =
            self.resolve_access(pc, AccessSpace::Space(Space::Shared), &mbarrier.address, active, access, context)?;
        match mbarrier.operation {
            MbarrierOperation::Init { arrivals } => {
                for lane in lanes_of(active) {
                    let (memory, offset) = places.of(lane);
                    let state = State::new(self.registers[arrivals as usize][lane] & u64::from(u32::MAX));
                    let state = state.map_err(|error| context.mbarrier_failure(lane, (memory, offset), error))?;
                    context.region(memory, self).store_whole(offset, BYTES, state.to_bits());
                }
                context.note_change();
            }
            MbarrierOperation::ArriveExpecting { bytes } => {
                for lane in lanes_in(active, context.reverses_lanes) {
                    let bytes = self.registers[bytes as usize][lane] as u32;
                    let change = |state: &mut State| state.arrive_expecting(bytes);
                    self.change_mbarrier(lane, places.of(lane), change, context)?;
                }
            }
            MbarrierOperation::TryWait { complete, parity } => {
                let mut completed = 0;
                for (place, lanes) in groups(active, |lane| places.of(lane)) {
                    let state = self.mbarrier_at(place, context);
                    let state = state
                        .map_err(|error| context.mbarrier_failure(lanes.trailing_zeros() as usize, place, error))?;
                    let is_complete = |lane: &usize| {
                        let parity = self.registers[parity as usize][*lane] & 1 == 1;
                        state.has_completed(parity)
                    };
                    let here = lanes_of(lanes).filter(is_complete).fold(0, |mask, lane| mask | 1 << lane);
                    completed |= here;
                    if here != 0 {
                        self.note_phase_waited_for(place, here, context);
                    }
                }
                self.write_predicate(complete, completed, active);
                // The instruction suspends a thread until the phase completes, or for a time.
                context.suspends = completed != active;
            }
        }
        Ok(())
    }

    /// The active lanes store to a block of the cluster, and complete bytes of the phase of an mbarrier there. The interpreter does both at
    /// once; until the phase is complete, every access to what is stored is a race.
    pub(super) fn store_async(
        &mut self,
        pc: usize,
        store: &StoreAsync,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let bytes = store.bytes * store.sources.len();
        let access = (bytes, Access::Write, MemoryOrdering::default(), &store.sources[..]);
        let targets = self.resolve_access(pc, AccessSpace::Cluster, &store.address, active, access, context)?;
        let access = (BYTES, Access::Atomic, ATOMIC, &[][..]);
        let barriers = self.resolve_access(pc, AccessSpace::Cluster, &store.barrier, active, access, context)?;
        for lane in lanes_in(active, context.reverses_lanes) {
            let (memory, offset) = targets.of(lane);
            if block_of(memory) != block_of(barriers.of(lane).0) {
                return Err(Failure::at(lane, FaultKind::StoreAsyncBlocks));
            }
            let region = context.region(memory, self);
            for (part, source) in store.sources.iter().enumerate() {
                let offset = offset + part * store.bytes;
                region.store(offset, store.bytes, self.registers[*source as usize][lane]);
                if !self.uninitialised.is_empty() {
                    self.store_uninitialised((*source, store.bytes), lane, (memory, offset), region)?;
                }
            }
            self.note_async_store(pc, lane, ((memory, offset), bytes), barriers.of(lane), context);
            let change = |state: &mut State| state.complete_bytes(bytes as u32);
            self.change_mbarrier(lane, barriers.of(lane), change, context)?;
        }
        Ok(())
    }

    fn mbarrier_at(&self, (memory, offset): LaneAddress, context: &Context<'_>) -> Result<State, MbarrierError> {
        State::from_bits(context.region(memory, self).load_whole(offset, BYTES))
    }

    /// A lane changes an mbarrier, which may complete its phase.
    fn change_mbarrier(
        &self,
        lane: usize,
        place: LaneAddress,
        change: impl FnOnce(&mut State) -> Result<bool, MbarrierError>,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let changed = self.mbarrier_at(place, context).and_then(|mut state| Ok((change(&mut state)?, state)));
        let (is_complete, state) = changed.map_err(|error| context.mbarrier_failure(lane, place, error))?;
        context.region(place.0, self).store_whole(place.1, BYTES, state.to_bits());
        context.note_change();
        let thread = self.lanes_of_phase(1 << lane, context);
        let Some(barrier) = context.barrier_at(place, self) else { return Ok(()) };
        let Some(races) = &mut context.races else { return Ok(()) };
        races.detector.arrive(barrier, thread);
        if is_complete {
            races.detector.complete(barrier);
            for store in races.async_stores.remove(&barrier).into_iter().flatten() {
                races.detector.land(store.target, store.bytes, true, store.thread);
            }
        }
        Ok(())
    }

    /// Notes what a lane stores asynchronously, until the mbarrier's phase is complete.
    fn note_async_store(
        &self,
        pc: usize,
        lane: usize,
        ((memory, offset), bytes): (LaneAddress, usize),
        barrier: LaneAddress,
        context: &mut Context<'_>,
    ) {
        let Some(watched) = context.watched(memory, self) else { return };
        let Some(barrier) = context.barrier_at(barrier, self) else { return };
        let store = StoreInFlight { target: (watched, offset), bytes, thread: (context.phase(self), lane as u32) };
        let mut data = [0; 16];
        context.region(memory, self).read(offset, &mut data[..bytes]);
        let Some(races) = &mut context.races else { return };
        races.detector.take_off(store.target, bytes, Some(&data[..bytes]), store.thread, pc as u32);
        races.async_stores.entry(barrier).or_default().push(store);
    }

    fn note_phase_waited_for(&self, place: LaneAddress, lanes: u32, context: &mut Context<'_>) {
        let lanes = self.lanes_of_phase(lanes, context);
        if let Some(barrier) = context.barrier_at(place, self)
            && let Some(races) = &mut context.races
        {
            races.detector.pass(barrier, lanes);
        }
    }
}

/// The block that has a shared memory, by its index in the cluster; None for the own block.
fn block_of(memory: Memory) -> Option<u32> {
    match memory {
        Memory::OtherShared { rank, .. } => Some(rank),
        _ => None,
    }
}

impl Context<'_> {
    /// The mbarrier at a place, for the race detector.
    fn barrier_at(&mut self, (memory, offset): LaneAddress, warp: &Warp) -> Option<BarrierOf> {
        self.watched(memory, warp).map(|watched| BarrierOf::Memory(watched, offset))
    }

    #[cold]
    fn mbarrier_failure(&self, lane: usize, (memory, offset): LaneAddress, error: MbarrierError) -> Failure {
        let (memory, address) = self.extent_at(memory, offset);
        Failure::at(lane, FaultKind::Mbarrier { error, address, memory: Box::new(memory) })
    }

    /// The fault of a wait for an mbarrier's phase that no thread completes. None if there is no mbarrier.
    #[cold]
    pub(super) fn phase_never_ends(&self, (memory, offset): LaneAddress, warp: &Warp) -> Option<FaultKind> {
        let (arrivals, bytes) = warp.mbarrier_at((memory, offset), self).ok()?.missing();
        let (memory, address) = self.extent_at(memory, offset);
        Some(FaultKind::PhaseNeverEnds { arrivals, bytes, address, memory: Box::new(memory) })
    }
}
