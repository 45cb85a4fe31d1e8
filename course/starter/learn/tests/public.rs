//! A test for each step, on the simulator, with its launch. `cargo test -p learn step01`

use gpu::{Device, LaunchConfig};
use learn::checks::{
    adds_a_row, averages, blocks, computes_saxpy, counts_values, doubles, multiplies, shape, sums_blocks, tiles,
    transposes,
};
use learn::step01_index::double;
use learn::step02_grid_stride::saxpy;
use learn::step03_rows_and_columns::add_row;
use learn::step04_atomics::histogram;
use learn::step05_shared_memory::average;
use learn::step06_tree::sum_by_halves;
use learn::step07_shuffles::sum_by_shuffles;
use learn::step08_transposition::transpose;
use learn::step09_tiles::product_by_tiles;
use learn::step10_double_buffer::product_double_buffered;
use teaching_tests::{Failure, check, for_any};

/// Checks sizes at the edges of warps, tiles and blocks, then random ones; a matrix of a size has as many rows.
fn for_all_sizes(
    name: &str,
    is_matrix: bool,
    run: impl Fn(&Device, usize) -> Result<Vec<f32>, String>,
) -> Result<(), Failure> {
    let device = Device::simulator();
    let checked = |size| run(&device, size).map(drop).map_err(|error| format!("{error}, for size {size}"));
    let is_right = |size| check(name, checked(size));
    [1, 31, 32, 33, 65].into_iter().try_for_each(is_right)?;
    for_any(10, 0..if is_matrix { 80_usize } else { 2000 }, is_right)
}

#[test]
fn step01_index() -> Result<(), Failure> {
    for_all_sizes("double", false, |device, size| {
        doubles(device, size, |arguments| device.launch(&double, blocks(size, 256), arguments))
    })
}

#[test]
fn step02_grid_stride() -> Result<(), Failure> {
    for_all_sizes("saxpy", false, |device, size| {
        computes_saxpy(device, size, |arguments| device.launch(&saxpy, LaunchConfig::new(3, 128), arguments))
    })
}

#[test]
fn step03_rows_and_columns() -> Result<(), Failure> {
    for_all_sizes("add_row", true, |device, size| {
        let (rows, columns) = shape(size);
        adds_a_row(device, size, |arguments| device.launch(&add_row, blocks(rows * columns, 256), arguments))
    })
}

#[test]
fn step04_atomics() -> Result<(), Failure> {
    for_all_sizes("histogram", false, |device, size| {
        counts_values(device, size, |arguments| device.launch(&histogram, blocks(size.div_ceil(16), 256), arguments))
    })
}

#[test]
fn step05_shared_memory() -> Result<(), Failure> {
    for_all_sizes("average", false, |device, size| {
        averages(device, size, |arguments| device.launch(&average, blocks(size, 256), arguments))
    })
}

#[test]
fn step06_tree() -> Result<(), Failure> {
    for_all_sizes("sum_by_halves", false, |device, size| {
        sums_blocks(device, size, |arguments| device.launch(&sum_by_halves, blocks(size, 256), arguments))
    })
}

#[test]
fn step07_shuffles() -> Result<(), Failure> {
    for_all_sizes("sum_by_shuffles", false, |device, size| {
        sums_blocks(device, size, |arguments| device.launch(&sum_by_shuffles, blocks(size, 256), arguments))
    })
}

#[test]
fn step08_transposition() -> Result<(), Failure> {
    for_all_sizes("transpose", true, |device, size| {
        transposes(device, size, |arguments| device.launch(&transpose, tiles(shape(size), 32), arguments))
    })
}

#[test]
fn step09_tiles() -> Result<(), Failure> {
    for_all_sizes("product_by_tiles", true, |device, size| {
        multiplies(device, size, |arguments| device.launch(&product_by_tiles, tiles((size, size), 16), arguments))
    })
}

#[test]
fn step10_double_buffer() -> Result<(), Failure> {
    for_all_sizes("product_double_buffered", true, |device, size| {
        multiplies(device, size, |arguments| {
            device.launch(&product_double_buffered, tiles((size, size), 16), arguments)
        })
    })
}
