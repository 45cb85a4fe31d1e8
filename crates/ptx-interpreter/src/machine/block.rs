//! A block: its warps, barriers and shared memory.

use std::sync::Arc;

use cuda_std::{Dim3, LaunchConfig};

use super::counts::InstructionCounts;
use super::divergence::PathState;
use super::fault::{Fault, FaultKind};
use super::lanes::{ALL, lanes_of};
use super::launch::Launch;
use super::race::RaceChecker;
use super::warp::{Failure, Next, Warp};
use crate::memory::races::{Phase, Watched};
use crate::memory::{Extent, Region};
use crate::program::instruction::{Barrier, BarrierReduction, BarrierReductionKind, FenceScope};
use crate::program::{Kernel, Place};
use crate::semantics::LANES;

/// State of the worker that executes a block, other than the block's warps.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) kernel: &'a Kernel,
    pub(super) config: LaunchConfig,
    pub(super) counts: Vec<InstructionCounts>,
    pub(super) races: Option<RaceChecker>,
    /// Index of the allocation accessed last, which the next access often hits too.
    pub(super) last_allocation: usize,
    /// Whether the path that ran last stopped because its time slice expired.
    pub(super) slice_expired: bool,
    /// Index of the current block in the grid.
    pub(super) block: Dim3,
    pub(super) state: BlockState,
}

/// State of one block, other than its warps.
#[derive(Debug)]
pub(super) struct BlockState {
    pub(super) number: u32,
    pub(super) shared: Region,
    pub(super) dynamic_shared: Region,
    /// The race detector's handles of `shared` and `dynamic_shared`.
    pub(super) watched: Option<[Watched; 2]>,
    barriers: [BarrierState; 16],
    /// Bit i: all threads have arrived at barrier i.
    complete: u16,
    /// Number of barriers that the block has passed.
    pub(super) barriers_passed: u32,
    /// Number of instructions that its warps have issued.
    executed: u64,
}

/// The threads that have arrived at a barrier and the reduction of their predicates.
#[derive(Clone, Copy, Debug)]
struct BarrierState {
    arrived: u32,
    expected: u32,
    /// Index of the instruction at which threads wait.
    pc: Option<usize>,
    all: bool,
    any: bool,
    count: u32,
}

const EMPTY_BARRIER: BarrierState = BarrierState { arrived: 0, expected: 0, pc: None, all: true, any: false, count: 0 };

impl BlockState {
    pub(super) fn new(kernel: &Kernel, dynamic_shared: &Extent) -> Self {
        Self {
            number: 0,
            shared: Region::private(kernel.shared.bytes()),
            dynamic_shared: Region::private(dynamic_shared.bytes as usize),
            watched: None,
            barriers: [EMPTY_BARRIER; 16],
            complete: 0,
            barriers_passed: 0,
            executed: 0,
        }
    }

    fn start(&mut self, number: u32) {
        self.number = number;
        self.shared.poison();
        self.dynamic_shared.poison();
        self.barriers = [EMPTY_BARRIER; 16];
        (self.complete, self.barriers_passed, self.executed) = (0, 0, 0);
    }
}

/// The warps of a block that is being executed.
#[derive(Debug)]
pub(super) struct Block {
    warps: Vec<Warp>,
}

