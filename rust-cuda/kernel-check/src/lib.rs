//! Checks a launch of a kernel in PTX of any compiler: runs it in several orders and describes its faults as text and as JSON.
//!
//! The program `kernel-check` and the kernel lab are views of this.

pub mod check;
pub mod json;
pub mod location;
pub mod rule;
pub mod text;
