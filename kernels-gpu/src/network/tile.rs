//! The matrix product that all passes share, one tile of the result for each block.

use cuda_std::{F32x4, SharedArray, math, thread};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Cells of a thread in each direction.
const CELLS: usize = 4;
/// Quads of a piece: each thread fetches one of either factor.
const PIECE: u32 = THREADS;
/// Two buffers, each with a piece of either factor, with room for the gaps between columns; the partial sums at the end
/// need less.
pub(super) const QUADS: usize = 4 * (PIECE as usize + 64);

/// The shape of a tile and how the block's threads share its work.
///
/// A thread computes 4 × 4 cells, and a tile of TILE × TILE has (TILE / 4)² of those. Where that is fewer than the
/// block's threads, the threads form slices, each of which takes its share of the depth; the slices' sums are added at
/// the end, in order.
pub(super) struct Shape<const TILE: u32>;

impl<const TILE: u32> Shape<TILE> {
    /// Quads across a tile.
    const ACROSS: u32 = TILE / CELLS as u32;
    /// Rows of the right factor and columns of the left one that are fetched at once.
    const DEPTH: u32 = PIECE / Self::ACROSS;
    /// Quads from the start of a fetched row or column to the next: one more than it has, so that neighbouring threads,
    /// which fetch neighbouring ones, write to different banks of shared memory.
    const STRIDE: u32 = Self::ACROSS + 1;
    /// Quads of a piece with its gaps.
    const PADDED_PIECE: u32 = Self::DEPTH * Self::STRIDE;
    /// Threads of a slice.
    const SLICE: u32 = Self::ACROSS * Self::ACROSS;
    /// Slices.
    const SLICES: u32 = THREADS / Self::SLICE;
    /// What a slice takes of a piece's depth.
    const SHARE: u32 = Self::DEPTH / Self::SLICES;
}

/// The quad of a piece that a thread fetches: four lines of the tile, at one depth.
#[derive(Clone, Copy)]
pub(super) struct Fetched {
    /// The first of the four lines, counted from the tile's first.
    pub(super) line: u32,
    /// The depth, counted from the piece's first.
    pub(super) p: u32,
}

impl Fetched {
    /// For a factor whose neighbours in memory are along the depth: so are neighbouring threads.
    #[inline(always)]
    pub(super) fn along_depth<const TILE: u32>() -> Self {
        let t = thread::thread_idx_x();
        Self { line: CELLS as u32 * (t / Shape::<TILE>::DEPTH), p: t % Shape::<TILE>::DEPTH }
    }

    /// For a factor whose neighbours in memory are along the tile's lines: so are neighbouring threads.
    #[inline(always)]
    pub(super) fn along_lines<const TILE: u32>() -> Self {
        let t = thread::thread_idx_x();
        Self { line: CELLS as u32 * (t % Shape::<TILE>::ACROSS), p: t / Shape::<TILE>::ACROSS }
    }

    #[inline(always)]
    fn place<const TILE: u32>(self) -> u32 {
        self.p * Shape::<TILE>::STRIDE + self.line / CELLS as u32
    }
}

/// Computes a tile of left · right: hands each of its cells, as row and column in the tile and sum, to `finish`.
///
/// `left` and `right` each have the quad that this thread fetches, and a function that fetches it from a given depth on;
/// beyond the depth and the matrix's edge it gives zeros. All threads of the block must call.
///
/// Ideas: the factors' pieces are fetched by all threads together and then read from shared memory, four numbers at
/// once, 8 for 16 multiply-adds; there are two buffers, so that one piece is on its way while the block computes from the
/// other.
#[inline(always)]
pub(super) fn product<const TILE: u32>(
    quads: &SharedArray<F32x4, QUADS>,
    depth: u32,
    left: (Fetched, impl Fn(u32) -> F32x4),
    right: (Fetched, impl Fn(u32) -> F32x4),
    mut finish: impl FnMut(u32, u32, f32),
) {
    let (left_place, right_place) = (left.0.place::<TILE>(), Shape::<TILE>::PADDED_PIECE + right.0.place::<TILE>());
    let t = thread::thread_idx_x();
    let (slice, in_slice) = (t / Shape::<TILE>::SLICE, t % Shape::<TILE>::SLICE);
    let (tx, ty) = (in_slice % Shape::<TILE>::ACROSS, in_slice / Shape::<TILE>::ACROSS);

    let mut sums = [[0.0_f32; CELLS]; CELLS];
    let mut buffer = 0;
    quads.set((buffer + left_place) as usize, left.1(0));
    quads.set((buffer + right_place) as usize, right.1(0));
    thread::sync_threads();
    let mut first_p = 0;
    while first_p < depth {
        let next_p = first_p + Shape::<TILE>::DEPTH;
        let next = (left.1(next_p), right.1(next_p));
        let share = slice * Shape::<TILE>::SHARE;
        if first_p + share < depth {
            let mut place = buffer + share * Shape::<TILE>::STRIDE;
            let mut i = 0;
            while i < Shape::<TILE>::SHARE {
                let rows = quads.get((place + ty) as usize).to_array();
                let columns = quads.get((place + Shape::<TILE>::PADDED_PIECE + tx) as usize).to_array();
                for (&row, sums) in rows.iter().zip(&mut sums) {
                    for (&column, sum) in columns.iter().zip(sums) {
                        *sum = math::fma(row, column, *sum);
                    }
                }
                place += Shape::<TILE>::STRIDE;
                i += 1;
            }
        }
        buffer = 2 * Shape::<TILE>::PADDED_PIECE - buffer;
        if next_p < depth {
            quads.set((buffer + left_place) as usize, next.0);
            quads.set((buffer + right_place) as usize, next.1);
        }
        thread::sync_threads();
        first_p = next_p;
    }

    if Shape::<TILE>::SLICES == 1 {
        // Written out: in a loop that is not unrolled the sums would go to memory.
        let [first, second, third, fourth] = sums;
        let mut finish_row = |i: u32, [x, y, z, w]: [f32; CELLS]| {
            let (row, column) = (CELLS as u32 * ty + i, CELLS as u32 * tx);
            finish(row, column, x);
            finish(row, column + 1, y);
            finish(row, column + 2, z);
            finish(row, column + 3, w);
        };
        finish_row(0, first);
        finish_row(1, second);
        finish_row(2, third);
        finish_row(3, fourth);
        return;
    }
    // A slice's sums row by row; then each thread adds up one cell.
    for (i, &[x, y, z, w]) in sums.iter().enumerate() {
        let row = CELLS as u32 * ty + i as u32;
        quads.set(
            (slice * TILE * Shape::<TILE>::ACROSS + row * Shape::<TILE>::ACROSS + tx) as usize,
            F32x4 { x, y, z, w },
        );
    }
    thread::sync_threads();
    let mut sum = 0.0;
    let mut i = 0;
    while i < Shape::<TILE>::SLICES {
        let [x, y, z, w] = quads.get((i * TILE * Shape::<TILE>::ACROSS + t / CELLS as u32) as usize).to_array();
        sum += match t % CELLS as u32 {
            0 => x,
            1 => y,
            2 => z,
            _ => w,
        };
        i += 1;
    }
    finish(t / TILE, t % TILE, sum);
}
