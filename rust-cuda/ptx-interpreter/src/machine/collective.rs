//! Warp-level operations: shuffles, votes, matches, reductions and barriers of a warp.

use super::context::Context;
use super::divergence::{Path, PathState};
use super::fault::{Failure, FaultKind};
use super::lanes::{ALL, groups, lanes_of};
use super::warp::{Next, Warp};
use crate::memory::races::Threads;
use crate::program::Kernel;
use crate::program::instruction::{Action, DecodedInstruction, Register, Shuffle, ShuffleMode, Vote, VoteMode};
use crate::semantics::{LANES, Lanes};

/// Whether lanes that wait at these two instructions wait for each other. All barriers of the warp
/// with the same members count as one (PTX ISA 9.7.13 "bar.warp.sync", from sm_70 on). An operation
/// that exchanges values is a single instruction: GPUs execute different ones one after the other.
pub(super) fn are_one_operation(kernel: &Kernel, pc: usize, other: usize) -> bool {
    let is_barrier = |pc: usize| matches!(kernel.instructions[pc].action, Action::WarpBarrier { .. });
    pc == other || is_barrier(pc) && is_barrier(other)
}

impl Warp {
    /// Executes a warp-level operation once all its members have arrived. Until then the lanes
    /// wait.
    pub(super) fn collective(
        &mut self,
        index: usize,
        instruction: &DecodedInstruction,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let pc = self.divergence.paths[index].pc;
        let members = match &instruction.action {
            Action::WarpBarrier { members }
            | Action::Shuffle(Shuffle { members, .. })
            | Action::Vote(Vote { members, .. })
            | Action::Match { members, .. }
            | Action::Reduce { members, .. }
            | Action::Elect { members, .. } => match self.members(*members, active) {
                Err(_) if self.are_complete_groups(*members, active) => {
                    for (_, group) in self.groups_by_members(*members, active) {
                        self.perform(pc, instruction, group, context)?;
                    }
                    return Ok(Next::Advance);
                }
                members => members?,
            },
            _ => ALL,
        };
        // A matrix operation needs all 32 lanes. Other operations wait only for members that have
        // not exited (PTX ISA 9.7.9 "shfl.sync", 9.7.13 "vote.sync" and others). The last warp of a
        // block may have fewer lanes.
        let is_matrix = matches!(
            instruction.action,
            Action::Matrix(_) | Action::LoadMatrix(_) | Action::Wmma(_) | Action::Wgmma(_)
        );
        if is_matrix && self.live() != ALL {
            return Err(FaultKind::MissingLanes { expected: ALL, missing: !self.live() }.into());
        }
        if let Some(lane) = lanes_of(active & !members).next() {
            return Err(Failure::at(lane, FaultKind::NotAMember { members }));
        }
        let expected = members & self.live();
        let state = PathState::AtWarpOperation(expected);
        let others: Vec<usize> = match active == expected {
            true => Vec::new(),
            false => {
                let waits_here = |path: &Path| path.state == state && are_one_operation(context.kernel, path.pc, pc);
                (0..self.divergence.paths.len()).filter(|other| waits_here(&self.divergence.paths[*other])).collect()
            }
        };
        let present = others.iter().fold(active, |mask, other| mask | self.divergence.paths[*other].mask);
        if present != expected {
            self.wait(index, active, state);
            return Ok(Next::Stop);
        }
        self.perform(pc, instruction, present, context)?;
        for other in others {
            let path = &mut self.divergence.paths[other];
            path.pc += 1;
            path.state = PathState::Ready;
        }
        Ok(Next::Advance)
    }

