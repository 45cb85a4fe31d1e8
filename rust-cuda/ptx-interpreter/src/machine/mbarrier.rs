//! Mbarriers, and asynchronous stores to the shared memory of the cluster's blocks (`st.async`),
//! which complete the phases of mbarriers.

use cuda_launch::{Mbarrier as State, MbarrierError};

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::{LaneAddress, LaneAddresses, Memory};
use super::lanes::{groups, lanes_in, lanes_of};
use super::resolve::Request;
use super::warp::Warp;
use crate::memory::races::{BarrierOf, CopyAccess};
use crate::program::instruction::{
    AccessSpace, Arrival, EffectiveAddress, MBARRIER_BYTES as BYTES, Mbarrier, MbarrierOperation, MemoryOrdering,
    PhaseOperand, Predicate, StoreAsync,
};
use crate::semantics::{LANES, Lanes};

/// An access that does not race with any other operation on an mbarrier. The mbarrier's phase
/// determines what it orders.
const ATOMIC: MemoryOrdering = MemoryOrdering { volatile: false, ..MemoryOrdering::VOLATILE };

/// Number of instructions without progress that one wait for an incomplete phase counts as. A GPU
/// suspends the thread meanwhile.
const INSTRUCTIONS_OF_A_WAIT: u64 = 1 << 14;

/// Which of a lane's operations happen before the code that waits for the mbarrier phase that the
/// lane changes.
#[derive(Clone, Copy)]
enum Orders {
    /// None: the lane only sets the expected bytes.
    Nothing,
    /// Operations that precede an asynchronous operation of the lane.
    Performed,
    /// All operations of the lane so far: it arrives.
    All,
}

impl Warp {
    /// Makes the active lanes initialize or invalidate mbarriers, arrive at them or test their
    /// phases.
    pub(super) fn mbarrier(
        &mut self,
        pc: usize,
        mbarrier: &Mbarrier,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (access, ordering) = match mbarrier.operation {
            MbarrierOperation::Init { .. } => (Access::Write, MemoryOrdering::default()),
            MbarrierOperation::Wait { .. } => (Access::Read, ATOMIC),
            _ => (Access::Atomic, ATOMIC),
        };
        let request = Request { ordering, ..Request::plain(pc, BYTES, access) };
        let places = self.resolve_and_record(request, mbarrier.space, &mbarrier.address, active, context)?;
        match mbarrier.operation {
            MbarrierOperation::Init { arrivals } => {
                for lane in lanes_of(active) {
                    let (memory, offset) = places.at(lane);
                    let state = State::new(self.registers[arrivals as usize][lane] & u64::from(u32::MAX));
                    let state = state.map_err(|error| context.mbarrier_failure(lane, (memory, offset), error))?;
                    context.region(memory, self).store_whole(offset, BYTES, state.to_bits());
                }
                context.note_change();
            }
            MbarrierOperation::Invalidate => {
                for (memory, offset) in lanes_of(active).map(|lane| places.at(lane)) {
                    context.region(memory, self).store_whole(offset, BYTES, 0);
                }
                context.note_change();
            }
            MbarrierOperation::Expect { bytes } => {
                for lane in lanes_in(active, context.reverses_lanes) {
                    let bytes = self.registers[bytes as usize][lane] as u32;
                    let change = |state: &mut State| state.expect(bytes);
                    self.change_mbarrier(lane, places.at(lane), change, Orders::Nothing, context)?;
                }
            }
            MbarrierOperation::Arrive(arrival) => self.arrive(arrival, active, &places, context)?,
            MbarrierOperation::ArriveWithCopies { expected } => {
                for lane in lanes_in(active, context.reverses_lanes) {
                    let place = places.at(lane);
                    for copy in self.copies.finish(None, 1 << lane) {
                        self.complete_copy(pc, &copy, context)?;
                        self.note_async_store(pc, lane, copy.target, copy.written.bytes, place, context);
                    }
                    // All copies are complete, so an arrival that the phase would expect from now
                    // on has already happened.
                    let change = |state: &mut State| if expected { state.arrive(1, 0, false) } else { Ok(false) };
                    self.change_mbarrier(lane, place, change, Orders::Performed, context)?;
                }
            }
            MbarrierOperation::Wait { complete, phase } => {
                self.wait_for_phase(complete, phase, active, &places, context)?;
            }
        }
        Ok(())
    }

