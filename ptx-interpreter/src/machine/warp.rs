//! A warp: its registers, and the execution of its instructions.

use super::block::Context;
use super::copies::Copies;
use super::divergence::{Fragments, State};
use super::fault::{Fault, FaultKind};
use super::lanes::{ALL, extend_sign, lanes_of, write, write_bits};
use super::unwritten::Unwritten;
use crate::memory::Region;
use crate::program::instruction::{Action, Extend, Instruction, Predicate, PredicateSource, Register};
use crate::program::{Initial, Kernel, Special, truncate};
use crate::semantics::{LANES, Lanes};

/// What a register holds that nobody has written: as a float, a NaN that shows.
const UNWRITTEN: u64 = 0x7ff4_dead_7fa4_dead;

/// Instructions that a fragment may execute before another one has its turn.
const TURN: u32 = 4096;

/// Turns after which lanes no longer wait for a fragment that has not come to them.
const PATIENCE: u32 = 16;

/// 32 threads.
#[derive(Debug)]
pub(super) struct Warp {
    /// Its number in the block.
    pub(super) number: u32,
    /// The lanes that have a thread; the last warp of a block may have fewer than 32.
    pub(super) existing: u32,
    /// Those that have left the kernel.
    pub(super) exited: u32,
    pub(super) registers: Vec<Lanes>,
    pub(super) predicates: Vec<u32>,
    /// The carry flag of each lane.
    pub(super) carry: u32,
    pub(super) fragments: Fragments,
    /// The local memory of its lanes, one after the other.
    pub(super) local: Region,
    pub(super) copies: Copies,
    /// How often the warp has synchronised itself by `bar.warp.sync`.
    pub(super) epoch: u32,
    /// The registers that hold bytes of local memory which were never written.
    pub(super) unwritten: Vec<Unwritten>,
    /// Turns that fragments have used up.
    turns: u32,
}

/// What a fragment does after an instruction.
pub(super) enum Next {
    /// The next instruction.
    Go,
    /// The instruction to which its lanes have been sent.
    Jumped,
    /// Nothing, until its state changes or another fragment takes its place.
    Stop,
}

impl Warp {
    /// The warp of a block, of which `threads` threads exist.
    pub(super) fn new(number: u32, threads: u32, kernel: &Kernel) -> Self {
        let existing = if threads >= LANES as u32 { ALL } else { (1 << threads) - 1 };
        Self {
            number,
            existing,
            exited: 0,
            registers: vec![[0; LANES]; kernel.registers.len()],
            predicates: vec![0; kernel.predicates],
            carry: 0,
            fragments: Fragments::default(),
            local: Region::private(kernel.local.bytes().next_multiple_of(16) * LANES),
            copies: Copies::default(),
            epoch: 0,
            unwritten: Vec::new(),
            turns: 0,
        }
    }

    /// Makes it ready for another block.
    pub(super) fn start(&mut self, context: &Context<'_>) {
        for (register, initial) in self.registers.iter_mut().zip(&context.kernel.registers) {
            match initial {
                Initial::Unwritten(bits) => *register = [truncate(UNWRITTEN, *bits); LANES],
                Initial::Constant(value) => *register = [*value; LANES],
                Initial::Special(special) => {
                    let first = self.number * LANES as u32;
                    for (lane, value) in register.iter_mut().enumerate() {
                        *value = special_value(*special, context, first + lane as u32);
                    }
                }
            }
        }
        self.predicates.fill(0);
        self.carry = 0;
        self.exited = 0;
        self.turns = 0;
        self.fragments.start(self.existing);
        self.copies.clear();
        self.unwritten.clear();
        if self.local.bytes() > 0 {
            self.local.poison();
        }
    }

    /// The lanes that have not left the kernel.
    pub(super) fn live(&self) -> u32 {
        self.existing & !self.exited
    }

    /// Lets each fragment that can go on have its turn. Returns whether any did.
    ///
    /// # Errors
    /// What a thread did wrong.
    pub(super) fn run(&mut self, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        let mut progress = false;
        // A fragment ends, or others take its place, while this goes on.
        while let Some(index) = self.fragments.fragments.iter().position(|fragment| fragment.state == State::Ready) {
            progress = true;
            self.run_fragment(index, context)?;
            if context.turn_is_over {
                self.turns += 1;
                if self.turns.is_multiple_of(PATIENCE) {
                    self.fragments.give_up(index);
                }
                // The others first: they, or other warps, may have something to do that it waits for.
                self.fragments.fragments[index..].rotate_left(1);
                return Ok(true);
            }
        }
        Ok(progress)
    }