    /// After lanes have exited, executes the operations where all remaining members wait.
    pub(super) fn complete_collectives(&mut self, exited: u32, context: &mut Context<'_>) -> Result<(), Failure> {
        for index in 0..self.divergence.paths.len() {
            let path = &mut self.divergence.paths[index];
            let PathState::AtWarpOperation(expected) = path.state else { continue };
            path.state = PathState::AtWarpOperation(expected & !exited);
        }
        for index in 0..self.divergence.paths.len() {
            let Path { pc, state: state @ PathState::AtWarpOperation(expected), .. } = self.divergence.paths[index]
            else {
                continue;
            };
            let is_here = |path: &&mut Path| path.state == state && are_one_operation(context.kernel, path.pc, pc);
            let present = self.divergence.paths.iter_mut().filter(is_here).fold(0, |mask, path| mask | path.mask);
            if present == expected {
                let instruction = &context.kernel.instructions[pc];
                let performed = match instruction.action {
                    Action::Matrix(_) | Action::LoadMatrix(_) | Action::Wmma(_) | Action::Wgmma(_) => {
                        Err(FaultKind::MissingLanes { expected: ALL, missing: !expected }.into())
                    }
                    _ => self.perform(pc, instruction, present, context),
                };
                performed.map_err(|failure| {
                    let lane = failure.lane.unwrap_or(present.trailing_zeros());
                    Failure { lane: Some(lane), origin: failure.origin.or(Some((pc, lane))), ..failure }
                })?;
                for path in self.divergence.paths.iter_mut().filter(is_here) {
                    path.pc += 1;
                    path.state = PathState::Ready;
                }
            }
        }
        Ok(())
    }

    /// The member mask.
    ///
    /// # Errors
    /// `DifferentMembers` unless all active lanes pass the same mask.
    fn members(&self, register: Register, active: u32) -> Result<u32, Failure> {
        let masks = &self.registers[register as usize];
        let first = masks[active.trailing_zeros() as usize] as u32;
        match lanes_of(active).find(|lane| masks[*lane] as u32 != first) {
            None => Ok(first),
            Some(lane) => Err(Failure::at(lane, FaultKind::DifferentMembers { first, other: masks[lane] as u32 })),
        }
    }

    /// The active lanes grouped by the mask that they pass.
    fn groups_by_members(&self, register: Register, active: u32) -> Vec<(u32, u32)> {
        let masks = &self.registers[register as usize];
        groups(active, |lane| masks[lane] as u32).collect()
    }

    /// Whether each mask passed by active lanes names exactly the lanes that pass it. An example
    /// are the tiles of a partitioned warp: each tile executes the operation on its own (PTX ISA
    /// 9.7.9 "shfl.sync": the threads in `membermask`).
    #[cold]
    fn are_complete_groups(&self, register: Register, active: u32) -> bool {
        let live = self.live();
        self.groups_by_members(register, active).into_iter().all(|(members, group)| members & live == group)
    }

    fn perform(
        &mut self,
        pc: usize,
        instruction: &DecodedInstruction,
        present: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        match &instruction.action {
            Action::WarpBarrier { .. } if present == self.live() => self.warp_syncs += 1,
            Action::WarpBarrier { .. } => {
                let threads = Threads { phase: context.phase(self), lanes: present };
                if let Some(races) = &mut context.races {
                    races.detector.synchronise_lanes(threads);
                }
            }
            Action::Shuffle(shuffle) => self.shuffle(shuffle, present, context.launch.options.strict)?,
            Action::Vote(vote) => self.vote(vote, present),
            Action::Match { all, destination, predicate, source, .. } => {
                let source = self.registers[*source as usize];
                let mut masks = [0; LANES];
                for lane in lanes_of(present) {
                    let same = lanes_of(present).filter(|other| source[*other] == source[lane]);
                    masks[lane] = same.fold(0, |mask, other| mask | 1 << other);
                }
                let all_same = masks[present.trailing_zeros() as usize] == u64::from(present);
                if *all && !all_same {
                    masks = [0; LANES];
                }
                self.write(*destination, &masks, present);
                if let Some(predicate) = predicate {
                    self.write_predicate(*predicate, if all_same { ALL } else { 0 }, present);
                }
            }
            Action::Reduce { combine, destination, source, .. } => {
                let source = &self.registers[*source as usize];
                let result = lanes_of(present).map(|lane| source[lane]).reduce(combine).unwrap_or_default();
                self.write(*destination, &[result; LANES], present);
            }
            Action::Elect { leader, is_leader, .. } => {
                let elected = present.trailing_zeros();
                if let Some(leader) = leader {
                    self.write(*leader, &[elected.into(); LANES], present);
                }
                if let Some(is_leader) = is_leader {
                    self.write_predicate(*is_leader, 1 << elected, present);
                }
            }
            Action::Matrix(matrix) => self.matrix_product(matrix),
            Action::LoadMatrix(load) => self.load_matrix(pc, load, present, context)?,
            Action::Wmma(wmma) => self.wmma(pc, wmma, present, context)?,
            Action::Wgmma(wgmma) => self.wgmma(pc, wgmma, context)?,
            _ => {}
        }
        Ok(())
    }

