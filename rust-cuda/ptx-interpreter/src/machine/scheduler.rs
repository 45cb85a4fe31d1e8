//! Distributes a launch's blocks to the workers of an executor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use cuda_launch::Switches;

use super::block::{ClusterCounts, Turn};
use super::block_state::Block;
use super::context::Context;
use super::executor::Executor;
use super::fault::Fault;
use super::launch::{Launch, LaunchResults};
use super::observer::{Observer, Observing};
use super::residents::Resident;
use super::snapshot::Snapshot;
use crate::semantics::LANES;

/// The fault of the lowest-numbered block with a fault.
#[derive(Debug)]
struct LowestFault {
    /// Number of that block. `u64::MAX` while there is none.
    block: AtomicU64,
    fault: Mutex<Option<Box<Fault>>>,
}

impl Default for LowestFault {
    fn default() -> Self {
        Self { block: AtomicU64::new(u64::MAX), fault: Mutex::new(None) }
    }
}

impl LowestFault {
    fn into_result(self) -> Result<(), Box<Fault>> {
        self.fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn report(&self, block: u64, fault: Box<Fault>) {
        let mut lowest = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if block < self.block.load(Relaxed) {
            self.block.store(block, Relaxed);
            *lowest = Some(fault);
        }
    }
}

/// Number of warp instructions that take about as long as starting a thread.
const SHORT_LAUNCH: u64 = 2000;

impl Launch<'_> {
    /// Runs all blocks.
    ///
    /// # Errors
    /// The fault of the lowest-numbered block with a fault.
    pub(super) fn run(&self, executor: &dyn Executor) -> Result<LaunchResults, Box<Fault>> {
        let blocks = self.config.grid.count();
        let lowest = LowestFault::default();
        // The race detector needs a total order of all accesses.
        let is_ordered = self.options.check_races || !self.options.schedule.is_default();
        let workers = if is_ordered || self.is_short() { 1 } else { executor.workers().max(1) };
        let workers = workers.min((blocks / u64::from(self.config.cluster)) as usize);
        let next = AtomicU64::new(0);
        let all = Mutex::new(LaunchResults::default());
        executor.run(workers, &|worker| {
            let mut context = Context::new(self);
            context.is_alone = workers == 1;
            self.run_share((worker as u64..blocks).step_by(workers), &next, &lowest, &mut context);
            all.lock().unwrap_or_else(PoisonError::into_inner).add(context.into_results());
        });
        let mut results = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        if workers > 1 {
            results.faults.sort_by_key(|fault| (fault.block.z, fault.block.y, fault.block.x));
        }
        results.finish(lowest.into_result(), self.options.max_faults)
    }

    /// Whether the launch ends before another host thread would have started.
    fn is_short(&self) -> bool {
        let warps = self.config.block.count().div_ceil(LANES as u64);
        let instructions = (self.kernel.instructions.len() as u64).saturating_mul(warps);
        !self.config.cooperative
            && self.kernel.has_no_loops
            && instructions.saturating_mul(self.config.grid.count()) < SHORT_LAUNCH
    }

