//! Loading batches into shared memory. Each warp loads two samples.

use cuda_std::{F32x4, Global};

use super::super::super::batch::{Batch, NO_SAMPLE};
use super::memory::{BATCH, Block, FEATURE_QUADS};
use super::{FEATURES, UNITS, thread};

/// Quads of a sample that a lane loads.
const QUADS: usize = FEATURE_QUADS.div_ceil(32) as usize;

/// A thread's share of a batch: quads of the warp's two samples, and a target of one of them.
pub(super) struct Fetched {
    inputs: [[F32x4; QUADS]; 2],
    pub(super) target: f32,
}

impl Block<'_> {
    /// The warp's two samples, as indices in the data set or [`NO_SAMPLE`].
    #[inline(always)]
    pub(super) fn fetch_samples(&self, batch: &Batch) -> [u32; 2] {
        let warp = thread() / 32;
        [batch.sample_in_row(2 * warp), batch.sample_in_row(2 * warp + 1)]
    }

    /// Loads the thread's share of a batch into registers; rows without a sample are zeros.
    #[inline(always)]
    pub(super) fn fetch_batch(&self, inputs: Global<f32>, targets: Global<f32>, samples: [u32; 2]) -> Fetched {
        let lane = thread() % 32;
        let row = |sample: u32| -> [F32x4; QUADS] {
            if sample == NO_SAMPLE {
                return [F32x4::splat(0.0); QUADS];
            }
            let row = inputs.quads(sample as usize * FEATURES as usize, FEATURE_QUADS);
            core::array::from_fn(|n| match lane + 32 * n as u32 {
                quad if quad < FEATURE_QUADS => row.get(quad),
                _ => F32x4::splat(0.0),
            })
        };
        let sample = if lane < 16 { samples[0] } else { samples[1] };
        let output = lane % 16;
        let target = match sample != NO_SAMPLE && output < UNITS[2] {
            true => targets[sample as usize * UNITS[2] as usize + output as usize],
            false => 0.0,
        };
        Fetched { inputs: samples.map(row), target }
    }

    /// Stores the thread's share of a batch's inputs in half `half` of the shared memory for batches.
    #[inline(always)]
    pub(super) fn store_batch(&self, fetched: &Fetched, half: u32) {
        let (warp, lane) = (thread() / 32, thread() % 32);
        let batch = BATCH.half(half).view(self.shared);
        for (n, inputs) in fetched.inputs.iter().enumerate() {
            for (m, &values) in inputs.iter().enumerate() {
                let quad = lane + 32 * m as u32;
                if quad < FEATURE_QUADS {
                    batch.set([2 * warp + n as u32, quad], values);
                }
            }
        }
    }
}