impl Block {
    pub(super) fn new(launch: &Launch<'_>) -> Self {
        let threads = launch.config.block.count() as u32;
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|number| Warp::new(number, threads - number * LANES as u32, launch.kernel));
        Self { warps: warps.collect() }
    }

    /// Resets the warps and `context` for block `number` of the grid, where x varies fastest.
    pub(super) fn start(&mut self, number: u64, context: &mut Context<'_>) {
        context.block = context.launch.block_index(number);
        context.state.start(number as u32);
        if let Some(races) = &mut context.races {
            context.state.watched = Some(races.start_block(&context.state.shared, &context.state.dynamic_shared));
        }
        for warp in &mut self.warps {
            warp.start(context);
        }
    }

    /// Runs each warp until it waits or its time slice expires. Returns whether the block has ended.
    ///
    /// # Errors
    /// A thread's fault, or a deadlock: no thread can continue.
    pub(super) fn run(&mut self, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        let (mut progress, mut live) = (false, false);
        for index in 0..self.warps.len() {
            let warp = &mut self.warps[index];
            progress |= warp.run(context)?;
            live |= warp.live() != 0;
            if context.state.complete != 0 {
                self.release(context);
                progress = true;
            }
        }
        context.check_end(&self.warps)?;
        if live && !progress {
            return Err(self.deadlock_fault(context));
        }
        if !live && let Some(races) = &mut context.races {
            races.end_block(&mut context.state);
        }
        Ok(!live)
    }

    /// Resumes the threads that wait at complete barriers.
    fn release(&mut self, context: &mut Context<'_>) {
        for number in 0..16 {
            if context.state.complete >> number & 1 == 0 {
                continue;
            }
            let barrier = std::mem::replace(&mut context.state.barriers[number], EMPTY_BARRIER);
            for warp in &mut self.warps {
                for index in 0..warp.divergence.paths.len() {
                    let path = &mut warp.divergence.paths[index];
                    if path.state != PathState::AtBarrier(number as u8) {
                        continue;
                    }
                    let (pc, mask) = (path.pc, path.mask);
                    path.state = PathState::Ready;
                    path.pc += 1;
                    if let Some(reduction) = context.kernel.barrier_reduction(pc) {
                        match reduction.kind {
                            BarrierReductionKind::And(p) => {
                                warp.write_predicate(p, if barrier.all { ALL } else { 0 }, mask);
                            }
                            BarrierReductionKind::Or(p) => {
                                warp.write_predicate(p, if barrier.any { ALL } else { 0 }, mask);
                            }
                            BarrierReductionKind::Count(register) => {
                                warp.write(register, &[u64::from(barrier.count); LANES], mask);
                            }
                        }
                    }
                }
            }
            context.state.barriers_passed += 1;
        }
        context.state.complete = 0;
    }

    /// The fault that explains why no thread can continue.
    #[cold]
    fn deadlock_fault(&self, context: &Context<'_>) -> Box<Fault> {
        let waits_in = |state: fn(&PathState) -> bool| {
            self.warps.iter().find_map(|warp| {
                let path = warp.divergence.paths.iter().find(|path| state(&path.state))?;
                Some((warp, *path))
            })
        };
        if let Some((warp, path)) = waits_in(|state| matches!(state, PathState::AtWarpOperation(_))) {
            let PathState::AtWarpOperation(expected) = path.state else { unreachable!("found by its state") };
            let here = warp.divergence.paths.iter().filter(|other| other.state == path.state);
            let present = here.filter(|other| other.pc == path.pc).fold(0, |mask, other| mask | other.mask);
            let kind = FaultKind::MissingLanes { expected, missing: expected & !present };
            return context.fault(path.pc, warp.first_thread() + path.mask.trailing_zeros(), kind);
        }
        let waiting = self.warps.iter().flat_map(|warp| &warp.divergence.paths);
        let waiting = waiting.filter(|path| matches!(path.state, PathState::AtBarrier(_)));
        let waiting = waiting.map(|path| path.mask.count_ones() as usize).sum();
        let exited = self.warps.iter().map(|warp| warp.exited.count_ones() as usize).sum();
        let kind = FaultKind::BarrierDivergence { waiting, exited, other_place: None };
        let (pc, thread) = match waits_in(|state| matches!(state, PathState::AtBarrier(_))) {
            Some((warp, path)) => (path.pc, warp.first_thread() + path.mask.trailing_zeros()),
            None => (0, 0),
        };
        context.fault(pc, thread, kind)
    }
}

impl Warp {
    /// Linear index within the block of the thread in lane 0.
    pub(super) fn first_thread(&self) -> u32 {
        self.number * LANES as u32
    }

