use core::array;

use cuda_std::matrix::{self, A, B, Bf16};
use cuda_std::{DynamicShared, F32x4, GlobalMut, SharedView, async_copy, hint, kernel, thread, warp};

use super::grid::{self, Product, Rung, Tile};
use super::{GRID_COLUMNS, GRID_ROWS, TENSOR_THREADS};
use crate::tensor_cores;

/// Products of 16 × 8 cells of a warp, one below the other.
const DOWN: usize = 2;
/// The same, side by side.
const ACROSS: usize = 3;
/// Depth of a K-block, in quads of four adjacent columns of X.
const DEPTH: u32 = 16;
/// Lines that the block loads at once: a thread for each of their quads.
const LINES_AT_ONCE: u32 = TENSOR_THREADS / DEPTH;
/// Lines of a K-block's rows that a thread copies a quad of.
const ROWS_OF_THREAD: usize = (GRID_ROWS / LINES_AT_ONCE) as usize;
/// The same of its columns.
const COLUMNS_OF_THREAD: usize = (GRID_COLUMNS / LINES_AT_ONCE) as usize;
/// Stride of the lines of rows in shared memory, in quads, and of those of columns: a warp reads every second row at once, and adjacent
/// columns. Twice the one, and the other, are odd numbers of four, so that a load's lines are in different banks.
const STRIDES: [u32; 2] = [DEPTH + 2, DEPTH + 4];
/// Where the lines of columns begin in a buffer, in quads.
const COLUMNS: u32 = GRID_ROWS * STRIDES[0];
/// Quads of a buffer.
const BUFFER: u32 = COLUMNS + GRID_COLUMNS * STRIDES[1];
/// Number of buffers: one K-block is multiplied, and the next one is on its way.
const BUFFERS: u32 = 2;

/// Bytes of dynamic shared memory of [`matmul_tensor_f32`].
pub const TENSOR_SHARED_BYTES: u32 = BUFFERS * BUFFER * size_of::<F32x4>() as u32;

/// Rung 8, from sm_80 on. Idea: tensor cores multiply bf16, and a float is the sum of three; six of the nine products of two such sums
/// are as accurate as a product of floats.
///
/// The output tiles are rung 7's. Two of a block's eight warps have 32 × 24 cells, six products of tensor cores, and each of them half
/// of every K-block, so that one waits while the other multiplies. Each lane splits the floats that it multiplies. An infinite element
/// has no such parts: where they give NaN, the cell is computed again by its definition. Launches have [`TENSOR_THREADS`] and
/// [`TENSOR_SHARED_BYTES`], otherwise as [`matmul_grid_f32`](super::matmul_grid_f32).
#[kernel]
pub fn matmul_tensor_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    grid::multiply::<TensorCores>(x, rows, columns, out);
}

/// Rung 8: products of tensor cores.
struct TensorCores;

/// The sums of a warp's products.
type Products = [[matrix::Sums; ACROSS]; DOWN];

impl Rung for TensorCores {
    /// Of each product two columns of a row, then those of the next row.
    type Sums = [[f32; 4]; ACROSS];

