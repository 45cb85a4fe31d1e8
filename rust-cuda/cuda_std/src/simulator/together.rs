//! Blocks that wait for each other, of a cooperative launch or a cluster: all are resident, and run round-robin from one of
//! their barriers to the next.

use std::rc::Rc;

use super::block::{Block, Cluster};
use super::current::Wait;
use super::fault::{FaultKind, SourceLocation};
use super::launch::Launch;
use super::report::LaunchReport;
use super::scheduler::Scheduler;
use super::shadow::GlobalShadows;
use super::stacks::{self, Stacks};
use super::{LaunchError, max_cooperative_blocks};

/// Runs `thread` once for each thread of the grid of a cooperative launch.
pub(super) fn run_grid(launch: &Launch, thread: &dyn Fn()) -> Result<LaunchReport, LaunchError> {
    let (blocks, threads) = (launch.config.grid.count(), launch.config.block.count());
    let limit = max_cooperative_blocks(threads);
    if blocks > limit.into() {
        return Err(LaunchError::TooManyBlocks { blocks, threads, limit });
    }
    let _reservation = stacks::reserve(blocks as usize, threads);
    let stacks = Stacks::new(launch.options.stack_bytes);
    let shadows = Rc::new(GlobalShadows::default());
    let block = |number| Rc::new(Block::new(launch.clone(), number, Rc::clone(&shadows), None));
    let mut blocks: Vec<Scheduler<'_>> = (0..blocks).map(|number| Scheduler::new(block(number), &stacks)).collect();
    let (mut report, grid_barriers) = run_together(&mut blocks, || shadows.pass_grid_barrier(), thread)?;
    report.grid_barriers = grid_barriers;
    Ok(report)
}

/// Runs `thread` for each thread of cluster `number` of the grid.
pub(super) fn run_cluster(
    launch: &Launch,
    number: u64,
    shadows: &Rc<GlobalShadows>,
    stacks: &Stacks,
    thread: &dyn Fn(),
) -> Result<LaunchReport, LaunchError> {
    let (cluster, blocks) = Cluster::new(launch, number * u64::from(launch.config.cluster), shadows);
    let mut schedulers: Vec<Scheduler<'_>> = blocks.into_iter().map(|block| Scheduler::new(block, stacks)).collect();
    Ok(run_together(&mut schedulers, || cluster.pass_barrier(), thread)?.0)
}

/// Runs blocks that wait for each other to their end, or until one fails. Calls `pass` when they pass one of their
/// barriers. Returns their counts and the number of those barriers.
fn run_together(
    blocks: &mut [Scheduler<'_>],
    pass: impl Fn(),
    thread: &dyn Fn(),
) -> Result<(LaunchReport, u64), LaunchError> {
    let outcome = run_blocks(blocks, pass, thread);
    blocks.iter_mut().for_each(Scheduler::drop_waiting);
    let passed = outcome?;
    let mut report = LaunchReport::default();
    blocks.iter().for_each(|block| report += block.report());
    Ok((report, passed))
}

fn run_blocks(blocks: &mut [Scheduler<'_>], pass: impl Fn(), thread: &dyn Fn()) -> Result<u64, LaunchError> {
    for block in &mut *blocks {
        block.start(thread)?;
    }
    for passed in 0.. {
        // Block by block: one may wait for what a thread of another does when it is its turn again.
        while blocks.iter().any(Scheduler::has_given_way) {
            for block in blocks.iter_mut().filter(|block| block.has_given_way()) {
                block.resume_given_way()?;
            }
        }
        let Some(first) = blocks.iter().position(|block| block.at_wide_barrier().is_some()) else { return Ok(passed) };
        check_all_wait(blocks, first)?;
        pass();
        for block in &mut *blocks {
            block.pass_wide_barrier()?;
        }
    }
    unreachable!("no grid passes 2⁶⁴ barriers")
}

/// Checks that all blocks wait at the same barrier. Each one waits or has exited; `first` is the first that waits.
fn check_all_wait(blocks: &[Scheduler<'_>], first: usize) -> Result<(), LaunchError> {
    let waits: Vec<Option<Wait>> = blocks.iter().map(Scheduler::at_wide_barrier).collect();
    let waiting = waits.iter().flatten().count();
    let exited = waits.len() - waiting;
    let other = waits.iter().position(|wait| wait.is_some() && *wait != waits[first]);
    let (block, other_location) = match other {
        Some(other) => (other, waits[first].map(|wait| SourceLocation::from(wait.location()))),
        None if exited > 0 => (first, None),
        None => return Ok(()),
    };
    let kind = match waits[first] {
        Some(Wait::Cluster(_)) => FaultKind::ClusterDivergence { waiting, exited, other_location },
        _ => FaultKind::GridDivergence { waiting, exited, other_location },
    };
    blocks[block].fail_at_wide_barrier(kind)
}
