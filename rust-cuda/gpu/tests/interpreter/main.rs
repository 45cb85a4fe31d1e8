//! The PTX interpreter as a device: it runs kernels correctly, and finds their bugs.

mod finds_bugs_of_ptx;
mod finds_grid_bugs;
mod finds_seeded_bugs;
mod interpreters;
mod is_a_device;
mod replays;
mod runs_floats;
mod runs_generic_kernels;
mod runs_groups;
mod runs_instructions;
mod runs_kernels_of_others;
mod runs_language;
mod runs_matrices;
mod runs_panicking_kernels;
mod runs_ports;
mod runs_speaking_kernels;
mod runs_teaching_kernels;
mod runs_test_kernels;
mod runs_wide_integers;
#[path = "../support/mod.rs"]
mod support;
