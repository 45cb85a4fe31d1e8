//! Convolutions with an odd number of weights, whose middle is at the element itself; elements beyond the borders count
//! as zeros.

use cuda_std::{GlobalMut, kernel, shared_array, thread};

/// Threads of a block of [`convolve_1d`].
pub const THREADS: usize = 64;

/// Maximum number of weights before and behind the middle one in [`convolve_1d`].
pub const MAX_RADIUS: usize = 16;

/// out\[i\] = Σₖ weights\[k\] · x\[i + r − k\], where r is the index of the middle weight, at most [`MAX_RADIUS`].
///
/// A block copies its elements and the r before and behind them, the halo, to shared memory. Launch: [`THREADS`]
/// threads a block, one for each element.
#[kernel]
pub fn convolve_1d(x: &[f32], weights: &[f32], out: GlobalMut<f32>) {
    let tile = shared_array![f32; THREADS + 2 * MAX_RADIUS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let (first, radius) = (i - t, weights.len() / 2);
    for place in (t..THREADS + 2 * radius).step_by(THREADS) {
        let element = first + place;
        let is_inside = element >= radius && element - radius < x.len();
        tile.set(place, if is_inside { x[element - radius] } else { 0.0 });
    }
    thread::sync_threads();
    if i < out.len() {
        let mut sum = 0.0;
        for k in 0..weights.len() {
            sum += weights[k] * tile.get(t + 2 * radius - k);
        }
        out.set(i, sum);
    }
}

/// out\[y, x\] = Σⱼ Σₖ weights\[j, k\] · image\[y + r − j, x + s − k\], where \[r, s\] is the middle weight. `size` is
/// the number of rows and of columns of image and out, `weights_size` that of the weights.
///
/// Each thread reads all elements that it needs from global memory. Launch: blocks of any two-dimensional shape, in a
/// grid that covers the image.
#[kernel]
pub fn convolve_2d(image: &[f32], size: [u32; 2], weights: &[f32], weights_size: [u32; 2], out: GlobalMut<f32>) {
    let index = thread::index_2d();
    let ([rows, columns], [weight_rows, weight_columns]) = (size, weights_size);
    if index.y >= rows || index.x >= columns {
        return;
    }
    let mut sum = 0.0;
    for j in 0..weight_rows {
        for k in 0..weight_columns {
            // Beyond the first row or column the difference wraps around, and is no index of the image either.
            let row = (index.y + weight_rows / 2).wrapping_sub(j);
            let column = (index.x + weight_columns / 2).wrapping_sub(k);
            if row < rows && column < columns {
                sum += weights[(j * weight_columns + k) as usize] * image[(row * columns + column) as usize];
            }
        }
    }
    out.set((index.y * columns + index.x) as usize, sum);
}
