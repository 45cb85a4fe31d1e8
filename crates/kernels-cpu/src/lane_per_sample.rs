//! Weighted sums and weight gradients of a layer with many sparse inputs and few units, for many
//! samples at once.
//!
//! Idea: one sample per SIMD lane, one register per unit. [`LANES`] samples form a block, and a
//! block stores only the inputs that are nonzero in at least one of its samples. In images of
//! digits, that is about half of the inputs, and fewer if a block has similar samples
//! ([`order_by_similarity`]). Each stored input takes one multiply-add per unit, with 16 samples in
//! the lanes, for any number of units. With units in the lanes, 10 units would fill only 10 of 16
//! lanes.
//!
//! - Sums: a block's sums for all units stay in registers during the loop over its inputs. A weight
//!   is broadcast as the operand of the multiply-add.
//! - Gradients: one input's gradients for all units stay in registers during the loop over a
//!   chunk's blocks. The deltas of a chunk (53 blocks) stay in L1. A fixed tree adds the lanes at
//!   the end.
//!
//! Byte inputs stay bytes, which takes a quarter of the memory. They are widened to floats once for
//! all units.
//!
//! A block has 16 samples on every instruction set, in one, two or four vectors, so the layout does
//! not depend on the processor. On processors with a fused multiply-add, the bits of the results do
//! not either. A zero input is skipped if it is zero in all of the block's samples. An infinite or
//! NaN weight then does not change the sum.
//!
//! Roofline, for 10 units: an input of a block takes 2 · 10 multiply-adds and 2 · 2 instructions
//! that widen its 16 values. That is 12 cycles at two per cycle, for 32 bytes of values and 5 of
//! indices. The gradients need 11 loads for 10 multiply-adds, so they are bound by two loads per
//! cycle. docs/performance.md has the times.

/// Calls a method with the number of units as a const generic argument.
macro_rules! with_units {
    ($units:expr, $kernel:ident . $run:ident ($simd:ident)) => {
        match $units {
            1 => $kernel.$run::<S, 1>($simd),
            2 => $kernel.$run::<S, 2>($simd),
            3 => $kernel.$run::<S, 3>($simd),
            4 => $kernel.$run::<S, 4>($simd),
            5 => $kernel.$run::<S, 5>($simd),
            6 => $kernel.$run::<S, 6>($simd),
            7 => $kernel.$run::<S, 7>($simd),
            8 => $kernel.$run::<S, 8>($simd),
            9 => $kernel.$run::<S, 9>($simd),
            10 => $kernel.$run::<S, 10>($simd),
            units => unreachable!("a tile of {units} units"),
        }
    };
}

mod dense;
mod similar;

use bytemuck::{Pod, Zeroable};
use pulp::{Simd, WithSimd};

use crate::lanes::{self, add_lanes};
use crate::product::PaddedMatrix;
use crate::{InstructionSet, Real};

pub use dense::{MAX_INPUT_UNITS, add_products_of_rows, products_of_units};
pub use similar::order_by_similarity;

/// Samples in a block.
pub const LANES: usize = lanes::LANES;
/// Blocks in a chunk. Their deltas for [`UNITS_AT_ONCE`] units, 25 KB in f32, fit in L1.
pub const BLOCKS: usize = 53;
/// Maximum number of samples in a chunk.
pub const SAMPLES: usize = LANES * BLOCKS;
/// Maximum number of units in a tile: the units with sums in registers at the same time.
pub const UNITS_AT_ONCE: usize = 10;
/// Maximum number of inputs per sample: an entry's index in its chunk has 32 bits.
pub const MAX_INPUTS: usize = u32::MAX as usize / BLOCKS;

/// The storage type of inputs: floats or bytes.
pub trait Value: Pod + PartialEq + Send + Sync {
    /// The value as a float.
    fn widen(self) -> f32;

    #[doc(hidden)]
    fn weighted_sums(set: InstructionSet, kernel: WeightedSums<'_, Self>);

    #[doc(hidden)]
    fn add_gradients(set: InstructionSet, kernel: AddGradients<'_, Self>);
}

impl Value for u8 {
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from(self)
    }

    fn weighted_sums(set: InstructionSet, kernel: WeightedSums<'_, Self>) {
        set.dispatch(kernel);
    }

    fn add_gradients(set: InstructionSet, kernel: AddGradients<'_, Self>) {
        set.dispatch(kernel);
    }
}

impl Value for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }

    fn weighted_sums(set: InstructionSet, kernel: WeightedSums<'_, Self>) {
        set.dispatch(kernel);
    }

    fn add_gradients(set: InstructionSet, kernel: AddGradients<'_, Self>) {
        set.dispatch(kernel);
    }
}

