//! The layout of a block's shared memory, in quads.

use cuda_std::{F32x4, SharedView};

use super::super::rows::Quads;
use super::{FEATURES, ROWS, UNITS};

/// Quads of a sample.
pub(super) const FEATURE_QUADS: u32 = FEATURES / 4;
/// Quads of the first layer's units.
pub(super) const FIRST_QUADS: u32 = UNITS[0] / 4;
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

    /// Distance of two rows.
    pub(super) const fn stride(&self) -> u32 {
        self.strides[0]
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
    /// Column `column`: the offset of its first element, and its stride.
    #[inline(always)]
    pub(super) const fn column(&self, column: u32) -> (u32, u32) {
        (self.first + column * self.strides[1], self.strides[0])
    }
}

/// The first layer's weights: one row per unit of the block, of quads of inputs.
pub(super) const FIRST_WEIGHTS: Matrix<2> = Matrix::new(0, [8, FEATURE_QUADS], [FEATURE_QUADS + 1, 1]);
/// The first layer's biases: the block's units.
pub(super) const FIRST_BIASES: Matrix<1> = Matrix::new(FIRST_WEIGHTS.end(), [2], [1]);
/// The second layer's weights to the block's units: one quad of units per input, whose index is \[quad, element\].
pub(super) const SECOND_WEIGHTS: Matrix<2> = Matrix::new(FIRST_BIASES.end(), [FIRST_QUADS, 4], [5, 1]);
/// The second layer's biases: the block's units.
pub(super) const SECOND_BIASES: Matrix<1> = Matrix::new(SECOND_WEIGHTS.end(), [1], [1]);
/// The second layer's weights from the block's units of the first layer: one row per such unit, of quads of units.
pub(super) const SECOND_WEIGHTS_FROM_OWN: Matrix<2> =
    Matrix::new(SECOND_BIASES.end(), [8, SECOND_QUADS], [SECOND_QUADS + 1, 1]);
/// The third layer's weights: one row of quads of units per input, whose index is \[quad, element\].
pub(super) const THIRD_WEIGHTS: Matrix<3> =
    Matrix::new(SECOND_WEIGHTS_FROM_OWN.end(), [SECOND_QUADS, 4, OUTPUT_QUADS], [13, OUTPUT_QUADS, 1]);
/// The third layer's biases.
pub(super) const THIRD_BIASES: Matrix<1> = Matrix::new(THIRD_WEIGHTS.end(), [OUTPUT_QUADS], [1]);
/// The batch's inputs: one row per sample. Two halves, for even and odd steps.
pub(super) const BATCH: Matrix<2> = Matrix::new(THIRD_BIASES.end(), [ROWS, FEATURE_QUADS], [FEATURE_QUADS + 1, 1]);
/// The first layer's activations: one row per sample. Two halves.
pub(super) const FIRST: Matrix<2> = Matrix::new(BATCH.half(1).end(), [ROWS, FIRST_QUADS], [FIRST_QUADS + 1, 1]);
/// The second layer's activations: one row per sample.
pub(super) const SECOND: Matrix<2> = Matrix::new(FIRST.half(1).end(), [ROWS, SECOND_QUADS], [SECOND_QUADS + 1, 1]);
/// The errors of the block's units of the first layer: one row per sample.
pub(super) const FIRST_ERRORS: Matrix<2> = Matrix::new(SECOND.end(), [ROWS, 2], [3, 1]);
/// The second layer's errors: one row per sample.
pub(super) const SECOND_ERRORS: Matrix<2> =
    Matrix::new(FIRST_ERRORS.end(), [ROWS, SECOND_QUADS], [SECOND_QUADS + 1, 1]);
/// The third layer's errors: one row per sample.
pub(super) const THIRD_ERRORS: Matrix<2> = Matrix::new(SECOND_ERRORS.end(), [ROWS, OUTPUT_QUADS], [OUTPUT_QUADS, 1]);

/// Quads of a block's shared memory.
pub(super) const TOTAL: u32 = THIRD_ERRORS.end();

/// A block's view of the network.
pub(super) struct Block<'a> {
    pub(super) shared: &'a Quads,
    /// The block's index in the cluster.
    pub(super) rank: u32,
}
