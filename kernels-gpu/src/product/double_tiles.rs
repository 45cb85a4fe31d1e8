//! Output tiles of products of f64 by tensor cores: the base of rungs 8 and 9 in double precision.

use cuda_std::matrix::double::{A, B, Sums};
use cuda_std::{DynamicShared, GlobalMut, async_copy, dynamic_shared, hint, thread};

use super::cells::{self, Matrix};

/// Rows of a set: those of the left factor of a product.
const SET: u32 = 16;
/// Columns of X in a K-block of [`matmul_tensor_f64`](super::matmul_tensor_f64) and
/// [`matmul_one_block_tensor_f64`](super::matmul_one_block_tensor_f64).
pub const DOUBLE_TENSOR_DEPTH: u32 = 16;
const DEPTH: u32 = DOUBLE_TENSOR_DEPTH;
/// Columns of X in a product.
const STEP: u32 = 8;
/// Stride of the lines of a K-block in shared memory: those of 16 lanes that load at once are in different banks.
const STRIDE: u32 = DEPTH + 4;
/// Number of buffers: one K-block is multiplied, and the next one is on its way.
const BUFFERS: u32 = 2;
const LANES: u32 = 32;

/// Bytes of dynamic shared memory of a block with these sizes, as those of [`Tiles`].
pub(super) const fn shared_bytes(down: u32, across: u32, sets: u32) -> u32 {
    BUFFERS * buffer(down, across, sets) * size_of::<f64>() as u32
}

/// Elements of a buffer: each thread copies as many of its lines.
const fn buffer(down: u32, across: u32, sets: u32) -> u32 {
    (SET * (down * sets + across)).next_multiple_of(lines_at_once(down, across)) * STRIDE
}

const fn lines_at_once(down: u32, across: u32) -> u32 {
    threads(down, across) / DEPTH
}

/// Threads of a block with these sizes.
pub(super) const fn threads(down: u32, across: u32) -> u32 {
    LANES * down * across
}

/// A block's output tiles, whose places are rows and columns among the tiles, and the places of its warps in them.
pub(super) trait Order {
    /// The first tile's place.
    fn first() -> [u32; 2];

    /// The place of the tile after this one.
    fn next(place: [u32; 2]) -> [u32; 2];

    /// The warp's place in an output tile.
    fn place_of_warp(warp: u32) -> [u32; 2];
}

/// An output tile's row and column among the tiles, in a register: X has fewer than 2¹⁶ rows.
#[derive(Clone, Copy)]
struct Place(u32);

impl Place {
    #[inline(always)]
    fn new([row, column]: [u32; 2]) -> Self {
        Self(row << 16 | column)
    }

    #[inline(always)]
    fn next<O: Order>(self) -> Self {
        Self::new(O::next(self.row_and_column()))
    }

    #[inline(always)]
    fn row_and_column(self) -> [u32; 2] {
        let place = hint::opaque(self.0);
        [place >> 16, place & 0xffff]
    }
}

/// X·Xᵀ by output tiles: of `DOWN` × `ACROSS` warps, each with `SETS` · 16 × 16 cells.
///
/// Of each output tile the lines of a K-block are copied to shared memory, its rows' and then its columns', while the one before is
/// multiplied; so is the next tile's first. Sums stay in registers. Each is the chain of multiply-adds in the order of X's columns that the
/// other rungs compute.
pub(super) struct Tiles<'a, const DOWN: u32, const ACROSS: u32, const SETS: usize> {
    pub(super) x: Matrix<'a, f64>,
    pub(super) out: GlobalMut<'a, f64>,
}

