use cuda_std::{DynamicShared, F32x4, GlobalMut, SharedView, dynamic_shared, hint, kernel, thread};

use super::cells::{Matrix, multiply_add};
use super::{RESIDENT_TILE, THREADS, resident_stride};

/// Rows and columns of an output tile.
const TILE: u32 = RESIDENT_TILE;
const LANES: u32 = 32;
const WARPS: u32 = THREADS / LANES;
/// Rows of a thread's register tile.
const DOWN: usize = 4;
/// Columns of a thread's register tile: two quads, which are half an output tile apart.
const ACROSS: usize = 8;
/// Quads of an output tile's rows or columns.
const TILE_QUADS: u32 = TILE / 4;
/// Columns of X in an iteration of the inner loop.
const UNROLLED: u32 = 2;

/// A thread's register tile.
type Sums = [[f32; ACROSS]; DOWN];

/// Rung 6, the fastest. Idea: a K-block of all rows fits into shared memory (64 of 128 columns of 784 rows in 201 KiB).
/// It is loaded once, not once per output tile, and then each warp computes output tiles of its own, 32 × 32 cells by 4 × 8
/// cells of a thread, without any barrier. The small tiles follow the diagonal closely, and there is no check per cell.
///
/// `depth`, an even number, is that of a K-block. Dynamic shared memory has `depth` · [`resident_stride`] quads: X
/// column-major, padded with zeros. Between two K-blocks the sums are in `out`.
#[kernel]
pub fn matmul_resident_f32(x: &[f32], rows: u32, columns: u32, depth: u32, out: GlobalMut<f32>) {
    core::assert!(depth > 0 && depth.is_multiple_of(UNROLLED), "the depth must be even and not 0");
    let shared = dynamic_shared::<F32x4>();
    let mut next_p = 0;
    // At least once: without columns the result is zero.
    loop {
        let first_p = hint::opaque(next_p);
        let block = Block { shared: &shared, x: Matrix::new(x, rows, columns), first_p, depth };
        block.load();
        thread::sync_threads();
        match rows.is_multiple_of(4) {
            true => block.multiply::<true>(out),
            false => block.multiply::<false>(out),
        }
        if block.is_last() {
            break;
        }
        next_p = first_p + depth;
        // The next K-block replaces this one.
        thread::sync_threads();
    }
}

/// A K-block of all rows.
struct Block<'a> {
    shared: &'a DynamicShared<F32x4>,
    x: Matrix<'a, f32>,
    /// First column of X.
    first_p: u32,
    /// Number of columns of X, with padding.
    depth: u32,
}

impl Block<'_> {
    #[inline(always)]
    fn is_last(&self) -> bool {
        self.x.columns - self.first_p <= self.depth
    }

    /// Loads the K-block. Adjacent lanes load adjacent columns.
    #[inline(always)]
    fn load(&self) {
        let (x, first_p, depth) = (self.x, self.first_p, self.depth);
        let quads = TILE_QUADS * x.rows.div_ceil(TILE);
        let view = self.shared.view(0, [depth, quads], [resident_stride(x.rows), 1]);
        let t = hint::opaque(thread::thread_idx_x());
        let mut quad = t / LANES;
        while quad < quads {
            let mut p = t % LANES;
            while p < depth {
                let element = |i: u32| x.get_or_zero(4 * quad + i, first_p + p);
                view.set([p, quad], F32x4::new(element(0), element(1), element(2), element(3)));
                p += LANES;
            }
            quad += WARPS;
        }
    }

    /// Computes the warp's output tiles of the lower triangle, row by row and cyclic. The last K-block stores the upper
    /// triangle too. `ALIGNED` if a row of the result is a whole number of quads.
    #[inline(always)]
    fn multiply<const ALIGNED: bool>(&self, out: GlobalMut<f32>) {
        let (stride, steps) = (resident_stride(self.x.rows), self.depth / UNROLLED);
        let (mut i, mut j) = (0, thread::thread_idx_x() / LANES);
        loop {
            while j > i {
                (i, j) = (i + 1, j - i - 1);
            }
            if i >= self.x.rows.div_ceil(TILE) {
                break;
            }
            let lane = hint::opaque(thread::thread_idx_x()) % LANES;
            // Neighbouring lanes share a row or a column, so that a load of all 32 lanes reads 8 or 4 distinct quads.
            let (ty, tx) = (lane & 1 | lane >> 1 & 6, lane >> 1 & 1 | lane >> 3 & 2);
            let (row, column) = (TILE_QUADS * i + ty, TILE_QUADS * j + tx);
            let view = |first: u32, quads: u32| {
                let strides = [UNROLLED * stride, stride, TILE_QUADS / 2];
                self.shared.view(first, [steps, UNROLLED, quads], strides)
            };
            // Opaque, so that neither the sums' load nor its results stay in registers during the product.
            let cells = || Cells::<ALIGNED> {
                out,
                // The compiler sees multiples of four, so that no quad needs a check of its alignment.
                rows: if ALIGNED { self.x.rows / 4 * 4 } else { self.x.rows },
                row: 4 * hint::opaque(row),
                column: 4 * hint::opaque(column),
            };
            let mut sums = if self.first_p == 0 { [[0.0; ACROSS]; DOWN] } else { cells().load() };
            multiply(view(row, 1), view(column, 2), steps, &mut sums);
            cells().store(sums, self.is_last() && i != j);
            j += WARPS;
        }
    }
}

