//! Propagation of uninitialised bytes through registers.
//!
//! Compilers copy a whole structure, including the padding between its members, which is never written, and programs load values that
//! they do not use. So a load of uninitialised bytes is not a fault by itself, of local memory always, of other memory by
//! [`Options::uninitialised`](super::Options::uninitialised):
//! the bytes stay uninitialised in the register and in its copies, and so does all of a value that is computed of them, until an
//! instruction decides something by them, or stores a computed value: a comparison, an address, a store. Then the load is reported
//! as the fault. `and` and `or` combine the fields of a word bit by bit: a byte counts as initialised
//! once an `or` sets bits of it or an `and` clears it. A warp without such bytes, the usual case, pays one test per
//! instruction.

use std::sync::Arc;

use super::block_state::{Stored, StoredAt};
use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::{LaneAddress, Memory};
use super::lanes::lanes_of;
use super::options::Uninitialised;
use super::warp::{Origin, UninitialisedRegister, Warp};
use crate::memory::AccessError;
use crate::program::instruction::{
    Action, Arrival, BarrierReductionKind, DecodedInstruction, EffectiveAddress, Load, Masking, Mbarrier,
    MbarrierOperation, PhaseOperand, Register, Shuffle, Store, VoteMode, Wmma, WmmaAccess, WmmaProduct,
};
use crate::semantics::LANES;
use crate::syntax::Space;

/// Each lane's own number.
const OWN: [u8; LANES] = {
    let (mut own, mut lane) = ([0; LANES], 0);
    while lane < LANES {
        own[lane] = lane as u8;
        lane += 1;
    }
    own
};

impl Warp {
    /// Repeats a load that failed, if it failed because of uninitialised bytes and these are no fault by themselves: the destination
    /// registers then hold them.
    ///
    /// # Errors
    /// The failure, if it is one.
    #[cold]
    pub(super) fn load_uninitialised(
        &mut self,
        pc: usize,
        load: &Load,
        active: u32,
        context: &mut Context<'_>,
        failure: Failure,
    ) -> Result<(), Failure> {
        let FaultKind::Access { access: Access::Read, error: AccessError::Uninitialised { place, .. } } = &failure.kind
        else {
            return Err(failure);
        };
        let option = context.launch.options.uninitialised;
        if option == Uninitialised::Error && (place.space != Space::Local || load.ordering.strong) {
            return Err(failure);
        }
        context.reads_uninitialised = true;
        let access = (load.bytes * load.destinations.len(), Access::Read, load.ordering, &[][..]);
        let resolved = self.resolve_access(pc, load.space, &load.address, active, access, context);
        context.reads_uninitialised = false;
        let resolved = resolved?;
        let is_of_thread = |lane: usize| resolved.of(lane).0 == Memory::Local;
        if option == Uninitialised::Error && !lanes_of(active).all(is_of_thread) {
            return Err(failure);
        }
        let bytes = load.bytes * load.destinations.len();
        let lane = failure.lane.unwrap_or(active.trailing_zeros());
        let of_lanes = lanes_of(active).filter_map(|lane| match resolved.of(lane) {
            (Memory::Local | Memory::Parameters | Memory::Constants, _) => None,
            at => {
                let error = context.first_uninitialised(self, at, bytes)?;
                Some((lane as u8, FaultKind::Access { access: Access::Read, error }))
            }
        });
        let of_lanes = of_lanes.collect();
        let origin = Arc::new(Origin { pc, kind: failure.kind, of_lanes });
        let mut are_noted = false;
        for (part, destination) in load.destinations.iter().enumerate() {
            let Some(destination) = destination else { continue };
            let (mut values, mut uninitialised) = ([0; LANES], [0; LANES]);
            let mut of_stored: Vec<(Stored, [u8; LANES], [u8; LANES])> = Vec::new();
            for lane in lanes_of(active) {
                let (memory, offset) = resolved.of(lane);
                let (region, offset) = (context.region(memory, self), offset + part * load.bytes);
                values[lane] = match load.ordering.strong {
                    false => region.load(offset, load.bytes),
                    true => region.load_whole(offset, load.bytes),
                };
                if memory != Memory::Local && option == Uninitialised::Off {
                    continue;
                }
                let is_missing = |byte: &usize| !region.is_initialised(offset + byte, 1);
                uninitialised[lane] = (0..load.bytes).filter(is_missing).fold(0, |bytes, byte| bytes | 1 << byte);
                if uninitialised[lane] == 0 {
                    continue;
                }
                // A value that a thread has stored was loaded elsewhere.
                let Some(stored) = context.state.stored.get(&self.stored_at((memory, offset))) else {
                    are_noted |= memory != Memory::Local;
                    continue;
                };
                let is_same = |(last, ..): &(Stored, [u8; LANES], [u8; LANES])| {
                    Arc::ptr_eq(&last.origin, &stored.origin) && last.is_computed == stored.is_computed
                };
                if !of_stored.last().is_some_and(is_same) {
                    of_stored.push((stored.clone(), [0; LANES], OWN));
                }
                if let Some((_, bytes, loaded_by)) = of_stored.last_mut() {
                    (bytes[lane], loaded_by[lane]) = (std::mem::take(&mut uninitialised[lane]), stored.loaded_by);
                }
            }
            load.extend(&mut values);
            self.write(*destination, &values, active);
            self.track_uninitialised((*destination, false), (uninitialised, OWN), &origin);
            for (Stored { origin, is_computed, .. }, bytes, loaded_by) in of_stored {
                self.track_uninitialised((*destination, is_computed), (bytes, loaded_by), &origin);
            }
        }
        if are_noted {
            let kind = origin.kind_of(lane as u8).clone();
            context.note("uninitialised-read", (pc, pc), self.first_thread() + lane, |_| kind);
        }
        Ok(())
    }