impl<const DOWN: u32, const ACROSS: u32, const SETS: usize> Tiles<'_, DOWN, ACROSS, SETS> {
    /// Rows of a warp.
    const WARP_ROWS: u32 = SET * SETS as u32;
    /// Rows of an output tile.
    const ROWS: u32 = DOWN * Self::WARP_ROWS;
    /// Columns of an output tile.
    const COLUMNS: u32 = ACROSS * SET;
    /// Elements of a buffer.
    const BUFFER: u32 = buffer(DOWN, ACROSS, SETS as u32);
    /// Lines that the block copies at once: a thread for each of their elements.
    const LINES_AT_ONCE: u32 = lines_at_once(DOWN, ACROSS);
    /// Elements that a thread copies of a K-block, at most 5.
    const LOADS: u32 = Self::BUFFER / STRIDE / Self::LINES_AT_ONCE;

    /// Computes the block's output tiles of the lower triangle.
    #[inline(always)]
    pub(super) fn compute<O: Order>(&self) {
        // Compared with the length once: below, it is a constant.
        let (shared, _) = dynamic_shared::<f64>().split_at((BUFFERS * Self::BUFFER) as usize);
        let (mut place, mut buffer) = (Place::new(O::first()), 0);
        if self.is_beyond(place) {
            return;
        }
        self.begin_copy(&shared, buffer, place, 0);
        async_copy::commit();
        loop {
            // Of a warp without cells no lane multiplies.
            let has_cells = self.has_cells::<O>(place);
            let mut sums = [[Sums::zero(); 2]; SETS];
            let mut p = 0;
            loop {
                async_copy::wait::<0>();
                // Every thread has copied this K-block, and read the one before.
                thread::sync_threads();
                if has_cells {
                    Self::add_products::<O>(&shared, buffer, 0, &mut sums);
                }
                p += DEPTH;
                let is_last = p >= self.x.columns;
                // Behind the last K-block is the first one of the next tile. Between the products, copies begin while other warps multiply.
                let next = if is_last { place.next::<O>() } else { place };
                if !self.is_beyond(next) {
                    self.begin_copy(&shared, 1 - buffer, next, if is_last { 0 } else { p });
                }
                async_copy::commit();
                if has_cells {
                    Self::add_products::<O>(&shared, buffer, 1, &mut sums);
                }
                buffer = 1 - buffer;
                if is_last {
                    break;
                }
            }
            self.store(Self::cells_of_warp::<O>(place), &sums);
            place = place.next::<O>();
            if self.is_beyond(place) {
                break;
            }
        }
    }

    /// First row and column of an output tile.
    #[inline(always)]
    fn first_cell(place: Place) -> [u32; 2] {
        let [row, column] = place.row_and_column();
        [Self::ROWS * row, Self::COLUMNS * column]
    }

    /// The warp's first row and column in an output tile.
    #[inline(always)]
    fn place_of_warp<O: Order>() -> [u32; 2] {
        let [down, across] = O::place_of_warp(hint::opaque(thread::thread_idx_x()) / LANES);
        [Self::WARP_ROWS * down, SET * across]
    }

    /// First row and column of the warp's cells of an output tile.
    #[inline(always)]
    fn cells_of_warp<O: Order>(place: Place) -> [u32; 2] {
        let ([row, column], [down, across]) = (Self::first_cell(place), Self::place_of_warp::<O>());
        [row + down, column + across]
    }

    /// Whether an output tile is beyond the edge.
    #[inline(always)]
    fn is_beyond(&self, place: Place) -> bool {
        let [row, column] = Self::first_cell(place);
        row.max(column) >= self.x.rows
    }

    /// Whether some of the warp's cells of an output tile are in the lower triangle.
    #[inline(always)]
    fn has_cells<O: Order>(&self, place: Place) -> bool {
        let [row, column] = Self::cells_of_warp::<O>(place);
        row < self.x.rows && column < self.x.rows && column < row + Self::WARP_ROWS
    }

    /// Begins to copy a K-block, from column `first_p` of X on, to a buffer.
    #[inline(always)]
    fn begin_copy(&self, shared: &DynamicShared<f64>, buffer: u32, place: Place, first_p: u32) {
        let [row, column] = Self::first_cell(place);
        let thread = hint::opaque(thread::thread_idx_x());
        let (line, lane_p) = (thread / DEPTH % Self::LINES_AT_ONCE, thread % DEPTH);
        let to = Self::BUFFER * buffer + STRIDE * line + lane_p;
        let to = shared.view(to, [Self::LOADS], [STRIDE * Self::LINES_AT_ONCE]);
        let copy = |load: u32| {
            if load >= Self::LOADS {
                return;
            }
            let line = line + Self::LINES_AT_ONCE * load;
            let is_row = line < Self::ROWS;
            let row = if is_row { row + line } else { column + line - Self::ROWS };
            if first_p + lane_p < self.x.columns {
                // A line beyond the edge is one of cells that are not stored.
                self.x.copy_async(to, load, row.min(hint::opaque(self.x.rows) - 1), first_p + lane_p);
            } else {
                // Their product, −0, changes no sum, not even −0.
                to.set([load], if is_row { 0.0 } else { -0.0 });
            }
        };
        copy(0);
        copy(1);
        copy(2);
        copy(3);
        copy(4);
    }

    /// Adds the products of a step of a K-block to the warp's sums.
    #[inline(always)]
    fn add_products<O: Order>(shared: &DynamicShared<f64>, buffer: u32, step: u32, sums: &mut [[Sums; 2]; SETS]) {
        let lane = hint::opaque(thread::thread_idx_x()) % LANES;
        let [row, column] = Self::place_of_warp::<O>();
        let first = |line: u32| Self::BUFFER * buffer + STRIDE * (line + lane / 4) + lane % 4;
        let sizes = |lines: u32| [lines, DEPTH / STEP, 2];
        let strides = [STRIDE * STEP, STEP, STEP / 2];
        let rows = shared.view(first(row), sizes(2 * SETS as u32), strides);
        let columns = shared.view(first(Self::ROWS + column), sizes(2), strides);
        let right = [0, 1].map(|j| B::from_registers([0, 1].map(|half| columns.get([j, step, half]))));
        let mut add_to_set = |i: usize| {
            if i < SETS {
                let of_line = |lower: u32, half: u32| rows.get([2 * i as u32 + lower, step, half]);
                let left = A::from_registers([of_line(0, 0), of_line(1, 0), of_line(0, 1), of_line(1, 1)]);
                sums[i] = [0, 1].map(|j: usize| sums[i][j].plus_product(&left, &right[j]));
            }
        };
        add_to_set(0);
        add_to_set(1);
    }

    /// Stores the warp's sums, of the cells from `row` and `column` on.
    #[inline(always)]
    fn store(&self, [row, column]: [u32; 2], sums: &[[Sums; 2]; SETS]) {
        let lane = hint::opaque(thread::thread_idx_x()) % LANES;
        let (row, column) = (row + lane / 4, column + 2 * (lane % 4));
        let store = |i: usize, j: usize| {
            if i < SETS {
                let [a, b, c, d] = sums[i][j].registers();
                let (row, column) = (row + SET * i as u32, column + SET / 2 * j as u32);
                let store = |below: u32, right: u32, sum: f64| {
                    cells::store(self.out, self.x.rows, row + below, column + right, sum);
                };
                store(0, 0, a);
                store(0, 1, b);
                store(SET / 2, 0, c);
                store(SET / 2, 1, d);
            }
        };
        store(0, 0);
        store(0, 1);
        store(1, 0);
        store(1, 1);
    }
}
