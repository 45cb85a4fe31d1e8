//! The grid of a matrix product: tiles, and split-K parts.

use gpu::LaunchConfig;
use kernels_gpu::network::{
    LAST_FEATURES, LAST_UNITS, TENSOR_FEATURES, TENSOR_THREADS, TENSOR_UNITS, THREADS, tensor_shared_bytes,
};

use super::LayerLayout;

/// Minimum number of large tiles: with fewer blocks, much of a GPU is idle.
const ENOUGH_LARGE_TILES: u32 = 64;
/// Number of blocks that occupy a GPU.
const ENOUGH_BLOCKS: u32 = 256;
/// Minimum number of samples per part of a batch.
const SAMPLES_OF_PART: u32 = 256;

/// Minimum number of samples in a batch for tensor cores: with fewer, most multiprocessors have no
/// tile.
const ENOUGH_ROWS: u32 = 4096;
/// Maximum number of blocks with tensor cores: one per multiprocessor of a large GPU. It is the
/// same for all GPUs, so each sum has the same order on all of them.
const BLOCKS_BY_TENSOR_CORES: u32 = 128;
/// Possible numbers of slices for the warps of a forward block.
const SLICES: [u32; 5] = [12, 6, 4, 3, 2];

/// The grid of a result's tiles, one per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TileGrid {
    /// 16 × 16 elements.
    Small(LaunchConfig),
    /// 64 × 64 elements.
    Large(LaunchConfig),
}

impl TileGrid {
    /// The tiles for a result of `rows` × `columns`. Large tiles are chosen if there are enough of
    /// them and they are not mostly empty.
    pub(super) fn of(rows: u32, columns: u32) -> Self {
        let large = u64::from(rows.div_ceil(64)) * u64::from(columns.div_ceil(64));
        if rows.min(columns) > 32 && large >= ENOUGH_LARGE_TILES.into() {
            // This cannot overflow: there are fewer tiles than elements, and the number of elements
            // fits into 32 bits.
            return Self::Large(LaunchConfig::new(large as u32, THREADS));
        }
        Self::Small(LaunchConfig::new(rows.div_ceil(16) * columns.div_ceil(16), THREADS))
    }

    /// The same tiles for each of `parts` parts, along the grid's y dimension.
    pub(super) fn in_parts(self, parts: u32) -> Self {
        let in_parts = |config: LaunchConfig| LaunchConfig::new((config.grid.x, parts), THREADS);
        match self {
            Self::Small(config) => Self::Small(in_parts(config)),
            Self::Large(config) => Self::Large(in_parts(config)),
        }
    }

    fn blocks(self) -> u32 {
        match self {
            Self::Small(config) | Self::Large(config) => config.grid.x,
        }
    }
}

/// The number of parts that a layer's gradients are split into along the batch (split-K). It is
/// one, unless the batch is large and there are few tiles.
pub(super) fn parts_of_batch(batch_size: u32, layer: &LayerLayout) -> u32 {
    let blocks = TileGrid::of(layer.features + 1, layer.units).blocks();
    ENOUGH_BLOCKS.div_ceil(blocks).min(batch_size.div_ceil(SAMPLES_OF_PART)).max(1)
}

/// Whether the tensor core kernels support samples stored as bytes for this layer size, and the
/// batch is large enough for them.
pub(super) fn suits_tensor_cores(batch_size: u32, layer: &LayerLayout) -> bool {
    batch_size >= ENOUGH_ROWS && layer.features.is_multiple_of(16)
}

/// Whether one launch can run both passes through the last layer: the layer is small, and there is
/// a layer below it.
pub(super) fn is_small_last_layer(layers: &[LayerLayout]) -> bool {
    let is_small = |layer: &LayerLayout| layer.units <= LAST_UNITS && layer.features <= LAST_FEATURES;
    layers.len() > 1 && layers.last().is_some_and(is_small)
}

/// The launch that computes a layer's activations with tensor cores. It splits the features into as
/// many slices as there are multiprocessors for the blocks.
pub(super) fn forward_by_tensor_cores(batch_size: u32, layer: &LayerLayout) -> LaunchConfig {
    let tiles = |slices: u32| batch_size.div_ceil(TENSOR_THREADS / slices) * layer.units.div_ceil(TENSOR_UNITS);
    let slices = SLICES.into_iter().find(|&slices| tiles(slices) <= BLOCKS_BY_TENSOR_CORES).unwrap_or(1);
    LaunchConfig::new(tiles(slices), (TENSOR_THREADS / slices, slices))
        .with_dynamic_shared(tensor_shared_bytes(layer.features))
}

/// The launch that computes a layer's gradients with tensor cores, in parts of the batch along the
/// grid's y dimension.
pub(super) fn gradient_by_tensor_cores(layer: &LayerLayout) -> LaunchConfig {
    let tiles = (layer.features + 1).div_ceil(TENSOR_FEATURES) * layer.units.div_ceil(TENSOR_UNITS);
    LaunchConfig::new((tiles, (BLOCKS_BY_TENSOR_CORES / tiles).max(1)), THREADS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(features: u32, units: u32) -> LayerLayout {
        LayerLayout { first_parameter: 0, features, units, activation: 0 }
    }

    #[test]
    fn part1_small_results_have_small_tiles() {
        assert_eq!(TileGrid::of(16, 128), TileGrid::Small(LaunchConfig::new(8, THREADS)));
        assert_eq!(TileGrid::of(1, 1), TileGrid::Small(LaunchConfig::new(1, THREADS)));
        assert_eq!(TileGrid::of(4096, 4096), TileGrid::Large(LaunchConfig::new(4096, THREADS)));
        assert_eq!(
            TileGrid::of(10_000, 10),
            TileGrid::Small(LaunchConfig::new(625, THREADS)),
            "54 of 64 columns empty"
        );
    }

    #[test]
    fn part1_tensor_cores_have_a_block_for_each_multiprocessor() {
        let first = layer(784, 10);
        assert!(suits_tensor_cores(4096, &first) && !suits_tensor_cores(4095, &first));
        assert!(!suits_tensor_cores(50_000, &layer(785, 10)), "a sample is 16 bytes and a part of them");
        let forward = |batch_size, (rows, slices): (u32, u32), blocks| {
            let config = LaunchConfig::new(blocks, (rows, slices)).with_dynamic_shared(tensor_shared_bytes(784));
            assert_eq!(forward_by_tensor_cores(batch_size, &first), config, "{batch_size} samples");
        };
        forward(50_000, (384, 1), 131);
        forward(49_152, (384, 1), 128);
        forward(20_000, (192, 2), 105);
        forward(10_000, (96, 4), 105);
        forward(4096, (32, 12), 128);
        assert_eq!(forward_by_tensor_cores(10_000, &layer(784, 1000)).block.y, 1, "enough tiles of units");
        assert_eq!(gradient_by_tensor_cores(&first), LaunchConfig::new((7, 18), THREADS));
        assert_eq!(gradient_by_tensor_cores(&layer(784, 1000)).grid.y, 1);
    }

    #[test]
    fn part1_only_large_batches_are_split_into_parts() {
        assert_eq!(parts_of_batch(16, &layer(784, 128)), 1);
        assert_eq!(parts_of_batch(10_000, &layer(784, 10)), 6);
        assert_eq!(parts_of_batch(10_000, &layer(10, 10)), 40);
        assert_eq!(parts_of_batch(10_000, &layer(4096, 4096)), 1, "enough blocks without parts");
    }
}
