//! The kernels of the steps and puzzles, for the judge. Cases, launches and comparisons are given, and not the submission's.

#[allow(dead_code)]
mod cases;
mod checks;
#[allow(dead_code)]
mod drive;

use gpu::{Device, Search, SimulatorOptions};
use grader::Functions;
use learn::{
    puzzles, step01_index, step02_grid_stride, step03_rows_and_columns, step04_atomics, step05_shared_memory,
    step06_tree, step07_shuffles, step08_transposition, step09_tiles, step10_double_buffer,
};

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("result", |(name, size, schedules, seed): (String, usize, u32, u64)| {
            let search = Search { runs: schedules, seed, ..Search::TWO };
            let device = Device::simulator_with(SimulatorOptions { search, ..SimulatorOptions::default() });
            drive::result(&device, &name, size)
        })
        .serve()
}
