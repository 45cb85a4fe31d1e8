//! The host's side: the ten steps with their launches, each checked against a loop.

mod cases;
pub mod checks;
pub mod puzzles;

// The crate has no `std`, as a GPU has none: the host's side takes it from here.
use cuda_std::host_std::prelude::v1::*;
use gpu::{Device, LaunchConfig};

use self::checks::{
    adds_a_row, averages, blocks, computes_saxpy, counts_values, doubles, multiplies, shape, sums_blocks, tiles,
    transposes,
};
use crate::{
    step01_index, step02_grid_stride, step03_rows_and_columns, step04_atomics, step05_shared_memory, step06_tree,
    step07_shuffles, step08_transposition, step09_tiles, step10_double_buffer, wrong,
};

/// A version of a step's kernel.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// The kernel's name.
    pub name: &'static str,
    /// Launches it with the step's input of a size, compares the result with a loop on the host, and returns it. The
    /// error says which element is wrong, or what the device reports.
    pub check: fn(&Device, usize) -> Result<Vec<f32>, String>,
}

/// A step: its kernels, and the sizes of their inputs.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The page in `docs/learn`, without `.md`.
    pub page: &'static str,
    /// The slower kernel.
    pub before: Version,
    /// The kernel to write.
    pub after: Version,
    /// The kernel with a mistake.
    pub wrong: Version,
    /// Whether a size is a matrix's number of rows, and not a number of elements.
    pub is_matrix: bool,
    /// The size that the page's figures are counted for.
    pub size: usize,
    /// A size for which the mistake shows.
    pub wrong_size: usize,
}

macro_rules! version {
    ($module:ident :: $kernel:ident, $check:ident, $config:expr) => {
        Version {
            name: stringify!($kernel),
            check: |device, size| {
                let config: fn(usize) -> LaunchConfig = $config;
                $check(device, size, |arguments| device.launch(&$module::$kernel, config(size), arguments))
            },
        }
    };
}

/// A grid of eight blocks, whatever the size.
const EIGHT_BLOCKS: fn(usize) -> LaunchConfig = |_| LaunchConfig::new(8, 256);
/// A thread for each element, in blocks of 256.
const ELEMENTS: fn(usize) -> LaunchConfig = |size| blocks(size, 256);
/// A thread for each element of the matrix of a size, in blocks of 256.
const CELLS: fn(usize) -> LaunchConfig = |size| blocks(shape(size).0 * shape(size).1, 256);
/// A block of 256 threads for each 4096 values.
const SIXTEENTHS: fn(usize) -> LaunchConfig = |size| blocks(size.div_ceil(16), 256);
/// A block of 32 × 32 threads for each tile of the matrix of a size.
const TILES: fn(usize) -> LaunchConfig = |size| tiles(shape(size), 32);
/// A block of 16 × 16 threads for each tile of the product of a matrix of a size and its transpose.
const PRODUCT: fn(usize) -> LaunchConfig = |size| tiles((size, size), 16);

/// The ten steps.
pub const STEPS: [Step; 10] = [
    Step {
        page: "01-index",
        before: version!(step01_index::double_by_one_thread, doubles, |_| LaunchConfig::new(1, 1)),
        after: version!(step01_index::double, doubles, ELEMENTS),
        wrong: version!(wrong::double_without_guard, doubles, ELEMENTS),
        is_matrix: false,
        size: 10_000,
        wrong_size: 1000,
    },
    Step {
        page: "02-grid-stride",
        before: version!(step02_grid_stride::saxpy_an_element_each, computes_saxpy, ELEMENTS),
        after: version!(step02_grid_stride::saxpy, computes_saxpy, EIGHT_BLOCKS),
        wrong: version!(wrong::saxpy_by_blocks, computes_saxpy, EIGHT_BLOCKS),
        is_matrix: false,
        size: 100_000,
        wrong_size: 1000,
    },
    Step {
        page: "03-rows-and-columns",
        before: version!(step03_rows_and_columns::add_row_down_columns, adds_a_row, CELLS),
        after: version!(step03_rows_and_columns::add_row, adds_a_row, CELLS),
        wrong: version!(wrong::add_row_swapped, adds_a_row, CELLS),
        is_matrix: true,
        size: 256,
        wrong_size: 40,
    },
    Step {
        page: "04-atomics",
        before: version!(step04_atomics::histogram_in_global_memory, counts_values, ELEMENTS),
        after: version!(step04_atomics::histogram, counts_values, SIXTEENTHS),
        wrong: version!(wrong::histogram_without_atomics, counts_values, ELEMENTS),
        is_matrix: false,
        size: 100_000,
        wrong_size: 1000,
    },
    Step {
        page: "05-shared-memory",
        before: version!(step05_shared_memory::average_from_global_memory, averages, ELEMENTS),
        after: version!(step05_shared_memory::average, averages, ELEMENTS),
        wrong: version!(wrong::average_without_barrier, averages, ELEMENTS),
        is_matrix: false,
        size: 100_000,
        wrong_size: 1000,
    },
    Step {
        page: "06-tree",
        before: version!(step06_tree::sum_interleaved, sums_blocks, ELEMENTS),
        after: version!(step06_tree::sum_by_halves, sums_blocks, ELEMENTS),
        wrong: version!(wrong::sum_with_barrier_in_branch, sums_blocks, ELEMENTS),
        is_matrix: false,
        size: 100_000,
        wrong_size: 1000,
    },
    Step {
        page: "07-shuffles",
        before: version!(step06_tree::sum_by_halves, sums_blocks, ELEMENTS),
        after: version!(step07_shuffles::sum_by_shuffles, sums_blocks, ELEMENTS),
        wrong: version!(wrong::sum_with_lanes_missing, sums_blocks, ELEMENTS),
        is_matrix: false,
        size: 100_000,
        wrong_size: 1000,
    },
    Step {
        page: "08-transposition",
        before: version!(step08_transposition::transpose_with_conflicts, transposes, TILES),
        after: version!(step08_transposition::transpose, transposes, TILES),
        wrong: version!(wrong::transpose_tiles_in_place, transposes, TILES),
        is_matrix: true,
        size: 512,
        wrong_size: 100,
    },
    Step {
        page: "09-tiles",
        before: version!(step09_tiles::product_from_global_memory, multiplies, PRODUCT),
        after: version!(step09_tiles::product_by_tiles, multiplies, PRODUCT),
        wrong: version!(wrong::product_with_one_barrier, multiplies, PRODUCT),
        is_matrix: true,
        size: 122,
        wrong_size: 40,
    },
    Step {
        page: "10-double-buffer",
        before: version!(step09_tiles::product_by_tiles, multiplies, PRODUCT),
        after: version!(step10_double_buffer::product_double_buffered, multiplies, PRODUCT),
        wrong: version!(wrong::product_into_the_same_buffer, multiplies, PRODUCT),
        is_matrix: true,
        size: 122,
        wrong_size: 40,
    },
];

/// The kernel of this name, and the size that it is profiled with; None if it is no step's kernel before or after.
pub fn profiled(name: &str) -> Option<(Version, usize)> {
    let versions = STEPS.iter().flat_map(|step| [(step.before, step.size), (step.after, step.size)]);
    versions.into_iter().find(|(version, _)| version.name == name)
}
