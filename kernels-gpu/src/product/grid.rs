//! Output tiles of 64 × 48 cells, distributed over the blocks, and the blocks over all multiprocessors: the base of rungs 7 and 8.

use cuda_std::{DynamicShared, F32x4, Global, GlobalMut, GlobalQuads, GlobalView, dynamic_shared, math, thread, warp};

use super::{GRID_COLUMNS, GRID_ROWS, grid_tiles_before};

/// Lines of a K-block: the rows of X for the rows of an output tile, then those for its columns.
pub(super) const LINES: u32 = GRID_ROWS + GRID_COLUMNS;

/// What a rung does with an output tile.
pub(super) trait Rung {
    /// A thread's sums.
    type Sums;

    /// The thread's sums of an output tile.
    fn sums<const ALIGNED: bool>(tile: Tile<'_, ALIGNED>, shared: &DynamicShared<F32x4>) -> Self::Sums;

    /// Stores the thread's sums.
    fn store<const ALIGNED: bool>(tile: Tile<'_, ALIGNED>, sums: &Self::Sums);
}

/// Computes X·Xᵀ by rung `R`.
#[inline(always)]
pub(super) fn multiply<R: Rung>(x: Global<f32>, rows: u32, columns: u32, out: GlobalMut<f32>) {
    // The compiler sees multiples of four, so that no quad needs a check of its alignment.
    match (rows | columns).is_multiple_of(4) {
        true => Product::<true>::new(x, rows / 4 * 4, columns / 4 * 4, out).compute::<R>(),
        false => Product::<false>::new(x, rows, columns, out).compute::<R>(),
    }
}

/// X, of which each row is a whole number of quads if `ALIGNED`, as is each row of the result.
pub(super) struct Product<'a, const ALIGNED: bool> {
    pub(super) x: Global<'a, f32>,
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// The result.
    pub(super) out: GlobalView<'a, f32, 2>,
}

impl<'a, const ALIGNED: bool> Product<'a, ALIGNED> {
    #[inline(always)]
    pub(super) fn new(x: Global<'a, f32>, rows: u32, columns: u32, out: GlobalMut<'a, f32>) -> Self {
        Self { x, rows, columns, out: out.view(0, [rows, rows], [rows, 1]) }
    }

    /// Computes the block's output tiles of the lower triangle, row by row and cyclic.
    #[inline(always)]
    fn compute<R: Rung>(&self) {
        let shared = dynamic_shared::<F32x4>();
        let mut tile = thread::block_idx_x();
        loop {
            let (i, j) = place_of_tile(tile);
            let place = Tile { product: self, first_row: GRID_ROWS * i, first_column: GRID_COLUMNS * j };
            if place.first_row.max(place.first_column) >= self.rows {
                break;
            }
            let sums = R::sums(place, &shared);
            R::store(place, &sums);
            tile += thread::grid_dim_x();
            // No thread loads the next tile before every thread has read this one.
            thread::sync_threads();
        }
    }

    /// Row `row` of X.
    #[inline(always)]
    pub(super) fn line(&self, row: u32) -> Line<'a, ALIGNED> {
        let (x, columns, first) = (self.x, self.columns, row * self.columns);
        Line {
            x,
            quads: x.quads(if ALIGNED { first as usize } else { 0 }, if ALIGNED { columns / 4 } else { 0 }),
            first,
            columns,
        }
    }

    /// Stores sums of a row and of four columns, from `column` on, which is a multiple of four: those of the lower triangle.
    #[inline(always)]
    pub(super) fn store_across(&self, row: u32, column: u32, sums: [f32; 4]) {
        let Product { rows, out, .. } = *self;
        if row >= rows {
            return;
        }
        if ALIGNED && column < row && row - column >= 3 {
            out.set_quad([row, column], sums.into());
            return;
        }
        let set = |i: u32| {
            if column + i <= row {
                out.set([row, column + i], sums[i as usize]);
            }
        };
        set(0);
        set(1);
        set(2);
        set(3);
    }

    /// Stores sums of a column and of four rows, from `row` on, which is a multiple of four: those of the lower triangle without
    /// its diagonal, into the upper one, where they are sums of a row.
    #[inline(always)]
    pub(super) fn store_down(&self, column: u32, row: u32, sums: [f32; 4]) {
        let Product { rows, out, .. } = *self;
        if ALIGNED && column < row && row < rows {
            out.set_quad([column, row], sums.into());
            return;
        }
        let set = |i: u32| {
            if column < row + i && row + i < rows {
                out.set([column, row + i], sums[i as usize]);
            }
        };
        set(0);
        set(1);
        set(2);
        set(3);
    }

    /// Computes a cell of the lower triangle by its definition if it is NaN.
    #[inline(always)]
    pub(super) fn compute_again_if_nan(&self, row: u32, column: u32) {
        let Product { x, columns, out, .. } = *self;
        if !out.get([row, column]).is_nan() {
            return;
        }
        let mut sum = 0.0;
        let mut p = 0;
        while p < columns {
            sum = math::fma(x[(row * columns + p) as usize], x[(column * columns + p) as usize], sum);
            p += 1;
        }
        out.set([row, column], sum);
        out.set([column, row], sum);
    }
}

/// An output tile.
pub(super) struct Tile<'a, const ALIGNED: bool> {
    pub(super) product: &'a Product<'a, ALIGNED>,
    pub(super) first_row: u32,
    pub(super) first_column: u32,
}

impl<const ALIGNED: bool> Clone for Tile<'_, ALIGNED> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<const ALIGNED: bool> Copy for Tile<'_, ALIGNED> {}

impl<'a, const ALIGNED: bool> Tile<'a, ALIGNED> {
    /// The row of X that is line `line` of the tile's K-blocks.
    #[inline(always)]
    pub(super) fn line(self, line: u32) -> Line<'a, ALIGNED> {
        let Self { product, first_row, first_column } = self;
        let row = if line < GRID_ROWS { first_row + line } else { first_column + line - GRID_ROWS };
        // A line beyond the edge is one of cells that are not stored.
        product.line(row.min(product.rows - 1))
    }
}

/// Row and column of output tile `tile` among the tiles. Each lane compares with another row's first tile.
#[inline(always)]
pub(super) fn place_of_tile(tile: u32) -> (u32, u32) {
    let mut i = 0;
    loop {
        let rows_before = warp::ballot(grid_tiles_before(i + warp::lane_id() + 1) <= tile).count_ones();
        i += rows_before;
        if rows_before < 32 {
            return (i, tile - grid_tiles_before(i));
        }
    }
}

/// A row of X.
#[derive(Clone, Copy)]
pub(super) struct Line<'a, const ALIGNED: bool> {
    x: Global<'a, f32>,
    /// Its quads, if `ALIGNED`.
    pub(super) quads: GlobalQuads<'a>,
    /// Index of its first element.
    first: u32,
    columns: u32,
}

impl<const ALIGNED: bool> Line<'_, ALIGNED> {
    /// Four adjacent elements of the row; zeros beyond its end.
    #[inline(always)]
    pub(super) fn quad(&self, quad: u32) -> F32x4 {
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
