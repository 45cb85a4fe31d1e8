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

/// Threads of the one block of [`shadows`].
pub const SHADOWS: usize = 32;

/// `out[t]` = a number with a digit for each variable `tile` or `out` that shadows another: shared memory in blocks of its own, arrays,
/// and what closures, loops, arms and conditions bind. The digits come from the next thread's element of `x`, which is below 3.
#[kernel]
pub fn shadows(x: &[u32], out: GlobalMut<u32>) {
    let (t, n) = (thread::thread_idx_x() as usize, (thread::thread_idx_x() as usize + 1) % SHADOWS);
    let tile = shared_array![u32; SHADOWS];
    tile[t] = x[t];
    let rows = {
        let tile = shared_array![[u32; 2]; SHADOWS];
        tile[t][0] = x[t] + 1;
        tile[t][1] = x[t] + 2;
        thread::sync_threads();
        tile[n][0] * 10 + tile[n][1]
    };
    let local = {
        let tile = [x[n], x[n] + 3];
        tile[1]
    };
    let of_closure = |tile: [u32; 2]| tile[0] + tile[1];
    let closure = of_closure([x[n], 4]);
    let mut looped = tile[n] - x[n];
    for tile in [[x[n], 2], [3, 0]] {
        looped += tile[0] + tile[1];
    }
    let matched = match Some([x[n], 4]) {
        Some(tile) if tile[0] < 2 => tile[0] + tile[1],
        Some(tile) => tile[0] + tile[1] + 1,
        None => tile[t],
    };
    let conditional = if let Some(tile) = Some([x[n], 6]) { tile[0] + tile[1] } else { tile[t] };
    let parameter = {
        let out = shared_array![u32; SHADOWS];
        out[t] = x[t] + 7;
        thread::sync_threads();
        let sum = out[n];
        let out = [sum];
        out[0]
    };
    out[t] = tile[n];
    for digit in [rows / 10, rows % 10, local, closure, looped, matched, conditional, parameter] {
        out[t] = out[t] * 10 + digit;
    }
    let same = tile;
    thread::sync_threads();
    same[t] += out[t];
    let tile = [same[t] - x[t]];
    out[t] = tile[0];
}