    fn run_fragment(&mut self, index: usize, context: &mut Context<'_>) -> Result<(), Box<Fault>> {
        let kernel = context.kernel;
        context.turn_is_over = false;
        for _ in 0..TURN {
            let fragment = self.fragments.fragments[index];
            if self.fragments.meeting_point(index) == fragment.pc {
                self.fragments.arrive(index);
                return Ok(());
            }
            let instruction = &kernel.instructions[fragment.pc];
            let active = match instruction.guard {
                None => fragment.mask,
                Some((predicate, negated)) => {
                    let bits = self.predicates[predicate as usize];
                    fragment.mask & if negated { !bits } else { bits }
                }
            };
            context.count(fragment.pc, active);
            // A collective operation counts the lanes that come, so a lane whose guard is false goes past it.
            if active == 0 {
                self.fragments.fragments[index].pc += 1;
                continue;
            }
            match self.execute(index, instruction, active, context) {
                Ok(Next::Go) => self.fragments.fragments[index].pc += 1,
                Ok(Next::Jumped) => {}
                Ok(Next::Stop) => return Ok(()),
                Err(failure) => {
                    let lane = failure.lane.unwrap_or(active.trailing_zeros());
                    let pc = failure.pc.unwrap_or(fragment.pc);
                    return Err(context.fault(pc, self.first_thread() + lane, failure.kind));
                }
            }
        }
        context.turn_is_over = true;
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        index: usize,
        instruction: &Instruction,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let pc = self.fragments.fragments[index].pc;
        if !self.unwritten.is_empty() {
            self.follow_unwritten(pc, instruction, active, context)?;
        }
        match &instruction.action {
            Action::Compute { compute, destination, sources, extend } => {
                let mut values = [0; LANES];
                compute(&mut values, sources.map(|source| &self.registers[source as usize]));
                if let Extend::Sign { from, to } = extend {
                    extend_sign(&mut values, *from, *to);
                }
                self.write(*destination, &values, active);
            }
            Action::Compare { compute, sources, combine, destinations } => {
                let holds = compute(sources.map(|source| &self.registers[source as usize]));
                let combined = |holds: u32| match combine {
                    None => holds,
                    Some((logic, predicate, negated)) => {
                        let other = self.predicates[*predicate as usize];
                        logic.apply(holds, if *negated { !other } else { other })
                    }
                };
                let values = [combined(holds), combined(!holds)];
                for (destination, value) in destinations.iter().zip(values) {
                    if let Some(destination) = destination {
                        self.write_predicate(*destination, value, active);
                    }
                }
            }
            Action::Move { destination, source } => {
                let values = self.registers[*source as usize];
                self.write(*destination, &values, active);
            }
            Action::Select { destination, sources: [a, b], predicate } => {
                let mut values = self.registers[*b as usize];
                write(&mut values, &self.registers[*a as usize], self.predicates[*predicate as usize]);
                self.write(*destination, &values, active);
            }
            Action::Logic { logic, destination, sources } => {
                let value = logic.apply(self.predicate(sources[0]), self.predicate(sources[1]));
                self.write_predicate(*destination, value, active);
            }
            Action::Load(load) => self.load(pc, load, active, context)?,
            Action::Store(store) => self.store(pc, store, active, context)?,
            Action::Branch { target, meet } => {
                let fragment = self.fragments.fragments[index];
                if active == fragment.mask {
                    self.fragments.fragments[index].pc = *target;
                } else {
                    context.count_divergence(fragment.pc);
                    let ways = [(active, *target), (fragment.mask & !active, fragment.pc + 1)];
                    self.fragments.part(index, &ways, *meet);
                }
                return Ok(Next::Jumped);
            }
            Action::BranchTable { index: register, targets, meet } => {
                self.branch_by_table(index, *register, targets, *meet, active, context)?;
                return Ok(Next::Jumped);
            }
            Action::Exit => {
                self.exited |= active;
                self.copies.forget(active);
                self.fragments.fragments[index].pc += 1;
                self.fragments.exit(index, active);
                return Ok(Next::Stop);
            }
            Action::Trap => return Err(FaultKind::Trap.into()),
            Action::Barrier(barrier) => return self.barrier(index, barrier, active, context),
            Action::Carry { operation, destination, sources } => {
                let mut values = [0; LANES];
                let sources = sources.map(|source| &self.registers[source as usize]);
                let carry = (operation.compute)(&mut values, self.carry, sources);
                write_bits(&mut self.carry, carry, active);
                self.write(*destination, &values, active);
            }
            Action::Pack { destination, parts, bits } => {
                let mut values = [0; LANES];
                for (position, part) in parts.iter().enumerate() {
                    for (value, part) in values.iter_mut().zip(&self.registers[*part as usize]) {
                        *value |= truncate(*part, *bits as usize) << (position as u32 * bits);
                    }
                }
                self.write(*destination, &values, active);
            }
            Action::Unpack { destinations, source, bits } => {
                let source = self.registers[*source as usize];
                for (position, destination) in destinations.iter().enumerate() {
                    if let Some(destination) = destination {
                        let values = source.map(|value| truncate(value >> (position as u32 * bits), *bits as usize));
                        self.write(*destination, &values, active);
                    }
                }
            }
            Action::IsSpace { space, destination, address } => {
                let addresses = &self.registers[*address as usize];
                let holds = (0..LANES).fold(0, |bits, lane| {
                    bits | u32::from(crate::memory::is_in_space(*space, addresses[lane])) << lane
                });
                self.write_predicate(*destination, holds, active);
            }
            Action::ActiveMask { destination } => self.write(*destination, &[u64::from(active); LANES], active),
            Action::Atomic(atomic) => self.atomic(pc, atomic, active, context)?,
            Action::CopyAsync(copy) => self.copy_async(pc, copy, active, context)?,
            Action::CopyAsyncCommit => self.copies.commit(active),
            Action::CopyAsyncWait(groups) => self.wait_for_copies(pc, *groups, active, context)?,
            Action::Fence(scope) => context.fence(*scope, self, active),
            Action::WarpBarrier { .. }
            | Action::Shuffle(_)
            | Action::Vote(_)
            | Action::Match { .. }
            | Action::Reduce { .. }
            | Action::Matrix(_)
            | Action::LoadMatrix(_) => return self.collective(index, instruction, active, context),
            Action::Nothing => {}
        }
        Ok(Next::Go)
    }

