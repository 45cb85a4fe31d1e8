//! The source of keys.

use std::io;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};

/// A source of keys.
pub trait Events {
    /// Waits for the next event.
    ///
    /// # Errors
    /// If no event can be read.
    fn next(&mut self) -> io::Result<Event>;

    /// The next event, if one is already available.
    ///
    /// # Errors
    /// If no event can be read.
    fn poll(&mut self) -> io::Result<Option<Event>>;
}

/// The terminal of standard input.
pub(super) struct TerminalEvents;

impl Events for TerminalEvents {
    fn next(&mut self) -> io::Result<Event> {
        event::read()
    }

    fn poll(&mut self) -> io::Result<Option<Event>> {
        if event::poll(Duration::ZERO)? { event::read().map(Some) } else { Ok(None) }
    }
}
