//! PTX is parsed without loss, and syntax errors name their line.

mod bodies;
mod linking;
mod mistakes;
mod modules;
mod robust;
mod round_trip;
#[path = "../support/mod.rs"]
mod support;
