//! Given: for each step the input of a size, and the check of a launch's result by a loop on the host.
//!
//! A matrix of size n has n rows, and half as many columns and three more.

use cuda_std::host_std::{format, prelude::v1::*};
use gpu::{Buffer, Device, Error, LaunchConfig, LaunchReport};

/// What a launch returns.
type Launched = Result<Option<LaunchReport>, Error>;

/// Blocks of `threads` threads with at least one thread for each of `count` elements; at least one block.
pub fn blocks(count: usize, threads: u32) -> LaunchConfig {
    LaunchConfig::new(count.div_ceil(threads as usize).max(1) as u32, threads)
}

/// Blocks of `side` × `side` threads with a thread for each element of a matrix; at least one block.
pub fn tiles((rows, columns): (usize, usize), side: u32) -> LaunchConfig {
    let blocks = |count: usize| count.div_ceil(side as usize).max(1) as u32;
    LaunchConfig::new((blocks(columns), blocks(rows)), (side, side))
}

/// Rows and columns of the matrix of size n.
pub fn shape(size: usize) -> (usize, usize) {
    (size, size / 2 + 3)
}

/// Values in −1…1 without a pattern: sums of them differ if one element is missing.
fn values(count: usize) -> Vec<f32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// The result, or the error of the device, or the first element that differs by more than `tolerance`.
fn compare(name: &str, found: Result<Vec<f32>, Error>, expected: &[f64], tolerance: f64) -> Result<Vec<f32>, String> {
    let found = found.map_err(|error| error.to_string())?;
    for (i, (&value, &expected)) in found.iter().zip(expected).enumerate() {
        // Not `difference > tolerance`: a NaN must not agree.
        let agrees = (f64::from(value) - expected).abs() <= tolerance;
        if !agrees {
            return Err(format!("{name}[{i}] is {value}, expected {expected:.6}"));
        }
    }
    Ok(found)
}

fn f64s(values: &[f32]) -> impl Iterator<Item = f64> + Clone {
    values.iter().map(|&value| f64::from(value))
}

/// What a launch makes of `x`: `length` elements.
fn result_of(
    device: &Device,
    x: &[f32],
    length: usize,
    launch: impl FnOnce(&Buffer<f32>, &mut Buffer<f32>) -> Launched,
) -> Result<Vec<f32>, Error> {
    let (x, mut out) = (device.buffer_from_slice(x)?, device.uninitialized(length)?);
    launch(&x, &mut out)?;
    out.to_vec()
}

/// Step 1: a launch doubles `size` elements.
pub fn doubles(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&mut Buffer<f32>,)) -> Launched,
) -> Result<Vec<f32>, String> {
    let x = values(size);
    let run = || {
        let mut on_device = device.buffer_from_slice(&x)?;
        launch((&mut on_device,))?;
        on_device.to_vec()
    };
    let expected: Vec<f64> = f64s(&x).map(|x| 2.0 * x).collect();
    compare("x", run(), &expected, 0.0)
}

/// Step 2: a launch computes a·x + y for `size` elements.
pub fn computes_saxpy(
    device: &Device,
    size: usize,
    launch: impl FnOnce((f32, &Buffer<f32>, &mut Buffer<f32>)) -> Launched,
) -> Result<Vec<f32>, String> {
    let x = values(2 * size);
    let (x, y) = x.split_at(size);
    let run = || {
        let (x, mut y) = (device.buffer_from_slice(x)?, device.buffer_from_slice(y)?);
        launch((0.5, &x, &mut y))?;
        y.to_vec()
    };
    let expected: Vec<f64> = f64s(x).zip(f64s(y)).map(|(x, y)| 0.5 * x + y).collect();
    compare("y", run(), &expected, 1e-6)
}

/// Step 3: a launch adds a row to each row of the matrix of a size.
pub fn adds_a_row(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&mut Buffer<f32>, &Buffer<f32>, u32, u32)) -> Launched,
) -> Result<Vec<f32>, String> {
    let (rows, columns) = shape(size);
    let (x, b) = (values(rows * columns), values(columns));
    let run = || {
        let (mut x, b) = (device.buffer_from_slice(&x)?, device.buffer_from_slice(&b)?);
        launch((&mut x, &b, rows as u32, columns as u32))?;
        x.to_vec()
    };
    let expected: Vec<f64> = f64s(&x).zip(f64s(&b).cycle()).map(|(x, b)| x + b).collect();
    compare("x", run(), &expected, 1e-6)
}

