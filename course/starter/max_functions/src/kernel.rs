use cuda_std::{GlobalMut, kernel, thread};

/// out\[i\] = max(a\[i\], b\[i\]) for every i of `out`; `a` and `b` have the length of `out`. Every thread runs this function.
/// `thread::index_1d()` is its number in the grid, and `out.set(i, value)` writes an element. A grid has whole blocks:
/// threads beyond the end of `out` must write nothing.
#[kernel]
pub fn max_kernel(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    // write: max_kernel
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out.set(i, if a[i] > b[i] { a[i] } else { b[i] });
    }
    // end
}