    /// Makes a register of a lane unspecified after a fault: what is computed of it counts as uninitialised, by that fault.
    #[cold]
    pub(super) fn make_unspecified(&mut self, register: Register, (lane, of_lane): (u32, u32), origin: &Arc<Origin>) {
        let (mut bytes, mut loaded_by) = ([0; LANES], OWN);
        (bytes[lane as usize], loaded_by[lane as usize]) = (u8::MAX, of_lane as u8);
        self.track_uninitialised((register, false), (bytes, loaded_by), origin);
    }

    /// Whether a register of a lane has uninitialised bytes.
    pub(super) fn is_unspecified(&self, register: Option<Register>, lane: u32) -> bool {
        let mut entries = self.uninitialised.iter().filter(|entry| Some(entry.register) == register);
        entries.any(|entry| entry.bytes[lane as usize] != 0)
    }

    /// Makes a register of a lane count as initialised.
    pub(super) fn specify(&mut self, register: Register, lane: u32) {
        for entry in self.uninitialised.iter_mut().filter(|entry| entry.register == register) {
            entry.bytes[lane as usize] = 0;
        }
    }

    fn track_uninitialised(
        &mut self,
        (register, is_computed): (Register, bool),
        (bytes, loaded_by): ([u8; LANES], [u8; LANES]),
        origin: &Arc<Origin>,
    ) {
        if bytes != [0; LANES] {
            let origin = Arc::clone(origin);
            self.uninitialised.push(UninitialisedRegister { register, bytes, origin, loaded_by, is_computed });
        }
    }

