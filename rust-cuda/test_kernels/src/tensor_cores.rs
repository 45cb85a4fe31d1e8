//! Matrix products on tensor cores.

use cuda_std::half::{bf16, f16};
use cuda_std::matrix::{A, B, Bf16, COLUMNS, Factor, ROWS, Sums, Tf32, double, upper_halves};
use cuda_std::{F32x4, Global, GlobalMut, dynamic_shared, kernel, thread};

/// d = a · b for one tile: a is 16 × `DEPTH`, b `DEPTH` × 8 and d 16 × 8, all row-major, and elements are rounded to T. One warp, one
/// instruction.
#[kernel(f16, bf16, Bf16, Tf32)]
pub fn tile_product<T: Factor>(a: &[f32], b: &[f32], d: GlobalMut<f32>) {
    let a = A::<T>::new(|row, k| T::from_f32(a[row * T::DEPTH + k]));
    let b = B::<T>::new(|k, column| T::from_f32(b[k * COLUMNS + column]));
    Sums::zero().plus_product(&a, &b).for_each(|row, column, sum| d.set(row * COLUMNS + column, sum));
}

/// d = c + a · b for one tile of f64: a is 16 × 8, b 8 × 8, c and d are 16 × 8, all row-major. One warp.
#[kernel]
pub fn double_tile_product(a: &[f64], b: &[f64], c: &[f64], d: GlobalMut<f64>) {
    let a = double::A::new(|row, k| a[row * double::DEPTH + k]);
    let b = double::B::new(|k, column| b[k * COLUMNS + column]);
    let c = double::Sums::new(|row, column| c[row * COLUMNS + column]);
    c.plus_product(&a, &b).for_each(|row, column, sum| d.set(row * COLUMNS + column, sum));
}

/// d = a · b for one tile, as [`tile_product`], of elements that are rounded towards zero to bf16. They are in shared memory, row by row, in
/// quads of eight: two for each of a's 16 rows, one for each of b's. One warp.
#[kernel]
pub fn tile_product_of_rows(a: &[f32], b: &[f32], d: GlobalMut<f32>) {
    let rows = dynamic_shared::<F32x4>();
    let lane = thread::thread_idx_x() as usize;
    let eight = |x: Global<f32>, first: usize| {
        let pair = |i: usize| f32::from_bits(upper_halves([x[first + 2 * i], x[first + 2 * i + 1]]));
        F32x4::new(pair(0), pair(1), pair(2), pair(3))
    };
    rows.set(lane, eight(a, 8 * lane));
    if lane < 16 {
        rows.set(32 + lane, eight(b, 8 * lane));
    }
    thread::sync_threads();
    let a = A::<Bf16>::from_registers(rows.load_matrices(2 * (lane % 16) + lane / 16));
    let [upper, lower, ..] = rows.load_matrices_transposed(32 + lane % 16);
    let sums = Sums::zero().plus_product(&a, &B::from_registers([upper, lower]));
    sums.for_each(|row, column, sum| d.set(row * COLUMNS + column, sum));
}

/// d = a · b for matrices of any size, row-major: `size` is the number of rows of a, of columns of b, and of columns of
/// a, which b has as rows. Elements are rounded to T, sums are in f32.
///
/// A warp for each tile of 16 × 8 of d adds the products of `DEPTH` columns of a and as many rows of b at a time; elements beyond
/// the borders are zeros. Launch: blocks of one warp, in a grid that covers the columns of d by 8 along x and the rows
/// by 16 along y.
#[kernel(f16, bf16, Tf32)]
pub fn matmul_by_tiles<T: Factor>(a: &[f32], b: &[f32], size: [u32; 3], d: GlobalMut<f32>) {
    let [rows, columns, depth] = size.map(|size| size as usize);
    let (top, left) = (thread::block_idx_y() as usize * ROWS, thread::block_idx_x() as usize * COLUMNS);
    let mut sums = Sums::zero();
    for first in (0..depth).step_by(T::DEPTH) {
        let a = A::<T>::new(|row, k| {
            let (row, k) = (top + row, first + k);
            T::from_f32(if row < rows && k < depth { a[row * depth + k] } else { 0.0 })
        });
        let b = B::<T>::new(|k, column| {
            let (k, column) = (first + k, left + column);
            T::from_f32(if k < depth && column < columns { b[k * columns + column] } else { 0.0 })
        });
        sums = sums.plus_product(&a, &b);
    }
    sums.for_each(|row, column, sum| {
        let (row, column) = (top + row, left + column);
        if row < rows && column < columns {
            d.set(row * columns + column, sum);
        }
    });
}