/// Step 4: a launch counts `size` values below 256, of which small ones are more frequent.
pub fn counts_values(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&Buffer<u32>, &mut Buffer<u32>)) -> Launched,
) -> Result<Vec<f32>, String> {
    let values: Vec<u32> = values(size).iter().map(|value| (value * value * 256.0) as u32 % 256).collect();
    let run = || {
        let (values, mut counts) = (device.buffer_from_slice(&values)?, device.zeroed(256)?);
        launch((&values, &mut counts))?;
        counts.to_vec()
    };
    let mut expected = [0; 256];
    values.iter().for_each(|&value| expected[value as usize] += 1);
    let found = run().map_err(|error| error.to_string())?;
    match found.iter().zip(expected).position(|(&found, expected)| found != expected) {
        // Counts are small: each is a float.
        None => Ok(found.into_iter().map(|count| count as f32).collect()),
        Some(bin) => Err(format!("counts[{bin}] is {}, expected {}", found[bin], expected[bin])),
    }
}

/// Step 5: a launch averages nine neighbours of each of `size` elements.
pub fn averages(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&Buffer<f32>, &mut Buffer<f32>)) -> Launched,
) -> Result<Vec<f32>, String> {
    let x = values(size);
    let found = result_of(device, &x, size, |x, out| launch((x, out)));
    let window = |i: usize| f64s(&x[i.saturating_sub(4)..size.min(i + 5)]).sum::<f64>() / 9.0;
    let expected: Vec<f64> = (0..size).map(window).collect();
    compare("out", found, &expected, 1e-6)
}

/// Steps 6 and 7: a launch adds each 256 of `size` elements.
pub fn sums_blocks(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&Buffer<f32>, &mut Buffer<f32>)) -> Launched,
) -> Result<Vec<f32>, String> {
    let x = values(size);
    let sums = size.div_ceil(256).max(1);
    let found = result_of(device, &x, sums, |x, out| launch((x, out)));
    let expected: Vec<f64> = (0..sums).map(|b| f64s(&x[256 * b..size.min(256 * b + 256)]).sum()).collect();
    compare("out", found, &expected, 1e-4)
}

/// Step 8: a launch transposes the matrix of a size.
pub fn transposes(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&Buffer<f32>, &mut Buffer<f32>, u32, u32)) -> Launched,
) -> Result<Vec<f32>, String> {
    let (rows, columns) = shape(size);
    let x = values(rows * columns);
    let found = result_of(device, &x, rows * columns, |x, out| launch((x, out, rows as u32, columns as u32)));
    let transposed = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j)));
    let expected: Vec<f64> = transposed.map(|(i, j)| f64::from(x[i * columns + j])).collect();
    compare("out", found, &expected, 0.0)
}

/// Steps 9 and 10: a launch multiplies the matrix of a size with its transpose.
pub fn multiplies(
    device: &Device,
    size: usize,
    launch: impl FnOnce((&Buffer<f32>, &mut Buffer<f32>, u32, u32)) -> Launched,
) -> Result<Vec<f32>, String> {
    let (rows, columns) = shape(size);
    let x = values(rows * columns);
    let found = result_of(device, &x, rows * rows, |x, out| launch((x, out, rows as u32, columns as u32)));
    let row = |i: usize| f64s(&x[i * columns..(i + 1) * columns]);
    let cells = (0..rows).flat_map(|i| (0..rows).map(move |j| (i, j)));
    let expected: Vec<f64> = cells.map(|(i, j)| row(i).zip(row(j)).map(|(a, b)| a * b).sum()).collect();
    // Each sum of n products of values up to 1 is rounded n times, to within n · 2⁻²⁴.
    let tolerance = (columns * columns) as f64 * f64::from(f32::EPSILON);
    compare("out", found, &expected, tolerance)
}