    /// The active lanes of a path arrive at a barrier.
    pub(super) fn barrier(
        &mut self,
        index: usize,
        barrier: &Barrier,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let pc = self.divergence.paths[index].pc;
        let lane = active.trailing_zeros() as usize;
        let threads = context.config.block.count();
        let number = self.registers[barrier.number as usize][lane];
        let count = barrier.count.map_or(threads, |count| self.registers[count as usize][lane]);
        let whole_warps = barrier.count.is_none() || count.is_multiple_of(LANES as u64);
        if number > 15 || count == 0 || !whole_warps || count > threads.next_multiple_of(LANES as u64) {
            return Err(FaultKind::BarrierOperands { number, count }.into());
        }
        let operands = [Some(barrier.number), barrier.count].into_iter().flatten();
        for values in operands.map(|operand| &self.registers[operand as usize]) {
            if let Some(other) = lanes_of(active).find(|other| values[*other] != values[lane]) {
                return Err(Failure::at(other, FaultKind::DifferentBarriers));
            }
        }
        let state = &mut context.state.barriers[number as usize];
        if barrier.waits
            && let Some(other) = state.pc.replace(pc)
            && other != pc
        {
            let arrived = state.arrived.min(threads as u32) as usize;
            let other_place = Some(Box::new(context.place(other)));
            let waiting = arrived + active.count_ones() as usize;
            return Err(FaultKind::BarrierDivergence { waiting, exited: 0, other_place }.into());
        }
        // A warp counts as 32 threads, though the last one of the block may have fewer (PTX ISA, `barrier`).
        state.expected = (count as u32).next_multiple_of(LANES as u32);
        state.arrived += active.count_ones();
        state.arrived += if active & self.last_lane() != 0 { LANES as u32 - self.existing.count_ones() } else { 0 };
        if let Some(BarrierReduction { source, negated, .. }) = barrier.reduction {
            let bits = self.predicates[source as usize];
            let holds = active & if negated { !bits } else { bits };
            state.all &= holds == active;
            state.any |= holds != 0;
            state.count += holds.count_ones();
        }
        if state.arrived >= state.expected {
            context.state.complete |= 1 << number;
        }
        if !barrier.waits {
            return Ok(Next::Advance);
        }
        self.wait(index, active, PathState::AtBarrier(number as u8));
        Ok(Next::Stop)
    }

    /// Mask of the highest lane that has a thread.
    fn last_lane(&self) -> u32 {
        1 << (31 - self.existing.leading_zeros())
    }

    /// Makes the active lanes wait at their instruction; the others, whose guard is false, continue after it.
    pub(super) fn wait(&mut self, index: usize, active: u32, state: PathState) {
        let path = self.divergence.paths[index];
        let rest = path.mask & !active;
        if rest != 0 {
            let paths = [(active, path.pc), (rest, path.pc + 1)];
            self.divergence.diverge(index, &paths, Some(path.pc + 1));
        }
        self.divergence.paths[index].state = state;
    }
}

impl Kernel {
    /// The reduction of the threads' predicates by the barrier at this instruction.
    fn barrier_reduction(&self, pc: usize) -> Option<BarrierReduction> {
        match &self.instructions[pc].action {
            crate::program::instruction::Action::Barrier(barrier) => barrier.reduction,
            _ => None,
        }
    }
}

impl Context<'_> {
    #[inline]
    pub(super) fn count(&mut self, pc: usize, active: u32) {
        let counts = &mut self.counts[pc];
        counts.issued += 1;
        counts.lanes += u64::from(active.count_ones());
        self.state.executed += 1;
    }

    pub(super) fn count_divergence(&mut self, pc: usize) {
        self.counts[pc].divergent += 1;
    }

    /// Three-dimensional index of thread `thread` in the block.
    pub(super) fn thread_index(&self, thread: u32) -> Dim3 {
        self.config.block.index_of(u64::from(thread))
    }

    /// The warp's current phase, for the race detector.
    pub(super) fn phase(&self, warp: &Warp) -> Phase {
        Phase {
            block: self.state.number,
            warp: warp.number,
            barriers: self.state.barriers_passed,
            warp_syncs: warp.warp_syncs,
        }
    }

    pub(super) fn fence(&mut self, _: FenceScope, warp: &Warp, active: u32) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let phase = self.phase(warp);
        if let Some(races) = &mut self.races {
            for lane in lanes_of(active) {
                races.detector.fence((phase, lane as u32));
            }
        }
    }

    /// Rejects a block that has issued more instructions than the limit: the kernel does not end.
    fn check_end(&self, warps: &[Warp]) -> Result<(), Box<Fault>> {
        let limit = self.launch.options.block_instructions;
        if self.state.executed <= limit {
            return Ok(());
        }
        let running = warps.iter().find_map(|warp| Some((warp, warp.divergence.paths.first()?)));
        let Some((warp, path)) = running else { return Ok(()) };
        let thread = warp.first_thread() + path.mask.trailing_zeros();
        Err(self.fault(path.pc, thread, FaultKind::Endless { instructions: self.state.executed }))
    }

    #[cold]
    pub(super) fn fault(&self, pc: usize, thread: u32, kind: FaultKind) -> Box<Fault> {
        Box::new(Fault {
            kernel: Arc::clone(&self.kernel.name),
            block: self.block,
            thread: self.thread_index(thread),
            place: self.place(pc),
            kind,
        })
    }

    /// Location of an instruction in the PTX and in the source.
    pub(super) fn place(&self, pc: usize) -> Place {
        self.launch.program.place(self.kernel, pc)
    }
}
