//! The desktop program's window: settings form, table preview, live view of the training run, and
//! results.
//!
//! All views read a [`crate::Snapshot`], so training and the window never block each other. Every
//! action has a key (F1 lists them). Every input has a label for screen readers, which the tests
//! use too.
//!
//! Rendering needs OpenGL 2.1 or OpenGL ES 2.0.

mod action;
mod app;
mod checks;
mod compare;
#[cfg(windows)]
mod console;
mod curves;
mod dashboard;
mod dialogs;
mod findings;
mod form;
mod frame_times;
mod loading;
mod network_drawing;
mod number;
mod predict;
mod preview;
mod recent;
mod results_card;
mod saving;
mod scatter;
mod search;
mod task;
mod theme;
mod typed;
mod unsaved;
mod watched;

use eframe::egui::ViewportBuilder;
use eframe::icon_data;

pub use self::app::{App, Options};
use self::frame_times::{Timed, VARIABLE};
use crate::Settings;

/// Why the window cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "the window cannot be opened: {0}; it needs a desktop with OpenGL 2.1; without one, use `regression-studio train`"
)]
pub struct WindowError(String);

/// Opens the window with `settings`, and returns when the user closes it.
///
/// # Errors
/// If there is no display, or no suitable OpenGL.
pub fn run(settings: Settings) -> Result<(), WindowError> {
    let mut viewport = ViewportBuilder::default()
        .with_title("Regression Studio")
        .with_app_id("regression-studio")
        .with_inner_size([1280.0, 800.0])
        .with_min_inner_size([960.0, 600.0]);
    // The icon is optional.
    if let Ok(icon) = icon_data::from_png_bytes(include_bytes!("../packaging/regression-studio.png")) {
        viewport = viewport.with_icon(icon);
    }
    let options = eframe::NativeOptions { viewport, ..eframe::NativeOptions::default() };
    let is_timed = std::env::var_os(VARIABLE).is_some();
    #[cfg(windows)]
    let has_own_console = console::is_own();
    let open = eframe::run_native(
        "regression-studio",
        options,
        Box::new(move |creation| {
            #[cfg(windows)]
            if has_own_console {
                console::close();
            }
            let app = App::new(&creation.egui_ctx, settings, Options::of_user());
            Ok(if is_timed { Box::new(Timed::new(app)) } else { Box::new(app) })
        }),
    );
    let error = match open {
        Ok(()) => return Ok(()),
        Err(error) => WindowError(reason(&error.to_string())),
    };
    // The console closes with the program, before anyone can read it.
    #[cfg(windows)]
    if has_own_console {
        let dialog = rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("Regression Studio");
        dialog.set_description(error.to_string()).show();
    }
    Err(error)
}

/// The system's message, without winit's source location.
fn reason(error: &str) -> String {
    let plain = error.split_once("os error at ").and_then(|(_, rest)| rest.split_once(": "));
    plain.map_or(error, |(_, reason)| reason).trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn a_reason_names_no_source_line() {
        let error = "winit EventLoopError: os error at /a/b/mod.rs:765: neither DISPLAY nor the other is set.";
        assert_eq!(reason(error), "neither DISPLAY nor the other is set");
        assert_eq!(reason("no suitable OpenGL"), "no suitable OpenGL");
    }
}