/// Adds the products of a K-block to a thread's register tile.
#[inline(always)]
fn multiply(a: SharedView<F32x4, 3>, b: SharedView<F32x4, 3>, steps: u32, sums: &mut Sums) {
    let mut step = 0;
    while step < steps {
        let mut p = 0;
        while p < UNROLLED {
            let rows = a.get([step, p, 0]).to_array();
            let ([b0, b1, b2, b3], [b4, b5, b6, b7]) = (b.get([step, p, 0]).to_array(), b.get([step, p, 1]).to_array());
            let columns = [b0, b1, b2, b3, b4, b5, b6, b7];
            for (&row, sums) in rows.iter().zip(sums.iter_mut()) {
                multiply_add(row, &columns, sums);
            }
            p += 1;
        }
        step += 1;
    }
}

/// The place of a thread's register tile in the result.
#[derive(Clone, Copy)]
struct Cells<'a, const ALIGNED: bool> {
    out: GlobalMut<'a, f32>,
    rows: u32,
    /// First row.
    row: u32,
    /// First column of the first quad.
    column: u32,
}

impl<const ALIGNED: bool> Cells<'_, ALIGNED> {
    /// The sums of the K-blocks before, in `out`; zeros beyond its edge.
    #[inline(always)]
    fn load(self) -> Sums {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| {
            let [a, b, c, d] = self.load_quad(self.row + i, self.column).to_array();
            let [e, f, g, h] = self.load_quad(self.row + i, self.column + TILE / 2).to_array();
            [a, b, c, d, e, f, g, h]
        });
        [a, b, c, d]
    }

    /// Stores the sums, and if `mirrored` also in the upper triangle.
    #[inline(always)]
    fn store(self, [a, b, c, d]: Sums, mirrored: bool) {
        let (row, left, right) = (self.row, self.column, self.column + TILE / 2);
        let store_row = |row: u32, [a, b, c, d, e, f, g, h]: [f32; ACROSS]| {
            self.store_quad(row, left, F32x4::new(a, b, c, d));
            self.store_quad(row, right, F32x4::new(e, f, g, h));
        };
        store_row(row, a);
        store_row(row + 1, b);
        store_row(row + 2, c);
        store_row(row + 3, d);
        if mirrored {
            let store_column = |j: usize, column: u32| self.store_quad(column, row, F32x4::new(a[j], b[j], c[j], d[j]));
            store_column(0, left);
            store_column(1, left + 1);
            store_column(2, left + 2);
            store_column(3, left + 3);
            store_column(4, right);
            store_column(5, right + 1);
            store_column(6, right + 2);
            store_column(7, right + 3);
        }
    }

    #[inline(always)]
    fn load_quad(self, row: u32, column: u32) -> F32x4 {
        let first = (row * self.rows + column) as usize;
        if row >= self.rows {
            return F32x4::splat(0.0);
        }
        if ALIGNED {
            return if column < self.rows { self.out.quad(first) } else { F32x4::splat(0.0) };
        }
        let element = |j: u32| if column + j < self.rows { self.out.get(first + j as usize) } else { 0.0 };
        F32x4::new(element(0), element(1), element(2), element(3))
    }

    /// Stores four elements of a row, except those beyond the edge.
    #[inline(always)]
    fn store_quad(self, row: u32, column: u32, values: F32x4) {
        let first = (row * self.rows + column) as usize;
        if row >= self.rows {
            return;
        }
        if ALIGNED {
            if column < self.rows {
                self.out.set_quad(first, values);
            }
            return;
        }
        let set = |j: u32, value: f32| {
            if column + j < self.rows {
                self.out.set(first + j as usize, value);
            }
        };
        set(0, values.x);
        set(1, values.y);
        set(2, values.z);
        set(3, values.w);
    }
}
