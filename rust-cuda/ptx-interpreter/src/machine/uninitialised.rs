//! Propagates uninitialized bits through registers.
//!
//! Compilers copy whole structures, including the padding between their members, which is never
//! written. Programs also load values that they do not use. A load of uninitialized bytes is
//! therefore not a fault by itself: never for local memory, and depending on
//! [`Options::uninitialised`](super::Options::uninitialised) for other memory. The bits stay
//! uninitialized in the register, in its copies, and in values computed from them. The load is
//! reported as the fault once an instruction makes a decision from the bits or stores a computed
//! value: in a branch, an address, an atomic operation, or a store to global memory. With stricter
//! options, a comparison counts as a decision too.
//!
//! The [`Flow`] of an instruction determines how its result depends on the bits of its sources, as
//! in Memcheck (Seward and Nethercote, *Using Valgrind to Detect Undefined Value Errors with
//! Bit-Precision*, USENIX 2005). In memory, a byte is either initialized or not. A warp without
//! such bits, the usual case, pays two tests per instruction.

use std::sync::Arc;

use super::block_state::{Stored, StoredAt};
use super::context::Context;
use super::fault::{Access, Failure, Fault, FaultKind};
use super::lane_addresses::{LaneAddress, Memory};
use super::lanes::lanes_of;
use super::options::Uninitialised;
use super::resolve::Request;
use super::warp::{Held, Origin, UninitialisedRegister, Warp};
use crate::memory::AccessError;
use crate::program::instruction::{
    Action, Combine, DecodedInstruction, Flow, Load, Logic, Predicate, PredicateSource, Register, Shuffle, Store,
};
use crate::semantics::{LANES, Lanes};
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
    /// Repeats a load that failed because of uninitialized bytes, if these are not a fault by
    /// themselves. The destination registers then hold them.
    ///
    /// # Errors
    /// The failure, if it is a fault.
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
        let bytes = load.bytes * load.destinations.len();
        let request = Request { ordering: load.ordering, ..Request::plain(pc, bytes, Access::Read) };
        let resolved = context.reading_uninitialised(true, |context| {
            self.resolve_and_record(request, load.space, &load.address, active, context)
        })?;
        let is_of_thread = |lane: usize| resolved.at(lane).0 == Memory::Local;
        if option == Uninitialised::Error && !lanes_of(active).all(is_of_thread) {
            return Err(failure);
        }
        let lane = failure.lane.unwrap_or(active.trailing_zeros());
        let of_lanes = lanes_of(active).filter_map(|lane| match resolved.at(lane) {
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
            let mut of_stored: Vec<(Stored, Lanes, [u8; LANES])> = Vec::new();
            for lane in lanes_of(active) {
                let (memory, offset) = resolved.at(lane);
                let (region, offset) = (context.region(memory, self), offset + part * load.bytes);
                values[lane] = match load.ordering.strong {
                    false => region.load(offset, load.bytes),
                    true => region.load_whole(offset, load.bytes),
                };
                if option == Uninitialised::Off {
                    continue;
                }
                let is_missing = |byte: &usize| !region.is_initialised(offset + byte, 1);
                uninitialised[lane] =
                    (0..load.bytes).filter(is_missing).fold(0, |bits, byte| bits | 0xff << (8 * byte));
                if uninitialised[lane] == 0 {
                    continue;
                }
                // A stored value keeps the load that it came from.
                let Some(stored) = context.state.stored.get(&self.stored_at((memory, offset))) else {
                    are_noted |= memory != Memory::Local;
                    continue;
                };
                let is_same = |(last, ..): &(Stored, Lanes, [u8; LANES])| {
                    Arc::ptr_eq(&last.origin, &stored.origin) && last.is_computed == stored.is_computed
                };
                if !of_stored.last().is_some_and(is_same) {
                    of_stored.push((stored.clone(), [0; LANES], OWN));
                }
                if let Some((_, bits, loaded_by)) = of_stored.last_mut() {
                    (bits[lane], loaded_by[lane]) = (std::mem::take(&mut uninitialised[lane]), stored.loaded_by);
                }
            }
            load.extend(&mut values);
            self.write(*destination, &values, active);
            let held = Held::Register(*destination);
            load.extend(&mut uninitialised);
            let bits = uninitialised;
            let own =
                UninitialisedRegister { held, bits, origin: Arc::clone(&origin), loaded_by: OWN, is_computed: false };
            self.track_uninitialised(own);
            for (Stored { origin, is_computed, .. }, mut bits, loaded_by) in of_stored {
                load.extend(&mut bits);
                self.track_uninitialised(UninitialisedRegister { held, bits, origin, loaded_by, is_computed });
            }
        }
        if are_noted {
            let kind = origin.kind_of(lane as u8).clone();
            context.note("uninitialised-read", (pc, pc), self.first_thread() + lane, |_| kind);
        }
        Ok(())
    }

    /// Marks registers that hold unwritten bits read through a texture or surface object.
    /// `of_lanes` holds the error to report for each lane when the bits are used. `is_computed`
    /// tells whether the values differ from the ones in memory.
    #[cold]
    pub(super) fn track_image(
        &mut self,
        pc: usize,
        registers: &[(Register, Lanes)],
        is_computed: bool,
        of_lanes: Vec<(u8, FaultKind)>,
        context: &mut Context<'_>,
    ) {
        let Some((lane, kind)) = of_lanes.first().cloned() else { return };
        let origin = Arc::new(Origin { pc, kind: kind.clone(), of_lanes });
        for (register, bits) in registers {
            let (held, bits, origin) = (Held::Register(*register), *bits, Arc::clone(&origin));
            self.track_uninitialised(UninitialisedRegister { held, bits, origin, loaded_by: OWN, is_computed });
        }
        context.note("uninitialised-read", (pc, pc), self.first_thread() + u32::from(lane), |_| kind);
    }

    /// Makes a lane's register unspecified after a fault. Values computed from it count as
    /// uninitialized because of that fault.
    #[cold]
    pub(super) fn make_unspecified(&mut self, register: Register, lane: u32, of_lane: u32, origin: &Arc<Origin>) {
        let (mut bits, mut loaded_by) = ([0; LANES], OWN);
        (bits[lane as usize], loaded_by[lane as usize]) = (u64::MAX, of_lane as u8);
        let (held, origin) = (Held::Register(register), Arc::clone(origin));
        self.track_uninitialised(UninitialisedRegister { held, bits, origin, loaded_by, is_computed: false });
    }

    /// Whether a lane's register has uninitialized bits.
    pub(super) fn is_unspecified(&self, register: Option<Register>, lane: u32) -> bool {
        register.is_some_and(|register| self.missing(Held::Register(register))[lane as usize] != 0)
    }

    /// Marks a lane's register or predicate as initialized.
    pub(super) fn specify(&mut self, held: Held, lane: u32) {
        for entry in self.uninitialised.iter_mut().filter(|entry| entry.held == held) {
            entry.bits[lane as usize] = 0;
        }
    }

    /// The uninitialized bits in each lane.
    fn missing(&self, held: Held) -> Lanes {
        let mut missing = [0; LANES];
        for entry in self.uninitialised.iter().filter(|entry| entry.held == held) {
            missing.iter_mut().zip(entry.bits).for_each(|(missing, bits)| *missing |= bits);
        }
        missing
    }

    /// The lanes in which a predicate is uninitialized.
    fn missing_lanes(&self, predicate: Predicate) -> u32 {
        let missing = self.missing(Held::Predicate(predicate));
        lanes_of(u32::MAX).filter(|lane| missing[*lane] != 0).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    fn track_uninitialised(&mut self, register: UninitialisedRegister) {
        if register.bits != [0; LANES] {
            self.uninitialised.push(register);
        }
    }

    /// Checks the guard of an instruction before it selects lanes. Where the guard is
    /// uninitialized, the registers and predicates that the instruction writes become
    /// uninitialized. Call it only while there are uninitialized ones.
    ///
    /// # Errors
    /// A fault with which the launch ends, if the instruction does more than compute.
    #[cold]
    pub(super) fn check_guard(
        &mut self,
        pc: usize,
        instruction: &DecodedInstruction,
        path: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Box<Fault>> {
        let Some((guard, _)) = instruction.guard else { return Ok(()) };
        let held = Held::Predicate(guard);
        if !instruction.action.only_computes() {
            while let Err(failure) = self.check_initialised(held, path) {
                let lane = failure.lane.unwrap_or_default();
                self.report(pc, path, &failure, context)?;
                self.specify(held, lane);
            }
            return Ok(());
        }
        let mut derived = Derived::new(self);
        let active = self.active_lanes(instruction, path);
        // The executing lanes get their results' bits from the instruction, and then these as well.
        visit_destinations(&instruction.action, |to| derived.compute(held, to, path & !active, |_, _| u64::MAX));
        let derived = derived.results;
        self.uninitialised.extend(derived);
        Ok(())
    }

    /// Updates the uninitialized registers before an instruction executes. Copies propagate
    /// uninitialized bits, and other results replace them. Call it only while there are such
    /// registers.
    ///
    /// # Errors
    /// The fault of the load that produced the uninitialized bits which the instruction computes
    /// with.
    #[cold]
    pub(super) fn propagate_uninitialised(
        &mut self,
        instruction: &DecodedInstruction,
        active: u32,
        option: Uninitialised,
    ) -> Result<(), Failure> {
        let mut derived = Derived::new(self);
        let register = Held::Register;
        match &instruction.action {
            Action::Move { destination, source } => {
                derived.copy(register(*source), register(*destination), active, |_, bits| bits);
            }
            Action::Select { destination, sources: [a, b], predicate } => {
                let (chosen, missing) = (self.predicates[*predicate as usize], self.missing_lanes(*predicate));
                let to = register(*destination);
                for (from, lanes) in [(*a, chosen | missing), (*b, !chosen | missing)] {
                    derived.copy(register(from), to, active & lanes, |_, bits| bits);
                }
                let [a, b] = [a, b].map(|source| self.registers[*source as usize]);
                derived.compute(Held::Predicate(*predicate), to, active, |lane, _| a[lane] ^ b[lane]);
            }
            Action::Pack { destination, parts, bits: size } => {
                for (position, part) in parts.iter().enumerate() {
                    let (mask, shift) = (low_bits(*size), position as u32 * size);
                    derived.copy(register(*part), register(*destination), active, |_, bits| (bits & mask) << shift);
                }
            }
            Action::Unpack { destinations, source, bits: size } => {
                for (position, destination) in destinations.iter().enumerate() {
                    let Some(destination) = destination else { continue };
                    let (mask, shift) = (low_bits(*size), position as u32 * size);
                    derived.copy(register(*source), register(*destination), active, |_, bits| bits >> shift & mask);
                }
            }
            Action::Load(Load { address, .. }) | Action::Store(Store { address, .. }) => {
                address.base.map_or(Ok(()), |base| self.check_initialised(register(base), active))?;
            }
            // It exchanges the bits once all lanes have arrived.
            Action::Shuffle(Shuffle { lane, clamp, members, in_range, .. }) => {
                let mut operands = [*lane, *clamp, *members].into_iter();
                operands.try_for_each(|operand| self.check_initialised(register(operand), active))?;
                if let Some(predicate) = in_range {
                    lanes_of(active).for_each(|lane| self.specify(Held::Predicate(*predicate), lane as u32));
                }
                return Ok(());
            }
            Action::Compute { destination, sources, flow, .. } => {
                self.derive_value(&instruction.action, *destination, sources, *flow, active, &mut derived);
            }
            // With stricter options, a comparison is a use.
            action @ Action::Compare { .. } if option != Uninitialised::Error => {
                self.derive_comparison(action, active, &mut derived);
            }
            Action::Logic { logic, destination, sources } => {
                let missing = sources.map(|source| match source {
                    PredicateSource::Predicate(predicate) => self.missing_lanes(predicate),
                    PredicateSource::Constant(_) => 0,
                });
                let [a, b] = sources.map(|source| self.predicate(source));
                let (first, second) = logic.depends_on((a, missing[0]), (b, missing[1]));
                for (source, lanes) in sources.iter().zip([first, second]) {
                    let PredicateSource::Predicate(from) = source else { continue };
                    derived.compute(Held::Predicate(*from), Held::Predicate(*destination), active & lanes, |_, _| 1);
                }
            }
            action => {
                let mut used = Vec::new();
                action.visit_sources(&mut |register| used.push(Held::Register(register)));
                action.visit_predicates(&mut |predicate| used.push(Held::Predicate(predicate)));
                used.into_iter().try_for_each(|held| self.check_initialised(held, active))?;
            }
        }
        if let Some((guard, _)) = instruction.guard.filter(|_| instruction.action.only_computes()) {
            let guard = Held::Predicate(guard);
            visit_destinations(&instruction.action, |to| derived.compute(guard, to, active, |_, _| u64::MAX));
        }
        let mut derived = derived.results;
        visit_destinations(&instruction.action, |held| {
            for entry in self.uninitialised.iter_mut().filter(|entry| entry.held == held) {
                lanes_of(active).for_each(|lane| entry.bits[lane] = 0);
            }
        });
        self.uninitialised.retain(|entry| entry.bits != [0; LANES]);
        self.uninitialised.append(&mut derived);
        Ok(())
    }

    /// The uninitialized bits of a comparison's results.
    fn derive_comparison(&self, action: &Action, active: u32, derived: &mut Derived<'_>) {
        let Action::Compare { compute, sources, combine, destinations } = action else { return };
        let values = sources.map(|source| &self.registers[source as usize]);
        let holds = compute.compute(values);
        let second = destinations[1].map_or(0, |_| compute.second(holds, values));
        let missing = sources.map(|source| self.missing(Held::Register(source)));
        let is_missing = |lane: &usize| missing.iter().any(|source| source[*lane] != 0);
        let missing = lanes_of(active).filter(is_missing).fold(0, |lanes, lane| lanes | 1 << lane);
        for (to, holds) in destinations.iter().zip([holds, second]) {
            let Some(to) = to.map(Held::Predicate) else { continue };
            let mut own = active;
            if let Some(Combine { logic, other, negated }) = *combine {
                let value = self.predicates[other as usize] ^ if negated { u32::MAX } else { 0 };
                let of_other = (value, self.missing_lanes(other));
                let (of_own, lanes) = logic.depends_on((holds, missing), of_other);
                own &= of_own;
                derived.compute(Held::Predicate(other), to, active & lanes, |_, _| 1);
            }
            for source in sources {
                derived.compute(Held::Register(*source), to, own, |_, _| 1);
            }
        }
    }

    /// The uninitialized bits of a computed value.
    fn derive_value(
        &self,
        action: &Action,
        destination: Register,
        sources: &[Register; 4],
        flow: Flow,
        active: u32,
        derived: &mut Derived<'_>,
    ) {
        let to = Held::Register(destination);
        let missing = sources.map(|source| self.missing(Held::Register(source)));
        let values = sources.map(|source| self.registers[source as usize]);
        for (position, source) in sources.iter().enumerate() {
            let from = Held::Register(*source);
            // The other source of two.
            let other = 1 - position.min(1);
            let masked = |lane: usize, bits: u64, value: u64| bits & (value | missing[other][lane]);
            match flow {
                Flow::And => derived.copy(from, to, active, |lane, bits| masked(lane, bits, values[other][lane])),
                Flow::Or => derived.copy(from, to, active, |lane, bits| masked(lane, bits, !values[other][lane])),
                Flow::Bits => derived.compute(from, to, active, |_, bits| bits),
                Flow::Upwards(size) => {
                    let upwards = |_, bits: u64| u64::MAX << bits.trailing_zeros() & low_bits(size);
                    derived.compute(from, to, active, upwards);
                }
                Flow::Moves(count) if position < count => {
                    let is_missing = |lane: &usize| missing[count..].iter().any(|control| control[*lane] != 0);
                    let unknown = lanes_of(active).filter(is_missing).fold(0, |lanes, lane| lanes | 1 << lane);
                    derived.compute(from, to, active & unknown, |_, _| u64::MAX);
                    let Action::Compute { compute, extend, .. } = action else { continue };
                    for entry in self.uninitialised.iter().filter(|entry| entry.held == from) {
                        let mut moved = values;
                        moved[..count].fill([0; LANES]);
                        moved[position] = entry.bits;
                        let mut bits = [0; LANES];
                        compute.compute(&mut bits, moved.each_ref());
                        extend.extend(&mut bits);
                        (0..LANES).filter(|lane| (active & !unknown) >> lane & 1 == 0).for_each(|lane| bits[lane] = 0);
                        if bits != [0; LANES] {
                            derived.results.push(UninitialisedRegister { held: to, bits, ..entry.clone() });
                        }
                    }
                }
                Flow::Moves(_) => derived.compute(from, to, active, |_, _| u64::MAX),
                Flow::All(size) => derived.compute(from, to, active, |_, _| low_bits(size)),
            }
        }
    }

    /// Moves uninitialized bits like a shuffle moves the values of its source. Each lane gets the
    /// bits of lane `from`.
    #[cold]
    pub(super) fn shuffle_uninitialised(
        &mut self,
        [source, destination]: [Register; 2],
        from: &[usize; LANES],
        lanes: u32,
    ) {
        let (source, destination) = (Held::Register(source), Held::Register(destination));
        let mut shuffled = Vec::new();
        for entry in self.uninitialised.iter().filter(|entry| entry.held == source) {
            let (mut bits, mut loaded_by) = ([0; LANES], OWN);
            for lane in lanes_of(lanes) {
                (bits[lane], loaded_by[lane]) = (entry.bits[from[lane]], entry.loaded_by[from[lane]]);
            }
            shuffled.push(UninitialisedRegister { held: destination, bits, loaded_by, ..entry.clone() });
        }
        lanes_of(lanes).for_each(|lane| self.specify(destination, lane as u32));
        self.uninitialised.retain(|entry| entry.bits != [0; LANES]);
        shuffled.into_iter().for_each(|register| self.track_uninitialised(register));
    }

    fn check_initialised(&self, held: Held, active: u32) -> Result<(), Failure> {
        for entry in self.uninitialised.iter().filter(|entry| entry.held == held) {
            if let Some(lane) = lanes_of(active).find(|lane| entry.bits[*lane] != 0) {
                return Err(entry.failure(lane));
            }
        }
        Ok(())
    }

    /// Marks bytes as uninitialized in memory after a store of a register's uninitialized bytes.
    ///
    /// # Errors
    /// The fault of the load, if the value is computed and the memory is global, which the host may
    /// read. With stricter options also for other memory, or if all bytes of the value are
    /// uninitialized and other threads see them: that is not the padding of a structure.
    #[cold]
    pub(super) fn store_uninitialised(
        &self,
        source: Register,
        bytes: usize,
        lane: usize,
        (memory, offset): LaneAddress,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        for entry in self.uninitialised.iter().filter(|entry| entry.held == Held::Register(source)) {
            let missing = entry.bits[lane] & low_bits(8 * bytes as u32);
            let matters = match context.launch.options.uninitialised {
                Uninitialised::Error => {
                    entry.is_computed || (missing == low_bits(8 * bytes as u32) && memory != Memory::Local)
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
            let bytes = (0..bytes).filter(|byte| missing >> (8 * byte) & 0xff != 0);
            bytes.for_each(|byte| region.mark_uninitialised(offset + byte, 1));
            // With stricter options, a value originates from the load that last read it.
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

/// The uninitialized bits of an instruction's results.
struct Derived<'a> {
    /// The uninitialized bits of its sources.
    known: &'a [UninitialisedRegister],
    results: Vec<UninitialisedRegister>,
}

impl<'a> Derived<'a> {
    fn new(warp: &'a Warp) -> Self {
        Self { known: &warp.uninitialised, results: Vec::new() }
    }

    /// Gives `to`, a copy of `from`, uninitialized bits in these lanes. `change` maps the lane and
    /// the nonzero bits of `from` to the bits of `to`.
    fn copy(&mut self, from: Held, to: Held, lanes: u32, change: impl Fn(usize, u64) -> u64) {
        for entry in self.known.iter().filter(|entry| entry.held == from) {
            let mut bits = [0; LANES];
            lanes_of(lanes)
                .filter(|lane| entry.bits[*lane] != 0)
                .for_each(|lane| bits[lane] = change(lane, entry.bits[lane]));
            if bits != [0; LANES] {
                self.results.push(UninitialisedRegister { held: to, bits, ..entry.clone() });
            }
        }
    }

    /// Like [`copy`](Self::copy), for a result computed from `from`.
    fn compute(&mut self, from: Held, to: Held, lanes: u32, change: impl Fn(usize, u64) -> u64) {
        let first = self.results.len();
        self.copy(from, to, lanes, change);
        self.results[first..].iter_mut().for_each(|result| result.is_computed = true);
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

/// Visits the registers and predicates that an instruction writes.
fn visit_destinations(action: &Action, mut visit: impl FnMut(Held)) {
    action.visit_destinations(&mut |register| visit(Held::Register(register)));
    action.visit_predicate_destinations(&mut |predicate| visit(Held::Predicate(predicate)));
}

fn low_bits(count: u32) -> u64 {
    if count >= u64::BITS { u64::MAX } else { (1 << count) - 1 }
}

impl Logic {
    /// The lanes in which the result depends on the first operand, and on the second. Each operand
    /// is given as its value and the mask of lanes where it is uninitialized.
    fn depends_on(self, (a, a_missing): (u32, u32), (b, b_missing): (u32, u32)) -> (u32, u32) {
        match self {
            Self::And => (b | b_missing, a | a_missing),
            Self::Or => (!b | b_missing, !a | a_missing),
            Self::Xor => (u32::MAX, u32::MAX),
            Self::First | Self::NotFirst => (u32::MAX, 0),
        }
    }
}
