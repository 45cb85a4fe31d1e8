//! The command line.

pub(crate) mod arguments;
pub(crate) mod example;
mod explanation;
mod folds;
pub(crate) mod predict;
pub(crate) mod train;

use std::process::ExitCode;

/// A number with four decimals, in scientific notation if it is very small or large.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "–".to_owned(),
        _ if value == 0.0 || (0.001..1e6).contains(&value.abs()) => format!("{value:.4}"),
        _ => format!("{value:.4e}"),
    }
}

/// Opens the window.
#[cfg(feature = "window")]
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    regression_studio::window::run(regression_studio::Settings::default())?;
    Ok(ExitCode::SUCCESS)
}

/// Reports that the program was built without the window.
#[cfg(not(feature = "window"))]
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    anyhow::bail!("regression-studio was built without its window: use train, predict or example-config, or see --help")
}
