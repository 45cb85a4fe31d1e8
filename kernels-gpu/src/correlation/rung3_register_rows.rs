use cuda_std::{GlobalMut, kernel, math, thread};

use super::tile::{Slab, Staged, Tile, warp};
use super::{Image, REGISTER_TILE_ROWS, ROWS_PER_THREAD, Shape};

/// Rung 3, the fastest for any size. Idea: in rung 2 each multiply-add reads two values from shared memory. Here a thread computes
/// eight pixels below each other. For one column of coefficients it keeps a window of eight pixels in registers, which
/// moves down by one row for each coefficient: two values read for eight multiply-adds. The larger tile also has less
/// halo for each pixel.
///
/// Within a slab a sum runs over the coefficients column by column. Launches are those of
/// [`correlation_tiles`](super::correlation_tiles), with [`shared_bytes`](super::shared_bytes)\([`REGISTER_TILE_ROWS`]).
#[kernel]
pub fn correlation_registers(kernel: &[f32], image: &[f32], shape: Shape, out: GlobalMut<f32>) {
    let staged = Staged::new();
    let image = Image { pixels: image, shape };
    let first = ROWS_PER_THREAD as u32 * warp();
    let mut index = thread::block_idx_x();
    while index < shape.tiles(REGISTER_TILE_ROWS) {
        let tile = Tile::new(shape, REGISTER_TILE_ROWS, index);
        let mut sums = [0.0; ROWS_PER_THREAD];
        let mut next = Slab::first(shape);
        while let Some(slab) = next {
            staged.load(kernel, image, tile, REGISTER_TILE_ROWS, slab);
            add_slab(&staged, first, slab, &mut sums);
            // No thread overwrites the tile before every thread has read it.
            thread::sync_threads();
            next = slab.next(shape);
        }
        for (row, &sum) in sums.iter().enumerate() {
            tile.store(shape, first + row as u32, sum, out);
        }
        index += thread::grid_dim_x();
    }
}

/// Adds the slab's products to a thread's sums, whose first is in row `first` of the tile.
#[inline(always)]
fn add_slab(staged: &Staged, first: u32, slab: Slab, sums: &mut [f32; ROWS_PER_THREAD]) {
    const LAST: usize = ROWS_PER_THREAD - 1;
    let coefficients = staged.coefficients(slab);
    let (before, next) = (staged.pixels(first, LAST as u32, slab), staged.pixels(first + LAST as u32, slab.rows, slab));
    let mut v = 0;
    while v < slab.columns {
        // A ring: its oldest pixel is replaced, and no register moves. The last one is read with the first coefficient.
        let mut window: [f32; ROWS_PER_THREAD] =
            core::array::from_fn(|row| if row < LAST { before.get([row as u32, v]) } else { 0.0 });
        let mut u = 0;
        'column: loop {
            for start in 0..ROWS_PER_THREAD {
                if u >= slab.rows {
                    break 'column;
                }
                window[(start + LAST) % ROWS_PER_THREAD] = next.get([u, v]);
                let coefficient = coefficients.get([u, v]);
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = math::fma(coefficient, window[(start + row) % ROWS_PER_THREAD], *sum);
                }
                u += 1;
            }
        }
        v += 1;
    }
}