    /// Updates the uninitialised registers before an instruction executes: copies propagate uninitialised bytes, and
    /// other results replace them. Called only while there are such registers.
    ///
    /// # Errors
    /// The fault of the load whose uninitialised bytes the instruction computes with.
    #[cold]
    pub(super) fn propagate_uninitialised(
        &mut self,
        instruction: &DecodedInstruction,
        active: u32,
    ) -> Result<(), Failure> {
        let mut copies = Vec::new();
        let is_computed = matches!(instruction.action, Action::Compute { masking: None, .. });
        let mut copy = |warp: &Self, from: Register, to: Register, lanes: u32, change: &dyn Fn(u8) -> u8| {
            for entry in warp.uninitialised.iter().filter(|entry| entry.register == from) {
                let mut bytes = [0; LANES];
                lanes_of(lanes).for_each(|lane| bytes[lane] = change(entry.bytes[lane]));
                copies.push((
                    (to, entry.is_computed || is_computed),
                    (bytes, entry.loaded_by),
                    Arc::clone(&entry.origin),
                ));
            }
        };
        match &instruction.action {
            Action::Move { destination, source } => copy(self, *source, *destination, active, &|bytes| bytes),
            Action::Select { destination, sources: [a, b], predicate } => {
                let condition = self.predicates[*predicate as usize];
                copy(self, *a, *destination, active & condition, &|bytes| bytes);
                copy(self, *b, *destination, active & !condition, &|bytes| bytes);
            }
            Action::Pack { destination, parts, bits } => {
                for (position, part) in parts.iter().enumerate() {
                    let (count, shift) = (bits / 8, position as u32 * bits / 8);
                    copy(self, *part, *destination, active, &|bytes| (bytes & low_bits(count)) << shift);
                }
            }
            Action::Unpack { destinations, source, bits } => {
                for (position, destination) in destinations.iter().enumerate() {
                    let (count, shift) = (bits / 8, position as u32 * bits / 8);
                    let Some(destination) = destination else { continue };
                    copy(self, *source, *destination, active, &|bytes| bytes >> shift & low_bits(count));
                }
            }
            Action::Load(Load { address, .. }) | Action::Store(Store { address, .. }) => {
                self.check_initialised(address.base, active)?;
            }
            // It exchanges the bytes once all lanes have arrived.
            Action::Shuffle(Shuffle { lane, clamp, members, .. }) => {
                let mut operands = [*lane, *clamp, *members].into_iter();
                return operands.try_for_each(|operand| self.check_initialised(Some(operand), active));
            }
            Action::Compute { destination, sources: [a, b, ..], masking: Some(masking), .. } => {
                for (from, other) in [(*a, *b), (*b, *a)] {
                    let other = self.registers[other as usize];
                    for lane in lanes_of(active) {
                        let set = other[lane]
                            .to_le_bytes()
                            .iter()
                            .rev()
                            .fold(0, |bits, byte| bits << 1 | u8::from(*byte != 0));
                        let kept = match masking {
                            Masking::And => set,
                            Masking::Or => !set,
                        };
                        copy(self, from, *destination, 1 << lane, &|bytes| bytes & kept);
                    }
                }
            }
            // A compiler may compute with a value that it then selects another for: the result counts as uninitialised.
            Action::Compute { destination, sources, masking: None, .. } => {
                for source in sources {
                    copy(self, *source, *destination, active, &|bytes| if bytes == 0 { 0 } else { u8::MAX });
                }
            }
            action => {
                let mut used = Vec::new();
                action.visit_sources(&mut |register| used.push(register));
                used.into_iter().try_for_each(|register| self.check_initialised(Some(register), active))?;
            }
        }
        instruction.action.visit_destinations(&mut |register| {
            for entry in self.uninitialised.iter_mut().filter(|entry| entry.register == register) {
                lanes_of(active).for_each(|lane| entry.bytes[lane] = 0);
            }
        });
        self.uninitialised.retain(|entry| entry.bytes != [0; LANES]);
        copies.into_iter().for_each(|(to, bytes, origin)| self.track_uninitialised(to, bytes, &origin));
        Ok(())
    }

    /// Exchanges uninitialised bytes as a shuffle does the values of its source: those of each lane are of the lane `from`.
    #[cold]
    pub(super) fn shuffle_uninitialised(
        &mut self,
        [source, destination]: [Register; 2],
        from: &[usize; LANES],
        lanes: u32,
    ) {
        let mut shuffled = Vec::new();
        for entry in self.uninitialised.iter().filter(|entry| entry.register == source) {
            let (mut bytes, mut loaded_by) = ([0; LANES], OWN);
            for lane in lanes_of(lanes) {
                (bytes[lane], loaded_by[lane]) = (entry.bytes[from[lane]], entry.loaded_by[from[lane]]);
            }
            shuffled.push(((destination, entry.is_computed), (bytes, loaded_by), Arc::clone(&entry.origin)));
        }
        lanes_of(lanes).for_each(|lane| self.specify(destination, lane as u32));
        self.uninitialised.retain(|entry| entry.bytes != [0; LANES]);
        shuffled.into_iter().for_each(|(to, bytes, origin)| self.track_uninitialised(to, bytes, &origin));
    }

    fn check_initialised(&self, register: Option<Register>, active: u32) -> Result<(), Failure> {
        for entry in self.uninitialised.iter().filter(|entry| Some(entry.register) == register) {
            if let Some(lane) = lanes_of(active).find(|lane| entry.bytes[*lane] != 0) {
                return Err(entry.failure(lane));
            }
        }
        Ok(())
    }

