use cuda_std::{GlobalMut, kernel, math, thread};

use super::{Image, Shape};

/// Rung 1. Idea: one thread per pixel, and a grid-stride loop over the pixels beyond the grid. Each sum runs over the
/// coefficients in row-major order.
///
/// Bound: every multiply-add reads two values from global memory; most reads are served by L1, which is the limit.
#[kernel] // report: begin correlation_naive
pub fn correlation_naive(kernel: &[f32], image: &[f32], shape: Shape, out: GlobalMut<f32>) {
    let image = Image { pixels: image, shape };
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let mut pixel = thread::index_1d();
    while pixel < shape.rows * shape.columns {
        let (i, j) = (pixel / shape.columns, pixel % shape.columns);
        let mut sum = 0.0;
        let mut u = 0;
        while u < shape.kernel_rows {
            let mut v = 0;
            while v < shape.kernel_columns {
                let coefficient = kernel[(u * shape.kernel_columns + v) as usize];
                sum = math::fma(coefficient, image.pixel(i, j, u, v), sum);
                v += 1;
            }
            u += 1;
        }
        out.set(pixel as usize, sum);
        pixel += threads;
    }
} // report: end correlation_naive
