//! Measurement of the figures.

mod correlation;
mod queues;
mod training;

use std::time::Instant;

use gpu::Device;
use neural_net::data::Dataset;

use super::Figures;
use crate::figures::MeasurementInfo;
use crate::machine;
use crate::measure::MeasureError;
use crate::peers::{self, PeerOptions};

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Fewer epochs, workers and repeats.
    pub quick: bool,
    /// Seed of the weights, permutations, distortions and images.
    pub seed: u64,
    /// Python's libraries.
    pub peers: PeerOptions,
}

/// The stages of a measurement, which [`run`] passes to its progress callback.
pub const STAGES: [&str; 4] = ["training", "workers and queues", "correlation", "Python's libraries"];

impl Plan {
    /// Numbers of workers: the assignment's last three, and smaller ones that fit a small machine's
    /// cores.
    fn workers(&self) -> &'static [usize] {
        if self.quick { &[1, 2, 8] } else { &[1, 2, 8, 16, 32] }
    }

    fn epochs(&self) -> usize {
        if self.quick { 4 } else { 15 }
    }

    /// Interleaved rounds over all versions.
    fn rounds(&self) -> usize {
        if self.quick { 5 } else { 15 }
    }
}

/// Measures everything. Calls `progress` with each of [`STAGES`] and its current item.
///
/// # Errors
/// If a version computes a wrong result, training fails, or a device fails.
pub fn run(
    plan: &Plan,
    device: &Device,
    dataset: &Dataset,
    progress: &mut dyn FnMut(&str, &str),
) -> Result<Figures, MeasureError> {
    let start = Instant::now();
    let trained = training::measure(plan, dataset, &mut |what| progress(STAGES[0], what))?;
    progress(STAGES[1], "");
    let augmentation = queues::measure(plan, trained)?;
    let correlation = correlation::measure(plan, device, &mut |what| progress(STAGES[2], what))?;
    let sizes = correlation::PEERS_SIZES;
    let peers = peers::measure_correlation(&plan.peers, &sizes, |script| progress(STAGES[3], script));
    Ok(Figures {
        made: MeasurementInfo::now(start, (plan.quick, plan.rounds()), device.name()),
        machine: machine::describe(device),
        augmentation,
        correlation,
        peers,
    })
}
