//! What follows from the tiles of a network's layers: the layout of shared memory and the distribution of work.

use super::{MAX_LAYERS, WARPS};

/// Quads of a tile: of 16 samples by eight units, or the fragment of eight by eight weights.
pub(super) const TILE: u32 = 32;
/// Tiles of units whose errors' sums a quad has: each group of lanes has those of two tiles.
pub(super) const TILES_OF_SUMS: usize = 16;

/// The tiles of eight inputs and of eight units of each hidden layer, from the digits of a kernel's parameter: of 142 they are 1, 4 and 2.
/// Hidden layers have an even number. The outputs are one tile.
pub(super) const fn tiles_of(digits: u32) -> [usize; MAX_LAYERS] {
    let (mut tiles, mut rest, mut layers) = ([0; MAX_LAYERS], digits, 0);
    while rest > 0 {
        rest /= 10;
        layers += 1;
    }
    rest = digits;
    while rest > 0 {
        layers -= 1;
        tiles[layers] = (rest % 10) as usize;
        rest /= 10;
    }
    tiles
}

/// What follows from the tiles. Offsets are in tiles.
pub(super) struct Layout {
    /// Number of layers with weights.
    pub(super) layers: usize,
    /// Tiles below each layer, and its own.
    pub(super) below: [usize; MAX_LAYERS],
    pub(super) units: [usize; MAX_LAYERS],
    /// The first of a layer's tiles of weights, 16 by 8 of them, and of its tiles of units.
    pub(super) first_tile: [usize; MAX_LAYERS],
    pub(super) first_unit: [usize; MAX_LAYERS],
    /// Number of tiles of weights, of units, and of quads of sums over the samples: of the units' errors, and, as a
    /// tile after them, the loss.
    pub(super) tiles: usize,
    pub(super) unit_tiles: usize,
    pub(super) sums: usize,
    /// Weights as fragments of the forward product, for each tile below and each of the layer's own; and of the backward product, for each
    /// of its own and each below. Behind the biases.
    pub(super) forward: [usize; MAX_LAYERS],
    pub(super) backward: [usize; MAX_LAYERS],
    /// Tiles of what all warps read.
    pub(super) common: usize,
    /// A warp's activations below each layer, the layer's errors, then the parts of the gradients' tiles, and of the sums.
    pub(super) activations: [usize; MAX_LAYERS],
    pub(super) errors: [usize; MAX_LAYERS],
    pub(super) parts: usize,
    /// Tiles of a warp.
    pub(super) own: usize,
}

impl Layout {
    /// The layout of a kernel with these digits.
    pub(super) const fn new(digits: u32) -> Self {
        let below = tiles_of(digits);
        let mut layers = 0;
        while layers < MAX_LAYERS && below[layers] != 0 {
            layers += 1;
        }
        let nothing = [0; MAX_LAYERS];
        let mut layout = Self {
            layers,
            below,
            units: nothing,
            first_tile: nothing,
            first_unit: nothing,
            tiles: 0,
            unit_tiles: 0,
            sums: 0,
            forward: nothing,
            backward: nothing,
            common: 0,
            activations: nothing,
            errors: nothing,
            parts: 0,
            own: 0,
        };
        let mut layer = 0;
        while layer < layers {
            let units = if layer + 1 == layers { 1 } else { below[layer + 1] };
            layout.units[layer] = units;
            layout.first_tile[layer] = layout.tiles;
            layout.tiles += if layer == 0 { units / 2 * below[0] } else { below[layer] / 2 * units };
            layout.first_unit[layer] = layout.unit_tiles;
            layout.unit_tiles += units;
            layout.activations[layer] = layout.own;
            layout.errors[layer] = layout.own + below[layer];
            // The first layer's errors replace its activations, which are below the second layer, when these are no longer needed.
            layout.own += below[layer] + if layer == 0 { 0 } else { units };
            layer += 1;
        }
        layout.sums = (layout.unit_tiles + 1).div_ceil(TILES_OF_SUMS);
        layout.parts = layout.own;
        layout.own += layout.tiles + layout.sums;
        // Four quads of biases for each tile of units.
        layout.common = layout.unit_tiles.div_ceil(8);
        layer = 0;
        while layer < layers {
            let fragments = below[layer] * layout.units[layer];
            layout.forward[layer] = layout.common;
            layout.backward[layer] = layout.common + fragments;
            layout.common += if layer == 0 { fragments } else { 2 * fragments };
            layer += 1;
        }
        layout
    }

    /// The tile of weights after the layer's last one; 0 if there is no such layer.
    pub(super) const fn end_of_tiles(&self, layer: usize) -> usize {
        if layer + 1 < self.layers {
            self.first_tile[layer + 1]
        } else if layer < self.layers {
            self.tiles
        } else {
            0
        }
    }

    /// Quads of gradients that a warp owns.
    pub(super) const fn slots(&self) -> usize {
        (self.tiles + self.sums).div_ceil(WARPS as usize)
    }
}

/// The place of a lane's quad in a tile: a permutation by which lanes that read or write at once, in any pass, use different banks.
#[inline(always)]
pub(super) const fn place(lane: u32) -> u32 {
    let eight = lane / 8;
    lane ^ (6 * (eight & 1)) ^ (2 * (eight >> 1))
}
