//! Kernels with one thread per element: vectors, transposition, images, convolutions.

use cuda_std::LaunchConfig;
use test_kernels::teaching::convolutions::{MAX_RADIUS, THREADS, convolve_1d, convolve_2d};
use test_kernels::teaching::images::{blur, life, mandelbrot};
use test_kernels::teaching::transposition::{TILE, transpose_naive, transpose_tiled};
use test_kernels::teaching::vectors::{saxpy, vector_add};

use super::{bits, floats, over_image, words};
use crate::interpreters::same_everywhere;

#[test]
fn addition_and_saxpy() {
    for length in [0, 1, 63, 64, 65, 1000] {
        let (a, b) = (floats(length, 1), floats(length, 2));
        let sums = same_everywhere(&vector_add, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut out = device.uninitialized(length).unwrap();
            device.launch(&vector_add, LaunchConfig::for_elements(length, 64), (&a, &b, &mut out)).unwrap();
            bits(&out.to_vec().unwrap())
        });
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(sums, bits(&expected), "vector_add of {length}");
        for (blocks, threads) in [(1, 1), (3, 50), (40, 32)] {
            let found = same_everywhere(&saxpy, |device| {
                let (x, mut y) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
                device.launch(&saxpy, LaunchConfig::new(blocks, threads), (-1.7, &x, &mut y)).unwrap();
                bits(&y.to_vec().unwrap())
            });
            let expected: Vec<f32> = a.iter().zip(&b).map(|(x, y)| -1.7 * x + y).collect();
            assert_eq!(found, bits(&expected), "saxpy of {length} by {blocks} × {threads}");
        }
    }
}

