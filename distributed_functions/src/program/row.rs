//! A line of `simulate`'s table.

use serde::Serialize;

/// What a number of ranks would do on a network.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Row {
    pub(super) ranks: usize,
    /// A step on the whole batch, in seconds, and its speed-up over one rank.
    pub(super) strong_seconds: f64,
    pub(super) strong_speedup: f64,
    /// A step on a batch for each rank; the speed-up is that of the images a second.
    pub(super) weak_seconds: f64,
    pub(super) weak_speedup: f64,
    /// Workers with a batch each; besides them there are masters.
    pub(super) async_images_per_second: f64,
    pub(super) async_speedup: f64,
    pub(super) staleness: f64,
    pub(super) busiest_master: f64,
}
