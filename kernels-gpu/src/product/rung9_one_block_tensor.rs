use cuda_std::matrix::{self, A, B, Bf16};
use cuda_std::{F32x4, Global, GlobalMut, dynamic_shared, hint, kernel, thread, warp};

use super::THREADS;
use super::grid::Product;
use crate::tensor_cores;

/// Columns of X that a product of tensor cores multiplies: the depth of [`matmul_one_block_tensor_f32`] is a multiple.
pub const TENSOR_DEPTH: u32 = 16;
/// Rows of X that are a factor.
const SET: u32 = 16;
/// Beyond the rows of every X: a product has fewer than 2³² elements.
const BEYOND: u32 = 1 << 16;
const LANES: u32 = 32;
const WARPS: u32 = THREADS / LANES;
/// A float's parts.
const PARTS: u32 = 3;
/// Quads of shared memory for a set of rows and a step of columns: of each part one for a lane.
const QUADS: u32 = PARTS * LANES;

/// Bytes of shared memory that [`matmul_one_block_tensor_f32`] needs for [`TENSOR_DEPTH`] columns of X.
pub const fn one_block_tensor_bytes(rows: u32) -> u32 {
    rows.div_ceil(SET) * QUADS * size_of::<F32x4>() as u32
}

/// Rung 9, from sm_80 on. Idea: a K-block of all rows stays in shared memory, as in rung 6, as three bf16 of each float, as in rung 8.
/// Each float is split once, and a lane loads four registers of a factor by one instruction.
///
/// Each warp computes output tiles of its own, 32 × 16 cells, without any barrier between two K-blocks. `depth`, a multiple of
/// [`TENSOR_DEPTH`], is the number of columns in a K-block. Dynamic shared memory has
/// `depth` / [`TENSOR_DEPTH`] · [`one_block_tensor_bytes`] bytes. Between two K-blocks the sums are in `out`, in its upper
/// triangle. Cells that are NaN are computed again by their definition, as in rung 8.
#[kernel]
pub fn matmul_one_block_tensor_f32(x: &[f32], rows: u32, columns: u32, depth: u32, out: GlobalMut<f32>) {
    core::assert!(depth > 0 && depth.is_multiple_of(TENSOR_DEPTH), "the depth must be a multiple of 16 and not 0");
    match (rows | columns).is_multiple_of(4) {
        true => multiply::<true>(x, [rows, columns], depth, out),
        false => multiply::<false>(x, [rows, columns], depth, out),
    }
}

/// Computes X·Xᵀ by K-blocks of `depth` columns.
#[inline(always)]
fn multiply<const ALIGNED: bool>(x: Global<f32>, [rows, columns]: [u32; 2], depth: u32, out: GlobalMut<f32>) {
    let mut next_step = 0;
    // At least once: without columns the result is zero.
    loop {
        let first_step = hint::opaque(next_step);
        let block = Block::<ALIGNED> { x, rows, columns, depth, out, first_step };
        block.load();
        thread::sync_threads();
        block.multiply();
        if block.is_last() {
            break;
        }
        next_step = first_step + depth / TENSOR_DEPTH;
        // The next K-block replaces this one.
        thread::sync_threads();
    }
}

/// A K-block of all rows. Its methods compute what they need of the sizes: nothing of it stays in registers during the products.
struct Block<'a, const ALIGNED: bool> {
    x: Global<'a, f32>,
    rows: u32,
    columns: u32,
    /// Number of columns of a K-block.
    depth: u32,
    out: GlobalMut<'a, f32>,
    /// First step of [`TENSOR_DEPTH`] columns.
    first_step: u32,
}

