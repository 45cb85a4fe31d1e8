//! A stop as the user sees it.

use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{StoppedWarp, WarpPath};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::canvas::{Canvas, wrap};
use super::layout::{Areas, MIN_HEIGHT, MIN_WIDTH};
use super::listing::Listing;
use super::palette::Palette;
use super::state::State;
use super::{help, memory_pane, registers_pane, source_pane, status, warps_pane};
use crate::Stopped;

/// A stop, with what the user has chosen.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) stopped: &'s Stopped<'s>,
    pub(super) state: &'s State,
    pub(super) listing: Listing<'s>,
    pub(super) palette: Palette,
}

impl<'s> Scene<'s> {
    /// The selected warp.
    pub(super) fn warp(&self) -> Option<StoppedWarp<'s>> {
        self.state.selected(self.stopped)
    }

    /// The shown path of the selected warp; None if it has ended.
    pub(super) fn path(&self) -> Option<WarpPath> {
        self.stopped.path(&self.warp()?)
    }

    /// The line of the listing that the selected warp executes next.
    pub(super) fn current_line(&self) -> Option<usize> {
        self.listing.line(self.stopped, self.path()?.pc)
    }

    /// The selected lane in words, with its thread.
    pub(super) fn lane(&self) -> String {
        let (warp, lane) = (self.state.warp, self.state.lane);
        let thread = u64::from(warp) * LANES as u64 + lane as u64;
        let size = self.stopped.block.config().block;
        match thread < size.count() {
            true => format!("warp {warp}, lane {lane}, thread {}", size.index_of(thread)),
            false => format!("warp {warp}, lane {lane}, no thread"),
        }
    }

    /// Draws all panes. Returns the rows and columns of the shown memory.
    pub(super) fn draw(&self, buffer: &mut Buffer, screen: Rect) -> (usize, usize) {
        if screen.width < MIN_WIDTH || screen.height < MIN_HEIGHT {
            draw_too_small(buffer, screen);
            return self.state.memory.extents;
        }
        let status = status::rows(self, screen.width.into(), screen.height.into());
        let areas = Areas::new(screen, self.stopped.block.warps().count(), status.len() as u16 + 2);
        let mut divider = Canvas::new(buffer, areas.divider);
        for row in 0..divider.height() {
            divider.put(row, 0, "│", self.palette.faint());
        }
        source_pane::draw(self, buffer, areas.source);
        warps_pane::draw(self, buffer, areas.warps);
        if let Some(area) = areas.registers {
            registers_pane::draw(self, buffer, area);
        }
        let extents = memory_pane::draw(self, buffer, areas.memory);
        status::draw(self, &status, buffer, areas.status);
        if self.state.shows_help {
            help::draw(self.palette, buffer, screen);
        }
        extents
    }
}

fn draw_too_small(buffer: &mut Buffer, screen: Rect) {
    let text = format!(
        "{} × {} is too small: enlarge the terminal to {MIN_WIDTH} × {MIN_HEIGHT}; q quits",
        screen.width, screen.height
    );
    let mut canvas = Canvas::new(buffer, screen);
    for (row, line) in wrap(&text, canvas.width()).iter().enumerate() {
        canvas.put(row, 0, line, ratatui::style::Style::new());
    }
}