    /// Makes the active lanes arrive at mbarriers.
    fn arrive(
        &mut self,
        Arrival { count, bytes, drops, state }: Arrival,
        active: u32,
        places: &LaneAddresses,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let mut states = [0; LANES];
        for lane in lanes_in(active, context.reverses_lanes) {
            let [count, bytes] = [(count, 1), (bytes, 0)].map(|(register, otherwise)| {
                register.map_or(otherwise, |register| self.registers[register as usize][lane] as u32)
            });
            let change = |state: &mut State| state.arrive(count, bytes, drops);
            states[lane] = self.change_mbarrier(lane, places.at(lane), change, Orders::All, context)?.to_bits();
        }
        if let Some(state) = state {
            self.write(state, &states, active);
        }
        Ok(())
    }

    /// Tests for the active lanes whether phases are complete.
    fn wait_for_phase(
        &mut self,
        complete: Predicate,
        phase: PhaseOperand,
        active: u32,
        places: &LaneAddresses,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let mut completed = 0;
        for (place, lanes) in groups(active, |lane| places.at(lane)) {
            let state = self.mbarrier_at(place, context);
            let state =
                state.map_err(|error| context.mbarrier_failure(lanes.trailing_zeros() as usize, place, error))?;
            let mut here = 0;
            for lane in lanes_of(lanes) {
                let is_complete = match phase {
                    PhaseOperand::Parity(parity) => state.has_completed(self.registers[parity as usize][lane] & 1 == 1),
                    PhaseOperand::State(of) => state
                        .has_completed_phase_of(self.registers[of as usize][lane])
                        .map_err(|error| context.mbarrier_failure(lane, place, error))?,
                };
                here |= u32::from(is_complete) << lane;
            }
            completed |= here;
            if here != 0 {
                self.note_phase_waited_for(place, here, context);
            }
        }
        self.write_predicate(complete, completed, active);
        if completed != active {
            // The instruction suspends a thread until the phase completes, or for a limited time.
            context.suspends = true;
            let lane = (active & !completed).trailing_zeros() as usize;
            if context.count_failed_wait()
                && let Some(kind) = context.phase_never_ends(places.at(lane), self)
            {
                return Err(Failure::at(lane, kind));
            }
        }
        Ok(())
    }

    /// Stores to a block of the cluster for each active lane, and completes bytes of the phase of
    /// an mbarrier there. The interpreter does both at once. Until the phase is complete, every
    /// access to the stored bytes is a race.
    pub(super) fn store_async(
        &mut self,
        pc: usize,
        store: &StoreAsync,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let bytes = store.bytes * store.sources.len();
        let request = Request { stored: &store.sources, ..Request::plain(pc, bytes, Access::Write) };
        let targets = self.resolve_and_record(request, AccessSpace::Cluster, &store.address, active, context)?;
        let barriers = self.mbarriers(pc, &store.barrier, active, context)?;
        for lane in lanes_in(active, context.reverses_lanes) {
            let (memory, offset) = targets.at(lane);
            if block_of(memory) != block_of(barriers.at(lane).0) {
                return Err(Failure::at(lane, FaultKind::StoreAsyncBlocks));
            }
            for (part, source) in store.sources.iter().enumerate() {
                let offset = offset + part * store.bytes;
                context.region(memory, self).store(offset, store.bytes, self.registers[*source as usize][lane]);
                if !self.uninitialised.is_empty() {
                    self.store_uninitialised(*source, store.bytes, lane, (memory, offset), context)?;
                }
            }
            self.note_async_store(pc, lane, (memory, offset), bytes, barriers.at(lane), context);
            self.complete_bytes(lane, barriers.at(lane), bytes as u32, context)?;
        }
        Ok(())
    }

    /// The mbarriers of the cluster with phases that the active lanes change.
    pub(super) fn mbarriers(
        &self,
        pc: usize,
        address: &EffectiveAddress,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        self.mbarriers_at(pc, &self.addresses(address), active, context)
    }

    /// Like [`mbarriers`](Self::mbarriers), from the lanes' addresses.
    pub(super) fn mbarriers_at(
        &self,
        pc: usize,
        addresses: &Lanes,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        let request = Request { ordering: ATOMIC, ..Request::plain(pc, BYTES, Access::Atomic) };
        self.resolve_addresses(request, AccessSpace::Cluster, addresses, active, context)
    }

    /// Completes bytes of an mbarrier's phase for a lane's copy.
    pub(super) fn complete_bytes(
        &self,
        lane: usize,
        barrier: LaneAddress,
        bytes: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let change = |state: &mut State| state.complete_bytes(bytes);
        self.change_mbarrier(lane, barrier, change, Orders::Performed, context).map(drop)
    }

