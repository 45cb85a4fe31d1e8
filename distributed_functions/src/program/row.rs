//! A line of `simulate`'s table.

use serde::Serialize;

/// Predictions for a number of ranks on a network.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Row {
    pub(super) ranks: usize,
    /// Seconds of a step on the whole batch, and its speed-up over one rank.
    pub(super) strong_seconds: f64,
    pub(super) strong_speedup: f64,
    /// Seconds of a step on one batch per rank. The speed-up compares images per second.
    pub(super) weak_seconds: f64,
    pub(super) weak_speedup: f64,
    /// Images per second for workers with a batch each. The masters are additional ranks.
    pub(super) async_images_per_second: f64,
    pub(super) async_speedup: f64,
    pub(super) staleness: f64,
    pub(super) busiest_master: f64,
}
