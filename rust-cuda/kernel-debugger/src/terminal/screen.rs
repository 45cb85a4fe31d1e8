//! All panes of a scene, on a screen of any size.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::canvas::{Canvas, wrap};
use super::layout::{Areas, MIN_HEIGHT, MIN_WIDTH};
use super::scene::Scene;
use super::{help, memory_pane, registers_pane, source_pane, status, warps_pane};

/// Draws all panes. Returns the number of rows and columns of the shown memory.
pub(super) fn draw(scene: &Scene<'_>, buffer: &mut Buffer, screen: Rect) -> (usize, usize) {
    if screen.width < MIN_WIDTH || screen.height < MIN_HEIGHT {
        draw_too_small(buffer, screen);
        return scene.state.memory.extents;
    }
    let status = status::rows(scene, screen.width.into(), screen.height.into());
    let areas = Areas::new(screen, scene.stopped.block.warps().count(), status.len() as u16 + 2);
    let mut divider = Canvas::new(buffer, areas.divider);
    for row in 0..divider.height() {
        divider.put(row, 0, "│", scene.palette.faint());
    }
    source_pane::draw(scene, buffer, areas.source);
    warps_pane::draw(scene, buffer, areas.warps);
    if let Some(area) = areas.registers {
        registers_pane::draw(scene, buffer, area);
    }
    let extents = memory_pane::draw(scene, buffer, areas.memory);
    status::draw(scene, &status, buffer, areas.status);
    if scene.state.shows_help {
        help::draw(scene.palette, buffer, screen);
    }
    extents
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
