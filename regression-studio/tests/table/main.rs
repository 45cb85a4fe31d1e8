//! Tables: reading, generation, split, standardization and baselines.

mod baselines;
mod csv_reads;
mod csv_rejects;
mod findings;
mod folds;
mod memory;
mod notes;
mod split_and_scale;
#[path = "../support/mod.rs"]
mod support;
mod synthetic;
mod trees;
mod workbooks;
