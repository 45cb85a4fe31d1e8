//! A session's front end that draws each stop and waits for keys.

use std::io;
use std::path::Path;

use kernel_launch::Launch;
use ptx_interpreter::syntax::Space;
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent};

use super::bank_conflicts::accessed_memory;
use super::commands::Command;
use super::events::Events;
use super::keys::{self, Action};
use super::listing::Sources;
use super::palette::Palette;
use super::registers_pane;
use super::scene::Scene;
use super::screen;
use super::state::{State, moved};
use super::status;
use crate::{Breakpoints, Front, Resume, StopReason, Stopped};

/// Maximum number of characters of an entry.
const MAX_ENTRY: usize = 1000;

/// The terminal of a session.
pub(super) struct TerminalFront<'t, B: Backend> {
    terminal: &'t mut Terminal<B>,
    events: &'t mut dyn Events,
    sources: Sources,
    state: State,
    palette: Palette,
    /// The screen of the last stop.
    last: Buffer,
    /// Message for the first stop's screen.
    notice: Option<String>,
    /// Whether the screen says that the launch is running.
    says_running: bool,
    /// Whether the user has quit while the launch ran.
    quits: bool,
    error: Option<io::Error>,
}

impl<'t, B: Backend> TerminalFront<'t, B>
where
    B::Error: Send + Sync + 'static,
{
    pub(super) fn new(
        terminal: &'t mut Terminal<B>,
        events: &'t mut dyn Events,
        launch: &Launch,
        source_root: &Path,
        is_coloured: bool,
    ) -> Self {
        Self {
            terminal,
            events,
            sources: Sources::new(source_root, launch),
            state: State::default(),
            palette: Palette { is_coloured },
            last: Buffer::default(),
            notice: launch.debug_information().missing().map(str::to_owned),
            says_running: false,
            quits: false,
            error: None,
        }
    }

    /// # Errors
    /// The reason why the terminal can no longer be used.
    pub(super) fn end(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    fn draw(&mut self, stopped: &Stopped<'_>) -> io::Result<()> {
        let pc = self.state.pc(stopped);
        let listing = self.sources.listing(stopped, pc);
        let scene = Scene { stopped, state: &self.state, listing, palette: self.palette };
        let mut extents = (0, 0);
        let frame = self.terminal.draw(|frame| {
            let area = frame.area();
            extents = screen::draw(&scene, frame.buffer_mut(), area);
        });
        self.last = frame.map_err(io::Error::other)?.buffer.clone();
        self.state.memory.extents = extents;
        Ok(())
    }

    /// Draws the last stop again, with text in the last row.
    fn draw_over(&mut self, text: &str) -> io::Result<()> {
        let (last, style) = (&self.last, self.palette.current());
        let frame = self.terminal.draw(|frame| {
            let (screen, buffer) = (frame.area(), frame.buffer_mut());
            for position in last.area.intersection(screen).positions() {
                buffer[position] = last[position].clone();
            }
            status::draw_over(text, buffer, screen, style);
        });
        frame.map_err(io::Error::other)?;
        Ok(())
    }

    /// Draws and acts on keys until one resumes the launch.
    fn ask(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> io::Result<Resume> {
        self.state.arrive(stopped);
        self.state.message = self.notice.take().map(Err);
        loop {
            self.draw(stopped)?;
            let Event::Key(key) = self.events.next()? else { continue };
            if !keys::is_press(key) {
                continue;
            }
            if keys::is_interrupt(key) {
                return Ok(Resume::Quit);
            }
            if let Some(resume) = self.press(key, stopped, breakpoints)? {
                self.state.leave(stopped);
                return Ok(resume);
            }
        }
    }

    /// Acts on a key. Returns how the launch resumes, if the key says so.
    fn press(
        &mut self,
        key: KeyEvent,
        stopped: &Stopped<'_>,
        breakpoints: &mut Breakpoints,
    ) -> io::Result<Option<Resume>> {
        if std::mem::take(&mut self.state.shows_help) {
            return Ok(None);
        }
        if let Some(entry) = self.state.entry.take() {
            self.edit(entry, key, stopped, breakpoints);
            return Ok(None);
        }
        self.state.message = None;
        let Some(action) = keys::action(key) else { return Ok(None) };
        match action {
            Action::Resume(resume) => return Ok(self.resume(resume, stopped)),
            Action::MoveWarp(by) => self.state.move_warp(by, stopped),
            Action::SelectWarp => {
                let digit = key.code.as_char().and_then(|digit| digit.to_digit(10));
                self.state.select_warp(digit.unwrap_or(self.state.warp), stopped);
            }
            Action::MoveLane(by) => self.state.move_lane(by),
            Action::NextMemory => self.state.memory.next(stopped),
            Action::ShowAccess => self.show_access(stopped)?,
            Action::ScrollMemory(rows, columns) => self.state.memory.scroll(rows, columns),
            Action::ScrollRegisters(by) => {
                let number = registers_pane::number_of_entries(stopped, &self.state);
                self.state.register = moved(self.state.register, by, number);
            }
            Action::MoveCursor(by) => self.move_cursor(by, stopped),
            Action::ToggleBreakpoint => self.toggle_breakpoint(stopped, breakpoints),
            Action::EnterExpression => self.state.entry = Some(String::new()),
            Action::Help => self.state.shows_help = true,
        }
        Ok(None)
    }

    /// Rejects forward moves after a fault, and steps of a warp that has ended.
    fn resume(&mut self, resume: Resume, stopped: &Stopped<'_>) -> Option<Resume> {
        let is_back = matches!(resume, Resume::StepBack | Resume::ContinueBack | Resume::Restart | Resume::Quit);
        if matches!(stopped.stop.reason, StopReason::Fault(_)) && !is_back {
            self.state.message = Some(Err("the fault has ended the launch: S, C and r lead back".to_owned()));
            return None;
        }
        let steps = matches!(
            resume,
            Resume::StepLine | Resume::StepOver | Resume::StepOut | Resume::StepInstruction | Resume::ToBarrier
        );
        if steps
            && let Some(warp) = self.state.selected(stopped)
            && let Err(error) = stopped.check_runs(&warp)
        {
            self.state.message = Some(Err(error));
            return None;
        }
        Some(resume)
    }

    /// Edits the entered text.
    fn edit(&mut self, mut entry: String, key: KeyEvent, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) {
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter if entry.trim().is_empty() => return,
            KeyCode::Enter => {
                let pc = self.state.pc(stopped);
                let file = stopped.lines.source(pc).map(|(file, _)| file);
                let command = Command::parse(&entry);
                let done = command.and_then(|command| command.execute(&mut self.state, stopped, file, breakpoints));
                self.state.message = Some(done);
                return;
            }
            KeyCode::Backspace => _ = entry.pop(),
            KeyCode::Char(character) if entry.len() < MAX_ENTRY => entry.push(character),
            _ => {}
        }
        self.state.entry = Some(entry);
    }

    /// Shows the memory that the selected lane accessed last, in the state space of the memory
    /// currently shown.
    fn show_access(&mut self, stopped: &Stopped<'_>) -> io::Result<()> {
        let lane = self.state.lane;
        let shown = self.state.memory.expression(stopped).and_then(|(_, query)| stopped.view(&query).ok());
        let space = shown.map_or(Space::Global, |view| view.range.extent.space);
        let accesses = stopped.accesses.last_of_warp((stopped.block.number(), self.state.warp), space);
        let access = accesses.iter().rfind(|access| access.step.lanes >> lane & 1 == 1);
        let Some((name, offset)) = access.and_then(|access| accessed_memory(stopped, access)) else {
            let text = format!("the warp's last access to {} memory is none of lane {lane}", name_of(space));
            self.state.message = Some(Err(text));
            return Ok(());
        };
        self.state.memory.show(Some(name));
        // How a single row is broken depends on the pane.
        self.draw(stopped)?;
        if !self.state.memory.scroll_to(stopped, offset) {
            self.state.message = Some(Err("the last access is not in the shown part of the memory".to_owned()));
        }
        Ok(())
    }

    fn move_cursor(&mut self, by: i32, stopped: &Stopped<'_>) {
        let pc = self.state.pc(stopped);
        let listing = self.sources.listing(stopped, pc);
        let from = self.state.cursor.or(listing.line(stopped, pc)).unwrap_or(1);
        self.state.cursor = Some(moved(from.saturating_sub(1), by, listing.lines.len()) + 1);
    }

    fn toggle_breakpoint(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) {
        let pc = self.state.pc(stopped);
        let listing = self.sources.listing(stopped, pc);
        let line = self.state.cursor.or(listing.line(stopped, pc));
        self.state.message = Some(match (listing.file, line) {
            (Some(file), Some(line)) if listing.is_source => {
                self.state.breakpoints.toggle(stopped, breakpoints, (file, line as u32), None)
            }
            (Some(_), _) => Err("there is no cursor without the source; enter `:break 65`".to_owned()),
            (None, _) => Err("the PTX names no source lines".to_owned()),
        });
    }

    /// Waits for a key that leads back from the kernel's end.
    fn ask_at_end(&mut self) -> io::Result<Resume> {
        loop {
            self.draw_over(
                "the kernel has ended; shown is the last stop. S step back  C continue back  r restart  q quit",
            )?;
            let Event::Key(key) = self.events.next()? else { continue };
            if !keys::is_press(key) {
                continue;
            }
            if keys::is_interrupt(key) {
                return Ok(Resume::Quit);
            }
            if let Some(Action::Resume(resume)) = keys::action(key)
                && matches!(resume, Resume::StepBack | Resume::ContinueBack | Resume::Restart | Resume::Quit)
            {
                return Ok(resume);
            }
        }
    }

    /// Whether a key has been pressed while the launch runs.
    fn poll(&mut self) -> io::Result<bool> {
        if !std::mem::replace(&mut self.says_running, true) {
            self.draw_over("the launch runs; any key interrupts")?;
        }
        while let Some(event) = self.events.poll()? {
            if let Event::Key(key) = event
                && keys::is_press(key)
            {
                self.quits = keys::is_interrupt(key);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Unwraps a result. After an error, quits and keeps the error for the end.
    fn or_quit(&mut self, result: io::Result<Resume>) -> Resume {
        result.unwrap_or_else(|error| {
            self.error = Some(error);
            Resume::Quit
        })
    }
}

fn name_of(space: Space) -> &'static str {
    if space == Space::Shared { "shared" } else { "global" }
}

impl<B: Backend> Front for TerminalFront<'_, B>
where
    B::Error: Send + Sync + 'static,
{
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume {
        self.says_running = false;
        if self.quits || self.error.is_some() {
            return Resume::Quit;
        }
        let resume = self.ask(stopped, breakpoints);
        self.or_quit(resume)
    }

    fn completed(&mut self) -> Resume {
        self.says_running = false;
        if self.quits || self.error.is_some() {
            return Resume::Quit;
        }
        let resume = self.ask_at_end();
        self.or_quit(resume)
    }

    fn warp(&self) -> Option<u32> {
        Some(self.state.warp)
    }

    fn is_interrupted(&mut self) -> bool {
        self.poll().unwrap_or_else(|error| {
            self.error = Some(error);
            true
        })
    }
}