/// The inputs of up to [`SAMPLES`] samples.
#[derive(Clone, Debug)]
pub struct Chunk<E> {
    samples: usize,
    inputs: usize,
    /// Offsets of the blocks' entries, as in CSR: block b has entries `blocks[b]..blocks[b + 1]`.
    blocks: Vec<u32>,
    /// The input of each entry, ascending in a block.
    entries: Vec<u32>,
    /// The entry's value in each sample of the block.
    values: Vec<[E; LANES]>,
    /// The inputs that have entries, ascending, each with its number of entries.
    used_inputs: Vec<(u32, u32)>,
    /// The same entries by input: their blocks, ascending for each input, and a second copy of the
    /// values. Both passes thus read memory sequentially.
    blocks_by_input: Vec<u8>,
    values_by_input: Vec<[E; LANES]>,
}

impl<E: Pod + PartialEq> Chunk<E> {
    /// A chunk of the samples with inputs `rows`.
    ///
    /// # Panics
    /// If there are more than [`SAMPLES`] rows, they differ in length, or are longer than [`MAX_INPUTS`].
    pub fn new(rows: &[&[E]]) -> Self {
        let inputs = rows.first().map_or(0, |row| row.len());
        assert!(rows.len() <= SAMPLES && inputs <= MAX_INPUTS, "lane_per_sample: too many samples or inputs");
        assert!(rows.iter().all(|row| row.len() == inputs), "lane_per_sample: rows of different length");
        let zero = E::zeroed();
        let (mut blocks, mut entries, mut values) = (vec![0], vec![], vec![]);
        let mut counts = vec![0_u32; inputs];
        for rows in rows.chunks(LANES) {
            for input in 0..inputs {
                if rows.iter().any(|row| row[input] != zero) {
                    let mut lanes = [zero; LANES];
                    lanes.iter_mut().zip(rows).for_each(|(lane, row)| *lane = row[input]);
                    entries.push(input as u32);
                    values.push(lanes);
                    counts[input] += 1;
                }
            }
            blocks.push(entries.len() as u32);
        }
        let used_inputs: Vec<(u32, u32)> = (0..).zip(counts).filter(|&(_, count)| count > 0).collect();
        let mut next_index = vec![0; inputs];
        let mut first = 0;
        for &(input, count) in &used_inputs {
            next_index[input as usize] = first;
            first += count as usize;
        }
        let (mut blocks_by_input, mut values_by_input) = (vec![0; entries.len()], vec![[zero; LANES]; entries.len()]);
        for block in 0..blocks.len() - 1 {
            for entry in blocks[block]..blocks[block + 1] {
                let next = &mut next_index[entries[entry as usize] as usize];
                blocks_by_input[*next] = block as u8;
                values_by_input[*next] = values[entry as usize];
                *next += 1;
            }
        }
        Self { samples: rows.len(), inputs, blocks, entries, values, used_inputs, blocks_by_input, values_by_input }
    }

    /// The number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The number of entries: pairs of a block and an input that is nonzero in one of the block's
    /// samples.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }
}

/// Weights, or their gradients, packed for the kernels: tiles of up to [`UNITS_AT_ONCE`] units, each input by input.
#[derive(Clone, Debug)]
pub struct Tiles {
    inputs: usize,
    units: usize,
    values: Vec<f32>,
}

impl Tiles {
    /// Zeros for a layer of `units` units.
    pub fn zeros(inputs: usize, units: usize) -> Self {
        Self { inputs, units, values: vec![0.0; inputs * units] }
    }

    /// All values, tile by tile.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// [`Self::values`], mutable.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Overwrites the values with `scale` · `weights`; `weights` is inputs × units.
    ///
    /// # Panics
    /// If `weights` does not have this shape.
    pub fn copy_scaled(&mut self, weights: &PaddedMatrix<f32>, scale: f32) {
        assert!((weights.rows(), weights.columns()) == (self.inputs, self.units), "copy_scaled: shapes differ");
        for tile in tiles(self.units) {
            let values = &mut self.values[self.inputs * tile.first..][..self.inputs * tile.width];
            for (input, values) in values.chunks_exact_mut(tile.width).enumerate() {
                let row = &weights.row(input)[tile.first..tile.first + tile.width];
                values.iter_mut().zip(row).for_each(|(value, &weight)| *value = scale * weight);
            }
        }
    }

