//! Step 3: rows and columns, and coalesced accesses.

use cuda_std::{GlobalMut, kernel, thread};

/// Before: neighbouring threads have neighbouring rows, whose elements are far apart in memory.
#[kernel]
pub fn add_row_down_columns(x: GlobalMut<f32>, b: &[f32], rows: u32, columns: u32) {
    let t = thread::index_1d();
    if t < rows * columns {
        let (row, column) = (t % rows, t / rows);
        let i = (row * columns + column) as usize;
        x.set(i, x.get(i) + b[column as usize]);
    }
}

/// Adds the row b, of length `columns`, to each row of x, a `rows` × `columns` matrix whose rows are one after the other
/// in memory. Neighbouring threads have neighbouring columns of a row.
#[kernel]
pub fn add_row(x: GlobalMut<f32>, b: &[f32], rows: u32, columns: u32) {
    // write: add_row
    let t = thread::index_1d();
    if t < rows * columns {
        let (row, column) = (t / columns, t % columns);
        let i = (row * columns + column) as usize;
        x.set(i, x.get(i) + b[column as usize]);
    }
    // end
}