    /// Marks bytes uninitialised in memory after a store of a register's uninitialised bytes.
    ///
    /// # Errors
    /// The fault of the load, if the value is computed and the memory is global, which the host may read. By stricter options also if
    /// the memory is another one, or if all bytes of the value are uninitialised and other threads see them: that is not a structure's
    /// padding.
    #[cold]
    pub(super) fn store_uninitialised(
        &self,
        (source, bytes): (Register, usize),
        lane: usize,
        (memory, offset): LaneAddress,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        for entry in self.uninitialised.iter().filter(|entry| entry.register == source) {
            let missing = entry.bytes[lane] & low_bits(bytes as u32);
            let matters = match context.launch.options.uninitialised {
                Uninitialised::Error => {
                    entry.is_computed || (missing == low_bits(bytes as u32) && memory != Memory::Local)
                }
                _ => entry.is_computed && matches!(memory, Memory::Global(_)),
            };
            if missing == 0 {
                continue;
            }
            if matters {
                return Err(entry.failure(lane));
            }
            let (region, at) = (context.region(memory, self), self.stored_at((memory, offset)));
            let bytes = (0..bytes).filter(|byte| missing >> byte & 1 == 1);
            bytes.for_each(|byte| region.mark_uninitialised(offset + byte, 1));
            // By stricter options a value is what the last load has read.
            if context.launch.options.uninitialised == Uninitialised::Note && !matches!(memory, Memory::Global(_)) {
                let (origin, loaded_by) = (Arc::clone(&entry.origin), entry.loaded_by[lane]);
                context.state.stored.insert(at, Stored { origin, loaded_by, is_computed: entry.is_computed });
            }
        }
        Ok(())
    }

    /// The key of a place in [`BlockState::stored`](super::block_state::BlockState::stored).
    fn stored_at(&self, (memory, offset): LaneAddress) -> StoredAt {
        (memory, offset, (memory == Memory::Local).then_some(self.number))
    }
}

impl Origin {
    fn kind_of(&self, lane: u8) -> &FaultKind {
        self.of_lanes.iter().find(|(of, _)| *of == lane).map_or(&self.kind, |(_, kind)| kind)
    }
}

impl UninitialisedRegister {
    fn failure(&self, lane: usize) -> Failure {
        let of = self.loaded_by[lane];
        let kind = self.origin.kind_of(of).clone();
        Failure { lane: Some(lane as u32), origin: Some((self.origin.pc, of.into())), kind }
    }
}

fn low_bits(count: u32) -> u8 {
    if count >= 8 { u8::MAX } else { (1 << count) - 1 }
}

impl Action {
    /// Whether the instruction accesses memory at addresses in registers.
    pub(super) fn accesses_memory(&self) -> bool {
        matches!(
            self,
            Self::Load(_)
                | Self::Store(_)
                | Self::Atomic(_)
                | Self::CopyAsync(_)
                | Self::Mbarrier(_)
                | Self::BulkCopy(_)
                | Self::StoreAsync(_)
                | Self::LoadMatrix(_)
                | Self::Wmma(Wmma::Load(_) | Wmma::Store(_))
        )
    }

    /// Visits the registers that the instruction computes with, except those that it only copies.
    pub(super) fn visit_sources(&self, visit: &mut impl FnMut(Register)) {
        let address = |address: &EffectiveAddress, visit: &mut dyn FnMut(Register)| {
            if let Some(base) = address.base {
                visit(base);
            }
        };
        match self {
            Self::Compute { sources, .. } | Self::Carry { sources, .. } | Self::Compare { sources, .. } => {
                sources.iter().copied().for_each(visit);
            }
            Self::MapAddress { address, rank, .. } => [*address, *rank].into_iter().for_each(visit),
            Self::IsSpace { address: register, .. }
            | Self::BranchTable { index: register, .. }
            | Self::BranchToFunction { address: register, .. }
            | Self::WarpBarrier { members: register } => visit(*register),
            Self::Atomic(atomic) => {
                address(&atomic.address, visit);
                atomic.operands.iter().copied().for_each(visit);
            }
            Self::CopyAsync(copy) => {
                address(&copy.from, visit);
                address(&copy.to, visit);
                copy.read.into_iter().for_each(visit);
            }
            Self::Mbarrier(Mbarrier { address: place, operation, .. }) => {
                address(place, visit);
                match *operation {
                    MbarrierOperation::Init { arrivals: source }
                    | MbarrierOperation::Expect { bytes: source }
                    | MbarrierOperation::Wait { phase: PhaseOperand::Parity(source), .. }
                    | MbarrierOperation::Wait { phase: PhaseOperand::State(source), .. } => visit(source),
                    MbarrierOperation::Arrive(Arrival { count, bytes, .. }) => {
                        count.into_iter().chain(bytes).for_each(visit);
                    }
                    MbarrierOperation::Invalidate | MbarrierOperation::ArriveWithCopies { .. } => {}
                }
            }
            Self::BulkCopy(copy) => {
                address(&copy.to.1, visit);
                address(&copy.from.1, visit);
                copy.barrier.iter().for_each(|barrier| address(barrier, visit));
                visit(copy.bytes);
            }
            Self::StoreAsync(store) => {
                address(&store.address, visit);
                address(&store.barrier, visit);
            }
            Self::Barrier(barrier) => {
                visit(barrier.number);
                barrier.count.into_iter().for_each(visit);
            }
            Self::Shuffle(shuffle) => [shuffle.lane, shuffle.clamp, shuffle.members].into_iter().for_each(visit),
            Self::Vote(vote) => visit(vote.members),
            Self::Match { source, members, .. } | Self::Reduce { source, members, .. } => {
                visit(*source);
                visit(*members);
            }
            Self::Matrix(matrix) => {
                [&matrix.a, &matrix.b, &matrix.c].into_iter().flatten().copied().for_each(visit);
            }
            Self::LoadMatrix(load) => address(&load.address, visit),
            Self::Wmma(Wmma::Load(access) | Wmma::Store(access)) => {
                address(&access.address, visit);
                access.stride.into_iter().for_each(visit);
            }
            Self::Wmma(Wmma::Product(WmmaProduct { a, b, c, .. })) => {
                [a, b, c].iter().flat_map(|fragment| &fragment.registers).copied().for_each(visit);
            }
            Self::Move { .. }
            | Self::Select { .. }
            | Self::Pack { .. }
            | Self::Unpack { .. }
            | Self::Load(_)
            | Self::Store(_)
            | Self::Logic { .. }
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::Fence { .. }
            | Self::Branch { .. }
            | Self::Exit
            | Self::Trap
            | Self::ActiveMask { .. }
            | Self::ReadClock { .. }
            | Self::Print(_)
            | Self::FailAssertion(_)
            | Self::Call(_)
            | Self::Return { .. }
            | Self::ClusterArrive
            | Self::ClusterWait
            | Self::Nothing => {}
        }
    }

