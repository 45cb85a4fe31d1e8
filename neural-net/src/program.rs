//! The program: arguments in, lines or one JSON object out.

use neural_net::model_file::Loaded;

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

/// What was read from a file, after a warning on stderr where no checksum vouches for it.
fn with_warning<T>(loaded: Loaded<T>) -> T {
    if let Some(unverified) = &loaded.unverified {
        eprintln!("warning: {unverified}");
    }
    loaded.content
}