    #[inline(always)]
    fn sums<const ALIGNED: bool>(tile: Tile<'_, ALIGNED>, shared: &DynamicShared<F32x4>) -> Self::Sums {
        let (row, column, half) = place_of_warp();
        let (group, quad) = (warp::lane_id() / 4, DEPTH / 2 * half + warp::lane_id() % 4);
        let first_of_rows = STRIDES[0] * (row + 2 * group) + quad;
        let rows = shared.view(first_of_rows, [BUFFERS, 2, 2, 2], [BUFFER, 16 * STRIDES[0], STRIDES[0], 4]);
        let first_of_columns = COLUMNS + STRIDES[1] * (column + group) + quad;
        let columns = shared.view(first_of_columns, [BUFFERS, ACROSS as u32, 2], [BUFFER, 8 * STRIDES[1], 4]);
        let copies = Copies::new(tile, shared);
        // Of the parts with the most significant bits, and of all others.
        let (mut high, mut low) = ([[matrix::Sums::zero(); ACROSS]; DOWN], [[matrix::Sums::zero(); ACROSS]; DOWN]);
        copies.begin(0);
        copies.begin(1);
        let mut block = 0;
        while DEPTH * block < tile.product.columns.div_ceil(4) {
            async_copy::wait::<1>();
            thread::sync_threads();
            let buffer = block % BUFFERS;
            let mut step = |quad: u32| {
                let left = [0, 1].map(|i| in_three([0, 1].map(|line| rows.get([buffer, i, line, quad]))));
                let left = left.map(|parts| parts.map(|[[a, b], [c, d]]| A::from_registers([a, c, b, d])));
                let right = [0, 1, 2].map(|j| in_three([columns.get([buffer, j, quad])]));
                let right = right.map(|parts| parts.map(|[pairs]| B::from_registers(pairs)));
                add_products(&left, &right, &mut high, &mut low);
            };
            step(0);
            step(1);
            // Every thread has read the buffer.
            thread::sync_threads();
            block += 1;
            copies.begin(block + 1);
        }
        let sums = [0, 1].map(|i: usize| {
            [0, 1, 2].map(|j: usize| {
                let (high, low) = (high[i][j].registers(), low[i][j].registers());
                array::from_fn::<f32, 4, _>(|register| high[register] + low[register])
            })
        });
        // Of the two warps with the same cells, one passes the sums of the lower half to the other, and gets those of the upper half.
        let (kept, passed) = if half == 0 { (sums[0], sums[1]) } else { (sums[1], sums[0]) };
        let thread = thread::thread_idx_x();
        let to = shared.view(thread, [ACROSS as u32], [TENSOR_THREADS]);
        let from = shared.view(thread ^ (TENSOR_THREADS / 2), [ACROSS as u32], [TENSOR_THREADS]);
        for (j, &sums) in passed.iter().enumerate() {
            to.set([j as u32], sums.into());
        }
        thread::sync_threads();
        [0, 1, 2].map(|j: usize| {
            let others = from.get([j as u32]).to_array();
            array::from_fn(|register| kept[j][register] + others[register])
        })
    }

    #[inline(always)]
    fn store<const ALIGNED: bool>(tile: Tile<'_, ALIGNED>, sums: &Self::Sums) {
        let (row, column, half) = place_of_warp();
        let (group, place) = (warp::lane_id() / 4, warp::lane_id() % 4);
        let (row, column) = (tile.first_row + row + 16 * half + 2 * group, tile.first_column + column + 2 * place);
        // The sum of the sums is NaN if one of them is.
        let total: f32 = sums.as_flattened().iter().sum();
        let some_are_nan = warp::any(total.is_nan());
        let (right, below) = (place % 2, group % 2);
        let across = sums.map(|[a, b, c, d]| tensor_cores::exchanged([a, b], [c, d], right == 1, 1));
        let down = sums.map(|[a, b, c, d]| tensor_cores::exchanged([a, c], [b, d], below == 1, 4));
        let store = |j: usize| {
            let column = column + 8 * j as u32;
            tile.product.store_across(row + right, column - 2 * right, across[j]);
            tile.product.store_down(column + below, row - 2 * below, down[j]);
        };
        store(0);
        store(1);
        store(2);
        if some_are_nan {
            // The lanes have stored sums of each other.
            warp::sync_warp();
            compute_nan_again(tile.product, row, column);
        }
    }
}

/// The first row and the first column of the warp's cells in the tile, and the half of each K-block that it multiplies.
#[inline(always)]
fn place_of_warp() -> (u32, u32, u32) {
    let warp = thread::thread_idx_x() / 32;
    (GRID_ROWS / 2 * (warp / 2 % 2), GRID_COLUMNS / 2 * (warp % 2), warp / 4)
}

