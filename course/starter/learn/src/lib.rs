//! Ten kernels to write, in order; `docs/learn` has a page for each. Twenty smaller ones are in `puzzles.rs`: `docs/lab` shows
//! what their threads read and write.

pub mod cases;
pub mod checks;
pub mod drive;
pub mod puzzles;
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

pub use drive::{STEPS, is_matrix, puzzle_size, result, sizes};
