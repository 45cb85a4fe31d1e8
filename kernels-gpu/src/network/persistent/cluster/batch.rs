//! Copying batches into shared memory. Each warp has two samples.

use cuda_std::{F32x4, Global, hint, warp};

use super::super::super::batch::Batch;
use super::memory::{Block, IMAGE_QUADS, IMAGES};
use super::{UNITS, warp_and_lane};

impl Block<'_> {
    /// Loads the sample of the lane's half of the warp in a batch, as its index in the data set, for [`Self::copy_image`] and
    /// [`Self::fetch_target`].
    #[inline(always)]
    pub(super) fn fetch_sample(&self, batch: &Batch) -> u32 {
        let (warp, lane) = warp_and_lane();
        batch.sample_or_any(2 * warp + lane / 16)
    }

    /// Begins to copy the image of one of the warp's two samples to half `half` of the shared memory for images; that of a row without
    /// a sample is zeros.
    #[inline(always)]
    pub(super) fn copy_image(&self, inputs: Global<F32x4>, sample: u32, n: u32, rows: u32, half: u32) {
        let (warp, lane) = warp_and_lane();
        let (row, sample) = (2 * warp + n, warp::shuffle_idx(hint::opaque(sample), 16 * n));
        let place = IMAGES.half(half).offset([row, 0]);
        if row < rows {
            // Compared with the images once.
            let first = (sample * IMAGE_QUADS) as usize;
            let image = inputs.slice(first..first + IMAGE_QUADS as usize);
            unrolled!(|m: 0 1 2 3| {
                let quad = (lane + 32 * m) as usize;
                if quad < IMAGE_QUADS as usize {
                    self.shared.copy_async(place + quad, image, quad);
                }
            });
        } else {
            unrolled!(|m: 0 1 2 3| {
                if lane + 32 * m < IMAGE_QUADS {
                    self.shared.set(place + (lane + 32 * m) as usize, F32x4::splat(0.0));
                }
            });
        }
    }

    /// Loads the target of a sample and the lane's output, or of another output.
    #[inline(always)]
    pub(super) fn fetch_target(&self, targets: Global<f32>, sample: u32) -> f32 {
        let output = (warp_and_lane().1 % 16).min(UNITS[2] - 1);
        // Opaque, so that the sample is not waited for before.
        targets[(hint::opaque(sample) * UNITS[2] + output) as usize]
    }
}
