use cuda_std::matrix::{A, B, Bf16, Sums};
use cuda_std::{F32x4, Global, GlobalMut, GlobalQuads, SharedView, dynamic_shared, hint, kernel, thread};

use super::super::activation;
use super::super::batch::{Batch, Rows};
use super::super::forward::{Forward, forward_kernel};
use super::super::input::ByteScale;
use super::super::shape::{Batches, LayerShape};
use super::{BYTES, TENSOR_UNITS, bf16_pair, require};
use crate::tensor_cores::in_three;

/// Warps of a block.
const WARPS: u32 = 12;
/// Products of 16 samples of a warp, one below the other.
const TILES: usize = 2;

/// Threads of a block of [`network_forward_bytes_tensor`].
pub const TENSOR_THREADS: u32 = WARPS * 32;

/// Bytes of dynamic shared memory of [`network_forward_bytes_tensor`].
pub const fn tensor_shared_bytes(features: u32) -> u32 {
    let (weights, sums) = (words(features) * 3 * 32, TILES as u32 * 2 * TENSOR_THREADS);
    (if weights > sums { weights } else { sums }) * size_of::<F32x4>() as u32
}

/// Number of words of a sample that a lane has: of each 64 bytes, which four lanes load, four words.
const fn words(features: u32) -> u32 {
    4 * (features / BYTES).div_ceil(4)
}

forward_kernel! {
    /// The first layer's activations for samples of bytes, by tensor cores: one block per tile of samples × [`TENSOR_UNITS`], in row-major order,
    /// with [`tensor_shared_bytes`]; otherwise as [`network_forward_bytes_64`](super::super::network_forward_bytes_64).
    ///
    /// A block has [`TENSOR_THREADS`] threads. Its first dimension, a multiple of 32, is its number of samples. The second one is the number of
    /// slices of the features: each slice adds a share of the products, and the slices' sums are added in order. Few samples and many slices keep
    /// more multiprocessors busy with a batch.
    ///
    /// The number of features is a multiple of 16, and the weights are finite: an infinite one has no three parts, and gives NaN.
    network_forward_bytes_tensor, u8, scale: ByteScale, |pass| forward(pass)
}