impl<'a, const ALIGNED: bool> Block<'a, ALIGNED> {
    #[inline(always)]
    fn product(&self) -> Product<'a, ALIGNED> {
        let (rows, columns) = (hint::opaque(self.rows), hint::opaque(self.columns));
        match ALIGNED {
            // The compiler sees multiples of four: no quad needs a check of its alignment.
            true => Product::new(self.x, rows / 4 * 4, columns / 4 * 4, self.out),
            false => Product::new(self.x, rows, columns, self.out),
        }
    }

    /// Number of steps of this K-block and those behind it.
    #[inline(always)]
    fn rest(&self) -> u32 {
        hint::opaque(self.columns).div_ceil(TENSOR_DEPTH) - self.first_step
    }

    #[inline(always)]
    fn is_last(&self) -> bool {
        self.rest() <= hint::opaque(self.depth) / TENSOR_DEPTH
    }

    /// Number of steps of this K-block, and quads of shared memory of a set of rows.
    #[inline(always)]
    fn steps_and_stride(&self) -> (u32, u32) {
        let steps = hint::opaque(self.depth) / TENSOR_DEPTH;
        (self.rest().min(steps), QUADS * steps)
    }

    /// Loads and splits the K-block: each warp one set of rows and one step at a time.
    #[inline(always)]
    fn load(&self) {
        let (product, shared, (steps, stride)) = (self.product(), dynamic_shared::<F32x4>(), self.steps_and_stride());
        let (lane, sets) = (hint::opaque(thread::thread_idx_x()) % LANES, product.rows.div_ceil(SET));
        let to = shared.view(lane, [sets, steps, PARTS], [stride, QUADS, LANES]);
        let mut fragment = hint::opaque(thread::thread_idx_x()) / LANES;
        while fragment < sets * steps {
            let (set, step) = (fragment / steps, fragment % steps);
            let [[a, b], [c, d]] = [0, 2].map(|below| {
                // A row beyond the edge is one of cells that are not stored.
                let row = (SET * set + row_of_lane(lane) + below).min(product.rows - 1);
                let [a, b, c, d] = product.line(row).quad(4 * (self.first_step + step) + lane % 4).to_array();
                [tensor_cores::in_three([a, b]), tensor_cores::in_three([c, d])]
            });
            let store = |part: usize| {
                let registers = [a, c, b, d].map(|parts: [u32; 3]| f32::from_bits(parts[part]));
                to.set([set, step, part as u32], registers.into());
            };
            store(0);
            store(1);
            store(2);
            fragment += WARPS;
        }
    }

    /// Computes the warp's output tiles of the lower triangle, row by row and cyclic.
    #[inline(always)]
    fn multiply(&self) {
        // Of an odd number of sets the first row of tiles has one alone.
        let (mut set, mut j) = (1 - self.rows.div_ceil(SET) % 2, hint::opaque(thread::thread_idx_x()) / LANES);
        loop {
            while j > set {
                (set, j) = (set + 2, j - set - 1);
            }
            if set >= hint::opaque(self.rows).div_ceil(SET) {
                break;
            }
            let sums = self.sums([set.max(1) - 1, set], j);
            let tile = Tile {
                product: self.product(),
                lane: hint::opaque(thread::thread_idx_x()) % LANES,
                row: SET * hint::opaque(set),
                column: SET * hint::opaque(j),
            };
            tile.finish(sums, self.first_step == 0, self.is_last());
            j += WARPS;
        }
    }

    /// A thread's sums of the cells of two sets of rows and one of columns.
    #[inline(always)]
    fn sums(&self, rows: [u32; 2], columns: u32) -> Sums {
        let (shared, (steps, stride)) = (dynamic_shared::<F32x4>(), self.steps_and_stride());
        let lane = hint::opaque(thread::thread_idx_x()) % LANES;
        let view = |set: u32| shared.view(stride * set + lane, [steps, PARTS], [QUADS, LANES]);
        let (rows, columns) = (rows.map(view), view(columns));
        let mut sums = [[matrix::Sums::zero(); 2]; 2];
        let mut step = 0;
        while step < steps {
            let right = [0, 1, 2].map(|part| columns.get([step, part]).to_array().map(f32::to_bits));
            let right = right.map(|[a, b, c, d]| [B::from_registers([a, c]), B::from_registers([b, d])]);
            let mut add = |i: usize| {
                let left = [0, 1, 2].map(|part| rows[i].get([step, part]).to_array().map(f32::to_bits));
                sums[i] = plus_products(sums[i], &left.map(A::from_registers), &right);
            };
            add(0);
            add(1);
            step += 1;
        }
        sums.map(|sums| {
            let [[a, b, e, f], [c, d, g, h]] = sums.map(matrix::Sums::registers);
            [[a, b, c, d], [e, f, g, h]]
        })
    }
}