#[test]
fn transpositions() {
    for (rows, columns) in [(0, 0), (1, 1), (1, 40), (16, 16), (17, 33), (50, 7)] {
        let x = words(rows * columns, 3).iter().map(|&word| word as f32).collect::<Vec<_>>();
        let blocks = |size: usize| size.div_ceil(TILE).max(1) as u32;
        let config = LaunchConfig::new((blocks(columns), blocks(rows)), (TILE as u32, TILE as u32));
        let sizes = (rows as u32, columns as u32);
        let naive = same_everywhere(&transpose_naive, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(x.len()).unwrap());
            device.launch(&transpose_naive, config, (&x, sizes.0, sizes.1, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let tiled = same_everywhere(&transpose_tiled, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(x.len()).unwrap());
            device.launch(&transpose_tiled, config, (&x, sizes.0, sizes.1, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let expected: Vec<f32> =
            (0..columns).flat_map(|column| x.iter().skip(column).step_by(columns.max(1)).copied()).collect();
        assert_eq!(naive, expected, "naive, {rows} × {columns}");
        assert_eq!(tiled, expected, "tiled, {rows} × {columns}");
    }
}

#[test]
fn a_blur() {
    for (width, height, radius) in [(0, 0, 1), (1, 1, 2), (8, 4, 0), (17, 5, 1), (9, 13, 3), (3, 20, 30)] {
        let image = floats(width * height, 4);
        let found = same_everywhere(&blur, |device| {
            let (buffer, mut out) =
                (device.buffer_from_slice(&image).unwrap(), device.uninitialized(image.len()).unwrap());
            let arguments = (&buffer, width as u32, height as u32, radius as u32, &mut out);
            device.launch(&blur, over_image(width, height), arguments).unwrap();
            bits(&out.to_vec().unwrap())
        });
        let mean = |i: usize| {
            let (x, y) = (i % width, i / width);
            let pixels = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
            let near: Vec<f32> = pixels
                .filter(|&(column, row)| column.abs_diff(x) <= radius && row.abs_diff(y) <= radius)
                .map(|(column, row)| image[row * width + column])
                .collect();
            near.iter().fold(0.0, |sum, pixel| sum + pixel) / near.len() as f32
        };
        let expected: Vec<f32> = (0..image.len()).map(mean).collect();
        assert_eq!(found, bits(&expected), "{width} × {height}, radius {radius}");
    }
}

#[test]
fn generations_of_life() {
    for (width, height) in [(0, 0), (1, 1), (2, 3), (8, 4), (20, 11)] {
        let mut cells: Vec<u8> = words(width * height, 5).iter().map(|word| u8::from(word % 5 < 2)).collect();
        for generation in 0..4 {
            let found = same_everywhere(&life, |device| {
                let (buffer, mut out) =
                    (device.buffer_from_slice(&cells).unwrap(), device.uninitialized(cells.len()).unwrap());
                let arguments = (&buffer, width as u32, height as u32, &mut out);
                device.launch(&life, over_image(width, height), arguments).unwrap();
                out.to_vec().unwrap()
            });
            let lives = |i: usize| {
                let (x, y) = ((i % width) as isize, (i / width) as isize);
                let around = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];
                let living = around.iter().filter(|(dx, dy)| {
                    let (x, y) = ((x + dx).rem_euclid(width as isize), (y + dy).rem_euclid(height as isize));
                    cells[y as usize * width + x as usize] == 1
                });
                matches!((cells[i], living.count()), (1, 2 | 3) | (0, 3))
            };
            let expected: Vec<u8> = (0..cells.len()).map(|i| u8::from(lives(i))).collect();
            assert_eq!(found, expected, "{width} × {height}, generation {generation}");
            cells = found;
        }
    }
}

#[test]
fn the_mandelbrot_set() {
    for (width, height, max_steps) in [(1, 1, 0), (33, 17, 60)] {
        let (left, top, step) = (-2.1, 1.2, 0.09);
        let found = same_everywhere(&mandelbrot, |device| {
            let mut out = device.uninitialized(width * height).unwrap();
            let arguments = (left, top, step, width as u32, height as u32, max_steps, &mut out);
            device.launch(&mandelbrot, over_image(width, height), arguments).unwrap();
            out.to_vec().unwrap()
        });
        let steps = |i: usize| {
            let c = (left + (i % width) as f32 * step, top - (i / width) as f32 * step);
            let next = |z: &(f32, f32)| Some((z.0 * z.0 - z.1 * z.1 + c.0, 2.0 * z.0 * z.1 + c.1));
            let sequence = std::iter::successors(Some((0.0f32, 0.0f32)), next);
            sequence.take(max_steps as usize).take_while(|z| z.0 * z.0 + z.1 * z.1 <= 4.0).count() as u32
        };
        assert_eq!(found, (0..width * height).map(steps).collect::<Vec<_>>(), "{width} × {height}");
        let inside = found.iter().filter(|&&steps| steps == max_steps).count();
        assert!(width == 1 || (20..400).contains(&inside), "{inside} pixels in the set");
    }
}

#[test]
fn convolutions_in_one_dimension() {
    for length in [0, 1, 63, 64, 65, 200] {
        for radius in [0, 1, 4, MAX_RADIUS] {
            let (x, weights) = (floats(length, 6), floats(2 * radius + 1, 7));
            let found = same_everywhere(&convolve_1d, |device| {
                let (x, weights) = (device.buffer_from_slice(&x).unwrap(), device.buffer_from_slice(&weights).unwrap());
                let mut out = device.uninitialized(length).unwrap();
                let config = LaunchConfig::for_elements(length, THREADS as u32);
                device.launch(&convolve_1d, config, (&x, &weights, &mut out)).unwrap();
                bits(&out.to_vec().unwrap())
            });
            let element = |i: usize| i.checked_sub(radius).and_then(|i| x.get(i)).copied().unwrap_or(0.0);
            let sum = |i: usize| (0..weights.len()).fold(0.0, |sum, k| sum + weights[k] * element(i + 2 * radius - k));
            let expected: Vec<f32> = (0..length).map(sum).collect();
            assert_eq!(found, bits(&expected), "{length} elements, {} weights", weights.len());
        }
    }
}

#[test]
fn convolutions_in_two_dimensions() {
    for (rows, columns) in [(0, 0), (1, 1), (4, 8), (13, 9)] {
        for (weight_rows, weight_columns) in [(1, 1), (3, 3), (5, 1), (7, 5)] {
            let (image, weights) = (floats(rows * columns, 8), floats(weight_rows * weight_columns, 9));
            let found = same_everywhere(&convolve_2d, |device| {
                let (buffer, mut out) =
                    (device.buffer_from_slice(&image).unwrap(), device.uninitialized(image.len()).unwrap());
                let weights = device.buffer_from_slice(&weights).unwrap();
                let size = [rows as u32, columns as u32];
                let weights_size = [weight_rows as u32, weight_columns as u32];
                let arguments = (&buffer, size, &weights, weights_size, &mut out);
                device.launch(&convolve_2d, over_image(columns, rows), arguments).unwrap();
                bits(&out.to_vec().unwrap())
            });
            // A frame of zeros around the image, so every index is within it.
            let (frame_rows, frame_columns) = (weight_rows / 2, weight_columns / 2);
            let pitch = columns + 2 * frame_columns;
            let mut framed = vec![0.0; pitch * (rows + 2 * frame_rows)];
            for (i, &pixel) in image.iter().enumerate() {
                framed[(i / columns + frame_rows) * pitch + i % columns + frame_columns] = pixel;
            }
            let sum = |i: usize| {
                weights.iter().enumerate().fold(0.0, |sum, (w, weight)| {
                    let row = i / columns + 2 * frame_rows - w / weight_columns;
                    let column = i % columns + 2 * frame_columns - w % weight_columns;
                    sum + weight * framed[row * pitch + column]
                })
            };
            let expected: Vec<f32> = (0..image.len()).map(sum).collect();
            assert_eq!(found, bits(&expected), "{rows} × {columns} by {weight_rows} × {weight_columns}");
        }
    }
}
