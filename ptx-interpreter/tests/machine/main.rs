//! The machine runs kernels, written by hand, as the ISA says.

mod atomics;
mod barriers;
mod bounds;
mod control;
mod copies;
mod counts;
mod grid;
mod half;
mod lines;
mod matrix;
mod memory;
mod moves;
mod padding;
mod races;
mod refuses;
#[path = "../support/mod.rs"]
mod support;
mod warps;
