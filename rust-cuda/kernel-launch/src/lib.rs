//! A repeatable launch of a PTX kernel: its launch file, its arguments, and its source's names for
//! functions, variables and shared memory.
//!
//! `kernel-check` checks such a launch; `kernel-debugger` steps through it.

mod argument;
pub mod debug_information;
mod element_type;
mod launch;
mod launch_file;
pub mod named_file;
mod shared;

pub use argument::Argument;
pub use element_type::ElementType;
pub use launch::{Launch, takes_turns};
pub use launch_file::{LaunchFile, LaunchFileError, Order, OrderError};
pub use shared::SharedVariable;
