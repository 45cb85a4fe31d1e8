//! Dense products of a layer that takes other units as inputs, for many samples. Matrices are units
//! × samples.
//!
//! Idea: as for the first layer, one sample per SIMD lane and one register per unit. A 10 × 10
//! product takes 100 multiply-adds for a block of 16 samples. Their operands are 10 vectors and 100
//! broadcast weights, and the sums stay in registers.

use bytemuck::Zeroable;
use pulp::{Simd, WithSimd};

use super::{BLOCKS, LANES, SAMPLES, tiles};
use crate::lanes::add_lanes;
use crate::product::PaddedMatrix;
use crate::{InstructionSet, Real};

/// Maximum number of units that [`products_of_units`] sums over.
pub const MAX_INPUT_UNITS: usize = 32;

/// Writes Σₚ `weights`\[u\]\[p\] · `inputs`\[p\]\[s\], p ascending, to `sums`\[u\]\[s\] for the
/// first `columns` samples. Adds `biases`\[u\] if there are any. `inputs` and `sums` have
/// [`SAMPLES`] columns.
///
/// # Panics
/// If the shapes differ from these, `inputs` has more than [`MAX_INPUT_UNITS`] rows, or `columns` is not a multiple of
/// [`LANES`].
pub fn products_of_units(
    set: InstructionSet,
    weights: &PaddedMatrix<f32>,
    inputs: &PaddedMatrix<f32>,
    biases: Option<&[f32]>,
    columns: usize,
    sums: &mut PaddedMatrix<f32>,
) {
    assert!(
        inputs.columns() == SAMPLES && sums.columns() == SAMPLES,
        "products_of_units: columns differ from a chunk's"
    );
    assert!(inputs.rows() <= MAX_INPUT_UNITS, "products_of_units: too many units");
    let shape = (sums.rows(), inputs.rows());
    assert!((weights.rows(), weights.columns()) == shape, "products_of_units: shapes differ");
    assert!(biases.is_none_or(|biases| biases.len() == shape.0), "products_of_units: not a bias for each unit");
    assert!(columns.is_multiple_of(LANES) && columns <= SAMPLES, "products_of_units: columns are not whole blocks");
    let inputs: &[[[f32; LANES]; BLOCKS]] = inputs.padded().as_chunks().0.as_chunks().0;
    for tile in tiles(shape.0) {
        let sums = &mut sums.padded_mut().as_chunks_mut().0.as_chunks_mut().0[tile.first..][..tile.width];
        let biases = biases.map(|biases| &biases[tile.first..][..tile.width]);
        set.dispatch(ProductsOfUnits { weights, first: tile.first, inputs, biases, blocks: columns / LANES, sums });
    }
}

/// The kernel of [`products_of_units`] for one tile of units.
#[derive(Debug)]
struct ProductsOfUnits<'a> {
    weights: &'a PaddedMatrix<f32>,
    /// The row of `weights` for the tile's first unit.
    first: usize,
    /// Unit by unit, block by block.
    inputs: &'a [[[f32; LANES]; BLOCKS]],
    biases: Option<&'a [f32]>,
    blocks: usize,
    sums: &'a mut [[[f32; LANES]; BLOCKS]],
}

impl WithSimd for ProductsOfUnits<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_units!(self.sums.len(), self.run(simd));
    }
}