/// A thread's sums: for each set of rows two rows, the first and the third of four or the second and the fourth, of four columns.
type Sums = [[[f32; 4]; 2]; 2];

/// The first of a lane's two rows of a set, or of its columns of the right factor; the second one is two below. Two lanes of groups
/// that differ in the last bit have four adjacent ones.
#[inline(always)]
fn row_of_lane(lane: u32) -> u32 {
    let group = lane / 4;
    4 * (group / 2) + group % 2
}

/// The sums plus six of the nine products of parts. The five small ones are added to each other first, and rounded to the nearest when
/// they are added to the sums: tensor cores may truncate.
#[inline(always)]
fn plus_products([e, f]: [matrix::Sums; 2], left: &[A<Bf16>; 3], right: &[[B<Bf16>; 2]; 3]) -> [matrix::Sums; 2] {
    let plus = |[e, f]: [matrix::Sums; 2], a: usize, b: usize| {
        [e.plus_product(&left[a], &right[b][0]), f.plus_product(&left[a], &right[b][1])]
    };
    // One part of the left factor after the other, which needs the fewest registers.
    let low = plus([matrix::Sums::zero(); 2], 2, 0);
    let low = plus(low, 1, 1);
    let low = plus(low, 1, 0);
    let low = plus(low, 0, 2);
    let [g, h] = plus(low, 0, 1);
    let [e, f] = plus([e, f], 0, 0);
    [plus_sums(e, g), plus_sums(f, h)]
}

#[inline(always)]
fn plus_sums(sums: matrix::Sums, others: matrix::Sums) -> matrix::Sums {
    let ([a, b, c, d], [e, f, g, h]) = (sums.registers(), others.registers());
    matrix::Sums::from_registers([a + e, b + f, c + g, d + h])
}

/// An output tile of two sets of rows and one of columns.
struct Tile<'a, const ALIGNED: bool> {
    product: Product<'a, ALIGNED>,
    lane: u32,
    /// First row of the second set. At 0 the tile has no first set.
    row: u32,
    /// First column.
    column: u32,
}