    /// Runs all blocks on the calling thread under an observer, or the rest of them after a
    /// snapshot. Returns false if the observer has abandoned the launch.
    ///
    /// # Errors
    /// A thread's fault.
    pub(super) fn run_observed<'l>(
        &'l self,
        snapshot: Option<&Snapshot>,
        observer: &'l mut (dyn Observer + 'l),
    ) -> Result<bool, Box<Fault>> {
        let lowest = LowestFault::default();
        let mut context = Context::new(self);
        context.observer = Some(Observing(observer));
        (context.is_alone, context.is_watched) = (true, true);
        if let Some(snapshot) = snapshot {
            snapshot.restore(&mut context);
        }
        // Blocks start in ascending order.
        let last = context.residents.list.last().map(|resident| u64::from(resident.state.number));
        let next = AtomicU64::new(last.map_or(0, |last| last + 1));
        self.run_share(0..self.config.grid.count(), &next, &lowest, &mut context);
        let is_abandoned = context.abandoned;
        context.into_results().finish(lowest.into_result(), self.options.max_faults)?;
        Ok(!is_abandoned)
    }

    /// Runs a worker's share of the blocks. In a cooperative launch these are the blocks in `own`,
    /// otherwise as many as the worker can take from `next`. Blocks that are already resident first
    /// run to completion, or take turns instead of `own`.
    fn run_share(
        &self,
        own: impl Iterator<Item = u64>,
        next: &AtomicU64,
        lowest: &LowestFault,
        context: &mut Context<'_>,
    ) {
        if !self.options.schedule.is_default() {
            context.reverses_lanes = self.options.schedule.start.reverses_lanes();
            context.is_watched = true;
            context.residents.turns.switches.get_or_insert_with(|| Switches::new(&self.options.schedule));
            if let Err(fault) = self.run_by_schedule(context) {
                lowest.report(0, fault);
            }
            return;
        }
        match self.config.cooperative {
            true => self.run_round_robin(own, lowest, context),
            false if self.config.cluster > 1 => self.run_clusters(next, lowest, context),
            false => self.run_to_completion(next, lowest, context),
        }
    }

    /// Runs blocks to completion, one after the other. Workers take them in ascending order, so
    /// every block below a block at fault runs.
    fn run_to_completion(&self, next: &AtomicU64, lowest: &LowestFault, context: &mut Context<'_>) {
        let mut block = match context.residents.list.pop() {
            None => Block::new(self),
            Some(Resident { mut block, state }) => {
                context.block = self.block_index(state.number.into());
                context.state = state;
                self.finish(&mut block, lowest, context);
                block
            }
        };
        while !context.abandoned {
            let number = next.fetch_add(1, Relaxed);
            if number >= self.config.grid.count() || number > lowest.block.load(Relaxed) {
                return;
            }
            block.start(number, context);
            self.finish(&mut block, lowest, context);
        }
    }

    /// Runs a block to completion.
    fn finish(&self, block: &mut Block, lowest: &LowestFault, context: &mut Context<'_>) {
        let next = u64::from(context.state.number) + 1;
        context.unstarted = (Some(next), self.config.grid.count() - next);
        loop {
            match block.run(context) {
                Ok(turn) if turn.ended => return,
                Ok(_) => {}
                Err(fault) => {
                    if let Err(fault) = context.note_end_of_block(fault) {
                        lowest.report(context.state.number.into(), fault);
                    }
                    return block.abandon(context);
                }
            }
        }
    }

    /// Runs clusters to completion, one after the other.
    fn run_clusters(&self, next: &AtomicU64, lowest: &LowestFault, context: &mut Context<'_>) {
        let size = usize::from(self.config.cluster);
        let mut is_started = !context.residents.list.is_empty();
        context.residents.list.resize_with(size, || Resident::new(self));
        while !context.abandoned {
            if !std::mem::take(&mut is_started) {
                let first = next.fetch_add(size as u64, Relaxed);
                if first >= self.config.grid.count() || first > lowest.block.load(Relaxed) {
                    return;
                }
                let next = first + size as u64;
                context.unstarted = (Some(next), self.config.grid.count() - next);
                for rank in 0..size {
                    context.with_resident(rank, |block, context| block.start(first + rank as u64, context));
                }
                (context.residents.current, context.residents.progress) = (0, false);
            }
            if let Err((rank, fault)) = self.run_cluster(context) {
                if let Err(fault) = context.note_end_of_block(fault) {
                    lowest.report(u64::from(context.residents.list[rank].state.number), fault);
                }
                context.abandon_cluster();
            }
        }
    }

    /// Runs the resident cluster, with its blocks round-robin.
    ///
    /// # Errors
    /// A block's fault, with the block's index in the cluster.
    fn run_cluster(&self, context: &mut Context<'_>) -> Result<(), (usize, Box<Fault>)> {
        let size = context.residents.list.len();
        loop {
            while context.residents.current < size {
                let rank = context.residents.current;
                if !context.residents.list[rank].state.ended {
                    let turn = self.take_turn(rank, context).map_err(|fault| (rank, fault))?;
                    context.residents.progress |= turn.progress;
                    if context.abandoned {
                        return Ok(());
                    }
                }
                context.residents.current += 1;
            }
            context.residents.current = 0;
            let progress = std::mem::take(&mut context.residents.progress);
            if context.residents.list.iter().all(|resident| resident.state.ended) {
                return Ok(());
            }
            if self.all_arrived_at_cluster(context) {
                context.pass_cluster_barrier();
            } else if !progress {
                let ranks = context.residents.in_order_of_causes();
                let mut faults = ranks.into_iter().map(|rank| (rank, self.stuck_fault(rank, context)));
                let fault = faults.find_map(|(rank, fault)| Some((rank, fault?)));
                return Err(fault.expect("a block that has not ended and does not run waits for something"));
            }
        }
    }

    /// Counts the threads of the resident cluster.
    fn cluster_counts(&self, context: &Context<'_>) -> ClusterCounts {
        let residents = &context.residents.list;
        let arrived = residents.iter().map(|resident| resident.state.cluster_arrived as usize).sum();
        let exited = residents.iter().map(|resident| resident.block.exited()).sum();
        ClusterCounts { arrived, threads: residents.len() * self.config.block.count() as usize, exited }
    }

    /// Whether threads have arrived at the resident cluster's barrier and no other thread holds it
    /// up.
    pub(super) fn all_arrived_at_cluster(&self, context: &Context<'_>) -> bool {
        let ClusterCounts { arrived, threads, .. } = self.cluster_counts(context);
        let residents = context.residents.list.iter();
        let gone = residents.map(|resident| resident.block.gone_before_cluster_barrier(&self.options));
        arrived != 0 && arrived + gone.sum::<usize>() == threads
    }

    /// The fault that explains why the threads of a resident block cannot continue, if that block
    /// causes it.
    #[cold]
    pub(super) fn stuck_fault(&self, index: usize, context: &mut Context<'_>) -> Option<Box<Fault>> {
        let cluster = self.cluster_counts(context);
        context.with_resident(index, |block, context| {
            context.block = self.block_index(context.state.number.into());
            let fault = match block.waits_for_cluster() {
                _ if context.state.ended => return None,
                true => block.cluster_fault(context, cluster)?,
                false => block.stuck_fault(context),
            };
            Some(block.observed(fault, context))
        })
    }

    /// Runs blocks round-robin. Blocks of a cooperative launch may wait for each other.
    fn run_round_robin(&self, numbers: impl Iterator<Item = u64>, lowest: &LowestFault, context: &mut Context<'_>) {
        if context.residents.list.is_empty() {
            for (index, number) in numbers.enumerate() {
                context.residents.list.push(Resident::new(self));
                context.with_resident(index, |block, context| block.start(number, context));
            }
        }
        // A fault of any block ends all of them: others may wait for that block forever.
        while !context.residents.list.is_empty() && lowest.block.load(Relaxed) == u64::MAX {
            while let Some(resident) = context.residents.list.get(context.residents.current) {
                let number = u64::from(resident.state.number);
                // After a fault, only a lower block's fault could still replace it in the report.
                if context.abandoned || lowest.block.load(Relaxed) < number {
                    return;
                }
                match self.take_turn(context.residents.current, context) {
                    Ok(turn) => context.residents.progress |= turn.progress,
                    Err(fault) => return lowest.report(number, fault),
                }
                context.residents.current += 1;
            }
            context.residents.current = 0;
            let progress = std::mem::take(&mut context.residents.progress);
            if !progress && let Some(fault) = self.stuck_fault(0, context) {
                return lowest.report(u64::from(context.residents.list[0].state.number), fault);
            }
            context.residents.list.retain(|resident| !resident.state.ended);
        }
    }

    /// Runs a resident block for one turn.
    fn take_turn(&self, index: usize, context: &mut Context<'_>) -> Result<Turn, Box<Fault>> {
        context.with_resident(index, |block, context| {
            context.block = self.block_index(context.state.number.into());
            block.run(context)
        })
    }
}
