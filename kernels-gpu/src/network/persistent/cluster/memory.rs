//! The layout of a block's shared memory, in quads.

use cuda_std::mbarrier::Mbarriers;
use cuda_std::{F32x4, SharedView};

use super::super::rows::{Quads, Rows};
use super::{BLOCKS, FEATURES, ROWS, THREADS, UNITS};

/// Quads of an image, each with 8 pixels.
pub(super) const IMAGE_QUADS: u32 = FEATURES / 8;
/// Quads of the second layer's units.
pub(super) const SECOND_QUADS: u32 = UNITS[1] / 4;
/// Quads of the outputs; the last one has padding.
pub(super) const OUTPUT_QUADS: u32 = UNITS[2].div_ceil(4);

/// A matrix in shared memory. The strides are such that lanes that read along either dimension access different banks.
#[derive(Clone, Copy)]
pub(super) struct Matrix<const N: usize> {
    first: u32,
    sizes: [u32; N],
    strides: [u32; N],
}

impl<const N: usize> Matrix<N> {
    /// The matrix after another that ends at `first`.
    const fn new(first: u32, sizes: [u32; N], strides: [u32; N]) -> Self {
        Self { first, sizes, strides }
    }

    const fn end(&self) -> u32 {
        self.first + self.sizes[0] * self.strides[0]
    }

    /// The matrix of the half `half` of two.
    pub(super) const fn half(self, half: u32) -> Self {
        Self { first: self.first + half * self.sizes[0] * self.strides[0], ..self }
    }

    /// Offset of an element.
    #[inline(always)]
    pub(super) const fn offset(&self, indices: [u32; N]) -> usize {
        let (mut offset, mut dimension) = (self.first, 0);
        while dimension < N {
            offset += indices[dimension] * self.strides[dimension];
            dimension += 1;
        }
        offset as usize
    }

    /// Its elements.
    #[inline(always)]
    pub(super) fn view<'a>(&self, shared: &'a Quads) -> SharedView<'a, F32x4, N> {
        shared.view(self.first, self.sizes, self.strides)
    }
}

impl Matrix<2> {
    /// The rows from column `column` on.
    #[inline(always)]
    pub(super) const fn rows_from(&self, column: u32) -> Rows {
        Rows { first: self.first + column * self.strides[1], stride: self.strides[0] }
    }
}

/// The images of a batch: one row per sample of quads of 8 pixels. Two halves, for even and odd steps.
pub(super) const IMAGES: Matrix<2> = Matrix::new(0, [ROWS, IMAGE_QUADS], [IMAGE_QUADS + 1, 1]);
/// The warps' parts of the sums of the block's units of the first layer, whose index is \[warp, half of the samples, place\]: a place is
/// a sample of the half and a quad of units.
pub(super) const PARTIAL: Matrix<3> = Matrix::new(IMAGES.half(1).end(), [THREADS / 32, 2, 16], [37, 20, 1]);
/// The first layer's biases: the block's units, each the first element of a quad.
pub(super) const FIRST_BIASES: Matrix<1> = Matrix::new(PARTIAL.end(), [8], [1]);
/// The activations of the block's units of the first layer: one row per sample.
pub(super) const FIRST: Matrix<2> = Matrix::new(FIRST_BIASES.end(), [ROWS, 2], [2, 1]);
/// The errors of the block's units of the first layer: one row per pair of units, of pairs of samples, each the errors of one unit and then
/// those of the other.
pub(super) const FIRST_ERRORS: Matrix<2> = Matrix::new(FIRST.end(), [4, ROWS / 2], [ROWS / 2, 1]);
/// The second layer's weights from the block's units of the first layer: one row per such unit, of quads of units.
pub(super) const SECOND_WEIGHTS: Matrix<2> = Matrix::new(FIRST_ERRORS.end(), [8, SECOND_QUADS], [SECOND_QUADS + 1, 1]);
/// The second layer's biases: the block's units, each the first element of a quad.
pub(super) const SECOND_BIASES: Matrix<1> = Matrix::new(SECOND_WEIGHTS.end(), [4], [1]);
/// All blocks' parts of the sums of the block's units of the second layer: one row per block, of samples.
pub(super) const SECOND_PARTS: Matrix<2> = Matrix::new(SECOND_BIASES.end(), [BLOCKS, ROWS], [ROWS + 1, 1]);
/// The second layer's activations: one row per sample. Two halves.
pub(super) const SECOND: Matrix<2> = Matrix::new(SECOND_PARTS.end(), [ROWS, SECOND_QUADS], [SECOND_QUADS + 1, 1]);
/// The second layer's errors: one row per sample.
pub(super) const SECOND_ERRORS: Matrix<2> =
    Matrix::new(SECOND.half(1).end(), [ROWS, SECOND_QUADS], [SECOND_QUADS + 1, 1]);
/// The third layer's weights: one row of quads of units per input, whose index is \[quad, element\].
pub(super) const THIRD_WEIGHTS: Matrix<3> =
    Matrix::new(SECOND_ERRORS.end(), [SECOND_QUADS, 4, OUTPUT_QUADS], [13, OUTPUT_QUADS, 1]);
/// The third layer's biases.
pub(super) const THIRD_BIASES: Matrix<1> = Matrix::new(THIRD_WEIGHTS.end(), [OUTPUT_QUADS], [1]);
/// The third layer's errors: one row per sample.
pub(super) const THIRD_ERRORS: Matrix<2> = Matrix::new(THIRD_BIASES.end(), [ROWS, OUTPUT_QUADS], [OUTPUT_QUADS, 1]);

/// Quads of a block's shared memory.
pub(super) const TOTAL: u32 = THIRD_ERRORS.end();

/// A block's view of the network.
pub(super) struct Block<'a> {
    pub(super) shared: &'a Quads,
    /// Of what other blocks send.
    pub(super) arrivals: &'a Mbarriers<2>,
    /// The block's index in the cluster.
    pub(super) rank: u32,
}
