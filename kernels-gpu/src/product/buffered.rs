use cuda_std::{F32x4, GlobalMut, kernel, shared_array, thread};

use super::cells::{Matrix, multiply_add, store};

/// Threads side by side, and one below the other: 32 × 32 = 1024.
const SIDE: u32 = 32;
/// Cells of a thread in each direction.
const CELLS: usize = 4;
/// Rows and columns of a tile of the result.
const TILE: u32 = SIDE * CELLS as u32;

/// Columns of X that are fetched at once, in single precision.
const DEPTH: u32 = 16;
/// Quads from the start of a fetched column to the start of the next: one more than it has, so that neighbouring threads,
/// which fetch neighbouring columns, write to different banks of shared memory.
const STRIDE: u32 = SIDE + 1;
/// Quads of a piece of X.
const PIECE: u32 = DEPTH * STRIDE;
/// Two buffers, each with the left and the right piece of X.
const QUADS: usize = (2 * 2 * PIECE) as usize;

/// Rung 5, the default. Two ideas beside those of rung 4. A thread's 4 × 4 cells are neighbours, and four neighbouring
/// rows of X lie in shared memory as one quad, so that one load brings four numbers. And there are two buffers: while the
/// block computes from one, the next piece of X is on its way to the other, and one barrier a piece is enough.
#[kernel]
pub fn matmul_kernel_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let x = Matrix::new(x, rows, columns);
    let pieces = shared_array![F32x4; QUADS];
    let t = thread::thread_idx_x();
    // A warp covers 8 × 4 threads of the 32 × 32, so that it reads few different quads.
    let (warp, lane) = (t / 32, t % 32);
    let (tx, ty) = (warp % 4 * 8 + lane % 8, warp / 4 * 4 + lane / 8);
    // Each thread fetches one quad: half of the threads the left piece, half the right one.
    let (is_right, quad, p) = (t / 512, t % 512 / DEPTH, t % DEPTH);
    let kept = is_right * PIECE + p * STRIDE + quad;

    let mut first_row = 0;
    while first_row < rows {
        let mut first_column = 0;
        while first_column <= first_row {
            let row = CELLS as u32 * quad + if is_right == 0 { first_row } else { first_column };
            let fetch = |first_p: u32| {
                let element = |i: u32| x.get_or_zero(row + i, first_p + p);
                F32x4::new(element(0), element(1), element(2), element(3))
            };
            let mut sums = [[0.0; CELLS]; CELLS];
            let mut buffer = 0;
            pieces.set((buffer + kept) as usize, fetch(0));
            thread::sync_threads();
            let mut first_p = 0;
            while first_p < columns {
                let next = fetch(first_p + DEPTH); // report: begin matmul_buffered
                let mut p = 0;
                while p < DEPTH {
                    let left = pieces.get((buffer + p * STRIDE + ty) as usize).to_array();
                    let right = pieces.get((buffer + PIECE + p * STRIDE + tx) as usize).to_array();
                    for (&left, sums) in left.iter().zip(&mut sums) {
                        multiply_add(left, &right, sums);
                    }
                    p += 1;
                }
                buffer = 2 * PIECE - buffer;
                pieces.set((buffer + kept) as usize, next);
                thread::sync_threads(); // report: end matmul_buffered
                first_p += DEPTH;
            }
            for (i, sums) in sums.iter().enumerate() {
                for (j, &sum) in sums.iter().enumerate() {
                    let (row, column) = (CELLS as u32 * ty + i as u32, CELLS as u32 * tx + j as u32);
                    store(out, rows, first_row + row, first_column + column, sum);
                }
            }
            first_column += TILE;
        }
        first_row += TILE;
    }
}

/// Cells of a thread side by side, in double precision: a thread of 1024 has 64 registers, and a double takes two.
const ACROSS_F64: usize = 2;
/// Columns of a tile of the result, in double precision.
const TILE_ACROSS_F64: u32 = SIDE * ACROSS_F64 as u32;
/// Columns of X that are fetched at once, in double precision: fewer, so that two buffers fit into shared memory.
const DEPTH_F64: u32 = 8;
/// Numbers from the start of a fetched column to the start of the next: those of the left piece, then of the right one.
const STRIDE_F64: u32 = TILE + TILE_ACROSS_F64 + 2;
/// Numbers of the two pieces of X.
const PIECES_F64: u32 = DEPTH_F64 * STRIDE_F64;
/// Two buffers.
const NUMBERS_F64: usize = (2 * PIECES_F64) as usize;

/// Rung 5 in double precision: two buffers, as in single precision. A thread's cells lie 32 apart, as in rung 4.
#[kernel]
pub fn matmul_kernel_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    let x = Matrix::new(x, rows, columns);
    let pieces = shared_array![f64; NUMBERS_F64];
    let t = thread::thread_idx_x();
    let (tx, ty) = (t % SIDE, t / SIDE);
    // Each thread fetches one number of the left piece, and half of them one of the right piece.
    let (p, row) = (t % DEPTH_F64, t / DEPTH_F64);
    let kept = p * STRIDE_F64 + row;
    let fetches_right = row < TILE_ACROSS_F64;

    let mut first_row = 0;
    while first_row < rows {
        let mut first_column = 0;
        while first_column < first_row + TILE {
            let mut sums = [[0.0; ACROSS_F64]; CELLS];
            let mut buffer = 0;
            pieces.set((buffer + kept) as usize, x.get_or_zero(first_row + row, p));
            if fetches_right {
                pieces.set((buffer + kept + TILE) as usize, x.get_or_zero(first_column + row, p));
            }
            thread::sync_threads();
            let mut first_p = 0;
            while first_p < columns {
                let next_p = first_p + DEPTH_F64 + p;
                let next_left = x.get_or_zero(first_row + row, next_p);
                let next_right = if fetches_right { x.get_or_zero(first_column + row, next_p) } else { 0.0 };
                let end = DEPTH_F64.min(columns - first_p);
                let mut p = 0;
                while p < end {
                    let first = buffer + p * STRIDE_F64;
                    let column: [f64; ACROSS_F64] =
                        core::array::from_fn(|j| pieces.get((first + TILE + tx + SIDE * j as u32) as usize));
                    for (i, sums) in sums.iter_mut().enumerate() {
                        multiply_add(pieces.get((first + ty + SIDE * i as u32) as usize), &column, sums);
                    }
                    p += 1;
                }
                buffer = PIECES_F64 - buffer;
                pieces.set((buffer + kept) as usize, next_left);
                if fetches_right {
                    pieces.set((buffer + kept + TILE) as usize, next_right);
                }
                thread::sync_threads();
                first_p += DEPTH_F64;
            }
            for (i, sums) in sums.iter().enumerate() {
                for (j, &sum) in sums.iter().enumerate() {
                    let (row, column) = (first_row + ty + SIDE * i as u32, first_column + tx + SIDE * j as u32);
                    store(out, rows, row, column, sum);
                }
            }
            first_column += TILE_ACROSS_F64;
        }
        first_row += TILE;
    }
}
