//! Checks a kernel launch. The PTX may come from any compiler. The launch runs under several
//! schedules, and its faults are described as text and as JSON.
//!
//! The program `kernel-check` and the kernel lab are front ends of this library.

pub mod check;
pub mod json;
pub mod location;
pub mod rule;
pub mod text;
