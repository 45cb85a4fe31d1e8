//! Ten kernels to write, in order; `docs/learn` has a page for each.

pub mod checks;
pub mod step01_index;
pub mod step02_grid_stride;
pub mod step03_rows_and_columns;
pub mod step04_atomics;
pub mod step05_shared_memory;
pub mod step06_tree;
pub mod step07_shuffles;
pub mod step08_transposition;
pub mod step09_tiles;
pub mod step10_double_buffer;