    fn branch_by_table(
        &mut self,
        index: usize,
        register: Register,
        targets: &[usize],
        meet: Option<usize>,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let fragment = self.fragments.fragments[index];
        let mut ways: Vec<(u32, usize)> = vec![(fragment.mask & !active, fragment.pc + 1)];
        for lane in lanes_of(active) {
            let entry = self.registers[register as usize][lane];
            let Some(&target) = usize::try_from(entry).ok().and_then(|entry| targets.get(entry)) else {
                return Err(Failure::at(lane, FaultKind::BranchTable { index: entry, length: targets.len() }));
            };
            match ways.iter_mut().find(|(_, pc)| *pc == target) {
                Some((mask, _)) => *mask |= 1 << lane,
                None => ways.push((1 << lane, target)),
            }
        }
        ways.retain(|(mask, _)| *mask != 0);
        match ways[..] {
            [(_, pc)] => self.fragments.fragments[index].pc = pc,
            _ => {
                context.count_divergence(fragment.pc);
                self.fragments.part(index, &ways, meet);
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn write(&mut self, register: Register, values: &Lanes, mask: u32) {
        write(&mut self.registers[register as usize], values, mask);
    }

    #[inline]
    pub(super) fn write_predicate(&mut self, predicate: Predicate, values: u32, mask: u32) {
        write_bits(&mut self.predicates[predicate as usize], values, mask);
    }

    #[inline]
    pub(super) fn predicate(&self, source: PredicateSource) -> u32 {
        match source {
            PredicateSource::Predicate(predicate) => self.predicates[predicate as usize],
            PredicateSource::Constant(value) => {
                if value {
                    ALL
                } else {
                    0
                }
            }
        }
    }
}

/// What a lane did wrong; where and in which kernel is added by who knows.
pub(super) struct Failure {
    /// The lane, if it is not simply the first.
    pub(super) lane: Option<u32>,
    /// The instruction, if it is an earlier one.
    pub(super) pc: Option<usize>,
    pub(super) kind: FaultKind,
}

impl Failure {
    #[cold]
    pub(super) fn at(lane: usize, kind: FaultKind) -> Self {
        Self { lane: Some(lane as u32), pc: None, kind }
    }
}

impl From<FaultKind> for Failure {
    fn from(kind: FaultKind) -> Self {
        Self { lane: None, pc: None, kind }
    }
}

/// The value of a special register for the thread of this number in its block.
fn special_value(special: Special, context: &Context<'_>, thread: u32) -> u64 {
    let part = |size: cuda_std::Dim3, axis: usize| u64::from([size.x, size.y, size.z][axis]);
    match special {
        Special::ThreadIndex(axis) => part(context.thread_index(thread), axis),
        Special::BlockSize(axis) => part(context.config.block, axis),
        Special::BlockIndex(axis) => part(context.block, axis),
        Special::GridSize(axis) => part(context.config.grid, axis),
        Special::Lane => u64::from(thread % LANES as u32),
        Special::Warp => u64::from(thread / LANES as u32),
        Special::Warps => context.config.block.count().div_ceil(LANES as u64),
        Special::LaneMask(comparison) => u64::from(comparison.mask(thread % LANES as u32)),
        Special::DynamicSharedBytes => u64::from(context.config.dynamic_shared_bytes),
        Special::GridWorkspace { upper } => {
            let address = context.launch.workspace.unwrap_or(0);
            if upper { address >> 32 } else { address & u64::from(u32::MAX) }
        }
        Special::Zero => 0,
    }
}
