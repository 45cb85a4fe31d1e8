//! The matrix product of all passes, one output tile per block.

use core::array;

use cuda_std::{Element, F32x4, Global, SharedArray, hint, math, thread};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Rows and columns of a thread's register tile.
const CELLS: usize = 4;
/// Quads of a K-block of one factor: each thread loads one quad of either factor.
const K_BLOCK: u32 = THREADS;
/// Quads of the two buffers, each with a K-block of either factor and its padding; the partial sums at the end need
/// less.
pub(super) const QUADS: usize = 4 * (K_BLOCK as usize + 64);

/// The shape of an output tile and its distribution over the block's threads.
///
/// A thread computes 4 × 4 cells, and a tile of TILE × TILE has (TILE / 4)² of those. If that is fewer than the block's
/// threads, the threads form slices, each of which takes a share of the depth (split-K within the block); the slices'
/// sums are added at the end, in order.
pub(super) struct Shape<const TILE: u32>;

impl<const TILE: u32> Shape<TILE> {
    /// Quads per row of a tile.
    const ACROSS: u32 = TILE / CELLS as u32;
    /// Depth of a K-block: columns of A and rows of B loaded at once.
    const DEPTH: u32 = K_BLOCK / Self::ACROSS;
    /// Stride in shared memory from one depth to the next, in quads: padded by one, so that adjacent threads, which
    /// load adjacent depths, write to different banks.
    const STRIDE: u32 = Self::ACROSS + 1;
    /// Quads of a K-block with padding.
    const PADDED_K_BLOCK: u32 = Self::DEPTH * Self::STRIDE;
    /// Threads per slice.
    const SLICE: u32 = Self::ACROSS * Self::ACROSS;
    /// Number of slices.
    const SLICES: u32 = THREADS / Self::SLICE;
    /// Depth that a slice takes of each K-block.
    const SHARE: u32 = Self::DEPTH / Self::SLICES;
}

/// Position of the quad that a thread loads: four lines of the tile (rows of A or columns of B) at one depth.
#[derive(Clone, Copy)]
pub(super) struct Fetched {
    /// First of the four lines, relative to the tile.
    pub(super) line: u32,
    /// Depth, relative to the K-block.
    pub(super) p: u32,
}

impl Fetched {
    /// For a factor that is contiguous along the depth: adjacent threads load adjacent depths.
    #[inline(always)]
    pub(super) fn along_depth<const TILE: u32>() -> Self {
        let t = thread::thread_idx_x();
        Self { line: CELLS as u32 * (t / Shape::<TILE>::DEPTH), p: t % Shape::<TILE>::DEPTH }
    }

    /// For a factor that is contiguous along the tile's lines: adjacent threads load adjacent lines.
    #[inline(always)]
    pub(super) fn along_lines<const TILE: u32>() -> Self {
        let t = thread::thread_idx_x();
        Self { line: CELLS as u32 * (t % Shape::<TILE>::ACROSS), p: t / Shape::<TILE>::ACROSS }
    }

    #[inline(always)]
    fn offset<const TILE: u32>(self) -> u32 {
        self.p * Shape::<TILE>::STRIDE + self.line / CELLS as u32
    }
}

/// Four lines of a factor that is contiguous along the depth.
pub(super) struct Lines<'a, T: Element>([Global<'a, T>; CELLS]);

impl<'a, T: Element> Lines<'a, T> {
    /// `depth` elements from each of four indices on, which are compared with the length once.
    #[inline(always)]
    pub(super) fn new(values: Global<'a, T>, depth: u32, start: impl Fn(u32) -> usize) -> Self {
        Self(array::from_fn(|i| {
            let start = start(i as u32);
            values.slice(start..start + depth as usize)
        }))
    }

    /// Their elements at depth `p`; none beyond the lines.
    #[inline(always)]
    pub(super) fn at(&self, p: u32) -> Option<[T; CELLS]> {
        let (Self([a, b, c, d]), p) = (self, p as usize);
        (p < a.len()).then(|| [a[p], b[p], c[p], d[p]])
    }
}

