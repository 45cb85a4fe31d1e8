//! Kernels with a thread for each pixel of an image of `width` × `height`, row-major.
//!
//! Launch: blocks of any two-dimensional shape, in a grid that covers the image.

use cuda_std::{GlobalMut, kernel, thread};

/// A blur by a box: each pixel is the mean of those at most `radius` away along x and along y, as far as they are in
/// the image.
#[kernel]
pub fn blur(image: &[f32], width: u32, height: u32, radius: u32, out: GlobalMut<f32>) {
    let index = thread::index_2d();
    let (x, y) = (index.x, index.y);
    if x >= width || y >= height {
        return;
    }
    let (mut sum, mut count) = (0.0, 0);
    for row in y.saturating_sub(radius)..(y + radius + 1).min(height) {
        for column in x.saturating_sub(radius)..(x + radius + 1).min(width) {
            sum += image[(row * width + column) as usize];
            count += 1;
        }
    }
    out.set((y * width + x) as usize, sum / count as f32);
}

/// A generation of Conway's game of life on a torus: a cell lives on with two or three living neighbours of its eight,
/// and a dead one comes to life with three. Living cells are 1, dead ones 0.
#[kernel]
pub fn life(cells: &[u8], width: u32, height: u32, out: GlobalMut<u8>) {
    let index = thread::index_2d();
    let (x, y) = (index.x, index.y);
    if x >= width || y >= height {
        return;
    }
    let mut neighbours = 0;
    for row in [y + height - 1, y, y + 1] {
        for column in [x + width - 1, x, x + 1] {
            neighbours += cells[(row % height * width + column % width) as usize];
        }
    }
    let i = (y * width + x) as usize;
    let cell = cells[i];
    neighbours -= cell;
    out.set(i, u8::from(neighbours == 3 || (neighbours == 2 && cell == 1)));
}

/// The Mandelbrot set: for each pixel the number of steps z ← z² + c, from z = 0, until |z| > 2, at most `max_steps`.
/// The pixel (x, y) is c = `left` + x · `step` + i · (`top` − y · `step`). The lanes of a warp diverge at the set's
/// border.
#[kernel]
pub fn mandelbrot(left: f32, top: f32, step: f32, width: u32, height: u32, max_steps: u32, out: GlobalMut<u32>) {
    let index = thread::index_2d();
    if index.x >= width || index.y >= height {
        return;
    }
    let (real, imaginary) = (left + index.x as f32 * step, top - index.y as f32 * step);
    let (mut x, mut y, mut steps) = (0.0, 0.0, 0);
    while x * x + y * y <= 4.0 && steps < max_steps {
        (x, y) = (x * x - y * y + real, 2.0 * x * y + imaginary);
        steps += 1;
    }
    out.set((index.y * width + index.x) as usize, steps);
}
