//! The debugger in a terminal: the source, the block's warps, variables, registers and memory at
//! each stop.
//!
//! `State` holds the user's choices, and a `Scene` is a stop viewed with them. Each pane draws a
//! scene into a buffer of characters. `TerminalFront` draws, waits for a key and acts on it.

mod bank_conflicts;
mod breakpoint_list;
mod canvas;
mod changes;
mod commands;
mod events;
mod front;
mod grid;
mod help;
mod keys;
mod layout;
mod listing;
mod memory_pane;
mod palette;
mod registers_pane;
mod scene;
mod screen;
mod source_pane;
mod state;
mod status;
mod warps_pane;

use std::io::{self, IsTerminal};
use std::path::Path;

use kernel_launch::Launch;
use ptx_interpreter::LaunchError;
use ratatui::Terminal;
use ratatui::backend::Backend;
use thiserror::Error;

use crate::Session;
use front::TerminalFront;

pub use events::Events;
pub use keys::{BINDINGS, Binding};

/// The reason why the view ended without a request by the user.
#[derive(Debug, Error)]
pub enum TerminalError {
    /// Standard input or output is not a terminal.
    #[error("the view needs a terminal as standard input and output; redirect neither of them")]
    NotATerminal,
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
    /// The launch cannot begin.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// Debugs a launch in the terminal of standard input and output until the user quits. Names of
/// source files start at `source_root`. If the environment variable `NO_COLOR` is set, uses no
/// colors.
///
/// # Errors
/// If there is no terminal or it cannot be used, or if the launch is invalid. The terminal is
/// restored.
pub fn run(launch: &Launch, source_root: &Path) -> Result<(), TerminalError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(TerminalError::NotATerminal);
    }
    let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    // Also restores the terminal on a panic.
    let mut terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
    let result = run_on(&mut terminal, &mut events::TerminalEvents, launch, source_root, is_coloured);
    ratatui::restore();
    result
}

/// Debugs a launch in any terminal, with any source of keys.
///
/// # Errors
/// If drawing to the terminal or reading keys fails, or if the launch is invalid.
pub fn run_on<B: Backend>(
    terminal: &mut Terminal<B>,
    events: &mut dyn Events,
    launch: &Launch,
    source_root: &Path,
    is_coloured: bool,
) -> Result<(), TerminalError>
where
    B::Error: Send + Sync + 'static,
{
    let mut session = Session::new(launch);
    let mut front = TerminalFront::new(terminal, events, launch, source_root, is_coloured);
    let end = session.run(&mut front);
    front.end()?;
    end?;
    Ok(())
}
