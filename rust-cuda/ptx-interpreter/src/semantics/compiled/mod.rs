//! Loops over the lanes for the most frequent forms in compiled code. They reduce an instruction to
//! a few vector instructions. Each loop has the same results as its form's definition.

mod comparisons;
mod conversions;
mod element;
mod floats;
mod integers;
mod lane_loop;
mod vectors;

use super::table::Table;

pub(super) use lane_loop::{Compiled, PredicateLoop, ValueLoop};
pub(super) use vectors::Vectors;

/// Adds the loops to the table.
pub(super) fn loops(table: &mut Table) {
    integers::loops(table);
    floats::loops(table);
    comparisons::loops(table);
    conversions::loops(table);
}
