//! Distribution of a launch's blocks to the workers of an executor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::block::Turn;
use super::block_state::Block;
use super::context::Context;
use super::executor::Executor;
use super::fault::Fault;
use super::launch::{Launch, LaunchResults};
use super::observer::{Observer, Observing};
use super::schedule::Resident;
use super::snapshot::Snapshot;

/// The fault of the lowest-numbered block that has one.
#[derive(Debug)]
struct LowestFault {
    /// Number of that block; u64::MAX while there is none.
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

impl Launch<'_> {
    /// Runs all blocks.
    ///
    /// # Errors
    /// The fault of the lowest-numbered block that has one.
    pub(super) fn run(&self, executor: &dyn Executor) -> Result<LaunchResults, Box<Fault>> {
        let blocks = self.config.grid.count();
        let lowest = LowestFault::default();
        // The race detector needs all accesses in one order.
        let workers = if self.options.check_races { 1 } else { executor.workers().max(1) };
        let workers = workers.min((blocks / u64::from(self.config.cluster)) as usize);
        let next = AtomicU64::new(0);
        let all = Mutex::new(LaunchResults::default());
        executor.run(workers, &|worker| {
            let mut context = Context::new(self);
            self.run_share((worker as u64..blocks).step_by(workers), &next, &lowest, &mut context);
            all.lock().unwrap_or_else(PoisonError::into_inner).add(context.into_results());
        });
        lowest.into_result()?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs all blocks on the calling thread, with an observer, or what is left of them after a snapshot. Returns false
    /// if the observer has abandoned the launch.
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
        if let Some(snapshot) = snapshot {
            snapshot.restore(&mut context);
        }
        // Blocks start in ascending order.
        let last = context.schedule.residents.last().map(|resident| u64::from(resident.state.number));
        let next = AtomicU64::new(last.map_or(0, |last| last + 1));
        self.run_share(0..self.config.grid.count(), &next, &lowest, &mut context);
        lowest.into_result()?;
        Ok(!context.abandoned)
    }

    /// Runs a worker's share of the blocks: those in `own` of a cooperative launch, otherwise as many as it can take
    /// from `next` on. Blocks that are resident before run to their end first, or take turns in place of `own`.
    fn run_share(
        &self,
        own: impl Iterator<Item = u64>,
        next: &AtomicU64,
        lowest: &LowestFault,
        context: &mut Context<'_>,
    ) {
        match self.config.cooperative {
            true => self.run_round_robin(own, lowest, context),
            false if self.config.cluster > 1 => self.run_clusters(next, lowest, context),
            false => self.run_to_completion(next, lowest, context),
        }
    }

    /// Runs blocks to completion, one after the other. Workers take them in ascending order, so that every block below
    /// a block at fault runs.
    fn run_to_completion(&self, next: &AtomicU64, lowest: &LowestFault, context: &mut Context<'_>) {
        let mut block = match context.schedule.residents.pop() {
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
        loop {
            match block.run(context) {
                Ok(turn) if turn.ended => return,
                Ok(_) => {}
                Err(fault) => return lowest.report(context.state.number.into(), fault),
            }
        }
    }

    /// Runs clusters to completion, one after the other.
    fn run_clusters(&self, next: &AtomicU64, lowest: &LowestFault, context: &mut Context<'_>) {
        let size = usize::from(self.config.cluster);
        let mut is_started = !context.schedule.residents.is_empty();
        context.schedule.residents.resize_with(size, || Resident::new(self));
        while !context.abandoned {
            if !std::mem::take(&mut is_started) {
                let first = next.fetch_add(size as u64, Relaxed);
                if first >= self.config.grid.count() || first > lowest.block.load(Relaxed) {
                    return;
                }
                for rank in 0..size {
                    context.with_resident(rank, |block, context| block.start(first + rank as u64, context));
                }
                (context.schedule.current, context.schedule.progress) = (0, false);
            }
            if let Err((rank, fault)) = self.run_cluster(context) {
                lowest.report(u64::from(context.schedule.residents[rank].state.number), fault);
            }
        }
    }

    /// Runs the resident cluster, its blocks round-robin.
    ///
    /// # Errors
    /// A block's fault, with its index in the cluster.
    fn run_cluster(&self, context: &mut Context<'_>) -> Result<(), (usize, Box<Fault>)> {
        let size = context.schedule.residents.len();
        let threads = size * self.config.block.count() as usize;
        loop {
            while context.schedule.current < size {
                let rank = context.schedule.current;
                if !context.schedule.residents[rank].state.ended {
                    let turn = self.take_turn(rank, context).map_err(|fault| (rank, fault))?;
                    context.schedule.progress |= turn.progress;
                    if context.abandoned {
                        return Ok(());
                    }
                }
                context.schedule.current += 1;
            }
            context.schedule.current = 0;
            let progress = std::mem::take(&mut context.schedule.progress);
            let residents = &context.schedule.residents;
            if residents.iter().all(|resident| resident.state.ended) {
                return Ok(());
            }
            let arrived = residents.iter().map(|resident| resident.state.cluster_arrived as usize).sum();
            if arrived == threads {
                context.pass_cluster_barrier();
            } else if !progress {
                let exited = residents.iter().map(|resident| resident.block.exited()).sum();
                for rank in 0..size {
                    let fault = context.with_resident(rank, |block, context| {
                        context.block = self.block_index(context.state.number.into());
                        block.cluster_fault(context, (arrived, threads, exited))
                    });
                    if let Some(fault) = fault {
                        return Err((rank, fault));
                    }
                }
                unreachable!("blocks without progress wait at the cluster's barrier, or their deadlock is a fault");
            }
        }
    }

    /// Runs blocks round-robin, because blocks of a cooperative launch may wait for each other.
    fn run_round_robin(&self, numbers: impl Iterator<Item = u64>, lowest: &LowestFault, context: &mut Context<'_>) {
        if context.schedule.residents.is_empty() {
            for (index, number) in numbers.enumerate() {
                context.schedule.residents.push(Resident::new(self));
                context.with_resident(index, |block, context| block.start(number, context));
            }
        }
        // A fault of any block ends all: others may wait for that block forever.
        while !context.schedule.residents.is_empty() && lowest.block.load(Relaxed) == u64::MAX {
            while let Some(resident) = context.schedule.residents.get(context.schedule.current) {
                let number = u64::from(resident.state.number);
                // After a fault only a lower block's could still be the one that is reported.
                if context.abandoned || lowest.block.load(Relaxed) < number {
                    return;
                }
                if let Err(fault) = self.take_turn(context.schedule.current, context) {
                    return lowest.report(number, fault);
                }
                context.schedule.current += 1;
            }
            context.schedule.current = 0;
            context.schedule.residents.retain(|resident| !resident.state.ended);
        }
    }

    /// Lets a resident block take its turn.
    fn take_turn(&self, index: usize, context: &mut Context<'_>) -> Result<Turn, Box<Fault>> {
        context.with_resident(index, |block, context| {
            context.block = self.block_index(context.state.number.into());
            block.run(context)
        })
    }
}