    /// Executes `shfl.sync` as defined by the PTX ISA. Lanes exchange values within segments, and a
    /// lane with an out-of-range source keeps its own value.
    fn shuffle(&mut self, shuffle: &Shuffle, present: u32, strict: bool) -> Result<(), Failure> {
        let source = self.registers[shuffle.source as usize];
        let (mut values, mut in_range, mut sources): (Lanes, u32, [usize; LANES]) = ([0; LANES], 0, [0; LANES]);
        for lane in lanes_of(present) {
            let b = self.registers[shuffle.lane as usize][lane] as u32;
            let c = self.registers[shuffle.clamp as usize][lane] as u32;
            // The instruction uses only the low five bits. A larger distance is probably a mistake.
            if strict && b >= LANES as u32 && !matches!(shuffle.mode, ShuffleMode::Index) {
                return Err(Failure::at(lane, FaultKind::NoSuchLane { lane: b }));
            }
            let (own, b, clamp, segment) = (lane as u32, b & 31, c & 31, c >> 8 & 31);
            let last = own & segment | clamp & !segment;
            let from = match shuffle.mode {
                ShuffleMode::Up => own.wrapping_sub(b),
                ShuffleMode::Down => own + b,
                ShuffleMode::Butterfly => own ^ b,
                ShuffleMode::Index => own & segment | b & !segment,
            };
            let is_in_range = match shuffle.mode {
                // The source lane may be negative.
                ShuffleMode::Up => from as i32 >= last as i32,
                _ => from <= last,
            };
            let from = if is_in_range { from } else { own };
            if present >> from & 1 == 0 {
                return Err(Failure::at(lane, FaultKind::NoSuchLane { lane: from }));
            }
            values[lane] = source[from as usize];
            sources[lane] = from as usize;
            in_range |= u32::from(is_in_range) << lane;
        }
        if !self.uninitialised.is_empty() {
            self.shuffle_uninitialised([shuffle.source, shuffle.destination], &sources, present);
        }
        self.write(shuffle.destination, &values, present);
        if let Some(predicate) = shuffle.in_range {
            self.write_predicate(predicate, in_range, present);
        }
        Ok(())
    }

    fn vote(&mut self, vote: &Vote, present: u32) {
        let bits = self.predicate(vote.source);
        let holds = present & if vote.negated { !bits } else { bits };
        let all = |condition: bool| if condition { ALL } else { 0 };
        match vote.mode {
            VoteMode::All(predicate) => self.write_predicate(predicate, all(holds == present), present),
            VoteMode::Any(predicate) => self.write_predicate(predicate, all(holds != 0), present),
            VoteMode::Uniform(predicate) => {
                self.write_predicate(predicate, all(holds == present || holds == 0), present);
            }
            VoteMode::Ballot(register) => self.write(register, &[u64::from(holds); LANES], present),
        }
    }
}
