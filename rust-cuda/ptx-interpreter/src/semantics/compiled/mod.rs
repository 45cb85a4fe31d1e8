//! Loops over the lanes for the forms that compilers emit in bulk, which take an instruction's time to that of a few
//! vector instructions. Each has the results of its form's definition.

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
