//! The command line.

pub(crate) mod arguments;
pub(crate) mod example;
pub(crate) mod predict;
pub(crate) mod train;

use std::process::ExitCode;

/// Opens the window.
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    anyhow::bail!(
        "this regression-studio was built without its window: say train, predict or example-config, or see --help"
    )
}
