//! The engine on the CPU and the predictor, against the slow reference; and training by the engine.

mod engine;
mod full_batch;
mod learning_rate_factors;
mod predictor;
#[path = "../support/mod.rs"]
mod support;
mod training;