#[inline(always)]
fn forward(pass: Forward<u8>) {
    let Forward { inputs: Rows { values: inputs, scale, batch, .. }, parameters, outputs, shape, activation } = pass;
    let across = shape.units.div_ceil(TENSOR_UNITS);
    let (rows, slices) = (thread::block_dim_x(), thread::block_dim_y());
    let (first_row, first_unit) =
        (thread::block_idx_x() / across * rows, thread::block_idx_x() % across * TENSOR_UNITS);
    if first_row >= batch.rows {
        return;
    }
    require(TENSOR_THREADS, shape);
    assert!(rows.is_multiple_of(32), "a warp has the samples of two products");
    let (slice, in_slice) = (thread::thread_idx_y(), thread::thread_idx_x());
    let (warp, lane) = (in_slice / 32, in_slice % 32);
    let (group, place) = (lane / 4, lane % 4);
    let first_row = first_row + 16 * TILES as u32 * warp + group;
    let quads = shape.features / BYTES;
    let samples: [GlobalQuads<u8>; 2 * TILES] = [0, 1, 2, 3].map(|i: u32| {
        let sample = batch.sample((first_row + 8 * i).min(batch.rows - 1));
        inputs.quads(sample * shape.features as usize, quads)
    });
    // Beyond a sample's end it is any quad: the weights there are zeros.
    let fetch = |first: u32| samples.map(|sample| sample.get((first + place).min(quads - 1)));
    let mut next = fetch(4 * slice);
    let shared = dynamic_shared::<F32x4>();
    let weights = shared.view(0, [words(shape.features), 3, 32], [3 * 32, 32, 1]);
    store_weights(parameters, shape, first_unit, slice * rows / 32 + warp, weights);
    thread::sync_threads();

    // Of the weights' parts with the most significant bits, and of the others.
    let (mut high, mut low) = ([[Sums::zero(); 2]; TILES], [[Sums::zero(); 2]; TILES]);
    let mut first = 4 * slice;
    while first < words(shape.features) {
        let samples = next;
        next = fetch(first + 4 * slices);
        let mut multiply = |word: usize| {
            let parts = [0, 1, 2].map(|part| {
                let [a, b, c, d] = weights.get([first + word as u32, part, lane]).to_array().map(f32::to_bits);
                [B::<Bf16>::from_registers([a, b]), B::from_registers([c, d])]
            });
            let inputs: [A<Bf16>; TILES] = [0, 1].map(|i: usize| {
                let [upper, lower] = [samples[2 * i][word], samples[2 * i + 1][word]];
                let pair = |word: u32, index: u32| bf16_pair([(word, index), (word, index + 1)]);
                A::from_registers([pair(upper, 0), pair(lower, 0), pair(upper, 2), pair(lower, 2)])
            });
            let add = |sums: &mut [[Sums; 2]; TILES], part: usize| {
                for (inputs, sums) in inputs.iter().zip(sums) {
                    for (weights, sum) in parts[part].iter().zip(sums) {
                        *sum = sum.plus_product(inputs, weights);
                    }
                }
            };
            add(&mut low, 2);
            add(&mut high, 0);
            add(&mut low, 1);
        };
        repeated!(multiply: 0 1 2 3);
        first += 4 * slices;
    }

    // Every warp has read the weights. The sums pass through shared memory: the slices' sums are added there, and the activation's code is
    // there once.
    thread::sync_threads();
    let sums = shared.view(0, [TILES as u32, 2, TENSOR_THREADS], [2 * TENSOR_THREADS, TENSOR_THREADS, 1]);
    for i in 0..TILES {
        for j in 0..2 {
            let (high, low) = (high[i][j].registers(), low[i][j].registers());
            let quad = [high[0] + low[0], high[1] + low[1], high[2] + low[2], high[3] + low[3]];
            sums.set([i as u32, j as u32, slice * rows + in_slice], quad.into());
        }
    }
    thread::sync_threads();
    // Each slice finishes a share of the cells.
    let mut cell = slice;
    while cell < hint::opaque(4 * 2 * TILES as u32) {
        let (i, j, register) = (cell / 8, cell / 4 % 2, cell % 4);
        let (row, unit) = (first_row + 16 * i + register / 2 * 8, first_unit + 8 * j + 2 * place + register % 2);
        if row < batch.rows && unit < shape.units {
            let sum_of = |slice: u32| {
                let [a, b, c, d] = sums.get([i, j, slice * rows + in_slice]).to_array();
                let (left, right) = if register < 2 { (a, b) } else { (c, d) };
                if register % 2 == 0 { left } else { right }
            };
            let mut sum = sum_of(0);
            let mut slice = 1;
            while slice < slices {
                sum += sum_of(slice);
                slice += 1;
            }
            let z = sum * scale.reciprocal + parameters[shape.parameter(shape.features, unit)];
            outputs.set((row * shape.units + unit) as usize, activation::apply(activation, z));
        }
        cell += slices;
    }
}

/// Splits the weights to the units of a block: for each word of the samples and each part one quad of a lane, of four features and two units;
/// zeros beyond the features. `warp` is the warp's number in the block.
#[inline(always)]
fn store_weights(
    parameters: Global<f32>,
    shape: LayerShape,
    first_unit: u32,
    warp: u32,
    weights: SharedView<F32x4, 3>,
) {
    let LayerShape { features, units, .. } = shape;
    let lane = thread::thread_idx_x() % 32;
    let mut word = warp;
    while word < words(features) {
        let first = BYTES * (word / 4 * 4 + lane % 4) + 4 * (word % 4);
        let parts = [0, 8].map(|right| {
            // Beyond the units they are any others, for cells that are not stored.
            let unit = (first_unit + lane / 4 + right).min(units - 1);
            let weights = [0, 1, 2, 3].map(|i: u32| parameters[shape.parameter(first.min(features - 4) + i, unit)]);
            let [a, b, c, d] = if first < features { weights } else { [0.0; 4] };
            [in_three([a, b]), in_three([c, d])]
        });
        let set = |part: usize| {
            let [[a, b], [c, d]] = parts.map(|pairs| pairs.map(|pair| f32::from_bits(pair[part])));
            weights.set([word, part as u32, lane], F32x4::new(a, b, c, d));
        };
        repeated!(set: 0 1 2);
        word += WARPS;
    }
}
