use core::array;

use cuda_std::{DynamicShared, F32x4, GlobalMut, kernel, thread};

use super::cells::multiply_add;
use super::grid::{self, LINES, Rung, Tile};
use super::{GRID_COLUMNS, GRID_ROWS, GRID_THREADS};

/// Rows of a thread's register tile, which are adjacent.
const DOWN: usize = 4;
/// Columns of a thread's register tile, which are [`APART`] apart.
const ACROSS: usize = 6;
/// The threads form a grid of 16 × 8 over an output tile.
const APART: u32 = GRID_COLUMNS / ACROSS as u32;
/// Depth of a K-block, in quads of four adjacent columns of X.
const DEPTH: u32 = 8;
/// Lines that the block loads at once: a thread for each of their quads.
const LINES_AT_ONCE: u32 = GRID_THREADS / DEPTH;
/// Quads that a thread loads of a K-block.
const LOADS: usize = (LINES / LINES_AT_ONCE) as usize;
/// Stride of the lines in shared memory, in quads: an odd number, so that adjacent columns are in different banks.
const STRIDE: u32 = DEPTH + 1;
/// Stride of eight lines: one quad more, so that every fourth row is in different banks too.
const EIGHT: u32 = 8 * STRIDE + 1;
/// Quads of a buffer.
const BUFFER: u32 = LINES / 8 * EIGHT;

/// Bytes of dynamic shared memory of [`matmul_grid_f32`]: two buffers.
pub const GRID_SHARED_BYTES: u32 = 2 * BUFFER * size_of::<F32x4>() as u32;

/// Rung 7, which is no longer one block. Idea: output tiles of 64 × 48 cells are distributed over the blocks, and
/// the blocks over all multiprocessors. The 125 tiles of 784 rows are one for each of 125 multiprocessors.
///
/// Each of a block's 128 threads computes 4 × 6 cells, by quads along a row of X: 40 floats read for 96 multiply-adds. As
/// in rung 5 shared memory is double-buffered. Launches have [`GRID_SHARED_BYTES`] and any number of blocks;
/// [`grid_tiles`](super::grid_tiles) is the number with one tile each.
#[kernel]
pub fn matmul_grid_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    grid::multiply::<RegisterTiles>(x, rows, columns, out);
}

/// A thread's register tile.
type Sums = [[f32; ACROSS]; DOWN];

/// Rung 7: multiply-adds of register tiles.
struct RegisterTiles;

impl Rung for RegisterTiles {
    type Sums = Sums;

    #[inline(always)]
    fn sums<const ALIGNED: bool>(tile: Tile<'_, ALIGNED>, shared: &DynamicShared<F32x4>) -> Sums {
        let (tx, ty) = place();
        let (first_of_rows, first_of_columns) =
            (STRIDE * DOWN as u32 * ty + ty / 2, GRID_ROWS / 8 * EIGHT + STRIDE * tx);
        // Both buffers, so that they are compared with the length of shared memory once.
        let rows = shared.view(first_of_rows, [2, DOWN as u32, DEPTH], [BUFFER, STRIDE, 1]);
        let columns = shared.view(first_of_columns, [2, ACROSS as u32, DEPTH], [BUFFER, EIGHT, 1]);
        let t = thread::thread_idx_x();
        let (line, quad) = (t / DEPTH, t % DEPTH);
        let lines: [_; LOADS] = array::from_fn(|load| tile.line(line + LINES_AT_ONCE * load as u32));
        let load = |first: u32| array::from_fn(|load| lines[load].quad(first + quad));
        let stores =
            shared.view(STRIDE * line + line / 8 + quad, [2, LOADS as u32], [BUFFER, LINES_AT_ONCE / 8 * EIGHT]);
        let store = |buffer: u32, quads: [F32x4; LOADS]| {
            for (load, &quad) in quads.iter().enumerate() {
                stores.set([buffer, load as u32], quad);
            }
        };

        let mut sums = [[0.0; ACROSS]; DOWN];
        let (mut first, mut buffer) = (0, 0);
        store(buffer, load(first));
        thread::sync_threads();
        loop {
            first += DEPTH;
            let next = load(first);
            let mut step = |quad: u32| {
                let rows = array::from_fn(|i| rows.get([buffer, i as u32, quad]).to_array());
                let columns = array::from_fn(|j| columns.get([buffer, j as u32, quad]).to_array());
                add_products(&rows, &columns, &mut sums);
            };
            // Unrolled by hand, so that a quad's loads can be in flight during the products of the one before.
            step(0);
            step(1);
            step(2);
            step(3);
            step(4);
            step(5);
            step(6);
            step(7);
            if first >= tile.product.columns.div_ceil(4) {
                return sums;
            }
            buffer = (buffer + 1) % 2;
            store(buffer, next);
            thread::sync_threads();
        }
    }

    /// In the upper triangle the thread's columns are rows: sectors of 32 bytes.
    #[inline(always)]
    fn store<const ALIGNED: bool>(tile: Tile<'_, ALIGNED>, [a, b, c, d]: &Sums) {
        let Tile { product, first_row, first_column } = tile;
        let (tx, ty) = place();
        let (row, column) = (first_row + DOWN as u32 * ty, first_column + tx);
        let store_row = |row: u32, &[a, b, c, d, e, f]: &[f32; ACROSS]| {
            if row >= product.rows {
                return;
            }
            let set = |j: u32, sum: f32| {
                let column = column + APART * j;
                if column <= row {
                    product.out.set([row, column], sum);
                }
            };
            set(0, a);
            set(1, b);
            set(2, c);
            set(3, d);
            set(4, e);
            set(5, f);
        };
        store_row(row, a);
        store_row(row + 1, b);
        store_row(row + 2, c);
        store_row(row + 3, d);
        let store_column = |j: usize| product.store_down(column + APART * j as u32, row, [a[j], b[j], c[j], d[j]]);
        store_column(0);
        store_column(1);
        store_column(2);
        store_column(3);
        store_column(4);
        store_column(5);
    }
}

/// Adds the products of four columns of X, in order.
#[inline(always)]
fn add_products(rows: &[[f32; 4]; DOWN], columns: &[[f32; 4]; ACROSS], sums: &mut Sums) {
    for p in 0..4 {
        let columns = columns.map(|column| column[p]);
        for (row, sums) in rows.iter().zip(sums.iter_mut()) {
            multiply_add(row[p], &columns, sums);
        }
    }
}

/// The thread's column and row in the block's grid of 8 × 16. A warp has 8 × 4. Neighbouring lanes share a row or a column,
/// so that a load of all 32 lanes reads 4 or 8 distinct quads.
#[inline(always)]
fn place() -> (u32, u32) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    (lane & 1 | lane >> 1 & 6, 4 * warp + (lane >> 1 & 1 | lane >> 3 & 2))
}
