//! The command-line program; its output is text or one JSON object.

use neural_net::model_file::Loaded;

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

/// The content of a file, after a warning on stderr if the file has no checksum.
fn with_warning<T>(loaded: Loaded<T>) -> T {
    if let Some(unverified) = &loaded.unverified {
        command_line::note!("warning: {unverified}");
    }
    loaded.content
}
