use cuda_std::{F32x4, GlobalMut, kernel, shared_array, thread};

use super::cells::{Matrix, multiply_add, store};

/// The 1024 threads form a 32 × 32 grid over an output tile.
const SIDE: u32 = 32;
/// Rows and columns of a thread's register tile.
const CELLS: usize = 4;
/// Rows and columns of an output tile.
const TILE: u32 = SIDE * CELLS as u32;

/// Depth of a K-block: columns of X loaded at once, in single precision.
const DEPTH: u32 = 16;
/// Column stride of a shared-memory tile, in quads of four floats: padded by one, so that adjacent threads, which load
/// adjacent columns, write to different banks.
const STRIDE: u32 = SIDE + 1;
/// Quads of a shared-memory tile of X, with padding.
const TILE_QUADS: u32 = DEPTH * STRIDE;
/// Quads of the two buffers, each with an A tile and a B tile.
const QUADS: usize = (2 * 2 * TILE_QUADS) as usize;

/// Rung 5, the default. Two ideas beyond rung 4. First, a thread's 4 × 4 cells are adjacent, and four adjacent rows of
/// X form one quad in shared memory, read by one 128-bit load. Second, shared memory is double-buffered: while the
/// block multiplies the tiles of one buffer, the loads of the next K-block are in flight, and one barrier per K-block
/// suffices.
#[kernel]
pub fn matmul_kernel_f32(x: &[f32], rows: u32, columns: u32, out: GlobalMut<f32>) {
    let x = Matrix::new(x, rows, columns);
    let tiles = shared_array![F32x4; QUADS];
    let t = thread::thread_idx_x();
    // A warp covers 8 × 4 threads of the 32 × 32, so that it reads few distinct quads.
    let (warp, lane) = (t / 32, t % 32);
    let (tx, ty) = (warp % 4 * 8 + lane % 8, warp / 4 * 4 + lane / 8);
    // Each thread loads one quad: half of the threads of the A tile, half of the B tile.
    let (is_b, quad, p) = (t / 512, t % 512 / DEPTH, t % DEPTH);
    let slot = is_b * TILE_QUADS + p * STRIDE + quad;

    let mut first_row = 0;
    while first_row < rows {
        let mut first_column = 0;
        while first_column <= first_row {
            let row = CELLS as u32 * quad + if is_b == 0 { first_row } else { first_column };
            let load = |first_p: u32| {
                let element = |i: u32| x.get_or_zero(row + i, first_p + p);
                F32x4::new(element(0), element(1), element(2), element(3))
            };
            let mut sums = [[0.0; CELLS]; CELLS];
            let mut buffer = 0;
            tiles.set((buffer + slot) as usize, load(0));
            thread::sync_threads();
            let mut first_p = 0;
            while first_p < columns {
                let next = load(first_p + DEPTH); // report: begin matmul_buffered
                let mut p = 0;
                while p < DEPTH {
                    let a = tiles.get((buffer + p * STRIDE + ty) as usize).to_array();
                    let b = tiles.get((buffer + TILE_QUADS + p * STRIDE + tx) as usize).to_array();
                    for (&a, sums) in a.iter().zip(&mut sums) {
                        multiply_add(a, &b, sums);
                    }
                    p += 1;
                }
                buffer = 2 * TILE_QUADS - buffer;
                tiles.set((buffer + slot) as usize, next);
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

/// Columns of a thread's register tile in double precision: each of 1024 threads has 64 registers, and a double takes
/// two.
const ACROSS_F64: usize = 2;
/// Columns of an output tile, in double precision.
const TILE_ACROSS_F64: u32 = SIDE * ACROSS_F64 as u32;
/// Depth of a K-block in double precision: smaller, so that two buffers fit into shared memory.
const DEPTH_F64: u32 = 8;
/// Column stride of a buffer, in elements: a column of the A tile, one of the B tile, and padding.
const STRIDE_F64: u32 = TILE + TILE_ACROSS_F64 + 2;
/// Elements of a buffer: an A tile and a B tile.
const BUFFER_F64: u32 = DEPTH_F64 * STRIDE_F64;
/// Elements of the two buffers.
const ELEMENTS_F64: usize = (2 * BUFFER_F64) as usize;

/// Rung 5 in double precision: double-buffered as in single precision. A thread's cells are 32 apart, as in rung 4.
#[kernel]
pub fn matmul_kernel_f64(x: &[f64], rows: u32, columns: u32, out: GlobalMut<f64>) {
    let x = Matrix::new(x, rows, columns);
    let tiles = shared_array![f64; ELEMENTS_F64];
    let t = thread::thread_idx_x();
    let (tx, ty) = (t % SIDE, t / SIDE);
    // Each thread loads one element of the A tile, and half of the threads one of the B tile.
    let (p, row) = (t % DEPTH_F64, t / DEPTH_F64);
    let slot = p * STRIDE_F64 + row;
    let loads_b = row < TILE_ACROSS_F64;

    let mut first_row = 0;
    while first_row < rows {
        let mut first_column = 0;
        while first_column < first_row + TILE {
            let mut sums = [[0.0; ACROSS_F64]; CELLS];
            let mut buffer = 0;
            tiles.set((buffer + slot) as usize, x.get_or_zero(first_row + row, p));
            if loads_b {
                tiles.set((buffer + slot + TILE) as usize, x.get_or_zero(first_column + row, p));
            }
            thread::sync_threads();
            let mut first_p = 0;
            while first_p < columns {
                let next_p = first_p + DEPTH_F64 + p;
                let next_a = x.get_or_zero(first_row + row, next_p);
                let next_b = if loads_b { x.get_or_zero(first_column + row, next_p) } else { 0.0 };
                let end = DEPTH_F64.min(columns - first_p);
                let mut p = 0;
                while p < end {
                    let first = buffer + p * STRIDE_F64;
                    let column: [f64; ACROSS_F64] =
                        core::array::from_fn(|j| tiles.get((first + TILE + tx + SIDE * j as u32) as usize));
                    for (i, sums) in sums.iter_mut().enumerate() {
                        multiply_add(tiles.get((first + ty + SIDE * i as u32) as usize), &column, sums);
                    }
                    p += 1;
                }
                buffer = BUFFER_F64 - buffer;
                tiles.set((buffer + slot) as usize, next_a);
                if loads_b {
                    tiles.set((buffer + slot + TILE) as usize, next_b);
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
