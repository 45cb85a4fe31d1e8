//! Tests the CPU engine and the predictor against the reference, and training with the engine.

mod adam;
mod effective_step;
mod engine;
mod faster_device;
mod full_batch;
mod learning_rate_factors;
mod one_class;
mod predictor;
mod subnormals;
#[path = "../support/mod.rs"]
mod support;
mod teams;
mod training;
