//! The part of the image and of the kernel that a block stages in shared memory.

use cuda_std::{DynamicShared, Global, GlobalMut, SharedView, dynamic_shared, thread};

use super::{Image, SLAB, SLAB_ELEMENTS, STRIDE, Shape, TILE_COLUMNS, WARPS};

/// A tile of pixels, by its first row and column.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    first_row: u32,
    first_column: u32,
}

impl Tile {
    /// Tile `index` of the image's tiles of `tile_rows` rows, in row-major order.
    #[inline(always)]
    pub(super) fn new(shape: Shape, tile_rows: u32, index: u32) -> Self {
        let across = shape.columns.div_ceil(TILE_COLUMNS);
        Self { first_row: index / across * tile_rows, first_column: index % across * TILE_COLUMNS }
    }

    /// Stores a thread's result at row `row` of the tile, if that is in the image.
    #[inline(always)]
    pub(super) fn store(self, shape: Shape, row: u32, sum: f32, out: GlobalMut<f32>) {
        let (i, j) = (self.first_row + row, self.first_column + lane());
        if i < shape.rows && j < shape.columns {
            out.set((i * shape.columns + j) as usize, sum);
        }
    }
}

/// A slab: at most [`SLAB`] × [`SLAB`] coefficients, from row `u` and column `v` of the kernel on.
#[derive(Clone, Copy)]
pub(super) struct Slab {
    u: u32,
    v: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

impl Slab {
    /// The first slab; None if the kernel is empty.
    #[inline(always)]
    pub(super) fn first(shape: Shape) -> Option<Self> {
        Self::at(shape, 0, 0)
    }

    /// The slab after this one, in row-major order.
    #[inline(always)]
    pub(super) fn next(self, shape: Shape) -> Option<Self> {
        match self.v + SLAB < shape.kernel_columns {
            true => Self::at(shape, self.u, self.v + SLAB),
            false => Self::at(shape, self.u + SLAB, 0),
        }
    }

    #[inline(always)]
    fn at(shape: Shape, u: u32, v: u32) -> Option<Self> {
        let is_in_kernel = u < shape.kernel_rows && v < shape.kernel_columns;
        is_in_kernel.then(|| Self {
            u,
            v,
            rows: SLAB.min(shape.kernel_rows - u),
            columns: SLAB.min(shape.kernel_columns - v),
        })
    }
}

/// The dynamic shared memory of a block: a slab of coefficients, and a tile's pixels with their halo.
pub(super) struct Staged {
    coefficients: DynamicShared<f32>,
    pixels: DynamicShared<f32>,
}

impl Staged {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let (coefficients, pixels) = dynamic_shared::<f32>().split_at(SLAB_ELEMENTS as usize);
        Self { coefficients, pixels }
    }

    /// Loads the slab, and the pixels that a tile of `tile_rows` rows needs for it: a warp loads a row at a time.
    #[inline(always)]
    pub(super) fn load(&self, kernel: Global<f32>, image: Image, tile: Tile, tile_rows: u32, slab: Slab) {
        let t = thread::thread_idx_x();
        let (u, v) = (t / SLAB, t % SLAB);
        if u < slab.rows && v < slab.columns {
            let index = (slab.u + u) * image.shape.kernel_columns + slab.v + v;
            self.coefficients(slab).set([u, v], kernel[index as usize]);
        }
        let [rows, columns] = [tile_rows + slab.rows - 1, TILE_COLUMNS + slab.columns - 1];
        let pixels = self.pixels.view(0, [rows, columns], [STRIDE, 1]);
        let mut row = warp();
        while row < rows {
            let mut column = lane();
            while column < columns {
                let pixel = image.pixel(tile.first_row + row, tile.first_column + column, slab.u, slab.v);
                pixels.set([row, column], pixel);
                column += TILE_COLUMNS;
            }
            row += WARPS;
        }
        thread::sync_threads();
    }

    /// `rows` rows of pixels from row `row` of the tile and the thread's column on, as wide as the slab. A view checks its
    /// bounds once.
    #[inline(always)]
    pub(super) fn pixels(&self, row: u32, rows: u32, slab: Slab) -> SharedView<'_, f32, 2> {
        self.pixels.view(row * STRIDE + lane(), [rows, slab.columns], [STRIDE, 1])
    }

    /// The slab's coefficients.
    #[inline(always)]
    pub(super) fn coefficients(&self, slab: Slab) -> SharedView<'_, f32, 2> {
        self.coefficients.view(0, [slab.rows, slab.columns], [SLAB, 1])
    }
}

/// The thread's lane: its column in a tile.
#[inline(always)]
pub(super) fn lane() -> u32 {
    thread::thread_idx_x() % TILE_COLUMNS
}

/// The thread's warp.
#[inline(always)]
pub(super) fn warp() -> u32 {
    thread::thread_idx_x() / TILE_COLUMNS
}
