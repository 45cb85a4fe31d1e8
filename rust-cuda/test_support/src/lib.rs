//! Shared support for the tests of all crates: counted skips, tests in separate processes, waiting
//! for a state, and seeds.

mod own_process;
mod seeds;
mod skips;
mod waits;

pub use own_process::{in_own_process, is_own_process};
pub use seeds::seed;
pub use skips::{
    Need, Skip, is_required, of_this_run, path_in, python_with_numpy, python_with_scipy, read, skip, summary,
};
pub use waits::{wait_for, wait_until};
