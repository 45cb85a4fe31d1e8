//! Propagation of uninitialised bytes from local memory through registers.
//!
//! Compilers copy a whole structure, including the padding between its members, which is never written. So a load of
//! uninitialised bytes from local memory, which holds structures and the arguments of calls, is not a fault by itself:
//! the bytes stay uninitialised in the register and in its copies, and so does all of a value that is computed of them, until an
//! instruction decides something by them, or stores a computed value: a comparison, an address, a store. Then the load is reported
//! as the fault. `and` and `or` combine the fields of a word bit by bit: a byte counts as initialised
//! once an `or` sets bits of it or an `and` clears it. A warp without such bytes, the usual case, pays one test per
//! instruction.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::{LaneAddress, Memory};
use super::lanes::lanes_of;
use super::warp::{UninitialisedRegister, Warp};
use crate::memory::{AccessError, Region, from_generic, space_of};
use crate::program::instruction::{
    AccessSpace, Action, Arrival, BarrierReductionKind, DecodedInstruction, EffectiveAddress, Load, Masking, Mbarrier,
    MbarrierOperation, PhaseOperand, Register, Store, VoteMode, Wmma, WmmaAccess, WmmaProduct,
};
use crate::semantics::LANES;
use crate::syntax::Space;

impl Warp {
    /// Repeats a load that failed, if it failed because of uninitialised bytes of local memory: the destination
    /// registers then hold them.
    ///
    /// # Errors
    /// The failure, if it has another cause.
    #[cold]
    pub(super) fn load_uninitialised(
        &mut self,
        pc: usize,
        load: &Load,
        active: u32,
        context: &mut Context<'_>,
        failure: Failure,
    ) -> Result<(), Failure> {
        let is_of_local = |kind: &FaultKind| match kind {
            FaultKind::Access { access: Access::Read, error: AccessError::Uninitialised { place, .. } } => {
                place.space == Space::Local
            }
            _ => false,
        };
        // Register 0 is excluded: instructions with fewer than four sources name it for the missing ones.
        if !is_of_local(&failure.kind) || load.ordering.strong || load.destinations.contains(&Some(0)) {
            return Err(failure);
        }
        let addresses = self.addresses(&load.address);
        let mut resolved = [(Memory::Local, 0); LANES];
        for lane in lanes_of(active) {
            let within = match load.space {
                AccessSpace::Generic if space_of(addresses[lane]) != Space::Local => return Err(failure),
                AccessSpace::Generic => from_generic(Space::Local, addresses[lane]),
                AccessSpace::Space(_) | AccessSpace::Cluster => addresses[lane],
            };
            let bytes = load.bytes * load.destinations.len();
            let found = AccessError::check_aligned(Space::Local, within, bytes)
                .and_then(|()| context.resolve(self, Space::Local, lane, within, bytes));
            resolved[lane] =
                found.map_err(|error| Failure::at(lane, FaultKind::Access { access: Access::Read, error }))?;
        }
        for (part, destination) in load.destinations.iter().enumerate() {
            let Some(destination) = destination else { continue };
            let (mut values, mut uninitialised) = ([0; LANES], [0; LANES]);
            for lane in lanes_of(active) {
                let offset = resolved[lane].1 + part * load.bytes;
                values[lane] = self.local.load(offset, load.bytes);
                let is_missing = |byte: &usize| !self.local.is_initialised(offset + byte, 1);
                uninitialised[lane] = (0..load.bytes).filter(is_missing).fold(0, |bytes, byte| bytes | 1 << byte);
            }
            load.extend(&mut values);
            self.write(*destination, &values, active);
            self.track_uninitialised((*destination, false), uninitialised, pc, &failure.kind);
        }
        Ok(())
    }

    /// Makes a register of a lane unspecified after a fault: what is computed of it counts as uninitialised, by that fault.
    #[cold]
    pub(super) fn make_unspecified(&mut self, register: Register, lane: u32, (pc, kind): (usize, &FaultKind)) {
        // Register 0 is excluded, as in `load_uninitialised`.
        if register != 0 {
            let mut bytes = [0; LANES];
            bytes[lane as usize] = u8::MAX;
            self.track_uninitialised((register, false), bytes, pc, kind);
        }
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
        bytes: [u8; LANES],
        pc: usize,
        kind: &FaultKind,
    ) {
        if bytes != [0; LANES] {
            self.uninitialised.push(UninitialisedRegister { register, bytes, pc, kind: kind.clone(), is_computed });
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
                copies.push(((to, entry.is_computed || is_computed), bytes, entry.pc, entry.kind.clone()));
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
        copies.into_iter().for_each(|(to, bytes, pc, kind)| self.track_uninitialised(to, bytes, pc, &kind));
        Ok(())
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
    /// The fault of the load, if all bytes of the value are uninitialised and the memory is visible to other threads, or if the
    /// value is computed: that is not a structure's padding.
    #[cold]
    pub(super) fn store_uninitialised(
        &self,
        (source, bytes): (Register, usize),
        lane: usize,
        (memory, offset): LaneAddress,
        region: &Region,
    ) -> Result<(), Failure> {
        for entry in self.uninitialised.iter().filter(|entry| entry.register == source) {
            let missing = entry.bytes[lane] & low_bits(bytes as u32);
            if missing != 0 && (entry.is_computed || (missing == low_bits(bytes as u32) && memory != Memory::Local)) {
                return Err(entry.failure(lane));
            }
            let missing = (0..bytes).filter(|byte| missing >> byte & 1 == 1);
            missing.for_each(|byte| region.mark_uninitialised(offset + byte, 1));
        }
        Ok(())
    }
}

impl UninitialisedRegister {
    fn failure(&self, lane: usize) -> Failure {
        Failure { lane: Some(lane as u32), pc: Some(self.pc), kind: self.kind.clone() }
    }
}

fn low_bits(count: u32) -> u8 {
    if count >= 8 { u8::MAX } else { (1 << count) - 1 }
}

impl Action {
    /// Visits the registers that the instruction computes with, except those that it only copies.
    fn visit_sources(&self, visit: &mut impl FnMut(Register)) {
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
            Self::Shuffle(shuffle) => {
                [shuffle.source, shuffle.lane, shuffle.clamp, shuffle.members].into_iter().for_each(visit);
            }
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