/// The copies of a tile's K-blocks to shared memory.
struct Copies<'a, const ALIGNED: bool> {
    rows: [grid::Line<'a, ALIGNED>; ROWS_OF_THREAD],
    columns: [grid::Line<'a, ALIGNED>; COLUMNS_OF_THREAD],
    to_rows: SharedView<'a, F32x4, 2>,
    to_columns: SharedView<'a, F32x4, 2>,
    quad: u32,
    /// Quads of a row of X.
    quads: u32,
}

impl<'a, const ALIGNED: bool> Copies<'a, ALIGNED> {
    #[inline(always)]
    fn new(tile: Tile<'a, ALIGNED>, shared: &'a DynamicShared<F32x4>) -> Self {
        let (line, quad) = (thread::thread_idx_x() / DEPTH, thread::thread_idx_x() % DEPTH);
        let view = |first: u32, stride: u32, lines: usize| {
            shared.view(first + stride * line + quad, [BUFFERS, lines as u32], [BUFFER, stride * LINES_AT_ONCE])
        };
        Self {
            rows: array::from_fn(|i| tile.line(line + LINES_AT_ONCE * i as u32)),
            columns: array::from_fn(|i| tile.line(GRID_ROWS + line + LINES_AT_ONCE * i as u32)),
            to_rows: view(0, STRIDES[0], ROWS_OF_THREAD),
            to_columns: view(COLUMNS, STRIDES[1], COLUMNS_OF_THREAD),
            quad,
            quads: tile.product.columns.div_ceil(4),
        }
    }

    /// Begins to copy the thread's quads of K-block `block`; it may have none.
    #[inline(always)]
    fn begin(&self, block: u32) {
        let (first, buffer) = (DEPTH * block, block % BUFFERS);
        let from = first + self.quad;
        if ALIGNED && from < self.quads {
            for i in 0..ROWS_OF_THREAD {
                self.to_rows.copy_async([buffer, i as u32], self.rows[i].quads, from);
            }
            for i in 0..COLUMNS_OF_THREAD {
                self.to_columns.copy_async([buffer, i as u32], self.columns[i].quads, from);
            }
        } else if first < self.quads {
            // Beyond a row's end are zeros, and quads that are not aligned are loaded in parts.
            for i in 0..ROWS_OF_THREAD {
                self.to_rows.set([buffer, i as u32], self.rows[i].quad(from));
            }
            for i in 0..COLUMNS_OF_THREAD {
                self.to_columns.set([buffer, i as u32], self.columns[i].quad(from));
            }
        }
        async_copy::commit();
    }
}

/// The three parts of the floats of a lane's lines, in the two pairs of each quad.
#[inline(always)]
fn in_three<const N: usize>(quads: [F32x4; N]) -> [[[u32; 2]; N]; 3] {
    let parts = quads.map(|quad| {
        let [a, b, c, d] = quad.to_array();
        [tensor_cores::in_three([a, b]), tensor_cores::in_three([c, d])]
    });
    [0, 1, 2].map(|part| parts.map(|pairs| pairs.map(|pair| pair[part])))
}

/// Adds six of the nine products of parts, those with the least significant bits first.
#[inline(always)]
fn add_products(left: &[[A<Bf16>; 3]; DOWN], right: &[[B<Bf16>; 3]; ACROSS], high: &mut Products, low: &mut Products) {
    let add = |sums: &mut Products, a: usize, b: usize| {
        for (left, sums) in left.iter().zip(sums) {
            for (right, sum) in right.iter().zip(sums) {
                *sum = sum.plus_product(&left[a], &right[b]);
            }
        }
    };
    add(low, 2, 0);
    add(low, 0, 2);
    add(low, 1, 1);
    add(low, 1, 0);
    add(low, 0, 1);
    add(high, 0, 0);
}

/// Computes each cell of a thread that is NaN again: those from `row` and `column` on.
#[inline(always)]
fn compute_nan_again<const ALIGNED: bool>(product: &Product<'_, ALIGNED>, row: u32, column: u32) {
    let mut cell = 0;
    while cell < hint::opaque(4 * ACROSS as u32) {
        let (row, column) = (row + cell / 2 % 2, column + 8 * (cell / 4) + cell % 2);
        if row < product.rows && column <= row {
            product.compute_again_if_nan(row, column);
        }
        cell += 1;
    }
}
