//! Kernels of Rust-CUDA's examples: matrix products and arithmetic on integers of 128 bits. Its vector addition is
//! [`vecadd`](crate::language::vecadd).

use cuda_std::{kernel, shared_array, thread};

/// C ← alpha · A · B + beta · C, where A is `rows` × `inner`, B is `inner` × `columns` and C is `rows` × `columns`, all
/// row-major. Thread (x, y) of the grid computes the element of row x and column y.
///
/// # Safety
/// Each matrix has all of its elements.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
pub unsafe fn gemm_by_elements(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    rows: usize,
    columns: usize,
    inner: usize,
    alpha: f32,
    beta: f32,
) {
    let i = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
    let j = (thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y()) as usize;
    if i < rows && j < columns {
        let mut dot = 0.0_f32;
        for p in 0..inner {
            dot += a[i * inner + p] * b[p * columns + j];
        }
        // SAFETY: C has the element of row i and column j, which no other thread accesses.
        let element = unsafe { &mut *c.add(i * columns + j) };
        *element = alpha * dot + beta * *element;
    }
}

/// Side of the tiles and of the blocks of [`gemm_by_tiles`].
pub const GEMM_SIDE: usize = 16;

/// The product of [`gemm_by_elements`] by tiles in shared memory. Blocks have [`GEMM_SIDE`] × [`GEMM_SIDE`] threads; block
/// (x, y) computes the tile of rows x and columns y.
///
/// # Safety
/// Each matrix has all of its elements.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
pub unsafe fn gemm_by_tiles(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    rows: usize,
    columns: usize,
    inner: usize,
    alpha: f32,
    beta: f32,
) {
    const SIDE: usize = GEMM_SIDE;
    let tile_of_a = shared_array![f32; SIDE * SIDE];
    let tile_of_b = shared_array![f32; SIDE * SIDE];
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let i = thread::block_idx_x() as usize * SIDE + ty;
    let j = thread::block_idx_y() as usize * SIDE + tx;
    let mut dot = 0.0_f32;
    for first in (0..inner).step_by(SIDE) {
        if i < rows && first + tx < inner {
            tile_of_a[ty * SIDE + tx] = a[i * inner + first + tx];
        } else {
            tile_of_a[ty * SIDE + tx] = 0.0;
        }
        if j < columns && first + ty < inner {
            tile_of_b[ty * SIDE + tx] = b[(first + ty) * columns + j];
        } else {
            tile_of_b[ty * SIDE + tx] = 0.0;
        }
        thread::sync_threads();
        for p in 0..SIDE {
            dot += tile_of_a[ty * SIDE + p] * tile_of_b[p * SIDE + tx];
        }
        thread::sync_threads();
    }
    if i < rows && j < columns {
        // SAFETY: C has the element of row i and column j.
        let element = unsafe { c.add(i * columns + j) };
        // SAFETY: as above; no other thread accesses the element.
        unsafe { *element = alpha * dot + beta * *element };
    }
}

/// Twelve operations on each pair of integers of 128 bits: sum, difference, product, conjunction, exclusive or, shifts to the
/// left, to the right and to the right with sign, quotient and signed quotient, remainder and signed remainder. Shifts are by
/// the lowest 7 bits of `b`.
///
/// # Safety
/// All results have as many elements as the shorter of `a` and `b`.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
pub unsafe fn long_arithmetic(
    a: &[u128],
    b: &[u128],
    sum: *mut u128,
    difference: *mut u128,
    product: *mut u128,
    conjunction: *mut u128,
    exclusive: *mut u128,
    left: *mut u128,
    right: *mut u128,
    signed_right: *mut u128,
    quotient: *mut u128,
    signed_quotient: *mut u128,
    remainder: *mut u128,
    signed_remainder: *mut u128,
) {
    let i = thread::index_1d() as usize;
    if i >= a.len() || i >= b.len() {
        return;
    }
    let (x, y) = (a[i], b[i]);
    let count = (y & 127) as u32;
    let (signed_x, signed_y) = (x as i128, y as i128);
    let results = [
        (sum, x.wrapping_add(y)),
        (difference, x.wrapping_sub(y)),
        (product, x.wrapping_mul(y)),
        (conjunction, x & y),
        (exclusive, x ^ y),
        (left, x.wrapping_shl(count)),
        (right, x.wrapping_shr(count)),
        (signed_right, signed_x.wrapping_shr(count) as u128),
        (quotient, x / y),
        (signed_quotient, (signed_x / signed_y) as u128),
        (remainder, x % y),
        (signed_remainder, (signed_x % signed_y) as u128),
    ];
    for (out, value) in results {
        // SAFETY: each result has an element i, which no other thread accesses.
        unsafe { *out.add(i) = value };
    }
}
