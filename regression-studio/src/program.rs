//! The command line.

pub(crate) mod arguments;
pub(crate) mod example;
pub(crate) mod predict;
pub(crate) mod train;

use std::process::ExitCode;

use neural_net::model_file::Loaded;

/// What was read from a file, after a warning on stderr where no checksum vouches for it.
fn with_warning<T>(loaded: Loaded<T>) -> T {
    if let Some(unverified) = &loaded.unverified {
        eprintln!("warning: {unverified}");
    }
    loaded.content
}

/// Opens the window.
#[cfg(feature = "window")]
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    regression_studio::window::run(regression_studio::Settings::default())?;
    Ok(ExitCode::SUCCESS)
}

/// Says that there is none.
#[cfg(not(feature = "window"))]
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    anyhow::bail!(
        "this regression-studio was built without its window: say train, predict or example-config, or see --help"
    )
}
