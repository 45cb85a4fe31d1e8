//! The scheduler of a block's threads, which runs them one after the other until all have ended.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::LaunchError;
use super::async_copy;
use super::block::Block;
use super::current::{self, Wait};
use super::exchange::LANES;
use super::fault::{self, FaultKind, SourceLocation};
#[cfg(unix)]
use super::launch::Launch;
#[cfg(unix)]
use super::overflow;
use super::report::LaunchReport;
use super::stacks::Stacks;

/// The reason why a simulated thread waits, and the coroutine that resumes it.
type Waiting = (Wait, ThreadCoroutine);

type ThreadCoroutine = Coroutine<(), Wait, (), DefaultStack>;

/// The scheduler of the threads of a block.
pub(super) struct Scheduler<'a> {
    block: Rc<Block>,
    stacks: &'a Stacks,
    /// Indexed by the thread in the block; None for threads that have ended or not started.
    waiting: Vec<Option<Waiting>>,
    /// The number of threads that wait for lanes of their warp.
    at_warps: usize,
    /// The threads that have given way, the longest ago first.
    given_way: VecDeque<usize>,
}

/// Maximum number of turns per thread that the threads of a block take at atomic operations while none of them ends or passes a
/// barrier.
const MAX_TURNS: u64 = 256;

impl<'a> Scheduler<'a> {
    pub(super) fn new(block: Rc<Block>, stacks: &'a Stacks) -> Self {
        let waiting = (0..block.threads).map(|_| None).collect();
        Self { block, stacks, waiting, at_warps: 0, given_way: VecDeque::new() }
    }

    /// Runs `thread` for each thread of the block, up to the first barrier of the grid or cluster, to the end, or until all that could
    /// run have given way. `thread` must live until the waiting coroutines have ended; [`drop_waiting`](Self::drop_waiting) ends them.
    pub(super) fn start(&mut self, thread: &dyn Fn()) -> Result<(), LaunchError> {
        let _guard = current::enter_block(&self.block);
        self.start_all(thread)?;
        self.finish_all();
        self.outcome()
    }

    /// Whether threads have given way to other blocks.
    pub(super) fn has_given_way(&self) -> bool {
        !self.given_way.is_empty()
    }

    /// Resumes the threads that have given way, up to the next barrier of the grid or cluster, to the end, or until they give way
    /// again.
    pub(super) fn resume_given_way(&mut self) -> Result<(), LaunchError> {
        let _guard = current::enter_block(&self.block);
        let turns = self.block.turns.get() + self.given_way.len() as u64;
        self.block.turns.set(turns);
        if turns > MAX_TURNS * u64::from(self.block.threads)
            && let Some(&first) = self.given_way.front()
            && let Some(location) = self.location(first)
        {
            let kind = match self.reason(first) {
                Some(Wait::Phase(_, mbarrier)) => self.block.phases.never_ends(mbarrier),
                _ => FaultKind::WaitsForever { turns, operations: current::OPERATIONS_OF_TURN.into() },
            };
            self.block.fail(first as u32, kind, location.into());
        }
        for thread in std::mem::take(&mut self.given_way) {
            if self.block.has_failed() {
                break;
            }
            self.resume_waiting(thread);
        }
        self.finish_all();
        self.outcome()
    }

    /// The barrier of the grid or cluster at which all threads of the block wait, if they do.
    pub(super) fn at_wide_barrier(&self) -> Option<Wait> {
        if self.has_given_way() {
            return None;
        }
        self.reason(0).filter(|reason| matches!(reason, Wait::Grid(_) | Wait::Cluster(_)))
    }

    /// Resumes all threads from a barrier of the grid or cluster, up to the next one or to the end.
    pub(super) fn pass_wide_barrier(&mut self) -> Result<(), LaunchError> {
        let _guard = current::enter_block(&self.block);
        current::next_epoch();
        self.resume_all(0..self.waiting.len(), |_| true);
        self.finish_all();
        self.outcome()
    }

    /// Reports `kind` as a fault of the first thread, which waits at a barrier of the grid or cluster.
    pub(super) fn fail_at_wide_barrier(&self, kind: FaultKind) -> Result<(), LaunchError> {
        if let Some(location) = self.location(0) {
            self.block.fail(0, kind, location.into());
        }
        self.outcome()
    }

    /// The counts of the block.
    pub(super) fn report(&self) -> LaunchReport {
        self.block.saved.get().report(self.block.threads.into())
    }

    /// Ends the block: its counts, or why it failed.
    pub(super) fn end(&mut self, outcome: Result<(), LaunchError>) -> Result<LaunchReport, LaunchError> {
        self.drop_waiting();
        outcome.map(|()| self.report())
    }

    fn outcome(&self) -> Result<(), LaunchError> {
        self.block.fault.take().map_or(Ok(()), |fault| Err(LaunchError::Fault(fault)))
    }

