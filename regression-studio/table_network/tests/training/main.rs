//! Training and prediction through the public interface.

mod edge_cases;
mod learning;
mod rows;
mod same_bits;
mod saved_states;