    /// Visits the registers that the instruction writes.
    pub(super) fn visit_destinations(&self, visit: &mut impl FnMut(Register)) {
        match self {
            Self::Compute { destination, .. }
            | Self::Carry { destination, .. }
            | Self::MapAddress { destination, .. }
            | Self::Move { destination, .. }
            | Self::Select { destination, .. }
            | Self::Pack { destination, .. }
            | Self::Match { destination, .. }
            | Self::Reduce { destination, .. }
            | Self::ActiveMask { destination }
            | Self::ReadClock { destination, .. } => visit(*destination),
            Self::Unpack { destinations, .. } => destinations.iter().flatten().copied().for_each(visit),
            Self::Load(load) => load.destinations.iter().flatten().copied().for_each(visit),
            Self::Atomic(atomic) => atomic.destination.into_iter().for_each(visit),
            Self::Shuffle(shuffle) => visit(shuffle.destination),
            Self::Mbarrier(mbarrier) => {
                if let MbarrierOperation::Arrive(Arrival { state: Some(register), .. }) = mbarrier.operation {
                    visit(register);
                }
            }
            Self::Matrix(matrix) => matrix.d.iter().copied().for_each(visit),
            Self::LoadMatrix(load) => load.destinations.iter().copied().for_each(visit),
            Self::Wmma(Wmma::Load(WmmaAccess { fragment, .. }) | Wmma::Product(WmmaProduct { d: fragment, .. })) => {
                fragment.registers.iter().copied().for_each(visit);
            }
            Self::Vote(vote) => {
                if let VoteMode::Ballot(register) = vote.mode {
                    visit(register);
                }
            }
            Self::Barrier(barrier) => {
                if let Some(BarrierReductionKind::Count(register)) = barrier.reduction.map(|reduction| reduction.kind) {
                    visit(register);
                }
            }
            Self::Compare { .. }
            | Self::Logic { .. }
            | Self::IsSpace { .. }
            | Self::Store(_)
            | Self::Wmma(Wmma::Store(_))
            | Self::CopyAsync(_)
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::BulkCopy(_)
            | Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::StoreAsync(_)
            | Self::Fence { .. }
            | Self::Branch { .. }
            | Self::BranchTable { .. }
            | Self::BranchToFunction { .. }
            | Self::Exit
            | Self::Trap
            | Self::ClusterArrive
            | Self::ClusterWait
            | Self::WarpBarrier { .. }
            | Self::Print(_)
            | Self::FailAssertion(_)
            | Self::Call(_)
            | Self::Return { .. }
            | Self::Nothing => {}
        }
    }
}
