//! The program: arguments in, lines or one JSON object out.

pub(crate) mod arguments;
mod console;
mod dataset;
pub(crate) mod digits;
pub(crate) mod evaluate;
pub(crate) mod predict;
mod settings;
pub(crate) mod train;