/// Four adjacent elements from index `at` on of a factor that is contiguous along the lines; those from the `count`th on may be any
/// others, for cells that are not stored.
#[inline(always)]
pub(super) fn adjacent(values: Global<f32>, at: u32, count: u32) -> F32x4 {
    let at = at as usize;
    if at + CELLS <= values.len() {
        return F32x4::new(values[at], values[at + 1], values[at + 2], values[at + 3]);
    }
    // Opaque, so that these loads are waited for here, and not where those above begin.
    let get = |i: u32| if i < count { f32::from_bits(hint::opaque(values[at + i as usize].to_bits())) } else { 0.0 };
    F32x4::new(get(0), get(1), get(2), get(3))
}

/// Computes a tile of A · B and calls `finish` with each cell's row and column in the tile and its sum.
///
/// `a` is for A and `b` for B: each the position of the quad that this thread loads, and a function that loads it for
/// the K-block at a given depth, with zeros beyond the depth and the matrix's edge; of A a second one makes floats of what was loaded.
/// All threads of the block must call it.
///
/// Ideas: all threads together load the K-blocks into shared memory and read them in quads, 8 floats for 16
/// multiply-adds. Shared memory is double-buffered: one K-block is in flight while the block multiplies the other; what is loaded becomes floats
/// only behind that.
#[inline(always)]
pub(super) fn product<const TILE: u32, A>(
    quads: &SharedArray<F32x4, QUADS>,
    depth: u32,
    a: (Fetched, impl Fn(u32) -> A, impl Fn(A) -> F32x4),
    b: (Fetched, impl Fn(u32) -> F32x4),
    mut finish: impl FnMut(u32, u32, f32),
) {
    let (a_offset, b_offset) = (a.0.offset::<TILE>(), Shape::<TILE>::PADDED_K_BLOCK + b.0.offset::<TILE>());
    let t = thread::thread_idx_x();
    let (slice, in_slice) = (t / Shape::<TILE>::SLICE, t % Shape::<TILE>::SLICE);
    let (tx, ty) = (in_slice % Shape::<TILE>::ACROSS, in_slice / Shape::<TILE>::ACROSS);

    let mut sums = [[0.0_f32; CELLS]; CELLS];
    let mut buffer = 0;
    quads.set((buffer + a_offset) as usize, a.2(a.1(0)));
    quads.set((buffer + b_offset) as usize, b.1(0));
    thread::sync_threads();
    let mut first_p = 0;
    while first_p < depth {
        let next_p = first_p + Shape::<TILE>::DEPTH;
        let (next_b, next_a) = (b.1(next_p), a.1(next_p));
        let share = slice * Shape::<TILE>::SHARE;
        if first_p + share < depth {
            let mut offset = buffer + share * Shape::<TILE>::STRIDE;
            let mut i = 0;
            while i < Shape::<TILE>::SHARE {
                let rows = quads.get((offset + ty) as usize).to_array();
                let columns = quads.get((offset + Shape::<TILE>::PADDED_K_BLOCK + tx) as usize).to_array();
                for (&row, sums) in rows.iter().zip(&mut sums) {
                    for (&column, sum) in columns.iter().zip(sums) {
                        *sum = math::fma(row, column, *sum);
                    }
                }
                offset += Shape::<TILE>::STRIDE;
                i += 1;
            }
        }
        buffer = 2 * Shape::<TILE>::PADDED_K_BLOCK - buffer;
        if next_p < depth {
            quads.set((buffer + a_offset) as usize, a.2(next_a));
            quads.set((buffer + b_offset) as usize, next_b);
        }
        thread::sync_threads();
        first_p = next_p;
    }

    if Shape::<TILE>::SLICES == 1 {
        // Unrolled by hand: in a loop that is not unrolled the sums would spill to local memory.
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
    // Each slice stores its sums row by row; then each thread adds the slices' sums of one cell.
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
