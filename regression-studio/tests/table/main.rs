//! Tables: read, made up, split, scaled, and what baselines make of them.

mod baselines;
mod csv_reads;
mod csv_refuses;
mod split_and_scale;
#[path = "../support/mod.rs"]
mod support;
mod synthetic;
