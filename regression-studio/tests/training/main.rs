//! Training sessions: how they end, what they keep, and how good the model is.

mod damage;
mod ends;
mod one_hot;
mod round_trip;
mod sigmoid_folding;
mod stocks;
#[path = "../support/mod.rs"]
mod support;
