//! y = A · x for a sparse matrix A in compressed sparse rows (CSR): row r has the elements `values[k]` in the columns
//! `columns[k]`, for k from `offsets[r]` to `offsets[r + 1]`; `offsets` has one element more than A has rows.

use cuda_std::{GlobalMut, kernel, thread, warp};

/// A thread for each row: its loads are far from its neighbours', and the lanes of a warp wait for the longest row.
/// Launch: at least one thread for each row.
#[kernel]
pub fn csr_product_by_threads(offsets: &[u32], columns: &[u32], values: &[f32], x: &[f32], y: GlobalMut<f32>) {
    let row = thread::index_1d() as usize;
    if row < y.len() {
        let mut sum = 0.0;
        for k in offsets[row] as usize..offsets[row + 1] as usize {
            sum += values[k] * x[columns[k] as usize];
        }
        y.set(row, sum);
    }
}

/// A warp for each row, whose lanes load neighbours (Bell and Garland, 2009). Launch: at least one warp for each row,
/// in blocks of whole warps.
#[kernel]
pub fn csr_product_by_warps(offsets: &[u32], columns: &[u32], values: &[f32], x: &[f32], y: GlobalMut<f32>) {
    let (row, lane) = (thread::index_1d() as usize / 32, warp::lane_id() as usize);
    if row < y.len() {
        let mut sum = 0.0;
        for k in (offsets[row] as usize + lane..offsets[row + 1] as usize).step_by(32) {
            sum += values[k] * x[columns[k] as usize];
        }
        let sum = warp::reduce_add(sum);
        if lane == 0 {
            y.set(row, sum);
        }
    }
}
