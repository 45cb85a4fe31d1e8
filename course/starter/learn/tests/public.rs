//! A test for each step and each puzzle, on the simulator. `cargo test -p learn step01`, `cargo test -p learn puzzle_map`

use gpu::Device;
use learn::{STEPS, is_matrix, puzzle_size, result, sizes};
use teaching_tests::{Failure, check, for_any};

/// Checks a kernel with a size.
fn is_right(device: &Device, name: &str, kernel: &str, size: usize) -> Result<(), Failure> {
    let found = result(device, name, size);
    check(kernel, found.map(drop).map_err(|error| format!("{error}, for size {size}")))
}

/// Checks a step's kernel with sizes at the edges of warps, tiles and blocks, then with random ones.
fn step(name: &str) -> Result<(), Failure> {
    let device = Device::simulator();
    let kernel = STEPS.iter().find(|(step, _)| *step == name).map_or(name, |(_, kernel)| kernel);
    [1, 31, 32, 33, 65].into_iter().try_for_each(|size| is_right(&device, name, kernel, size))?;
    for_any(10, 0..if is_matrix(name) { 80_usize } else { 2000 }, |size| is_right(&device, name, kernel, size))
}

/// Checks a puzzle's kernel with sizes at the edges of its blocks, then with random ones.
fn puzzle(name: &str) -> Result<(), Failure> {
    let device = Device::simulator();
    sizes(name).iter().try_for_each(|&size| is_right(&device, name, name, size))?;
    for_any(10, 0..40_usize, |n| is_right(&device, name, name, puzzle_size(name, n)))
}

#[test]
fn puzzle_map() -> Result<(), Failure> {
    puzzle("map")
}

#[test]
fn puzzle_double() -> Result<(), Failure> {
    puzzle("double")
}

#[test]
fn puzzle_zip() -> Result<(), Failure> {
    puzzle("zip")
}

#[test]
fn puzzle_saxpy() -> Result<(), Failure> {
    puzzle("saxpy")
}

#[test]
fn puzzle_broadcast() -> Result<(), Failure> {
    puzzle("broadcast")
}

#[test]
fn puzzle_add_row() -> Result<(), Failure> {
    puzzle("add_row")
}

#[test]
fn puzzle_pool() -> Result<(), Failure> {
    puzzle("pool")
}

#[test]
fn puzzle_histogram() -> Result<(), Failure> {
    puzzle("histogram")
}

#[test]
fn puzzle_neighbors() -> Result<(), Failure> {
    puzzle("neighbors")
}

#[test]
fn puzzle_dot() -> Result<(), Failure> {
    puzzle("dot")
}

#[test]
fn puzzle_convolve() -> Result<(), Failure> {
    puzzle("convolve")
}

#[test]
fn puzzle_tree() -> Result<(), Failure> {
    puzzle("tree")
}

#[test]
fn puzzle_prefix_sum() -> Result<(), Failure> {
    puzzle("prefix_sum")
}

#[test]
fn puzzle_row_sums() -> Result<(), Failure> {
    puzzle("row_sums")
}

#[test]
fn puzzle_shuffle_sum() -> Result<(), Failure> {
    puzzle("shuffle_sum")
}

#[test]
fn puzzle_transpose() -> Result<(), Failure> {
    puzzle("transpose")
}

#[test]
fn puzzle_product() -> Result<(), Failure> {
    puzzle("product")
}

#[test]
fn puzzle_product_by_tiles() -> Result<(), Failure> {
    puzzle("product_by_tiles")
}

#[test]
fn puzzle_product_double_buffered() -> Result<(), Failure> {
    puzzle("product_double_buffered")
}

#[test]
fn puzzle_softmax() -> Result<(), Failure> {
    puzzle("softmax")
}

#[test]
fn step01_index() -> Result<(), Failure> {
    step("step01_index")
}

#[test]
fn step02_grid_stride() -> Result<(), Failure> {
    step("step02_grid_stride")
}

#[test]
fn step03_rows_and_columns() -> Result<(), Failure> {
    step("step03_rows_and_columns")
}

#[test]
fn step04_atomics() -> Result<(), Failure> {
    step("step04_atomics")
}

#[test]
fn step05_shared_memory() -> Result<(), Failure> {
    step("step05_shared_memory")
}

#[test]
fn step06_tree() -> Result<(), Failure> {
    step("step06_tree")
}

#[test]
fn step07_shuffles() -> Result<(), Failure> {
    step("step07_shuffles")
}

#[test]
fn step08_transposition() -> Result<(), Failure> {
    step("step08_transposition")
}

#[test]
fn step09_tiles() -> Result<(), Failure> {
    step("step09_tiles")
}

#[test]
fn step10_double_buffer() -> Result<(), Failure> {
    step("step10_double_buffer")
}