impl<const ALIGNED: bool> Tile<'_, ALIGNED> {
    /// Adds the sums of the K-blocks before, unless there are none, and stores these sums.
    #[inline(always)]
    fn finish(&self, mut sums: Sums, is_first: bool, is_last: bool) {
        let rows = self.product.rows;
        // Whether no cell of the tile is beyond the edge or above the diagonal.
        let is_whole = self.column + SET < self.row && self.row + SET <= rows;
        if !is_first {
            if is_whole { self.add(&mut sums) } else { self.add_cells(&mut sums) }
        }
        if is_last {
            // Lanes store sums where others have kept theirs.
            warp::sync_warp();
            self.store(&sums);
        } else if is_whole {
            self.keep(&sums);
        } else {
            self.keep_cells(&sums);
        }
    }

    /// Keeps the sums where a whole tile's cells are in the upper triangle: the warp writes a row of 32 at once.
    #[inline(always)]
    fn keep(&self, &[[a, b], [c, d]]: &Sums) {
        let (out, column) = (self.product.out, self.row - SET + self.lane);
        let keep = |i: u32, sums: [f32; 4]| {
            let keep = |j: u32| out.set([self.column + 4 * i + j, column], sums[j as usize]);
            keep(0);
            keep(1);
            keep(2);
            keep(3);
        };
        keep(0, a);
        keep(1, b);
        keep(2, c);
        keep(3, d);
    }

    /// Adds what [`Self::keep`] has kept.
    #[inline(always)]
    fn add(&self, [[a, b], [c, d]]: &mut Sums) {
        let (out, column) = (self.product.out, self.row - SET + self.lane);
        let add = |i: u32, sums: &mut [f32; 4]| {
            let kept = |j: u32| out.get([self.column + 4 * i + j, column]);
            *sums = [sums[0] + kept(0), sums[1] + kept(1), sums[2] + kept(2), sums[3] + kept(3)];
        };
        add(0, a);
        add(1, b);
        add(2, c);
        add(3, d);
    }

    /// Keeps the sums in the upper triangle, each at its cell's place.
    #[inline(always)]
    fn keep_cells(&self, &[[a, b], [c, d]]: &Sums) {
        let out = self.product.out;
        let keep = |i: u32, sums: [f32; 4]| self.for_each_cell(i, |row, column, j| out.set([column, row], sums[j]));
        keep(0, a);
        keep(1, b);
        keep(2, c);
        keep(3, d);
    }

    #[inline(always)]
    fn add_cells(&self, [[a, b], [c, d]]: &mut Sums) {
        let out = self.product.out;
        let add =
            |i: u32, sums: &mut [f32; 4]| self.for_each_cell(i, |row, column, j| sums[j] += out.get([column, row]));
        add(0, a);
        add(1, b);
        add(2, c);
        add(3, d);
    }

    /// Calls a function for the four cells of the thread's row `i` that are in the lower triangle.
    #[inline(always)]
    fn for_each_cell(&self, i: u32, mut function: impl FnMut(u32, u32, usize)) {
        let (row, column) = (self.row_of_thread(i), self.column_of_thread());
        if row >= self.product.rows {
            return;
        }
        let mut call = |j: usize| {
            if column + j as u32 <= row {
                function(row, column + j as u32, j);
            }
        };
        call(0);
        call(1);
        call(2);
        call(3);
    }

    /// The thread's row `i` of four, two of each set. A row of a set that the tile does not have is beyond the edge.
    #[inline(always)]
    fn row_of_thread(&self, i: u32) -> u32 {
        let first = if i < 2 { self.first_set() } else { self.row };
        first + row_of_lane(self.lane) + 2 * (i % 2)
    }

    /// First row of the first set; beyond every edge if the tile has no such set.
    #[inline(always)]
    fn first_set(&self) -> u32 {
        if self.row == 0 { BEYOND } else { self.row - SET }
    }

    /// The first of the thread's four columns.
    #[inline(always)]
    fn column_of_thread(&self) -> u32 {
        self.column + 4 * (self.lane % 4)
    }

    /// Stores the cells of both triangles.
    #[inline(always)]
    fn store(&self, sums: &Sums) {
        // The sum of the sums is NaN if one of them is.
        let total: f32 = sums.as_flattened().as_flattened().iter().sum();
        let some_are_nan = warp::any(total.is_nan());
        let column = self.column_of_thread();
        let [[a, b], [c, d]] = *sums;
        // Two lanes have four adjacent rows of each set: the first one gets those of the first set.
        let below = self.lane / 4 % 2;
        // Another condition for the compiler, which would put the shuffles into the branches of one.
        let is_second = [below, hint::opaque(below)].map(|below| below == 1);
        let down = [0, 1, 2, 3].map(|j: usize| {
            let (first, second) = ([a[j], b[j]], [c[j], d[j]]);
            let (kept, passed) = if is_second[0] { (second, first) } else { (first, second) };
            let [e, f] = passed.map(|sum| warp::shuffle_xor(sum, 4));
            let [g, h] = kept;
            if is_second[1] { [e, g, f, h] } else { [g, e, h, f] }
        });
        self.product.store_across(self.row_of_thread(0), column, a);
        self.product.store_across(self.row_of_thread(1), column, b);
        self.product.store_across(self.row_of_thread(2), column, c);
        self.product.store_across(self.row_of_thread(3), column, d);
        let first = if below == 1 { self.row } else { self.first_set() };
        let row = first + 4 * (self.lane / 8);
        self.product.store_down(column, row, down[0]);
        self.product.store_down(column + 1, row, down[1]);
        self.product.store_down(column + 2, row, down[2]);
        self.product.store_down(column + 3, row, down[3]);
        if some_are_nan {
            // The lanes have stored sums of each other.
            warp::sync_warp();
            let mut cell = 0;
            while cell < hint::opaque(16) {
                let (row, column) = (self.row_of_thread(cell / 4), column + cell % 4);
                if row < self.product.rows && column <= row {
                    self.product.compute_again_if_nan(row, column);
                }
                cell += 1;
            }
        }
    }
}
