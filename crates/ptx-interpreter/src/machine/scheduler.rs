//! Distribution of a launch's blocks to threads of the host.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::block::Block;
use super::context::{BlockState, Context};
use super::fault::Fault;
use super::launch::{Launch, LaunchResults};
use super::observer::{Observer, Observing};

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
    pub(super) fn run(&self) -> Result<LaunchResults, Box<Fault>> {
        let blocks = self.config.grid.count();
        let lowest = LowestFault::default();
        // The race detector needs all accesses in one order.
        let workers = if self.options.check_races { 1 } else { rayon::current_num_threads() };
        let workers = (workers as u64).min(blocks / u64::from(self.config.cluster));
        let next = AtomicU64::new(0);
        let work = |worker: u64| {
            let mut context = Context::new(self);
            self.run_share((worker..blocks).step_by(workers as usize), &next, &lowest, &mut context);
            context.into_results()
        };
        let results = (0..workers).into_par_iter().map(work).reduce_with(|mut all, other| {
            all.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| sum.add(count));
            all.same_value_races.extend(other.same_value_races);
            all
        });
        lowest.into_result()?;
        Ok(results.unwrap_or_default())
    }

    /// Runs all blocks on the calling thread, with an observer. Returns false if it has abandoned the launch.
    ///
    /// # Errors
    /// A thread's fault.
    pub(super) fn run_observed<'l>(&'l self, observer: &'l mut (dyn Observer + 'l)) -> Result<bool, Box<Fault>> {
        let lowest = LowestFault::default();
        let mut context = Context::new(self);
        context.observer = Some(Observing(observer));
        self.run_share(0..self.config.grid.count(), &AtomicU64::new(0), &lowest, &mut context);
        lowest.into_result()?;
        Ok(!context.abandoned)
    }

    /// Runs a worker's share of the blocks: those in `own` of a cooperative launch, otherwise as many as it can take
    /// from `next` on.
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
        let mut block = Block::new(self);
        while !context.abandoned {
            let number = next.fetch_add(1, Relaxed);
            if number >= self.config.grid.count() || number > lowest.block.load(Relaxed) {
                return;
            }
            block.start(number, context);
            loop {
                match block.run(context) {
                    Ok(turn) if turn.ended => break,
                    Ok(_) => {}
                    Err(fault) => {
                        lowest.report(number, fault);
                        break;
                    }
                }
            }
        }
    }

    /// Runs clusters to completion, one after the other.
    fn run_clusters(&self, next: &AtomicU64, lowest: &LowestFault, context: &mut Context<'_>) {
        let size = usize::from(self.config.cluster);
        context.cluster.resize_with(size, || BlockState::new(self.kernel, &self.dynamic_shared));
        let mut cluster: Vec<Block> = (0..size).map(|_| Block::new(self)).collect();
        while !context.abandoned {
            let first = next.fetch_add(size as u64, Relaxed);
            if first >= self.config.grid.count() || first > lowest.block.load(Relaxed) {
                return;
            }
            if let Err((rank, fault)) = self.run_cluster(first, &mut cluster, context) {
                lowest.report(first + rank as u64, fault);
            }
        }
    }

    /// Runs the cluster whose first block is number `first` of the grid, its blocks round-robin.
    ///
    /// # Errors
    /// A block's fault, with its index in the cluster.
    fn run_cluster(
        &self,
        first: u64,
        cluster: &mut [Block],
        context: &mut Context<'_>,
    ) -> Result<(), (usize, Box<Fault>)> {
        for (rank, block) in cluster.iter_mut().enumerate() {
            context.swap_block(rank);
            block.start(first + rank as u64, context);
            context.swap_block(rank);
        }
        let threads = cluster.len() * self.config.block.count() as usize;
        loop {
            let mut progress = false;
            for (rank, block) in cluster.iter_mut().enumerate() {
                if context.cluster[rank].ended {
                    continue;
                }
                context.swap_block(rank);
                context.block = self.block_index(first + rank as u64);
                let turn = block.run(context);
                context.swap_block(rank);
                progress |= turn.map_err(|fault| (rank, fault))?.progress;
                if context.abandoned {
                    return Ok(());
                }
            }
            if context.cluster.iter().all(|state| state.ended) {
                return Ok(());
            }
            let arrived = context.cluster.iter().map(|state| state.cluster_arrived as usize).sum();
            if arrived == threads {
                context.pass_cluster_barrier(cluster);
            } else if !progress {
                let exited = cluster.iter().map(Block::exited).sum();
                for (rank, block) in cluster.iter().enumerate() {
                    context.block = self.block_index(first + rank as u64);
                    context.swap_block(rank);
                    let fault = block.cluster_fault(context, (arrived, threads, exited));
                    context.swap_block(rank);
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
        let mut running: Vec<(u64, Block, BlockState)> = Vec::new();
        for number in numbers {
            let mut block = Block::new(self);
            block.start(number, context);
            let fresh = BlockState::new(self.kernel, &self.dynamic_shared);
            running.push((number, block, std::mem::replace(&mut context.state, fresh)));
        }
        // A fault of any block ends all: others may wait for that block forever.
        while !running.is_empty() && lowest.block.load(Relaxed) == u64::MAX {
            running.retain_mut(|(number, block, state)| {
                // After a fault only a lower block's could still be the one that is reported.
                if context.abandoned || lowest.block.load(Relaxed) < *number {
                    return false;
                }
                std::mem::swap(&mut context.state, state);
                context.block = self.block_index(*number);
                let ended = block.run(context);
                std::mem::swap(&mut context.state, state);
                match ended {
                    Ok(turn) => !turn.ended,
                    Err(fault) => {
                        lowest.report(*number, fault);
                        false
                    }
                }
            });
        }
    }
}
