//! Tests the window through its accessibility labels, as a screen reader finds them, without a
//! display or renderer.

mod checks;
mod data;
mod findings;
mod form;
mod harness;
mod predict;
mod runs;
mod search;
mod training;
mod unsaved;

#[path = "../support/mod.rs"]
mod support;
