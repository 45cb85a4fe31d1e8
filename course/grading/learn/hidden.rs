//! What students do not see: larger sizes, in more schedules of blocks and warps.

use teaching_tests::seed_of_the_tests;

use super::*;
use learn_judge::result_in_schedules;

/// Number of schedules.
const SCHEDULES: u32 = 6;

/// Checks a kernel with two sizes from `sizes` that the seed chooses.
fn in_schedules(name: &str, kernel: &str, sizes: [usize; 2]) -> Result<(), Failure> {
    let seed = seed_of_the_tests();
    for size in sizes {
        let found = result_in_schedules(name, size, SCHEDULES, seed);
        check(kernel, found.map(drop).map_err(|error| format!("{error}, for size {size}")))?;
    }
    Ok(())
}

fn step(name: &str) -> Result<(), Failure> {
    let kernel = STEPS.iter().find(|(step, _)| *step == name).map_or(name, |(_, kernel)| kernel);
    let (seed, is_matrix) = (seed_of_the_tests() as usize, is_matrix(name));
    in_schedules(name, kernel, if is_matrix { [84 + seed % 7, 97] } else { [2100 + seed % 100, 2817] })
}

fn puzzle(name: &str) -> Result<(), Failure> {
    let seed = seed_of_the_tests() as usize;
    in_schedules(name, name, [41 + seed % 9, 53].map(|n| puzzle_size(name, n)))
}

#[test]
fn step01_index_in_more_schedules() -> Result<(), Failure> {
    step("step01_index")
}

#[test]
fn step02_grid_stride_in_more_schedules() -> Result<(), Failure> {
    step("step02_grid_stride")
}

#[test]
fn step03_rows_and_columns_in_more_schedules() -> Result<(), Failure> {
    step("step03_rows_and_columns")
}

#[test]
fn step04_atomics_in_more_schedules() -> Result<(), Failure> {
    step("step04_atomics")
}

#[test]
fn step05_shared_memory_in_more_schedules() -> Result<(), Failure> {
    step("step05_shared_memory")
}

#[test]
fn step06_tree_in_more_schedules() -> Result<(), Failure> {
    step("step06_tree")
}

#[test]
fn step07_shuffles_in_more_schedules() -> Result<(), Failure> {
    step("step07_shuffles")
}

#[test]
fn step08_transposition_in_more_schedules() -> Result<(), Failure> {
    step("step08_transposition")
}

#[test]
fn step09_tiles_in_more_schedules() -> Result<(), Failure> {
    step("step09_tiles")
}

#[test]
fn step10_double_buffer_in_more_schedules() -> Result<(), Failure> {
    step("step10_double_buffer")
}

#[test]
fn puzzle_map_in_more_schedules() -> Result<(), Failure> {
    puzzle("map")
}

#[test]
fn puzzle_double_in_more_schedules() -> Result<(), Failure> {
    puzzle("double")
}

#[test]
fn puzzle_zip_in_more_schedules() -> Result<(), Failure> {
    puzzle("zip")
}

#[test]
fn puzzle_saxpy_in_more_schedules() -> Result<(), Failure> {
    puzzle("saxpy")
}

#[test]
fn puzzle_broadcast_in_more_schedules() -> Result<(), Failure> {
    puzzle("broadcast")
}

#[test]
fn puzzle_add_row_in_more_schedules() -> Result<(), Failure> {
    puzzle("add_row")
}

#[test]
fn puzzle_pool_in_more_schedules() -> Result<(), Failure> {
    puzzle("pool")
}

#[test]
fn puzzle_histogram_in_more_schedules() -> Result<(), Failure> {
    puzzle("histogram")
}

#[test]
fn puzzle_neighbors_in_more_schedules() -> Result<(), Failure> {
    puzzle("neighbors")
}

#[test]
fn puzzle_dot_in_more_schedules() -> Result<(), Failure> {
    puzzle("dot")
}

#[test]
fn puzzle_convolve_in_more_schedules() -> Result<(), Failure> {
    puzzle("convolve")
}

#[test]
fn puzzle_tree_in_more_schedules() -> Result<(), Failure> {
    puzzle("tree")
}

#[test]
fn puzzle_prefix_sum_in_more_schedules() -> Result<(), Failure> {
    puzzle("prefix_sum")
}

#[test]
fn puzzle_row_sums_in_more_schedules() -> Result<(), Failure> {
    puzzle("row_sums")
}

#[test]
fn puzzle_shuffle_sum_in_more_schedules() -> Result<(), Failure> {
    puzzle("shuffle_sum")
}

#[test]
fn puzzle_transpose_in_more_schedules() -> Result<(), Failure> {
    puzzle("transpose")
}

#[test]
fn puzzle_product_in_more_schedules() -> Result<(), Failure> {
    puzzle("product")
}

#[test]
fn puzzle_product_by_tiles_in_more_schedules() -> Result<(), Failure> {
    puzzle("product_by_tiles")
}

#[test]
fn puzzle_product_double_buffered_in_more_schedules() -> Result<(), Failure> {
    puzzle("product_double_buffered")
}

#[test]
fn puzzle_softmax_in_more_schedules() -> Result<(), Failure> {
    puzzle("softmax")
}
