use core::array;

use cuda_std::{F32x4, GlobalMut, GlobalQuads, kernel, math, thread};

use super::{FIXED_TILE_QUADS, FIXED_TILE_ROWS, Shape};

/// Rows of a thread's pixels.
const ROWS: usize = 4;

/// Rung 4, the fastest. Idea: the kernel's size is a constant. The compiler unrolls all loops over the coefficients, and
/// the launch passes them by value: threads read them from constant memory. A thread computes 4 × 4 pixels. It reads each
/// row of pixels that it needs as three quads, and uses it for all rows of its result. Nothing is staged in shared
/// memory: no barrier separates the loads from the sums, many loads are in flight at a time, and the L1 cache serves the
/// neighbors that read the same pixels.
///
/// `shape` is of *N* × *N* coefficients and of an image with a multiple of 4 columns. Each sum runs over the coefficients
/// in row-major order. A launch has blocks of [`THREADS`](super::THREADS) threads, in any number; one block computes a tile
/// of [`Shape::fixed_tiles`].
///
/// Bound: the multiply-adds, and the loads from L1.
#[kernel(3, 5, 7)]
pub fn correlation_fixed<const N: usize>(
    coefficients: [[f32; N]; N],
    image: &[f32],
    shape: Shape,
    out: GlobalMut<f32>,
) {
    let quads = shape.columns / 4;
    let count = shape.rows * quads;
    let image = image.quads(0, count);
    let across = quads.div_ceil(FIXED_TILE_QUADS);
    let (lane, warp) = (thread::thread_idx_x() % FIXED_TILE_QUADS, thread::thread_idx_x() / FIXED_TILE_QUADS);
    let mut index = thread::block_idx_x();
    while index < shape.fixed_tiles() {
        let quad = index % across * FIXED_TILE_QUADS + lane;
        let row = index / across * FIXED_TILE_ROWS + ROWS as u32 * warp;
        // Threads beyond the image read pixels, too: without this branch, the assembler needs fewer registers.
        let window = Window { image, count, quads, quad, row: row.wrapping_sub(N as u32 / 2) };
        let mut sums = [[0.0; 4]; ROWS];
        add_row::<N, 0>(&coefficients, window, &mut sums);
        add_row::<N, 1>(&coefficients, window, &mut sums);
        add_row::<N, 2>(&coefficients, window, &mut sums);
        add_row::<N, 3>(&coefficients, window, &mut sums);
        add_row::<N, 4>(&coefficients, window, &mut sums);
        add_row::<N, 5>(&coefficients, window, &mut sums);
        add_row::<N, 6>(&coefficients, window, &mut sums);
        add_row::<N, 7>(&coefficients, window, &mut sums);
        add_row::<N, 8>(&coefficients, window, &mut sums);
        add_row::<N, 9>(&coefficients, window, &mut sums);
        let store = |row: u32, sums: [f32; 4]| {
            if row < shape.rows && quad < quads {
                out.set_quad(4 * (row * quads + quad) as usize, sums.into());
            }
        };
        // No loop over the sums: unless the compiler unrolled it, they would be in local memory.
        store(row, sums[0]);
        store(row + 1, sums[1]);
        store(row + 2, sums[2]);
        store(row + 3, sums[3]);
        index += thread::grid_dim_x();
    }
}

/// The pixels that a thread reads, from row `row` of the image on, which wraps around above the image.
#[derive(Clone, Copy)]
struct Window<'a> {
    image: GlobalQuads<'a>,
    /// Quads of the image.
    count: u32,
    /// Quads of a row.
    quads: u32,
    /// The quad of the thread's results in a row.
    quad: u32,
    row: u32,
}

impl Window<'_> {
    /// Row `row` of the window: the quad of the thread's results between its neighbours, with zeros outside the image.
    #[inline(always)]
    fn row(self, row: usize) -> [F32x4; 3] {
        // The index is not in the image if the row is not: above the image it wraps around.
        let index = self.row.wrapping_add(row as u32).wrapping_mul(self.quads).wrapping_add(self.quad);
        let get = |index: u32, is_in_row| match is_in_row && index < self.count {
            true => self.image.get(index),
            false => F32x4::splat(0.0),
        };
        [
            get(index.wrapping_sub(1), self.quad > 0),
            get(index, true),
            get(index.wrapping_add(1), self.quad + 1 < self.quads),
        ]
    }
}

/// Adds the products with row `ROW` of the window.
#[inline(always)]
fn add_row<const N: usize, const ROW: usize>(
    coefficients: &[[f32; N]; N],
    window: Window<'_>,
    sums: &mut [[f32; 4]; ROWS],
) {
    if ROW >= N + ROWS - 1 {
        return;
    }
    let [before, own, after] = window.row(ROW).map(F32x4::to_array);
    let pixels: [f32; 12] = array::from_fn(|column| match column / 4 {
        0 => before[column % 4],
        1 => own[column % 4],
        _ => after[column % 4],
    });
    for (i, sums) in sums.iter_mut().enumerate() {
        if i <= ROW && ROW - i < N {
            for (v, &coefficient) in coefficients[ROW - i].iter().enumerate() {
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = math::fma(coefficient, pixels[4 - N / 2 + j + v], *sum);
                }
            }
        }
    }
}
