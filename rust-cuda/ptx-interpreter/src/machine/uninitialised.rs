//! Propagation of uninitialised bits through registers.
//!
//! Compilers copy a whole structure, including the padding between its members, which is never written, and programs load values that
//! they do not use. So a load of uninitialised bytes is not a fault by itself, of local memory always, of other memory by
//! [`Options::uninitialised`](super::Options::uninitialised): the bits stay uninitialised in the register and in its copies, and so do
//! those of a value that is computed of them, until an instruction decides something by them, or stores a computed value: a branch, an
//! address, an atomic operation, a store to global memory. Then the load is reported as the fault. By stricter options a comparison
//! decides something, too. A result depends on the bits of its sources by its instruction's [`Flow`], as Memcheck has it (Seward and
//! Nethercote, *Using Valgrind to Detect Undefined Value Errors with Bit-Precision*, USENIX 2005). In memory a byte is initialised or not.
//! A warp without such bits, the usual case, pays two tests per instruction.

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
    Action, Arrival, BarrierReductionKind, Combine, DecodedInstruction, EffectiveAddress, Flow, Load, Logic, Mbarrier,
    MbarrierOperation, PhaseOperand, Predicate, PredicateSource, Register, Shuffle, Store, TensorCopyKind, VoteMode,
    Wgmma, WgmmaFactor, WgmmaProduct, Wmma, WmmaAccess, WmmaProduct,
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
        let bytes = load.bytes * load.destinations.len();
        let request = Request { ordering: load.ordering, ..Request::plain(pc, bytes, Access::Read) };
        let resolved = context.reading_uninitialised(true, |context| {
            self.resolve_access(request, load.space, &load.address, active, context)
        })?;
        let is_of_thread = |lane: usize| resolved.of(lane).0 == Memory::Local;
        if option == Uninitialised::Error && !lanes_of(active).all(is_of_thread) {
            return Err(failure);
        }
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
            let mut of_stored: Vec<(Stored, Lanes, [u8; LANES])> = Vec::new();
            for lane in lanes_of(active) {
                let (memory, offset) = resolved.of(lane);
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
                // A value that a thread has stored was loaded elsewhere.
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
            self.track_uninitialised((held, false), (uninitialised, OWN), &origin);
            for (Stored { origin, is_computed, .. }, mut bits, loaded_by) in of_stored {
                load.extend(&mut bits);
                self.track_uninitialised((held, is_computed), (bits, loaded_by), &origin);
            }
        }
        if are_noted {
            let kind = origin.kind_of(lane as u8).clone();
            context.note("uninitialised-read", (pc, pc), self.first_thread() + lane, |_| kind);
        }
        Ok(())
    }

    /// Has registers hold bits that an access through a texture or surface object has read of memory that nothing has written, with the error
    /// that their use is in each lane. `is_computed` says whether they are other values than memory has.
    #[cold]
    pub(super) fn track_image(
        &mut self,
        pc: usize,
        (registers, is_computed): (&[(Register, Lanes)], bool),
        of_lanes: Vec<(u8, FaultKind)>,
        context: &mut Context<'_>,
    ) {
        let Some((lane, kind)) = of_lanes.first().cloned() else { return };
        let origin = Arc::new(Origin { pc, kind: kind.clone(), of_lanes });
        for (register, bits) in registers {
            self.track_uninitialised((Held::Register(*register), is_computed), (*bits, OWN), &origin);
        }
        context.note("uninitialised-read", (pc, pc), self.first_thread() + u32::from(lane), |_| kind);
    }

    /// Makes a register of a lane unspecified after a fault: what is computed of it counts as uninitialised, by that fault.
    #[cold]
    pub(super) fn make_unspecified(&mut self, register: Register, (lane, of_lane): (u32, u32), origin: &Arc<Origin>) {
        let (mut bits, mut loaded_by) = ([0; LANES], OWN);
        (bits[lane as usize], loaded_by[lane as usize]) = (u64::MAX, of_lane as u8);
        self.track_uninitialised((Held::Register(register), false), (bits, loaded_by), origin);
    }

    /// Whether a register of a lane has uninitialised bits.
    pub(super) fn is_unspecified(&self, register: Option<Register>, lane: u32) -> bool {
        register.is_some_and(|register| self.missing(Held::Register(register))[lane as usize] != 0)
    }

    /// Makes a register or predicate of a lane count as initialised.
    pub(super) fn specify(&mut self, held: Held, lane: u32) {
        for entry in self.uninitialised.iter_mut().filter(|entry| entry.held == held) {
            entry.bits[lane as usize] = 0;
        }
    }

    /// The uninitialised bits in each lane.
    fn missing(&self, held: Held) -> Lanes {
        let mut missing = [0; LANES];
        for entry in self.uninitialised.iter().filter(|entry| entry.held == held) {
            missing.iter_mut().zip(entry.bits).for_each(|(missing, bits)| *missing |= bits);
        }
        missing
    }

    /// The lanes in which a predicate is uninitialised.
    fn missing_lanes(&self, predicate: Predicate) -> u32 {
        let missing = self.missing(Held::Predicate(predicate));
        lanes_of(u32::MAX).filter(|lane| missing[*lane] != 0).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    fn track_uninitialised(
        &mut self,
        (held, is_computed): (Held, bool),
        (bits, loaded_by): (Lanes, [u8; LANES]),
        origin: &Arc<Origin>,
    ) {
        if bits != [0; LANES] {
            let origin = Arc::clone(origin);
            self.uninitialised.push(UninitialisedRegister { held, bits, origin, loaded_by, is_computed });
        }
    }

    /// What an entry of `from` makes of `to`: in some lanes the bits that `change` returns for the lane and the entry's, and 0 for 0.
    fn derive(
        &self,
        (from, to): (Held, Held),
        (lanes, is_computed): (u32, bool),
        derived: &mut Vec<UninitialisedRegister>,
        change: impl Fn(usize, u64) -> u64,
    ) {
        for entry in self.uninitialised.iter().filter(|entry| entry.held == from) {
            let mut bits = [0; LANES];
            lanes_of(lanes)
                .filter(|lane| entry.bits[*lane] != 0)
                .for_each(|lane| bits[lane] = change(lane, entry.bits[lane]));
            if bits != [0; LANES] {
                let is_computed = entry.is_computed || is_computed;
                derived.push(UninitialisedRegister { held: to, bits, is_computed, ..entry.clone() });
            }
        }
    }

    /// Looks at the guard of an instruction before it chooses lanes: where it is uninitialised, so are the registers and predicates that
    /// the instruction writes. Called only while there are uninitialised ones.
    ///
    /// # Errors
    /// A fault with which the launch ends, if the instruction does more than that.
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
        let mut derived = Vec::new();
        instruction.action.visit_held_destinations(&mut |to| {
            let active = self.active_lanes(instruction, path);
            // Those that execute it get their results' bits from it, and then these too.
            self.derive((held, to), (path & !active, true), &mut derived, |_, _| u64::MAX);
        });
        self.uninitialised.extend(derived);
        Ok(())
    }

    /// Updates the uninitialised registers before an instruction executes: copies propagate uninitialised bits, and
    /// other results replace them. Called only while there are such registers.
    ///
    /// # Errors
    /// The fault of the load whose uninitialised bits the instruction computes with.
    #[cold]
    pub(super) fn propagate_uninitialised(
        &mut self,
        instruction: &DecodedInstruction,
        active: u32,
        option: Uninitialised,
    ) -> Result<(), Failure> {
        let mut derived = Vec::new();
        let register = Held::Register;
        match &instruction.action {
            Action::Move { destination, source } => {
                let held = (register(*source), register(*destination));
                self.derive(held, (active, false), &mut derived, |_, bits| bits);
            }
            Action::Select { destination, sources: [a, b], predicate } => {
                let (chosen, missing) = (self.predicates[*predicate as usize], self.missing_lanes(*predicate));
                let to = register(*destination);
                for (from, lanes) in [(*a, chosen | missing), (*b, !chosen | missing)] {
                    self.derive((register(from), to), (active & lanes, false), &mut derived, |_, bits| bits);
                }
                let [a, b] = [a, b].map(|source| self.registers[*source as usize]);
                let held = (Held::Predicate(*predicate), to);
                self.derive(held, (active, true), &mut derived, |lane, _| a[lane] ^ b[lane]);
            }
            Action::Pack { destination, parts, bits: size } => {
                for (position, part) in parts.iter().enumerate() {
                    let held = (register(*part), register(*destination));
                    let (mask, shift) = (low_bits(*size), position as u32 * size);
                    self.derive(held, (active, false), &mut derived, |_, bits| (bits & mask) << shift);
                }
            }
            Action::Unpack { destinations, source, bits: size } => {
                for (position, destination) in destinations.iter().enumerate() {
                    let Some(destination) = destination else { continue };
                    let held = (register(*source), register(*destination));
                    let (mask, shift) = (low_bits(*size), position as u32 * size);
                    self.derive(held, (active, false), &mut derived, |_, bits| bits >> shift & mask);
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
                self.derive_value(&instruction.action, (*destination, sources, *flow), active, &mut derived);
            }
            // By stricter options a comparison is a use.
            Action::Compare { compute, sources, combine, destinations } if option != Uninitialised::Error => {
                let values = sources.map(|source| &self.registers[source as usize]);
                let holds = compute.compute(values);
                let second = destinations[1].map_or(0, |_| compute.second(holds, values));
                let missing = sources.map(|source| self.missing(register(source)));
                let is_missing = |lane: &usize| missing.iter().any(|source| source[*lane] != 0);
                let missing = lanes_of(active).filter(is_missing).fold(0, |lanes, lane| lanes | 1 << lane);
                for (to, holds) in destinations.iter().zip([holds, second]) {
                    let Some(to) = to.map(Held::Predicate) else { continue };
                    let mut own = active;
                    if let Some(Combine { logic, other: predicate, negated }) = *combine {
                        let value = self.predicates[predicate as usize] ^ if negated { u32::MAX } else { 0 };
                        let of_other = (value, self.missing_lanes(predicate));
                        let (of_own, other) = logic.depends_on((holds, missing), of_other);
                        own &= of_own;
                        let held = (Held::Predicate(predicate), to);
                        self.derive(held, (active & other, true), &mut derived, |_, _| 1);
                    }
                    for source in sources {
                        self.derive((register(*source), to), (own, true), &mut derived, |_, _| 1);
                    }
                }
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
                    let held = (Held::Predicate(*from), Held::Predicate(*destination));
                    self.derive(held, (active & lanes, true), &mut derived, |_, _| 1);
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
            instruction.action.visit_held_destinations(&mut |to| {
                self.derive((Held::Predicate(guard), to), (active, true), &mut derived, |_, _| u64::MAX);
            });
        }
        instruction.action.visit_held_destinations(&mut |held| {
            for entry in self.uninitialised.iter_mut().filter(|entry| entry.held == held) {
                lanes_of(active).for_each(|lane| entry.bits[lane] = 0);
            }
        });
        self.uninitialised.retain(|entry| entry.bits != [0; LANES]);
        self.uninitialised.append(&mut derived);
        Ok(())
    }

    /// The uninitialised bits of a computed value.
    fn derive_value(
        &self,
        action: &Action,
        (destination, sources, flow): (Register, &[Register; 4], Flow),
        active: u32,
        derived: &mut Vec<UninitialisedRegister>,
    ) {
        let to = Held::Register(destination);
        let missing = sources.map(|source| self.missing(Held::Register(source)));
        let values = sources.map(|source| self.registers[source as usize]);
        let is_computed = matches!(flow, Flow::Bits | Flow::Upwards(_) | Flow::All(_));
        for (position, source) in sources.iter().enumerate() {
            let held = (Held::Register(*source), to);
            // The other source of two.
            let other = 1 - position.min(1);
            let masked = |lane: usize, bits: u64, value: u64| bits & (value | missing[other][lane]);
            match flow {
                Flow::And => {
                    self.derive(held, (active, false), derived, |lane, bits| masked(lane, bits, values[other][lane]));
                }
                Flow::Or => {
                    self.derive(held, (active, false), derived, |lane, bits| masked(lane, bits, !values[other][lane]));
                }
                Flow::Bits => self.derive(held, (active, is_computed), derived, |_, bits| bits),
                Flow::Upwards(size) => {
                    let upwards = |_, bits: u64| u64::MAX << bits.trailing_zeros() & low_bits(size);
                    self.derive(held, (active, is_computed), derived, upwards);
                }
                Flow::Moves(count) if position < count => {
                    let is_missing = |lane: &usize| missing[count..].iter().any(|control| control[*lane] != 0);
                    let unknown = lanes_of(active).filter(is_missing).fold(0, |lanes, lane| lanes | 1 << lane);
                    self.derive(held, (active & unknown, true), derived, |_, _| u64::MAX);
                    let Action::Compute { compute, extend, .. } = action else { continue };
                    for entry in self.uninitialised.iter().filter(|entry| entry.held == held.0) {
                        let mut moved = values;
                        moved[..count].fill([0; LANES]);
                        moved[position] = entry.bits;
                        let mut bits = [0; LANES];
                        compute.compute(&mut bits, moved.each_ref());
                        extend.extend(&mut bits);
                        (0..LANES).filter(|lane| (active & !unknown) >> lane & 1 == 0).for_each(|lane| bits[lane] = 0);
                        if bits != [0; LANES] {
                            derived.push(UninitialisedRegister { held: to, bits, ..entry.clone() });
                        }
                    }
                }
                Flow::Moves(_) => self.derive(held, (active, true), derived, |_, _| u64::MAX),
                Flow::All(size) => self.derive(held, (active, true), derived, |_, _| low_bits(size)),
            }
        }
    }

    /// Exchanges uninitialised bits as a shuffle does the values of its source: those of each lane are of the lane `from`.
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
            shuffled.push(((destination, entry.is_computed), (bits, loaded_by), Arc::clone(&entry.origin)));
        }
        lanes_of(lanes).for_each(|lane| self.specify(destination, lane as u32));
        self.uninitialised.retain(|entry| entry.bits != [0; LANES]);
        shuffled.into_iter().for_each(|(to, bits, origin)| self.track_uninitialised(to, bits, &origin));
    }

    fn check_initialised(&self, held: Held, active: u32) -> Result<(), Failure> {
        for entry in self.uninitialised.iter().filter(|entry| entry.held == held) {
            if let Some(lane) = lanes_of(active).find(|lane| entry.bits[*lane] != 0) {
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

fn low_bits(count: u32) -> u64 {
    if count >= u64::BITS { u64::MAX } else { (1 << count) - 1 }
}

impl Logic {
    /// The lanes in which the result depends on the first operand, and on the second: each is a value, and where it is uninitialised.
    fn depends_on(self, (a, a_missing): (u32, u32), (b, b_missing): (u32, u32)) -> (u32, u32) {
        match self {
            Self::And => (b | b_missing, a | a_missing),
            Self::Or => (!b | b_missing, !a | a_missing),
            Self::Xor => (u32::MAX, u32::MAX),
            Self::First | Self::NotFirst => (u32::MAX, 0),
        }
    }
}

impl Action {
    /// Whether it has no effect but results in registers and predicates.
    fn only_computes(&self) -> bool {
        matches!(
            self,
            Self::Compute { .. }
                | Self::MapAddress { .. }
                | Self::Compare { .. }
                | Self::Select { .. }
                | Self::Move { .. }
                | Self::Logic { .. }
                | Self::Pack { .. }
                | Self::Unpack { .. }
                | Self::IsSpace { .. }
        )
    }

    /// Visits the predicates that the instruction decides something by, except its guard.
    pub(super) fn visit_predicates(&self, visit: &mut impl FnMut(Predicate)) {
        match self {
            Self::Vote(vote) => match vote.source {
                PredicateSource::Predicate(predicate) => visit(predicate),
                PredicateSource::Constant(_) => {}
            },
            Self::Wgmma(Wgmma::Product(WgmmaProduct { adds: PredicateSource::Predicate(predicate), .. })) => {
                visit(*predicate);
            }
            Self::Barrier(barrier) => barrier.reduction.iter().for_each(|reduction| visit(reduction.source)),
            Self::CopyAsync(copy) => copy.ignore.into_iter().for_each(visit),
            Self::Compare { combine: Some(Combine { other, .. }), .. } => visit(*other),
            _ => {}
        }
    }

    /// Visits the registers and predicates that the instruction writes.
    fn visit_held_destinations(&self, visit: &mut impl FnMut(Held)) {
        self.visit_destinations(&mut |register| visit(Held::Register(register)));
        let predicate = match self {
            Self::Compare { destinations, .. } => {
                return destinations.iter().flatten().for_each(|predicate| visit(Held::Predicate(*predicate)));
            }
            Self::Logic { destination, .. } | Self::IsSpace { destination, .. } => Some(*destination),
            Self::Match { predicate, .. } | Self::Elect { is_leader: predicate, .. } => *predicate,
            Self::Vote(vote) => match vote.mode {
                VoteMode::All(predicate) | VoteMode::Any(predicate) | VoteMode::Uniform(predicate) => Some(predicate),
                VoteMode::Ballot(_) => None,
            },
            Self::Barrier(barrier) => match barrier.reduction.map(|reduction| reduction.kind) {
                Some(BarrierReductionKind::And(predicate) | BarrierReductionKind::Or(predicate)) => Some(predicate),
                _ => None,
            },
            Self::Mbarrier(Mbarrier { operation: MbarrierOperation::Wait { complete, .. }, .. }) => Some(*complete),
            _ => None,
        };
        predicate.into_iter().for_each(|predicate| visit(Held::Predicate(predicate)));
    }

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
                | Self::TensorCopy(_)
                | Self::StoreAsync(_)
                | Self::LoadMatrix(_)
                | Self::Wgmma(Wgmma::Product(_))
                | Self::Wmma(Wmma::Load(_) | Wmma::Store(_))
                | Self::Image(_)
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
            | Self::WarpBarrier { members: register }
            | Self::Elect { members: register, .. } => visit(*register),
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
            Self::TensorCopy(copy) => {
                address(&copy.shared.1, visit);
                if let TensorCopyKind::Load { barrier, blocks } = &copy.kind {
                    address(barrier, visit);
                    blocks.iter().copied().for_each(&mut *visit);
                }
                copy.coordinates.iter().chain([&copy.map]).copied().for_each(visit);
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
            Self::Image(access) => access.operands().into_iter().for_each(visit),
            Self::Wmma(Wmma::Load(access) | Wmma::Store(access)) => {
                address(&access.address, visit);
                access.stride.into_iter().for_each(visit);
            }
            // Whether it adds to D, a predicate says.
            Self::Wgmma(Wgmma::Product(product)) => {
                match &product.a {
                    WgmmaFactor::Registers(registers) => registers.iter().copied().for_each(&mut *visit),
                    WgmmaFactor::Descriptor(register) => visit(*register),
                }
                visit(product.b);
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
            | Self::Fence(_)
            | Self::Branch { .. }
            | Self::Exit
            | Self::Trap(_)
            | Self::ActiveMask { .. }
            | Self::ReadClock { .. }
            | Self::Print(_)
            | Self::FailAssertion(_)
            | Self::Heap(_)
            | Self::Call(_)
            | Self::Return { .. }
            | Self::ClusterArrive
            | Self::ClusterWait
            | Self::Wgmma(Wgmma::Commit | Wgmma::Wait { .. })
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
            Self::Elect { leader, .. } => leader.iter().copied().for_each(visit),
            Self::Shuffle(shuffle) => visit(shuffle.destination),
            Self::Mbarrier(mbarrier) => {
                if let MbarrierOperation::Arrive(Arrival { state: Some(register), .. }) = mbarrier.operation {
                    visit(register);
                }
            }
            Self::Matrix(matrix) => matrix.d.iter().copied().for_each(visit),
            Self::Wgmma(Wgmma::Product(product)) => product.d.iter().copied().for_each(visit),
            Self::LoadMatrix(load) => load.destinations.iter().copied().for_each(visit),
            Self::Image(access) => access.destinations().into_iter().for_each(visit),
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
            | Self::Wgmma(Wgmma::Commit | Wgmma::Wait { .. })
            | Self::CopyAsync(_)
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::BulkCopy(_)
            | Self::TensorCopy(_)
            | Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::StoreAsync(_)
            | Self::Fence(_)
            | Self::Branch { .. }
            | Self::BranchTable { .. }
            | Self::BranchToFunction { .. }
            | Self::Exit
            | Self::Trap(_)
            | Self::ClusterArrive
            | Self::ClusterWait
            | Self::WarpBarrier { .. }
            | Self::Print(_)
            | Self::FailAssertion(_)
            | Self::Heap(_)
            | Self::Call(_)
            | Self::Return { .. }
            | Self::Nothing => {}
        }
    }
}
