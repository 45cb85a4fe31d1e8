//! Bytes of local memory that are copied before anything was written there.
//!
//! Compilers copy a structure whole, the bytes between its members included, which are never written. So a load from
//! local memory, which holds structures and the arguments of calls, is no fault by itself: the bytes stay unwritten in
//! the register, and wherever copies take them, until an instruction computes with them. Then the load is the fault.
//! `and` and `or` put the fields of a word together, bit by bit: a byte counts as written once an `or` sets bits of
//! it or an `and` clears it. Warps that hold no such bytes, which is nearly all of the time, pay one test an instruction.

use super::block::Context;
use super::fault::{Access, FaultKind};
use super::lanes::lanes_of;
use super::places::{Found, Memory};
use super::warp::{Failure, Warp};
use crate::memory::{AccessError, Region, from_generic, space_of};
use crate::program::instruction::{
    AccessSpace, Action, Address, BarrierReductionKind, Instruction, Load, Register, Store, VoteMode,
};
use crate::semantics::LANES;
use crate::syntax::Space;

/// A register some bytes of which were never written, in some lanes.
#[derive(Debug)]
pub(super) struct Unwritten {
    register: Register,
    /// Of each lane's value the bytes, a bit for each.
    bytes: [u8; LANES],
    /// The load that read them, and the fault that it would be.
    pc: usize,
    kind: FaultKind,
}

impl Warp {
    /// A load that fails because of unwritten bytes: of local memory, it takes them along.
    ///
    /// # Errors
    /// The failure, if it is another one.
    #[cold]
    pub(super) fn load_unwritten(
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
        // Instructions with fewer sources than four name register 0 for the others.
        if !is_of_local(&failure.kind) || load.ordering.strong || load.destinations.contains(&Some(0)) {
            return Err(failure);
        }
        let addresses = self.addresses(&load.address);
        let mut places = [(Memory::Local, 0); LANES];
        for lane in lanes_of(active) {
            let within = match load.space {
                AccessSpace::Generic if space_of(addresses[lane]) != Space::Local => return Err(failure),
                AccessSpace::Generic => from_generic(Space::Local, addresses[lane]),
                AccessSpace::Space(_) => addresses[lane],
            };
            let bytes = load.bytes * load.destinations.len();
            let found = AccessError::check_aligned(Space::Local, within, bytes)
                .and_then(|()| context.find(self, Space::Local, lane, within, bytes));
            places[lane] =
                found.map_err(|error| Failure::at(lane, FaultKind::Access { access: Access::Read, error }))?;
        }
        for (part, destination) in load.destinations.iter().enumerate() {
            let Some(destination) = destination else { continue };
            let (mut values, mut unwritten) = ([0; LANES], [0; LANES]);
            for lane in lanes_of(active) {
                let offset = places[lane].1 + part * load.bytes;
                values[lane] = self.local.load(offset, load.bytes);
                let is_missing = |byte: &usize| !self.local.is_initialised(offset + byte, 1);
                unwritten[lane] = (0..load.bytes).filter(is_missing).fold(0, |bytes, byte| bytes | 1 << byte);
            }
            load.extend(&mut values);
            self.write(*destination, &values, active);
            self.keep_unwritten(*destination, unwritten, pc, &failure.kind);
        }
        Ok(())
    }

    fn keep_unwritten(&mut self, register: Register, bytes: [u8; LANES], pc: usize, kind: &FaultKind) {
        if bytes != [0; LANES] {
            self.unwritten.push(Unwritten { register, bytes, pc, kind: kind.clone() });
        }
    }

    /// Before an instruction, while registers hold unwritten bytes: copies take them along, and other results replace
    /// them.
    ///
    /// # Errors
    /// The load of unwritten bytes with which the instruction computes.
    #[cold]
    pub(super) fn follow_unwritten(
        &mut self,
        pc: usize,
        instruction: &Instruction,
        active: u32,
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        let text = &context.kernel.descriptions[pc].text;
        let (is_and, is_or) = (text.starts_with("and.b"), text.starts_with("or.b"));
        let mut copies = Vec::new();
        let mut copy = |warp: &Self, from: Register, to: Register, lanes: u32, change: &dyn Fn(u8) -> u8| {
            for unwritten in warp.unwritten.iter().filter(|unwritten| unwritten.register == from) {
                let mut bytes = [0; LANES];
                lanes_of(lanes).for_each(|lane| bytes[lane] = change(unwritten.bytes[lane]));
                copies.push((to, bytes, unwritten.pc, unwritten.kind.clone()));
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
                self.check_written(address.base, active)?;
            }
            Action::Compute { destination, sources: [a, b, ..], .. } if is_and || is_or => {
                for (from, other) in [(*a, *b), (*b, *a)] {
                    let other = self.registers[other as usize];
                    for lane in lanes_of(active) {
                        let set = other[lane]
                            .to_le_bytes()
                            .iter()
                            .rev()
                            .fold(0, |bits, byte| bits << 1 | u8::from(*byte != 0));
                        let kept = if is_and { set } else { !set };
                        copy(self, from, *destination, 1 << lane, &|bytes| bytes & kept);
                    }
                }
            }
            action => {
                let mut used = Vec::new();
                action.visit_sources(&mut |register| used.push(register));
                used.into_iter().try_for_each(|register| self.check_written(Some(register), active))?;
            }
        }
        instruction.action.visit_destinations(&mut |register| {
            for unwritten in self.unwritten.iter_mut().filter(|unwritten| unwritten.register == register) {
                lanes_of(active).for_each(|lane| unwritten.bytes[lane] = 0);
            }
        });
        self.unwritten.retain(|unwritten| unwritten.bytes != [0; LANES]);
        copies.into_iter().for_each(|(to, bytes, pc, kind)| self.keep_unwritten(to, bytes, pc, &kind));
        Ok(())
    }