    /// Runs every thread up to its end or its first wait.
    ///
    /// One coroutine runs threads one after the other until one of them waits. That thread keeps the coroutine, and a
    /// new one starts the next thread. A kernel without barriers therefore needs one coroutine per block.
    fn start_all(&mut self, thread: &dyn Fn()) -> Result<(), LaunchError> {
        while self.block.next.get() < self.block.threads && !self.block.has_failed() {
            let stack = self.stacks.take()?;
            let block = Rc::clone(&self.block);
            let run = move |yielder: &corosensei::Yielder<(), Wait>, ()| {
                while !current::with(|current| current.is_ending.get())
                    && let Some(number) = block.start_next()
                {
                    current::enter_thread(number, yielder);
                    let whole = || {
                        thread();
                        if current::with(|current| current.copies.get() > 0) {
                            async_copy::finish_all();
                        }
                    };
                    match catch_unwind(AssertUnwindSafe(whole)) {
                        Ok(()) => {
                            block.exited.set(block.exited.get() + 1);
                            block.turns.set(0);
                        }
                        Err(payload) if current::with(|current| current.is_ending.get()) => fault::discard(payload),
                        Err(payload) => {
                            let (kind, location) = fault::from_payload(payload, block.launch.place);
                            block.fail(number, kind, location);
                        }
                    }
                }
            };
            // SAFETY: the coroutine borrows `thread`, which lives until [`run`](super::run) or [`together`](super::together) returns, and
            // every coroutine has ended before that: `finish_all` runs the waiting ones to their end, or `drop_waiting`
            // unwinds them, at the latest when the scheduler is dropped.
            #[allow(unsafe_code)]
            let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
            self.resume(coroutine);
        }
        Ok(())
    }

    /// Resumes waiting threads until all have ended, all wait at a barrier of the grid or cluster, one has failed, or those that could
    /// run have given way.
    fn finish_all(&mut self) {
        while !self.block.has_failed() {
            if self.pass_warps() {
                continue;
            }
            match self.waiting.iter().position(Option::is_some) {
                Some(first) if !self.has_given_way() && self.pass_barrier(first) => {}
                _ => return,
            }
        }
    }

    /// Runs a thread that waits, if it does, until it waits again or ends.
    fn resume_waiting(&mut self, thread: usize) {
        if let Some((wait, coroutine)) = self.waiting[thread].take() {
            self.at_warps -= usize::from(wait.is_at_warp());
            self.resume(coroutine);
        }
    }

    /// Runs a coroutine until its thread waits or it ends.
    fn resume(&mut self, mut coroutine: ThreadCoroutine) {
        match self.switch_to(&mut coroutine, |coroutine| coroutine.resume(())) {
            CoroutineResult::Yield(wait) => {
                let thread = current::with(|current| current.thread.get()) as usize;
                self.waiting[thread] = Some((wait, coroutine));
                self.at_warps += usize::from(wait.is_at_warp());
                if matches!(wait, Wait::Turn(_) | Wait::Phase(..)) {
                    self.given_way.push_back(thread);
                }
            }
            CoroutineResult::Return(()) => self.stacks.put(coroutine.into_stack()),
        }
    }

    /// Gives control to a coroutine by `switch`.
    fn switch_to<R>(&self, coroutine: &mut ThreadCoroutine, switch: impl FnOnce(&mut ThreadCoroutine) -> R) -> R {
        #[cfg(unix)]
        {
            let Launch { kernel, place, options, .. } = &self.block.launch;
            overflow::enter_stack(coroutine.trap_handler(), options.stack_bytes, kernel, *place);
        }
        let result = switch(coroutine);
        #[cfg(unix)]
        overflow::leave_stack();
        current::leave_thread();
        result
    }

    /// Resumes the lanes of each warp's operation for which all its lanes wait, but for those that have exited, and, where there is
    /// none, those that ask which lanes are active. Returns whether there were some. All threads have started.
    fn pass_warps(&mut self) -> bool {
        if self.at_warps == 0 {
            return false;
        }
        let mut passed = false;
        for first in (0..self.waiting.len()).step_by(LANES as usize) {
            let lanes = first..self.waiting.len().min(first + LANES as usize);
            // Lanes that have been resumed may wait for their next operation already.
            let (mut resumed, mut incomplete) = (0_u32, None);
            for lane in lanes.clone() {
                if self.block.has_failed() || resumed & 1 << (lane - first) != 0 {
                    continue;
                }
                let reason = self.reason(lane);
                let Some(Wait::Warp(_, members)) = reason.filter(|_| reason != incomplete) else { continue };
                let is_member = |lane: usize| members & 1 << (lane - first) != 0;
                let mut live = lanes.clone().filter(|&lane| is_member(lane) && self.waiting[lane].is_some());
                if live.all(|lane| self.reason(lane) == reason) {
                    (passed, resumed) = (true, resumed | members);
                    self.pass_lanes(lanes.clone(), is_member);
                } else {
                    incomplete = reason;
                }
            }
        }
        passed || self.pass_active()
    }

