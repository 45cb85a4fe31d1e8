use core::array;

use cuda_std::{DynamicShared, F32x4, Global, GlobalMut, GlobalQuads, dynamic_shared, kernel, thread, warp};

use super::cells::multiply_add;
use super::{GRID_COLUMNS, GRID_ROWS, GRID_THREADS, grid_tiles_before};

/// Rows of a thread's register tile, which are adjacent.
const DOWN: usize = 4;
/// Columns of a thread's register tile, which are [`APART`] apart.
const ACROSS: usize = 6;
/// The threads form a grid of 16 × 8 over an output tile.
const APART: u32 = GRID_COLUMNS / ACROSS as u32;
/// Depth of a K-block, in quads of four adjacent columns of X.
const DEPTH: u32 = 8;
/// Lines of a K-block: the rows of X for the rows of an output tile, then those for its columns.
const LINES: u32 = GRID_ROWS + GRID_COLUMNS;
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
    // The compiler sees multiples of four, so that no quad needs a check of its alignment.
    match (rows | columns).is_multiple_of(4) {
        true => Product::<true> { x, rows: rows / 4 * 4, columns: columns / 4 * 4 }.compute(out),
        false => Product::<false> { x, rows, columns }.compute(out),
    }
}

/// A thread's register tile.
type Sums = [[f32; ACROSS]; DOWN];

/// X, of which each row is a whole number of quads if `ALIGNED`, as is each row of the result.
struct Product<'a, const ALIGNED: bool> {
    x: Global<'a, f32>,
    rows: u32,
    columns: u32,
}

impl<const ALIGNED: bool> Product<'_, ALIGNED> {
    /// Computes the block's output tiles of the lower triangle, row by row and cyclic.
    #[inline(always)]
    fn compute(&self, out: GlobalMut<f32>) {
        let shared = dynamic_shared::<F32x4>();
        let mut tile = thread::block_idx_x();
        loop {
            let (i, j) = place_of_tile(tile);
            let (first_row, first_column) = (GRID_ROWS * i, GRID_COLUMNS * j);
            if first_row.max(first_column) >= self.rows {
                break;
            }
            let sums = self.multiply(&shared, first_row, first_column);
            self.store(first_row, first_column, &sums, out);
            tile += thread::grid_dim_x();
            // No thread loads the next tile before every thread has read this one.
            thread::sync_threads();
        }
    }

    /// The thread's sums of an output tile.
    #[inline(always)]
    fn multiply(&self, shared: &DynamicShared<F32x4>, first_row: u32, first_column: u32) -> Sums {
        let t = thread::thread_idx_x();
        let (line, quad) = (t / DEPTH, t % DEPTH);
        let loads: [Line<ALIGNED>; LOADS] = array::from_fn(|load| {
            let line = line + LINES_AT_ONCE * load as u32;
            let row = if line < GRID_ROWS { first_row + line } else { first_column + line - GRID_ROWS };
            // A line beyond the edge is one of cells that are not stored.
            self.line(row.min(self.rows - 1))
        });
        let load = |first: u32| array::from_fn(|load| loads[load].quad(first + quad));
        let (tx, ty) = place();
        let (first_of_rows, first_of_columns) =
            (STRIDE * DOWN as u32 * ty + ty / 2, GRID_ROWS / 8 * EIGHT + STRIDE * tx);
        // Both buffers, so that they are compared with the length of shared memory once.
        let rows = shared.view(first_of_rows, [2, DOWN as u32, DEPTH], [BUFFER, STRIDE, 1]);
        let columns = shared.view(first_of_columns, [2, ACROSS as u32, DEPTH], [BUFFER, EIGHT, 1]);
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
            if first >= self.columns.div_ceil(4) {
                return sums;
            }
            buffer = (buffer + 1) % 2;
            store(buffer, next);
            thread::sync_threads();
        }
    }

    /// Row `row` of X.
    #[inline(always)]
    fn line(&self, row: u32) -> Line<'_, ALIGNED> {
        let (x, columns, first) = (self.x, self.columns, row * self.columns);
        Line {
            x,
            quads: x.quads(if ALIGNED { first as usize } else { 0 }, if ALIGNED { columns / 4 } else { 0 }),
            first,
            columns,
        }
    }

    /// Index of the first cell of a row of the result, whose end is compared with the length of `out`: an access to one
    /// of its cells is not.
    #[inline(always)]
    fn cells(&self, row: u32, out: GlobalMut<f32>) -> usize {
        let first = (row * self.rows) as usize;
        assert!(first + self.rows as usize <= out.len(), "the result has fewer elements");
        first
    }

    /// Stores a thread's sums, and in the upper triangle its columns, which are rows there: sectors of 32 bytes.
    #[inline(always)]
    fn store(&self, first_row: u32, first_column: u32, [a, b, c, d]: &Sums, out: GlobalMut<f32>) {
        let (tx, ty) = place();
        let (row, column) = (first_row + DOWN as u32 * ty, first_column + tx);
        let store_row = |row: u32, &[a, b, c, d, e, f]: &[f32; ACROSS]| {
            if row >= self.rows {
                return;
            }
            let cells = self.cells(row, out);
            let set = |j: u32, sum: f32| {
                let column = column + APART * j;
                if column <= row {
                    out.set(cells + column as usize, sum);
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
        let store_column = |j: usize| {
            let column = column + APART * j as u32;
            if column >= self.rows {
                return;
            }
            let (cells, quad) = (self.cells(column, out), F32x4::new(a[j], b[j], c[j], d[j]));
            if ALIGNED && column < row && row + 4 <= self.rows {
                out.set_quad(cells + row as usize, quad);
                return;
            }
            let set = |row: u32, sum: f32| {
                if column < row && row < self.rows {
                    out.set(cells + row as usize, sum);
                }
            };
            set(row, quad.x);
            set(row + 1, quad.y);
            set(row + 2, quad.z);
            set(row + 3, quad.w);
        };
        store_column(0);
        store_column(1);
        store_column(2);
        store_column(3);
        store_column(4);
        store_column(5);
    }
}

/// Row and column of output tile `tile` among the tiles. Each lane compares with another row's first tile.
#[inline(always)]
fn place_of_tile(tile: u32) -> (u32, u32) {
    let mut i = 0;
    loop {
        let rows_before = warp::ballot(grid_tiles_before(i + warp::lane_id() + 1) <= tile).count_ones();
        i += rows_before;
        if rows_before < 32 {
            return (i, tile - grid_tiles_before(i));
        }
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

/// A row of X.
#[derive(Clone, Copy)]
struct Line<'a, const ALIGNED: bool> {
    x: Global<'a, f32>,
    /// Its quads, if `ALIGNED`.
    quads: GlobalQuads<'a>,
    /// Index of its first element.
    first: u32,
    columns: u32,
}

impl<const ALIGNED: bool> Line<'_, ALIGNED> {
    /// Four adjacent elements of the row; zeros beyond its end.
    #[inline(always)]
    fn quad(&self, quad: u32) -> F32x4 {
        if quad >= self.columns.div_ceil(4) {
            return F32x4::splat(0.0);
        }
        if ALIGNED {
            return self.quads.get(quad);
        }
        let element = |p: u32| {
            let value = self.x[(self.first + p.min(self.columns - 1)) as usize];
            if p < self.columns { value } else { 0.0 }
        };
        F32x4::new(element(4 * quad), element(4 * quad + 1), element(4 * quad + 2), element(4 * quad + 3))
    }
}
