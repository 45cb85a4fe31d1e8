use cuda_std::{GlobalMut, kernel, thread};

/// The correlation of an image of `rows` × `columns` with a kernel of `kernel_rows` × `kernel_columns`, both row by row, one thread for each
/// pixel. `thread::index_1d()` is the thread's number in the grid, and `out.set(i, value)` writes an element. A grid has whole blocks:
/// threads beyond the last pixel must write nothing.
#[kernel]
pub fn correlation_kernel(
    kernel: &[f32],
    image: &[f32],
    out: GlobalMut<f32>,
    kernel_rows: u32,
    kernel_columns: u32,
    rows: u32,
    columns: u32,
) {
    // write: correlation_kernel
    let index = thread::index_1d();
    if index >= rows * columns {
        return;
    }
    let (i, j) = (index / columns, index % columns);
    let mut sum = 0.0;
    let mut u = 0;
    while u < kernel_rows {
        let row = (i + u).wrapping_sub(kernel_rows / 2);
        let mut v = 0;
        while v < kernel_columns {
            let column = (j + v).wrapping_sub(kernel_columns / 2);
            if row < rows && column < columns {
                sum += kernel[(u * kernel_columns + v) as usize] * image[(row * columns + column) as usize];
            }
            v += 1;
        }
        u += 1;
    }
    out.set(index as usize, sum);
    // end
}
