//! Kernels that read and write by brackets, with arrays of rows in shared memory, and generic kernels.

use core::ops::{Add, Mul};

use cuda_std::{Element, Global, GlobalMut, dynamic_shared, kernel, shared_array, thread};

/// Side of a tile of [`transposes`].
pub const SIDE: usize = 8;

/// out = x transposed, where x has `rows` rows, by tiles whose rows have one element more, so that the elements of a column are in
/// different banks. Blocks have [`SIDE`] × [`SIDE`] threads.
#[kernel(u8, f32, f64)]
pub fn transposes<T: Element>(x: &[T], rows: u32, out: GlobalMut<T>) {
    let tile = shared_array![[T; SIDE + 1]; SIDE];
    let (rows, columns) = (rows as usize, x.len() / rows as usize);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (left, top) = (thread::block_idx_x() as usize * SIDE, thread::block_idx_y() as usize * SIDE);
    if left + tx < columns && top + ty < rows {
        tile[ty][tx] = x[(top + ty) * columns + left + tx];
    }
    thread::sync_threads();
    if left + ty < columns && top + tx < rows {
        out[(left + ty) * rows + top + tx] = tile[tx][ty];
    }
}

/// Adds to each element of `out` the polynomial of `N` `coefficients`, the constant one first, at the element.
#[kernel(<f32, 3>, <i64, 4>)]
pub fn adds_polynomial<T, const N: usize>(coefficients: [T; N], factor: T, out: GlobalMut<T>)
where
    T: Element + Add<Output = T> + Mul<Output = T> + Default,
{
    let i = thread::index_1d() as usize;
    if i < out.len() {
        let x = out[i];
        let mut sum = T::default();
        for coefficient in coefficients.iter().rev() {
            sum = *coefficient + x * sum;
        }
        out[i] = out[i] + factor * sum;
    }
}

/// `totals[row]` = the sum of what `f` makes of the row's elements.
fn total(row: Global<u32>, f: impl Fn(u32) -> u32) -> u32 {
    row.iter().fold(0, |sum, &element| sum.wrapping_add(f(element)))
}

/// `totals[row]` = the sum of x² + `offset` of the row's elements x, of which there are `columns`; then each thread but the first adds
/// the total of the row before, through shared memory. The one block has at least a thread for each row.
#[kernel]
pub fn sums_rows(x: &[u32], columns: u32, offset: u32, totals: GlobalMut<u32>) {
    let before = dynamic_shared::<u32>();
    let row = thread::thread_idx_x() as usize;
    if row < totals.len() {
        let elements = x.slice(row * columns as usize..(row + 1) * columns as usize);
        totals[row] = total(elements, |element| element.wrapping_mul(element).wrapping_add(offset));
        before[row] = totals[row];
    }
    thread::sync_threads();
    if row > 0 && row < totals.len() {
        totals[row] += before[row - 1];
    }
}

/// `out[i]` = the sum of the chunks' first elements times 3, minus the last element.
#[kernel]
pub fn firsts_of_chunks(x: &[i32], length: u32, out: GlobalMut<i32>) {
    let mut sum = 0;
    for chunk in x.chunks(length as usize) {
        sum += 3 * chunk[0];
    }
    for &last in x.iter().rev().take(1) {
        sum -= last;
    }
    out[thread::index_1d() as usize] = sum;
}