    /// Writes `scale` times these values to `gradients`, inputs × units.
    ///
    /// # Panics
    /// If `gradients` does not have this shape.
    pub fn write_scaled(&self, gradients: &mut PaddedMatrix<f32>, scale: f32) {
        assert!((gradients.rows(), gradients.columns()) == (self.inputs, self.units), "write_scaled: shapes differ");
        for tile in tiles(self.units) {
            let values = &self.values[self.inputs * tile.first..][..self.inputs * tile.width];
            for (input, values) in values.chunks_exact(tile.width).enumerate() {
                let row = &mut gradients.row_mut(input)[tile.first..tile.first + tile.width];
                row.iter_mut().zip(values).for_each(|(gradient, &value)| *gradient = scale * value);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct TileOfUnits {
    first: usize,
    width: usize,
}

/// Distributes the units evenly over the minimum number of tiles.
fn tiles(units: usize) -> impl Iterator<Item = TileOfUnits> {
    let count = units.div_ceil(UNITS_AT_ONCE);
    (0..count).map(move |tile| {
        let first = units * tile / count;
        TileOfUnits { first, width: units * (tile + 1) / count - first }
    })
}

/// Writes the weighted sum of each unit and sample to `sums`, which is units × [`SAMPLES`]:
/// `biases`\[u\] + Σₚ x\[s\]\[p\] · `weights`\[p\]\[u\].
///
/// Sample s of the chunk is column s. All columns up to the end of the last block are written;
/// those beyond the samples are computed as if all inputs were zero.
///
/// # Panics
/// If the shapes differ from these.
pub fn weighted_sums<E: Value>(
    set: InstructionSet,
    chunk: &Chunk<E>,
    weights: &Tiles,
    biases: &[f32],
    sums: &mut PaddedMatrix<f32>,
) {
    let units = weights.units;
    assert!(weights.inputs == chunk.inputs && biases.len() == units, "weighted_sums: shapes differ");
    assert!((sums.rows(), sums.columns()) == (units, SAMPLES), "weighted_sums: sums have another shape");
    for tile in tiles(units) {
        let weights = &weights.values[weights.inputs * tile.first..][..weights.inputs * tile.width];
        let biases = &biases[tile.first..][..tile.width];
        let sums = &mut sums.padded_mut().as_chunks_mut().0[tile.first..][..tile.width];
        E::weighted_sums(set, WeightedSums { chunk, weights, biases, sums });
    }
}

/// Adds the gradients Σₛ x\[s\]\[p\] · `errors`\[u\]\[s\] over the chunk's samples to `gradients`.
/// `errors` holds the deltas, units × [`SAMPLES`]. Between the last sample and the end of the last
/// block, it must be zero.
///
/// # Panics
/// If the shapes differ from these.
pub fn add_gradients<E: Value>(
    set: InstructionSet,
    chunk: &Chunk<E>,
    errors: &PaddedMatrix<f32>,
    gradients: &mut Tiles,
) {
    let units = gradients.units;
    assert!(gradients.inputs == chunk.inputs, "add_gradients: shapes differ");
    assert!((errors.rows(), errors.columns()) == (units, SAMPLES), "add_gradients: errors have another shape");
    for tile in tiles(units) {
        let gradients = &mut gradients.values[gradients.inputs * tile.first..][..gradients.inputs * tile.width];
        let errors = &errors.padded().as_chunks().0.as_chunks().0[tile.first..][..tile.width];
        E::add_gradients(set, AddGradients { chunk, errors, gradients });
    }
}

/// The kernel of [`weighted_sums`] for one tile of units.
#[doc(hidden)]
#[derive(Debug)]
pub struct WeightedSums<'a, E> {
    chunk: &'a Chunk<E>,
    weights: &'a [f32],
    biases: &'a [f32],
    sums: &'a mut [[f32; SAMPLES]],
}

/// The kernel of [`add_gradients`] for one tile of units.
#[doc(hidden)]
#[derive(Debug)]
pub struct AddGradients<'a, E> {
    chunk: &'a Chunk<E>,
    /// Unit by unit, block by block.
    errors: &'a [[[f32; LANES]; BLOCKS]],
    gradients: &'a mut [f32],
}

impl<E: Value> WithSimd for WeightedSums<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_units!(self.sums.len(), self.run(simd));
    }
}

impl<E: Value> WithSimd for AddGradients<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_units!(self.errors.len(), self.run(simd));
    }
}

