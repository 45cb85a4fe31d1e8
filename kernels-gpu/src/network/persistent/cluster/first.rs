//! The first layer, by tensor cores.
//!
//! A warp has each eighth tile of 16 pixels. In the forward pass the samples are the rows of a product, the pixels its depth and the
//! block's units its columns; for the gradients the units are the rows, the samples the depth and the pixels the columns. Either way
//! lane 4g + p has unit g, and of the tile the pixels 2p, 2p + 1, 2p + 8 and 2p + 9.

use cuda_std::matrix::{A, B, Bf16, Sums};
use cuda_std::{F32x4, GlobalMut, warp};

use super::super::super::update::Rule;
use super::memory::{Block, FIRST_BIASES, FIRST_ERRORS, IMAGES, PARTIAL};
use super::{FEATURES, UNITS, warp_and_lane};
use crate::tensor_cores;

/// Tiles of an image.
const TILES: u32 = FEATURES / 16;
/// Maximum number of a warp's tiles.
const OF_WARP: usize = TILES.div_ceil(8) as usize;
/// The value of one in an input, whose maximum is 1.
const SCALE: f32 = 1.0 / 255.0;

/// The first layer's weights in a lane.
pub(super) struct FirstWeights([[f32; 4]; OF_WARP]);

/// Repeats the block for each tile of the warp.
macro_rules! for_each_tile {
    (|$n:ident, $tile:ident| $body:block) => {
        unrolled!(|n: 0 1 2 3 4 5 6| {
            let ($n, $tile) = (n as usize, warp_and_lane().0 + 8 * n);
            if $tile < TILES {
                $body
            }
        })
    };
}

impl FirstWeights {
    /// Loads the lane's weights.
    #[inline(always)]
    pub(super) fn load(block: &Block, parameters: GlobalMut<f32>) -> Self {
        let mut weights = [[0.0; 4]; OF_WARP];
        for_each_tile!(|n, tile| {
            weights[n] = places(block, tile).map(|place| parameters.get(place));
        });
        Self(weights)
    }

    /// Stores the lane's weights.
    #[inline(always)]
    pub(super) fn store(&self, block: &Block, parameters: GlobalMut<f32>) {
        for_each_tile!(|n, tile| {
            let [a, b, c, d] = places(block, tile);
            parameters.set(a, self.0[n][0]);
            parameters.set(b, self.0[n][1]);
            parameters.set(c, self.0[n][2]);
            parameters.set(d, self.0[n][3]);
        });
    }

    /// Computes the warp's part of the block's units' sums for the images in half `half`.
    #[inline(always)]
    pub(super) fn forward(&self, block: &Block, half: u32) {
        let mut sums = FirstSums::zero();
        for_each_tile!(|n, tile| {
            sums.add_terms(block, half, tile, self.0[n]);
        });
        sums.store(block);
    }

    /// Updates the weights, and the last warp the biases, by their gradients for the images in half `half`, and computes the warp's part of
    /// the block's units' sums for those in the other half.
    #[inline(always)]
    pub(super) fn update_and_forward(&mut self, block: &Block, half: u32, rule: Rule) {
        let (warp, lane) = warp_and_lane();
        // Of unit g the samples 2p, 2p + 1, 2p + 8 and 2p + 9.
        let (unit, pair) = (lane / 4, lane % 4);
        let errors = FIRST_ERRORS.view(block.shared);
        let [[a, b], [c, d]] = [pair, pair + 4].map(|pair| {
            let [a, b, c, d] = errors.get([unit / 2, pair]).to_array();
            if unit.is_multiple_of(2) { [a, b] } else { [c, d] }
        });
        let sum = (a + b) + (c + d);
        let sum = sum + warp::shuffle_xor(sum, 1);
        let sum = sum + warp::shuffle_xor(sum, 2);
        if warp == 7 && pair == 0 {
            block.update_bias(FIRST_BIASES.offset([unit]), sum, rule);
        }
        // Their products are what is added to the weights.
        let factor = -rule.rate * SCALE;
        let [[a, b], [c, d]] = [[factor * a, factor * b], [factor * c, factor * d]];
        let ([ab, ab_rest], [cd, cd_rest]) = (tensor_cores::in_two([a, b]), tensor_cores::in_two([c, d]));
        // Rows 8 to 15 have the second parts of the units in rows 0 to 7.
        let errors = A::<Bf16>::from_registers([ab, ab_rest, cd, cd_rest]);
        let mut sums = FirstSums::zero();
        for_each_tile!(|n, tile| {
            let [a, b, c, d] = block.shared.load_matrices_transposed(place_of_tile(half, tile));
            let change = |inputs| {
                let [a, b, c, d] = Sums::zero().plus_product(&errors, &B::from_registers(inputs)).registers();
                [a + c, b + d]
            };
            let ([a, b], [c, d]) = (change([a, b]), change([c, d]));
            let weights = self.0[n];
            self.0[n] = [
                rule.changed(weights[0], a),
                rule.changed(weights[1], b),
                rule.changed(weights[2], c),
                rule.changed(weights[3], d),
            ];
            sums.add_terms(block, 1 - half, tile, self.0[n]);
        });
        sums.store(block);
    }
}