    /// Resumes the lanes of one warp that ask at one place which lanes are active. No warp's operation has all its lanes.
    fn pass_active(&mut self) -> bool {
        let asks = |thread: &usize| matches!(self.reason(*thread), Some(Wait::Active(_)));
        let Some(thread) = (0..self.waiting.len()).find(asks).filter(|_| !self.block.has_failed()) else {
            return false;
        };
        let first = thread - thread % LANES as usize;
        let lanes = first..self.waiting.len().min(first + LANES as usize);
        let reason = self.reason(thread);
        let active: Vec<bool> = lanes.clone().map(|lane| self.reason(lane) == reason).collect();
        self.pass_lanes(lanes, |lane| active[lane - first]);
        true
    }

    /// Completes a warp's operation of the members that have not exited, and resumes them.
    fn pass_lanes(&mut self, lanes: std::ops::Range<usize>, is_member: impl Fn(usize) -> bool) {
        self.block.exchange.complete(lanes.clone(), |lane| is_member(lane) && self.waiting[lane].is_some());
        self.resume_all(lanes, is_member);
    }

    /// Resumes all threads if all wait at the same barrier of the block, and returns whether they do. Otherwise records
    /// a fault, except if all wait at the same barrier of the grid or cluster. No warp is ready to resume.
    fn pass_barrier(&mut self, first: usize) -> bool {
        let at_warp = (first..self.waiting.len()).find(|&thread| matches!(self.reason(thread), Some(Wait::Warp(..))));
        if let Some(thread) = at_warp
            && let Some(Wait::Warp(location, members)) = self.reason(thread)
        {
            self.fail_warp(thread, location, members);
            return false;
        }
        let exited = self.block.exited.get();
        let waiting = self.waiting.iter().flatten().count();
        let reason = self.reason(first);
        let other =
            (first..self.waiting.len()).find(|&thread| self.waiting[thread].is_some() && self.reason(thread) != reason);
        if exited == 0 && other.is_none() {
            if self.at_wide_barrier().is_some() {
                return false;
            }
            current::next_epoch();
            self.resume_all(0..self.waiting.len(), |_| true);
            return true;
        }
        let (thread, other_location) = match other {
            Some(other) => (other, self.location(first)),
            None => (first, None),
        };
        let other_location = other_location.map(SourceLocation::from);
        let kind = FaultKind::BarrierDivergence { waiting, exited: exited as usize, other_location };
        if let Some(location) = self.location(thread) {
            self.block.fail(thread as u32, kind, location.into());
        }
        false
    }

    fn fail_warp(&self, thread: usize, location: &'static Location<'static>, members: u32) {
        let first = thread - thread % LANES as usize;
        let lanes = first..self.waiting.len().min(first + LANES as usize);
        let bits = |keep: &dyn Fn(usize) -> bool| {
            lanes.clone().filter(|&lane| keep(lane)).fold(0, |bits, lane| bits | 1 << (lane - first))
        };
        let is_live = |lane: usize| members & 1 << (lane - first) != 0 && self.waiting[lane].is_some();
        let missing = bits(&|lane| is_live(lane) && self.reason(lane) != self.reason(thread));
        let kind = FaultKind::MissingLanes { expected: bits(&is_live), missing };
        self.block.fail(thread as u32, kind, location.into());
    }

    /// Resumes the threads of a range that take part and wait for the same, except if the block has waited too often, which is a fault
    /// of the first.
    fn resume_all(&mut self, threads: std::ops::Range<usize>, takes_part: impl Fn(usize) -> bool) {
        let waits = self.block.waits.get() + threads.len() as u64;
        self.block.waits.set(waits);
        self.block.turns.set(0);
        if waits > self.block.launch.options.block_waits
            && let Some(first) = threads.clone().find(|&thread| takes_part(thread) && self.waiting[thread].is_some())
            && let Some(location) = self.location(first)
        {
            let waits = self.block.launch.options.block_waits;
            return self.block.fail(first as u32, FaultKind::EndlessWaits { waits }, location.into());
        }
        let (first, count) = (threads.start, threads.len() as u64);
        for position in 0..count {
            let thread = first + self.block.order().nth(position, count, 1 + u64::from(self.block.number)) as usize;
            if self.block.has_failed() {
                return;
            }
            if takes_part(thread) {
                self.resume_waiting(thread);
            }
        }
    }

    fn reason(&self, thread: usize) -> Option<Wait> {
        self.waiting[thread].as_ref().map(|(reason, _)| *reason)
    }

    fn location(&self, thread: usize) -> Option<&'static Location<'static>> {
        self.reason(thread).map(Wait::location)
    }

    /// Unwinds the threads that still wait after a failure.
    pub(super) fn drop_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.iter().all(Option::is_none) {
            return;
        }
        let _guard = current::enter_block(&self.block);
        current::with(|current| current.is_ending.set(true));
        for (_, mut coroutine) in waiting.into_iter().flatten() {
            self.switch_to(&mut coroutine, Coroutine::force_unwind);
            self.stacks.put(coroutine.into_stack());
        }
    }
}

impl Drop for Scheduler<'_> {
    fn drop(&mut self) {
        self.drop_waiting();
    }
}
