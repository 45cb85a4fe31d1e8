//! Runs a launch: distributes the blocks to worker threads and selects the fault to report. [`super::together`] runs blocks
//! that wait for each other.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_launch::Switches;
use rayon::prelude::*;

use super::block::Block;
use super::launch::Launch;
#[cfg(unix)]
use super::overflow;
use super::report::LaunchReport;
use super::scheduler::Scheduler;
use super::shadow::GlobalShadows;
use super::stacks::{Stacks, max_concurrent_blocks};
use super::{LaunchError, current, fault, synchronization, together, watchdog};

/// Maximum number of blocks whose threads have given way, at a time, before these run on.
const MAX_GIVEN_WAY: usize = 64;

/// The state that the workers of a launch share.
struct Progress {
    /// The next block, or cluster of blocks.
    next_block: AtomicU64,
    /// The lowest one that failed: those above it are skipped, those below it must run.
    lowest_failed: AtomicU64,
    outcome: Mutex<(LaunchReport, Option<(u64, LaunchError)>)>,
}

impl Launch {
    /// Runs `thread` once for each thread of the grid.
    pub(super) fn run(&self, thread: &(dyn Fn() + Sync)) -> Result<LaunchReport, LaunchError> {
        // A destructor that runs during a panic may launch a kernel, whose threads do not unwind.
        if std::thread::panicking() {
            return std::thread::scope(|scope| scope.spawn(|| self.run(thread)).join())
                .unwrap_or_else(|payload| std::panic::resume_unwind(payload));
        }
        fault::install_panic_hook(current::is_simulated);
        synchronization::reset();
        let schedule = &self.options.schedule;
        current::set_switches((!schedule.is_default()).then(|| Switches::new(schedule)));
        #[cfg(unix)]
        overflow::install();
        if self.config.cooperative {
            let _watch = watchdog::watch(self);
            return together::run_grid(self, thread);
        }
        let progress = Progress {
            next_block: AtomicU64::new(0),
            lowest_failed: AtomicU64::new(u64::MAX),
            outcome: Mutex::default(),
        };
        let workers = self.workers();
        if workers == 1 {
            self.work(&progress, thread);
        } else {
            (0..workers).into_par_iter().for_each(|_| self.work(&progress, thread));
        }
        match progress.outcome.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (report, None) => Ok(report),
            (_, Some((_, error))) => Err(error),
        }
    }

    /// The number of workers. It is 1 with race checks, so that the order of the blocks is deterministic.
    fn workers(&self) -> usize {
        if self.options.check_races || !self.options.schedule.is_default() {
            return 1;
        }
        let blocks = usize::try_from(self.config.grid.count()).unwrap_or(usize::MAX);
        let concurrent = max_concurrent_blocks(self.config.block.count()) / usize::from(self.config.cluster);
        rayon::current_num_threads().min(blocks).min(concurrent.max(1))
    }

    /// Runs blocks, or clusters of blocks, until none remain or a lower one has failed.
    fn work(&self, progress: &Progress, thread: &(dyn Fn() + Sync)) {
        let _watch = watchdog::watch(self);
        let stacks = Stacks::new(self.options.stack_bytes);
        let mut report = LaunchReport::default();
        let shadows = Rc::new(GlobalShadows::default());
        let cluster = u64::from(self.config.cluster);
        let count = self.config.grid.count() / cluster;
        let order = self.options.schedule.start;
        let limit = max_concurrent_blocks(self.config.block.count()).min(MAX_GIVEN_WAY);
        // Blocks whose threads have given way to others, the longest ago first.
        let mut given_way: VecDeque<(u64, Scheduler<'_>)> = VecDeque::new();
        let mut no_more = false;
        loop {
            let position = match no_more || given_way.len() >= limit {
                true => count,
                false => progress.next_block.fetch_add(1, Ordering::Relaxed),
            };
            no_more |= position >= count && given_way.len() < limit;
            if position < count && position > progress.lowest_failed.load(Ordering::Relaxed) {
                no_more = true;
                continue;
            }
            let number = || order.nth(position, count, 0);
            let (position, done) = if position < count && cluster > 1 {
                (position, together::run_cluster(self, number(), &shadows, &stacks, thread))
            } else {
                let (position, mut scheduler, outcome) = if position < count {
                    let block = Rc::new(Block::new(self.clone(), number(), Rc::clone(&shadows), None));
                    let mut scheduler = Scheduler::new(block, &stacks);
                    let outcome = scheduler.start(thread);
                    (position, scheduler, outcome)
                } else {
                    let Some((position, mut scheduler)) = given_way.pop_front() else { break };
                    if position > progress.lowest_failed.load(Ordering::Relaxed) {
                        scheduler.drop_waiting();
                        continue;
                    }
                    let outcome = scheduler.resume_given_way();
                    (position, scheduler, outcome)
                };
                if outcome.is_ok() && scheduler.has_given_way() {
                    given_way.push_back((position, scheduler));
                    continue;
                }
                (position, scheduler.end(outcome))
            };
            match done {
                Ok(done) => report += done,
                Err(error) => {
                    progress.lowest_failed.fetch_min(position, Ordering::Relaxed);
                    let mut outcome = progress.outcome.lock().unwrap_or_else(PoisonError::into_inner);
                    if outcome.1.as_ref().is_none_or(|(lowest, _)| position < *lowest) {
                        outcome.1 = Some((position, error));
                    }
                }
            }
        }
        progress.outcome.lock().unwrap_or_else(PoisonError::into_inner).0 += report;
    }
}
