use cuda_std::{GlobalMut, kernel, math, thread};

use super::tile::{Slab, Staged, Tile, warp};
use super::{Image, Shape, TILE_ROWS};

/// Rung 2. Idea: the pixels of neighbouring results overlap. A block loads those of its tile, and the halo around it, into
/// shared memory once, with the coefficients, and each of its threads reads them there without bounds checks. A
/// launch has blocks of [`THREADS`](super::THREADS) threads, in any number, with
/// [`shared_bytes`](super::shared_bytes)\([`TILE_ROWS`]) of dynamic shared memory.
///
/// A kernel larger than a slab is taken slab by slab, in row-major order, and a sum runs over a slab in row-major order.
///
/// Bound: a multiply-add reads a pixel and a coefficient from shared memory, whose bandwidth is the limit.
#[kernel]
pub fn correlation_tiles(kernel: &[f32], image: &[f32], shape: Shape, out: GlobalMut<f32>) {
    let staged = Staged::new();
    let image = Image { pixels: image, shape };
    let mut index = thread::block_idx_x();
    while index < shape.tiles(TILE_ROWS) {
        let tile = Tile::new(shape, TILE_ROWS, index);
        let mut sum = 0.0;
        let mut next = Slab::first(shape);
        while let Some(slab) = next {
            staged.load(kernel, image, tile, TILE_ROWS, slab);
            let (pixels, coefficients) = (staged.pixels(warp(), slab.rows, slab), staged.coefficients(slab));
            let mut u = 0;
            while u < slab.rows {
                let mut v = 0;
                while v < slab.columns {
                    sum = math::fma(coefficients.get([u, v]), pixels.get([u, v]), sum);
                    v += 1;
                }
                u += 1;
            }
            // No thread overwrites the tile before every thread has read it.
            thread::sync_threads();
            next = slab.next(shape);
        }
        tile.store(shape, warp(), sum, out);
        index += thread::grid_dim_x();
    }
}
