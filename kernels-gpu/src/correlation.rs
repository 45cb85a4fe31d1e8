//! The correlation of an image with a kernel of coefficients, as a ladder: each rung adds one idea to the one before.
//!
//! | rung | idea |
//! |---|---|
//! | 1 naive | one thread computes one pixel by the definition, from global memory |
//! | 2 shared tile | a block stages its tile of the image, with the halo, and the coefficients in shared memory |
//! | 3 register rows | a thread computes eight pixels below each other, and each value read serves all of them |
//! | 4 fixed size | the kernel's size is a constant, and a thread reads quads of pixels without shared memory |
//!
//! out\[i\]\[j\] = Σ kernel\[u\]\[v\] · image\[i + u − ⌊R/2⌋\]\[j + v − ⌊C/2⌋\] for a kernel of *R* × *C*, with zeros
//! outside the image. Rungs 1 to 3 take any kernel and any image; `kernel`, `image` and `out`, which has the image's
//! shape, are row-major, with fewer than 2³¹ elements each.

use cuda_std::Global;

mod rung1_naive;
mod rung2_shared_tile;
mod rung3_register_rows;
mod rung4_fixed_size;
mod tile;

pub use rung1_naive::correlation_naive;
pub use rung2_shared_tile::correlation_tiles;
pub use rung3_register_rows::correlation_registers;
// On a GPU there are only its instances.
#[cfg(not(target_arch = "nvptx64"))]
pub use rung4_fixed_size::correlation_fixed;

/// Threads per block: eight warps, each of which computes one row of pixels of a tile at a time.
pub const THREADS: u32 = 256;
/// Columns of a tile of pixels, one for each lane.
const TILE_COLUMNS: u32 = 32;
/// Warps of a block.
const WARPS: u32 = THREADS / TILE_COLUMNS;
/// Maximum rows and columns of the coefficients that are in shared memory at a time: a larger kernel is taken in slabs.
pub const SLAB: u32 = 16;
/// Elements of a slab of coefficients.
const SLAB_ELEMENTS: u32 = SLAB * SLAB;
/// Columns of a staged tile with its halo.
const STRIDE: u32 = TILE_COLUMNS + SLAB - 1;

/// Rows of a block's tile in [`correlation_tiles`].
pub const TILE_ROWS: u32 = WARPS;
/// Rows of a block's tile in [`correlation_registers`].
pub const REGISTER_TILE_ROWS: u32 = WARPS * ROWS_PER_THREAD as u32;
/// Pixels of a thread in [`correlation_registers`].
const ROWS_PER_THREAD: usize = 8;

/// Quads of a row of a tile in [`correlation_fixed`], one for each lane.
const FIXED_TILE_QUADS: u32 = 32;
/// Rows of a block's tile in [`correlation_fixed`]: each warp computes four.
const FIXED_TILE_ROWS: u32 = 4 * WARPS;
/// Dynamic shared memory of a block with tiles of `tile_rows` rows, in bytes.
pub const fn shared_bytes(tile_rows: u32) -> u32 {
    size_of::<f32>() as u32 * (SLAB_ELEMENTS + (tile_rows + SLAB - 1) * STRIDE)
}

cuda_std::plain_data! {
    /// The shapes of the image and the kernel.
    pub struct Shape {
        /// Rows of the image.
        pub rows: u32,
        /// Columns of the image.
        pub columns: u32,
        /// Rows of the kernel.
        pub kernel_rows: u32,
        /// Columns of the kernel.
        pub kernel_columns: u32,
    }
}

impl Shape {
    /// Tiles of `tile_rows` × 32 pixels that cover the image.
    pub const fn tiles(self, tile_rows: u32) -> u32 {
        self.rows.div_ceil(tile_rows) * self.columns.div_ceil(TILE_COLUMNS)
    }

    /// Tiles of 32 × 128 pixels that cover the image in [`correlation_fixed`].
    pub const fn fixed_tiles(self) -> u32 {
        self.rows.div_ceil(FIXED_TILE_ROWS) * (self.columns / 4).div_ceil(FIXED_TILE_QUADS)
    }
}

/// The image, padded with zeros.
#[derive(Clone, Copy)]
struct Image<'a> {
    pixels: Global<'a, f32>,
    shape: Shape,
}

impl Image<'_> {
    /// The pixel by which coefficient (`u`, `v`) is multiplied for the result at (`i`, `j`).
    #[inline(always)]
    fn pixel(self, i: u32, j: u32, u: u32, v: u32) -> f32 {
        let Shape { rows, columns, kernel_rows, kernel_columns } = self.shape;
        // Above and left of the image the difference wraps around, beyond every row and column.
        let row = (i + u).wrapping_sub(kernel_rows / 2);
        let column = (j + v).wrapping_sub(kernel_columns / 2);
        if row < rows && column < columns { self.pixels[(row * columns + column) as usize] } else { 0.0 }
    }
}
