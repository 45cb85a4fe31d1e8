//! The program.

pub(crate) mod measure;
mod plot;
pub(crate) mod simulate;
