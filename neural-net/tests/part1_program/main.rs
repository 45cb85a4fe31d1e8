//! The command-line program and its checkpoints.

mod checkpoint;
mod concurrent_runs;
mod devices;
mod diagnoses;
mod distributed;
mod loses_gpu;
mod reads_digits;
mod rejects;
mod resumes;
mod starts;
mod stop_at;
#[path = "../support/mod.rs"]
mod support;
mod warns;
