//! The grid barrier.

use std::panic::Location;

use super::current::{self, Wait};
use super::fault::{self, FaultKind};
use super::global::GlobalMut;

include!("../grid_arrival.rs");

/// Waits until every thread of the grid has arrived. Writes before the barrier are visible to all threads after it.
///
/// All threads must call it, at the same line, in a [cooperative](crate#grid-barriers) launch. Element 0 of
/// `state` belongs to the barrier: it must be zero before the first launch, and needs no reset after that, neither
/// between two barriers nor between two launches, even of different sizes.
///
/// A call in a launch that is not cooperative is the fault
/// [`NotCooperative`](crate::simulator::FaultKind::NotCooperative). Threads that do not arrive or wait elsewhere are a
/// [`BarrierDivergence`](crate::simulator::FaultKind::BarrierDivergence) if they are a part of a block, and a
/// [`GridDivergence`](crate::simulator::FaultKind::GridDivergence) if they are a whole block.
#[track_caller]
pub fn sync(state: GlobalMut<'_, u32>) {
    let location = Location::caller();
    if fault::is_unwinding() {
        return;
    }
    let (config, number) = current::with_block(|block| (block.launch.config, block.number));
    if !config.cooperative {
        fault::raise(FaultKind::NotCooperative, location);
    }
    if current::with(|current| current.thread.get()) == 0 {
        let arrival = arrival(number == 1, config.grid.count() as u32);
        let before = state.atomic_at_once(0).fetch_add(arrival);
        // The first to arrive finds the value that the last barrier or the host left.
        let expected = current::with_block(|block| block.global_shadows.arrive_at_grid_barrier(arrival));
        if before & !PASSED != expected {
            fault::raise(FaultKind::GridState { value: before }, location);
        }
    }
    current::wait(Wait::Grid(location));
}
