//! The interpreter of PTX as a device: it computes what kernels say, and finds their bugs.

mod finds_bugs_of_ptx;
mod finds_grid_bugs;
mod finds_seeded_bugs;
mod interpreters;
mod is_a_device;
mod runs_instructions;
mod runs_test_kernels;
#[path = "../support/mod.rs"]
mod support;
