//! The barrier of all blocks.

use std::panic::Location;

use super::current::{self, Wait};
use super::fault::{self, FaultKind};
use super::global::GlobalMut;

include!("../grid_arrival.rs");

/// Waits until every thread of the grid is here. What they wrote before, all see after.
///
/// All threads call it, at one line, in a launch that is [cooperative](crate#barriers-of-the-grid). Element 0 of `state`
/// is the barrier's own: it is zero before the first launch, and needs no reset after that, neither between two barriers
/// nor between two launches, be they of different sizes.
///
/// In a launch that is not cooperative it is a [`NotCooperative`](crate::simulator::FaultKind::NotCooperative). A thread
/// that never comes or waits elsewhere is a
/// [`BarrierDivergence`](crate::simulator::FaultKind::BarrierDivergence) if others of its block wait, and a
/// [`GridDivergence`](crate::simulator::FaultKind::GridDivergence) if all of its block do the same.
#[track_caller]
pub fn sync(state: GlobalMut<'_, u32>) {
    let location = Location::caller();
    let (config, number) = current::with_block(|block| (block.launch.config, block.number));
    if !config.cooperative {
        fault::raise(FaultKind::NotCooperative, location);
    }
    if current::with(|current| current.thread.get()) == 0 {
        let (is_first, blocks) = (number == 1, config.grid.count() as u32);
        let before = state.atomic(0).fetch_add(arrival(is_first, blocks));
        // Here blocks arrive in their order. The first finds what the last barrier or the host has left.
        let expected = if is_first { 0 } else { arrival(true, blocks) + (number - 2) };
        if before & !PASSED != expected {
            fault::raise(FaultKind::GridState { value: before }, location);
        }
    }
    current::wait(Wait::Grid(location));
}