impl ProductsOfUnits<'_> {
    #[inline(always)]
    fn run<S: Simd, const U: usize>(self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let out: &mut [[[f32; LANES]; BLOCKS]; U] = self.sums.first_chunk_mut().expect("the tile has U units");
        let mut weights = [[0.0; U]; MAX_INPUT_UNITS];
        for unit in 0..U {
            let row = self.weights.row(self.first + unit);
            weights.iter_mut().zip(row).for_each(|(weights, &weight)| weights[unit] = weight);
        }
        for block in 0..self.blocks.min(BLOCKS) {
            for vector in 0..LANES / lanes {
                let mut sums = [<S::f32s as Zeroable>::zeroed(); U];
                for (inputs, weights) in self.inputs.iter().zip(&weights) {
                    let x = f32::as_vectors::<S>(&inputs[block])[vector];
                    for (sum, &weight) in sums.iter_mut().zip(weights) {
                        *sum = f32::multiply_add_vectors(simd, f32::splat(simd, weight), x, *sum);
                    }
                }
                if let Some(biases) = self.biases {
                    for (sum, &bias) in sums.iter_mut().zip(biases) {
                        *sum = f32::add_vectors(simd, *sum, f32::splat(simd, bias));
                    }
                }
                let sums = sums;
                for (out, sum) in out.iter_mut().zip(sums) {
                    f32::as_vectors_mut::<S>(&mut out[block])[vector] = sum;
                }
            }
        }
    }
}

/// Adds Σₛ `left`\[i\]\[s\] · `right`\[j\]\[s\] over the first `columns` samples to
/// `sums`\[i\]\[j\]: the gradients of a layer that takes other units as inputs. `left` is m ×
/// [`SAMPLES`], `right` is n × [`SAMPLES`] and `sums` is m × n.
///
/// # Panics
/// If the shapes differ from these, or `columns` is not a multiple of [`LANES`].
pub fn add_products_of_rows(
    set: InstructionSet,
    left: &PaddedMatrix<f32>,
    right: &PaddedMatrix<f32>,
    columns: usize,
    sums: &mut PaddedMatrix<f32>,
) {
    assert!(
        left.columns() == SAMPLES && right.columns() == SAMPLES,
        "add_products_of_rows: columns differ from a chunk's"
    );
    assert!((sums.rows(), sums.columns()) == (left.rows(), right.rows()), "add_products_of_rows: shapes differ");
    assert!(columns.is_multiple_of(LANES) && columns <= SAMPLES, "add_products_of_rows: columns are not whole blocks");
    for tile in tiles(right.rows()) {
        let right = &right.padded().as_chunks().0.as_chunks().0[tile.first..][..tile.width];
        set.dispatch(AddProductsOfRows { left, right, blocks: columns / LANES, first: tile.first, sums });
    }
}

/// The kernel of [`add_products_of_rows`] for one tile of units.
#[derive(Debug)]
struct AddProductsOfRows<'a> {
    left: &'a PaddedMatrix<f32>,
    /// Row by row, block by block.
    right: &'a [[[f32; LANES]; BLOCKS]],
    blocks: usize,
    /// The column of `sums` for the first row of `right`.
    first: usize,
    sums: &'a mut PaddedMatrix<f32>,
}

impl WithSimd for AddProductsOfRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_units!(self.right.len(), self.run(simd));
    }
}

impl AddProductsOfRows<'_> {
    #[inline(always)]
    fn run<S: Simd, const U: usize>(self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let right: &[[[f32; LANES]; BLOCKS]; U] = self.right.first_chunk().expect("the tile has U units");
        for row in 0..self.left.rows() {
            let left = self.left.row(row).as_chunks::<LANES>().0;
            let mut partial_sums = [[0.0; LANES]; U];
            for vector in 0..LANES / lanes {
                let mut sums = [<S::f32s as Zeroable>::zeroed(); U];
                for (block, left) in left.iter().enumerate().take(self.blocks.min(BLOCKS)) {
                    let left = f32::as_vectors::<S>(left)[vector];
                    for unit in 0..U {
                        let right = f32::as_vectors::<S>(&right[unit][block])[vector];
                        sums[unit] = f32::multiply_add_vectors(simd, left, right, sums[unit]);
                    }
                }
                let sums = sums;
                for (partial, sum) in partial_sums.iter_mut().zip(sums) {
                    f32::as_vectors_mut::<S>(partial)[vector] = sum;
                }
            }
            let added = add_lanes::<f32, S, U>(simd, &partial_sums);
            let sums = &mut self.sums.row_mut(row)[self.first..][..U];
            sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
        }
    }
}