impl<E: Value> WeightedSums<'_, E> {
    #[inline(always)]
    fn run<S: Simd, const U: usize>(self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let weights: &[[f32; U]] = self.weights.as_chunks().0;
        let Chunk { blocks, entries, values, .. } = self.chunk;
        for (block, range) in blocks.windows(2).enumerate() {
            let range = range[0] as usize..range[1] as usize;
            let (entries, values) = (&entries[range.clone()], &values[range]);
            for lane in (0..LANES).step_by(lanes) {
                let mut sums: [S::f32s; U] = std::array::from_fn(|unit| f32::splat(simd, self.biases[unit]));
                for (&input, values) in entries.iter().zip(values) {
                    let weights =
                        weights.get(input as usize).expect("there are weights for each of the chunk's inputs");
                    let x = widen::<E, S>(&values[lane..lane + lanes]);
                    for (sum, &weight) in sums.iter_mut().zip(weights) {
                        *sum = f32::multiply_add_vectors(simd, f32::splat(simd, weight), x, *sum);
                    }
                }
                let sums = sums;
                for (out, sum) in self.sums.iter_mut().zip(sums) {
                    f32::as_vectors_mut::<S>(&mut out[block * LANES + lane..][..lanes])[0] = sum;
                }
            }
        }
    }
}

impl<E: Value> AddGradients<'_, E> {
    #[inline(always)]
    fn run<S: Simd, const U: usize>(self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let errors: &[[[f32; LANES]; BLOCKS]; U] = self.errors.first_chunk().expect("the tile has U units");
        let gradients: &mut [[f32; U]] = self.gradients.as_chunks_mut().0;
        let Chunk { used_inputs, blocks_by_input, values_by_input, .. } = self.chunk;
        let (mut rest_of_blocks, mut rest_of_values) = (blocks_by_input.as_slice(), values_by_input.as_slice());
        for &(input, count) in used_inputs {
            let (blocks, values);
            (blocks, rest_of_blocks) = rest_of_blocks.split_at(count as usize);
            (values, rest_of_values) = rest_of_values.split_at(count as usize);
            let mut partial_sums = [[0.0; LANES]; U];
            for vector in 0..LANES / lanes {
                let lane = vector * lanes;
                let mut sums = [<S::f32s as Zeroable>::zeroed(); U];
                for (&block, values) in blocks.iter().zip(values) {
                    let block = usize::from(block);
                    assert!(block < BLOCKS, "a chunk has at most {BLOCKS} blocks");
                    let x = widen::<E, S>(&values[lane..lane + lanes]);
                    for unit in 0..U {
                        let errors = f32::as_vectors::<S>(&errors[unit][block])[vector];
                        sums[unit] = f32::multiply_add_vectors(simd, x, errors, sums[unit]);
                    }
                }
                let sums = sums;
                for (partial, sum) in partial_sums.iter_mut().zip(sums) {
                    f32::as_vectors_mut::<S>(&mut partial[lane..lane + lanes])[0] = sum;
                }
            }
            let sums = add_lanes::<f32, S, U>(simd, &partial_sums);
            for (gradient, sum) in gradients[input as usize].iter_mut().zip(sums) {
                *gradient += sum;
            }
        }
    }
}

/// Widens `values`, one for each lane, into a register.
#[inline(always)]
fn widen<E: Value, S: Simd>(values: &[E]) -> S::f32s {
    let mut widened = [0.0; LANES];
    for (wide, value) in widened.iter_mut().zip(values) {
        *wide = value.widen();
    }
    f32::as_vectors::<S>(&widened)[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: InstructionSet = InstructionSet::Portable;

    fn chunk() -> Chunk<f32> {
        Chunk::new(&[&[1.0, 0.0, 2.0], &[0.0, 0.0, 3.0]])
    }

    #[test]
    #[should_panic(expected = "there are weights for each of the chunk's inputs")]
    fn an_input_without_weights_panics() {
        let (mut chunk, weights, mut sums) = (chunk(), Tiles::zeros(3, 2), PaddedMatrix::zeros(2, SAMPLES));
        chunk.entries[1] = 3;
        weighted_sums(SET, &chunk, &weights, &[0.0; 2], &mut sums);
    }

    #[test]
    #[should_panic(expected = "a chunk has at most 53 blocks")]
    fn a_block_without_errors_panics() {
        let (mut chunk, errors, mut gradients) = (chunk(), PaddedMatrix::zeros(2, SAMPLES), Tiles::zeros(3, 2));
        chunk.blocks_by_input[0] = BLOCKS as u8;
        add_gradients(SET, &chunk, &errors, &mut gradients);
    }
}