    fn mbarrier_at(&self, (memory, offset): LaneAddress, context: &Context<'_>) -> Result<State, MbarrierError> {
        State::from_bits(context.region(memory, self).load_whole(offset, BYTES))
    }

    /// Changes an mbarrier for a lane, which may complete its phase. Returns the previous state.
    fn change_mbarrier(
        &self,
        lane: usize,
        place: LaneAddress,
        change: impl FnOnce(&mut State) -> Result<bool, MbarrierError>,
        orders: Orders,
        context: &mut Context<'_>,
    ) -> Result<State, Failure> {
        let changed = self.mbarrier_at(place, context).and_then(|before| {
            let mut state = before;
            Ok((change(&mut state)?, before, state))
        });
        let (is_complete, before, state) = changed.map_err(|error| context.mbarrier_failure(lane, place, error))?;
        context.region(place.0, self).store_whole(place.1, BYTES, state.to_bits());
        context.note_change();
        let (thread, threads) = (context.thread(self, lane), context.threads(self, 1 << lane));
        let Some(barrier) = context.barrier_at(place, self) else { return Ok(before) };
        let Some(races) = &mut context.races else { return Ok(before) };
        match orders {
            Orders::Nothing => {}
            Orders::Performed => races.detector.arrive_async(barrier, thread),
            Orders::All => races.detector.arrive(barrier, threads),
        }
        if is_complete {
            races.detector.complete(barrier);
        }
        Ok(before)
    }

    /// Registers an asynchronous store by a lane, in flight until the mbarrier's phase is complete.
    pub(super) fn note_async_store(
        &self,
        pc: usize,
        lane: usize,
        (memory, offset): LaneAddress,
        bytes: usize,
        barrier: LaneAddress,
        context: &mut Context<'_>,
    ) {
        let Some(watched) = context.watched(memory, self) else { return };
        let Some(barrier) = context.barrier_at(barrier, self) else { return };
        let (thread, mut data) = (context.thread(self, lane), [0; 16]);
        context.region(memory, self).read(offset, &mut data[..bytes]);
        let store = CopyAccess { location: watched.at(offset), bytes, data: Some(&data[..bytes]), thread };
        let Some(races) = &mut context.races else { return };
        races.detector.store_async(barrier, store, pc as u32);
    }

    fn note_phase_waited_for(&self, place: LaneAddress, lanes: u32, context: &mut Context<'_>) {
        let threads = context.threads(self, lanes);
        if let Some(barrier) = context.barrier_at(place, self)
            && let Some(races) = &mut context.races
        {
            races.detector.pass(barrier, threads);
        }
    }
}

/// The block that owns a shared memory, by its index in the cluster. `None` for the current block.
pub(super) fn block_of(memory: Memory) -> Option<u32> {
    match memory {
        Memory::OtherShared { rank, .. } => Some(rank),
        _ => None,
    }
}

impl Context<'_> {
    /// Counts a wait that found its phase incomplete. Returns whether the kernel counts as endless
    /// because of the number of such waits since memory changed. A loop that also reads a clock, as
    /// in libcu++, never repeats a state, so the detection of other endless loops misses it.
    fn count_failed_wait(&mut self) -> bool {
        let changes = self.residents.changes;
        let (count, since) = self.state.failed_waits;
        let count = if since == changes { count + 1 } else { 1 };
        self.state.failed_waits = (count, changes);
        count > self.launch.options.instructions_without_progress / INSTRUCTIONS_OF_A_WAIT
    }

    /// The race detector's handle of the mbarrier at an address.
    fn barrier_at(&mut self, (memory, offset): LaneAddress, warp: &Warp) -> Option<BarrierOf> {
        self.watched(memory, warp).map(|watched| BarrierOf::Memory(watched.at(offset)))
    }

    #[cold]
    fn mbarrier_failure(&self, lane: usize, (memory, offset): LaneAddress, error: MbarrierError) -> Failure {
        let (memory, address) = self.extent_at(memory, offset);
        Failure::at(lane, FaultKind::Mbarrier { error, address, memory: Box::new(memory) })
    }

    /// The fault of a wait for an mbarrier phase that no thread completes. `None` if there is no
    /// mbarrier.
    #[cold]
    pub(super) fn phase_never_ends(&self, (memory, offset): LaneAddress, warp: &Warp) -> Option<FaultKind> {
        let (arrivals, bytes) = warp.mbarrier_at((memory, offset), self).ok()?.missing();
        let (memory, address) = self.extent_at(memory, offset);
        Some(FaultKind::PhaseNeverEnds { arrivals, bytes, address, memory: Box::new(memory) })
    }
}
