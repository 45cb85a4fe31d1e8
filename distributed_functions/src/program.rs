//! The program.

pub(crate) mod measure;
mod plot;
mod row;
pub(crate) mod simulate;