/// A warp's part of the block's units' sums, without the scale of the inputs: that of each of the weights' parts, whose products need not
/// wait for each other.
struct FirstSums([Sums; 3]);

impl FirstSums {
    #[inline(always)]
    fn zero() -> Self {
        Self([Sums::zero(); 3])
    }

    /// Adds the terms of a tile, for the images in half `half`.
    #[inline(always)]
    fn add_terms(&mut self, block: &Block, half: u32, tile: u32, [a, b, c, d]: [f32; 4]) {
        let inputs = A::<Bf16>::from_registers(block.shared.load_matrices(place_of_tile(half, tile)));
        let ([ab, ab_rest, ab_last], [cd, cd_rest, cd_last]) =
            (tensor_cores::in_three([a, b]), tensor_cores::in_three([c, d]));
        let Self([high, middle, low]) = self;
        *high = high.plus_product(&inputs, &B::from_registers([ab, cd]));
        *middle = middle.plus_product(&inputs, &B::from_registers([ab_rest, cd_rest]));
        *low = low.plus_product(&inputs, &B::from_registers([ab_last, cd_last]));
    }

    /// Stores the sums, for [`partial_sums`].
    #[inline(always)]
    fn store(self, block: &Block) {
        let (warp, lane) = warp_and_lane();
        let [high, middle, low] = self.0.map(|sums| sums.registers());
        let [a, b, c, d]: [f32; 4] = core::array::from_fn(|i| high[i] + (middle[i] + low[i]));
        // Two lanes have two units each of samples g and g + 8: either gets four of one sample.
        let (group, place) = (lane / 4, lane % 4);
        let quad = tensor_cores::exchanged([a, b], [c, d], place % 2 == 1, 1);
        PARTIAL.view(block.shared).set([warp, place % 2, 2 * group + place / 2], quad.into());
    }
}

/// Where the lane's row of a tile of images is in shared memory.
#[inline(always)]
fn place_of_tile(half: u32, tile: u32) -> usize {
    let (_, lane) = warp_and_lane();
    IMAGES.half(half).offset([lane % 16, 2 * tile + lane / 16])
}

/// The places in global memory of the lane's weights of a tile.
#[inline(always)]
fn places(block: &Block, tile: u32) -> [usize; 4] {
    let (_, lane) = warp_and_lane();
    let first = 16 * tile + 2 * (lane % 4);
    [0, 1, 8, 9].map(|pixel| ((first + pixel) * UNITS[0] + 8 * block.rank + lane / 4) as usize)
}

/// The block's units' sums of a sample, which the warps have computed in parts, times the scale of the inputs.
#[inline(always)]
pub(super) fn partial_sums(block: &Block, warp: u32, sample: u32, quad: u32) -> [f32; 4] {
    let part: F32x4 = PARTIAL.view(block.shared).get([warp, sample / 8, 2 * (sample % 8) + quad]);
    part.to_array().map(|sum| sum * SCALE)
}
