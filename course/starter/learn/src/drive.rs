//! Given: launches a kernel on the input of a size, and compares the result with that of a plain loop.

use gpu::{Device, LaunchConfig};

use crate::cases::{self, Case, Kernel, for_each_puzzle, kernel};
use crate::checks::{
    adds_a_row, averages, blocks, computes_saxpy, counts_values, doubles, multiplies, shape, sums_blocks, tiles,
    transposes,
};
use crate::{
    puzzles, step01_index, step02_grid_stride, step03_rows_and_columns, step04_atomics, step05_shared_memory,
    step06_tree, step07_shuffles, step08_transposition, step09_tiles, step10_double_buffer,
};

/// A puzzle: its kernel, its sizes and its cases.
struct Puzzle {
    kernel: Kernel,
    sizes: &'static [usize],
    case: fn(usize) -> Case,
}

macro_rules! puzzles {
    ($($puzzle:ident $parameters:tt, $sizes:expr, $bugs:tt;)*) => {
        const PUZZLES: [Puzzle; 20] = [$(
            Puzzle { kernel: kernel!(puzzles::$puzzle $parameters), sizes: &$sizes, case: cases::$puzzle }
        ),*];
    };
}

for_each_puzzle!(puzzles);

/// The steps, by their files without `.rs`, and the kernel that each has.
pub const STEPS: [(&str, &str); 10] = [
    ("step01_index", "double"),
    ("step02_grid_stride", "saxpy"),
    ("step03_rows_and_columns", "add_row"),
    ("step04_atomics", "histogram"),
    ("step05_shared_memory", "average"),
    ("step06_tree", "sum_by_halves"),
    ("step07_shuffles", "sum_by_shuffles"),
    ("step08_transposition", "transpose"),
    ("step09_tiles", "product_by_tiles"),
    ("step10_double_buffer", "product_double_buffered"),
];

/// Whether a step's size is a matrix's number of rows, and not a number of elements.
pub fn is_matrix(step: &str) -> bool {
    ["step03_rows_and_columns", "step08_transposition", "step09_tiles", "step10_double_buffer"].contains(&step)
}

/// The puzzle of this name.
fn puzzle(name: &str) -> Option<&'static Puzzle> {
    PUZZLES.iter().find(|puzzle| puzzle.kernel.name == name)
}

/// Sizes at the edges of a puzzle's blocks.
pub fn sizes(puzzle: &str) -> &'static [usize] {
    self::puzzle(puzzle).map_or(&[], |puzzle| puzzle.sizes)
}

/// The size number n that a puzzle can have.
pub fn puzzle_size(puzzle: &str, n: usize) -> usize {
    match puzzle {
        "map" => 4 * (n + 1),
        "softmax" => n % 8 + 1,
        _ => n,
    }
}

/// Launches the kernel of a step or of a puzzle on the input of a size, and returns the result.
///
/// # Errors
/// What the device reports, or the first element that differs from the expected one.
pub fn result(device: &Device, name: &str, size: usize) -> Result<Vec<f64>, String> {
    if let Some(puzzle) = puzzle(name) {
        return puzzle.kernel.check(device, &(puzzle.case)(size));
    }
    macro_rules! launch {
        ($check:ident, $kernel:expr, $config:expr) => {
            $check(device, size, |arguments| device.launch(&$kernel, $config, arguments))
        };
    }
    let elements = || blocks(size, 256);
    let square = || tiles((size, size), 16);
    let found = match name {
        "step01_index" => launch!(doubles, step01_index::double, elements()),
        "step02_grid_stride" => launch!(computes_saxpy, step02_grid_stride::saxpy, LaunchConfig::new(3, 128)),
        "step03_rows_and_columns" => {
            let (rows, columns) = shape(size);
            launch!(adds_a_row, step03_rows_and_columns::add_row, blocks(rows * columns, 256))
        }
        "step04_atomics" => launch!(counts_values, step04_atomics::histogram, blocks(size.div_ceil(16), 256)),
        "step05_shared_memory" => launch!(averages, step05_shared_memory::average, elements()),
        "step06_tree" => launch!(sums_blocks, step06_tree::sum_by_halves, elements()),
        "step07_shuffles" => launch!(sums_blocks, step07_shuffles::sum_by_shuffles, elements()),
        "step08_transposition" => launch!(transposes, step08_transposition::transpose, tiles(shape(size), 32)),
        "step09_tiles" => launch!(multiplies, step09_tiles::product_by_tiles, square()),
        "step10_double_buffer" => launch!(multiplies, step10_double_buffer::product_double_buffered, square()),
        _ => return Err(format!("there is no step or puzzle {name}")),
    };
    found.map(|found| found.into_iter().map(f64::from).collect())
}
