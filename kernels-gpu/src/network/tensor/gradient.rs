use cuda_std::matrix::{A, B, Bf16, Sums};
use cuda_std::{F32x4, GlobalMut, kernel, shared_array, thread};

use super::super::batch::Batch;
use super::super::input::ByteScale;
use super::super::shape::{Batches, LayerShape};
use super::super::tile::THREADS;
use super::{BYTES, TENSOR_UNITS, bf16_pair, require};
use crate::tensor_cores::in_three;

/// Features of a block of [`network_gradient_bytes_tensor`]; the biases' input is one of them.
pub const TENSOR_FEATURES: u32 = 8 * BYTES;

/// Warps of a block.
const WARPS: u32 = THREADS / 32;
/// Products of 16 features of a warp.
const TILES: usize = TENSOR_FEATURES as usize / 16;
/// Quads of the sums of all warps for half of their features.
const HALF: u32 = WARPS * TILES as u32 * 32;

/// Partial sums of the first layer's gradients for samples of bytes, by tensor cores: one block per tile of [`TENSOR_FEATURES`] ×
/// [`TENSOR_UNITS`] of (features + 1) × units, in row-major order, and per part of the batch; otherwise as
/// [`network_gradient_bytes_64`](super::super::network_gradient_bytes_64).
///
/// The number of features is a multiple of 16, and the errors are finite: an infinite one has no three parts, and gives NaN.
///
/// The warps of a block have the same features and units, and each eighth 16 samples of the part.
#[kernel]
pub fn network_gradient_bytes_tensor(
    inputs: &[u8],
    scale: ByteScale,
    order: &[u32],
    state: &[u32],
    errors: &[f32],
    parts: GlobalMut<f32>,
    shape: LayerShape,
    batches: Batches,
) {
    let batch = Batch::new(order, state[0], batches);
    let LayerShape { features, units, .. } = shape;
    require(THREADS, shape);
    let (part, count) = (thread::block_idx_y(), thread::grid_dim_y());
    let share = batch.rows.div_ceil(count);
    let (begin, end) = (part * share, batch.rows.min((part + 1) * share));
    let across = units.div_ceil(TENSOR_UNITS);
    let (tile, first_unit) = (thread::block_idx_x() / across, thread::block_idx_x() % across * TENSOR_UNITS);
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (group, place) = (lane / 4, lane % 4);
    let first_feature = tile * TENSOR_FEATURES + BYTES * group;

    // Of a lane, four adjacent samples of the warp's 16, and of each 16 features and two units. Beyond the matrix's edges they are any others,
    // for cells that are not stored.
    let rows = |step: u32| [0, 1, 2, 3].map(|i: u32| begin + 16 * (WARPS * step + warp) + 4 * place + i);
    let samples = |step: u32| rows(step).map(|row| batch.sample_or_any(row));
    let quads = inputs.quads(0, (inputs.len() / BYTES as usize) as u32);
    let quad = first_feature.min(features - BYTES) / BYTES;
    let fetch = |samples: [u32; 4]| samples.map(|sample| quads.get(sample * (features / BYTES) + quad));
    let fetch_errors = |step: u32| {
        [0, 8].map(|right| {
            let unit = (first_unit + group + right).min(units - 1);
            rows(step).map(|row| errors[(row.min(end - 1) * units + unit) as usize])
        })
    };
    let mut sums = [[Sums::zero(); 2]; TILES];
    if begin < end {
        // Of the next steps: a load takes as long as one or two.
        let mut next_inputs = [fetch(samples(0)), fetch(samples(1))];
        let mut next_errors = [fetch_errors(0), fetch_errors(1)];
        let mut next_samples = [samples(2), samples(3)];
        let mut step = 0;
        while begin + 16 * (WARPS * step + warp) < end {
            // The biases' input is the byte 1.
            let inputs = next_inputs[0].map(|[a, b, c, d]| [if first_feature < features { a } else { 1 }, b, c, d]);
            let is_there = rows(step).map(|row| row < end);
            let errors =
                next_errors[0].map(|errors| [0, 1, 2, 3].map(|i: usize| if is_there[i] { errors[i] } else { 0.0 }));
            next_inputs = [next_inputs[1], fetch(next_samples[0])];
            next_errors = [next_errors[1], fetch_errors(step + 2)];
            next_samples = [next_samples[1], samples(step + 4)];
            add_products(&mut sums, inputs, errors);
            step += 1;
        }
    }

    // Each thread adds the warps' sums of a lane's fragment, first for half of the features.
    let shared = shared_array![F32x4; HALF as usize];
    let start = part as usize * ((features + 1) * units) as usize;
    let finish = |half: usize| {
        let store = |i: usize| {
            let [left, right] = sums[TILES / 2 * half + i].map(|sums| sums.registers().into());
            let place = (32 * (TILES as u32 * warp + 2 * i as u32) + lane) as usize;
            shared.set(place, left);
            shared.set(place + 32, right);
        };
        repeated!(store: 0 1 2 3);
        thread::sync_threads();
        let mut sums = [0.0; 4];
        let mut other = 0;
        while other < WARPS {
            let of_other = shared.get((32 * (TILES as u32 * other + warp) + lane) as usize).to_array();
            sums = [sums[0] + of_other[0], sums[1] + of_other[1], sums[2] + of_other[2], sums[3] + of_other[3]];
            other += 1;
        }
        let set = |register: u32| {
            let feature = first_feature + TILES as u32 * half as u32 + warp / 2 * 2 + register / 2;
            let unit = first_unit + warp % 2 * 8 + 2 * place + register % 2;
            if feature <= features && unit < units {
                let factor = if feature == features { 1.0 } else { scale.reciprocal };
                parts.set(start + (feature * units + unit) as usize, sums[register as usize] * factor);
            }
        };
        repeated!(set: 0 1 2 3);
        thread::sync_threads();
    };
    repeated!(finish: 0 1);
}

/// Adds the products of a lane's four samples: of the inputs, 16 bytes of each, and of the errors of two units.
#[inline(always)]
fn add_products(sums: &mut [[Sums; 2]; TILES], inputs: [[u32; 4]; 4], errors: [[f32; 4]; 2]) {
    let errors = errors.map(|[a, b, c, d]| {
        let (left, right) = (in_three([a, b]), in_three([c, d]));
        [0, 1, 2].map(|part: usize| B::<Bf16>::from_registers([left[part], right[part]]))
    });
    // Two products at once, of which none waits for the one before.
    let mut multiply = |i: usize| {
        let inputs = [2 * i, 2 * i + 1].map(|tile| {
            let pair = |sample: usize, feature: usize| {
                let (word, index) = (feature / 4, feature as u32 % 4);
                bf16_pair([(inputs[sample][word], index), (inputs[sample + 1][word], index)])
            };
            let (upper, lower) = (2 * tile, 2 * tile + 1);
            A::from_registers([pair(0, upper), pair(0, lower), pair(2, upper), pair(2, lower)])
        });
        let mut add = |part: usize| {
            for (inputs, sums) in inputs.iter().zip(&mut sums[2 * i..]) {
                for (errors, sum) in errors.iter().zip(sums) {
                    *sum = sum.plus_product(inputs, &errors[part]);
                }
            }
        };
        add(2);
        add(1);
        add(0);
    };
    repeated!(multiply: 0 1 2 3);
}
