//! Training sessions: how they end, saved runs, and accuracy of the model.

mod damage;
mod ends;
mod explicit_loop;
mod fleet;
mod one_hot;
mod other_kind;
mod round_trip;
mod search;
mod sigmoid_folding;
mod stocks;
#[path = "../support/mod.rs"]
mod support;
mod table_network;
