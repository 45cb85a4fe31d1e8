//! A cooperative launch: all blocks are resident, and run round-robin from one grid barrier to the next.

use std::rc::Rc;

use super::block::{Block, Scheduler};
use super::current::Wait;
use super::fault::{FaultKind, SourceLocation};
use super::global::GlobalShadows;
use super::launch::Launch;
use super::report::LaunchReport;
use super::stacks::{self, Stacks};
use super::{LaunchError, max_cooperative_blocks};

/// Runs `thread` once for each thread of the grid.
pub(super) fn run(launch: &Launch, thread: &dyn Fn()) -> Result<LaunchReport, LaunchError> {
    let (blocks, threads) = (launch.config.grid.count(), launch.config.block.count());
    let limit = max_cooperative_blocks(threads);
    if blocks > limit.into() {
        return Err(LaunchError::TooManyBlocks { blocks, threads, limit });
    }
    let _reservation = stacks::reserve(blocks as usize, threads);
    let stacks = Stacks::new(launch.options.stack_bytes);
    let shadows = Rc::new(GlobalShadows::default());
    let scheduler = |number| Scheduler::new(Rc::new(Block::new(*launch, number, Rc::clone(&shadows))), &stacks);
    let mut blocks: Vec<Scheduler<'_>> = (0..blocks).map(scheduler).collect();
    let outcome = run_blocks(&mut blocks, &shadows, thread);
    blocks.iter_mut().for_each(Scheduler::drop_waiting);
    let mut report = LaunchReport { grid_barriers: outcome?, ..LaunchReport::default() };
    blocks.iter().for_each(|block| report += block.report());
    Ok(report)
}

/// Runs all blocks to their end, or until one fails. Returns the number of barriers that the grid has passed.
fn run_blocks(blocks: &mut [Scheduler<'_>], shadows: &GlobalShadows, thread: &dyn Fn()) -> Result<u64, LaunchError> {
    for block in &mut *blocks {
        block.start(thread)?;
    }
    for passed in 0.. {
        let Some(first) = blocks.iter().position(|block| block.at_grid_barrier().is_some()) else { return Ok(passed) };
        check_all_wait(blocks, first)?;
        shadows.pass_grid_barrier();
        for block in &mut *blocks {
            block.pass_grid_barrier()?;
        }
    }
    unreachable!("no grid passes 2⁶⁴ barriers")
}

/// Checks that all blocks wait at the same barrier. Each one waits or has exited; `first` is the first that waits.
fn check_all_wait(blocks: &[Scheduler<'_>], first: usize) -> Result<(), LaunchError> {
    let waits: Vec<Option<Wait>> = blocks.iter().map(Scheduler::at_grid_barrier).collect();
    let waiting = waits.iter().flatten().count();
    let exited = waits.len() - waiting;
    let other = waits.iter().position(|wait| wait.is_some() && *wait != waits[first]);
    let (block, other_location) = match other {
        Some(other) => (other, waits[first].map(|wait| SourceLocation::from(wait.location()))),
        None if exited > 0 => (first, None),
        None => return Ok(()),
    };
    blocks[block].fail_at_grid_barrier(FaultKind::GridDivergence { waiting, exited, other_location })
}
