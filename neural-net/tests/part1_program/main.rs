//! The command-line program and its checkpoints.

mod checkpoint;
mod devices;
mod goes_on;
mod loses_its_gpu;
mod reads_digits;
mod refuses;
mod starts;
mod stop_at;
#[path = "../support/mod.rs"]
mod support;
mod two_at_once;
