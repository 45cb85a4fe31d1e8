//! The command-line program. Its output is text or one JSON object.

pub(crate) mod arguments;
mod console;
mod dataset;
mod device;
pub(crate) mod digits;
mod distributed;
mod download;
pub(crate) mod evaluate;
mod failure;
pub(crate) mod predict;
mod settings;
pub(crate) mod train;
mod warnings;
