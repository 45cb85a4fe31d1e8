//! The command line.

pub(crate) mod arguments;
mod cross_validation;
pub(crate) mod example;
mod explanation;
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

/// R² with four decimals, or a bound if it is far below 0.
fn r_squared(r2: f64) -> String {
    match r2 {
        _ if r2.is_nan() => "–".to_owned(),
        _ if r2 < -99.0 => "< -99".to_owned(),
        // Adding 0 makes a rounded -0.0000 positive.
        _ => format!("{:.4}", (r2 * 1e4).round() / 1e4 + 0.0),
    }
}

/// Opens the window.
#[cfg(feature = "window")]
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    regression_studio::window::run(regression_studio::Settings::demo())?;
    Ok(ExitCode::SUCCESS)
}

/// Reports that the program was built without the window.
#[cfg(not(feature = "window"))]
pub(crate) fn window() -> anyhow::Result<ExitCode> {
    anyhow::bail!("regression-studio was built without its window: use train, predict or example-config, or see --help")
}
