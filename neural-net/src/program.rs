//! The program: arguments in, lines or one JSON object out.

pub(crate) mod arguments;
mod console;
mod dataset;
mod device;
pub(crate) mod digits;
pub(crate) mod evaluate;
mod failure;
pub(crate) mod predict;
mod settings;
pub(crate) mod train;
