//! Copying batches into shared memory. Each warp copies the images of two samples.

use cuda_std::{F32x4, Global};

use super::super::super::batch::{Batch, NO_SAMPLE};
use super::memory::{Block, IMAGE_QUADS, IMAGES};
use super::{UNITS, warp_and_lane};

impl Block<'_> {
    /// The warp's two samples, as indices in the data set or [`NO_SAMPLE`].
    #[inline(always)]
    pub(super) fn fetch_samples(&self, batch: &Batch) -> [u32; 2] {
        let (warp, _) = warp_and_lane();
        [batch.sample_in_row(2 * warp), batch.sample_in_row(2 * warp + 1)]
    }

    /// Begins to copy the images of the warp's samples to half `half` of the shared memory for images; rows without a sample are zeros.
    #[inline(always)]
    pub(super) fn copy_images(&self, inputs: Global<F32x4>, samples: [u32; 2], half: u32) {
        let (warp, lane) = warp_and_lane();
        for (n, &sample) in samples.iter().enumerate() {
            let row = IMAGES.half(half).offset([2 * warp + n as u32, 0]);
            if sample == NO_SAMPLE {
                unrolled!(|m: 0 1 2 3| {
                    if lane + 32 * m < IMAGE_QUADS {
                        self.shared.set(row + (lane + 32 * m) as usize, F32x4::splat(0.0));
                    }
                });
                continue;
            }
            // Compared with the images once.
            let first = (sample * IMAGE_QUADS) as usize;
            let image = inputs.slice(first..first + IMAGE_QUADS as usize);
            unrolled!(|m: 0 1 2 3| {
                let quad = (lane + 32 * m) as usize;
                if quad < IMAGE_QUADS as usize {
                    self.shared.copy_async(row + quad, image, quad);
                }
            });
        }
    }

    /// The target of the lane's sample and output, of the warp's two samples.
    #[inline(always)]
    pub(super) fn fetch_target(&self, targets: Global<f32>, samples: [u32; 2]) -> f32 {
        let (_, lane) = warp_and_lane();
        let (sample, output) = (if lane < 16 { samples[0] } else { samples[1] }, lane % 16);
        match sample != NO_SAMPLE && output < UNITS[2] {
            true => targets[(sample * UNITS[2] + output) as usize],
            false => 0.0,
        }
    }
}