    fn check_written(&self, register: Option<Register>, active: u32) -> Result<(), Failure> {
        for unwritten in self.unwritten.iter().filter(|unwritten| Some(unwritten.register) == register) {
            if let Some(lane) = lanes_of(active).find(|lane| unwritten.bytes[*lane] != 0) {
                return Err(unwritten.failure(lane));
            }
        }
        Ok(())
    }

    /// After a store has put unwritten bytes to a place: they are unwritten there too.
    ///
    /// # Errors
    /// The load, if not one byte of the value was written and other threads can see it: that is no structure's padding.
    #[cold]
    pub(super) fn store_unwritten(
        &self,
        (source, bytes): (Register, usize),
        lane: usize,
        (memory, offset): Found,
        region: &Region,
    ) -> Result<(), Failure> {
        for unwritten in self.unwritten.iter().filter(|unwritten| unwritten.register == source) {
            let missing = unwritten.bytes[lane] & low_bits(bytes as u32);
            if missing == low_bits(bytes as u32) && memory != Memory::Local {
                return Err(unwritten.failure(lane));
            }
            let missing = (0..bytes).filter(|byte| missing >> byte & 1 == 1);
            missing.for_each(|byte| region.mark_uninitialised(offset + byte, 1));
        }
        Ok(())
    }
}

impl Unwritten {
    fn failure(&self, lane: usize) -> Failure {
        Failure { lane: Some(lane as u32), pc: Some(self.pc), kind: self.kind.clone() }
    }
}

fn low_bits(count: u32) -> u8 {
    if count >= 8 { u8::MAX } else { (1 << count) - 1 }
}

impl Action {
    /// The registers with which it computes; those of copies are not among them.
    fn visit_sources(&self, visit: &mut impl FnMut(Register)) {
        let address = |address: &Address, visit: &mut dyn FnMut(Register)| {
            if let Some(base) = address.base {
                visit(base);
            }
        };
        match self {
            Self::Compute { sources, .. } | Self::Carry { sources, .. } | Self::Compare { sources, .. } => {
                sources.iter().copied().for_each(visit);
            }
            Self::IsSpace { address: register, .. }
            | Self::BranchTable { index: register, .. }
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
            Self::Move { .. }
            | Self::Select { .. }
            | Self::Pack { .. }
            | Self::Unpack { .. }
            | Self::Load(_)
            | Self::Store(_)
            | Self::Logic { .. }
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::Fence(_)
            | Self::Branch { .. }
            | Self::Exit
            | Self::Trap
            | Self::ActiveMask { .. }
            | Self::Nothing => {}
        }
    }

    /// The registers that it writes.
    fn visit_destinations(&self, visit: &mut impl FnMut(Register)) {
        match self {
            Self::Compute { destination, .. }
            | Self::Carry { destination, .. }
            | Self::Move { destination, .. }
            | Self::Select { destination, .. }
            | Self::Pack { destination, .. }
            | Self::Match { destination, .. }
            | Self::Reduce { destination, .. }
            | Self::ActiveMask { destination } => visit(*destination),
            Self::Unpack { destinations, .. } => destinations.iter().flatten().copied().for_each(visit),
            Self::Load(load) => load.destinations.iter().flatten().copied().for_each(visit),
            Self::Atomic(atomic) => atomic.destination.into_iter().for_each(visit),
            Self::Shuffle(shuffle) => visit(shuffle.destination),
            Self::Matrix(matrix) => matrix.d.iter().copied().for_each(visit),
            Self::LoadMatrix(load) => load.destinations.iter().copied().for_each(visit),
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
            | Self::CopyAsync(_)
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::Fence(_)
            | Self::Branch { .. }
            | Self::BranchTable { .. }
            | Self::Exit
            | Self::Trap
            | Self::WarpBarrier { .. }
            | Self::Nothing => {}
        }
    }
}
