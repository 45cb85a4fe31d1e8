//! A memory as a grid: its elements, their changes, and the elements touched by the selected warp's
//! last access.

use ptx_interpreter::syntax::Space;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::bank_conflicts::LastAccess;
use super::canvas::{Canvas, wrap};
use super::grid::{Grid, Window};
use super::scene::Scene;

/// Maximum number of rows of the text about the last access.
const MAX_TEXT_ROWS: usize = 3;

/// Mark of a cell in the bank with the most conflicts.
const CONFLICT: &str = "!";

/// Mark of a cell that has changed since the last stop.
const CHANGED: &str = "*";

/// Draws the memory. Returns its number of rows and columns.
pub(super) fn draw(scene: &Scene<'_>, buffer: &mut Buffer, area: Rect) -> (usize, usize) {
    let (stopped, palette) = (scene.stopped, scene.palette);
    let Some((text, query)) = scene.state.memory.expression(stopped) else {
        Canvas::titled(buffer, area, "no shared memory, no buffers", palette);
        return (0, 0);
    };
    let view = match stopped.view(&query) {
        Ok(view) => view,
        Err(error) => {
            let mut canvas = Canvas::titled(buffer, area, &text, palette);
            for (row, line) in wrap(&error.to_string(), canvas.width()).iter().enumerate() {
                canvas.put(row, 0, line, palette.bad());
            }
            return (0, 0);
        }
    };
    let (rows, columns) = (view.shown_rows.len(), view.shown_columns.len());
    let title = format!("{text}: {rows} × {columns} {}", view.element.name());
    let mut canvas = Canvas::titled(buffer, area, &title, palette);
    let access = LastAccess::of(stopped, scene.state.warp, view.range.extent.space);
    let lines = access.as_ref().map(|access| wrap(&access.text, canvas.width())).unwrap_or_default();
    let text_rows = lines.len().min(MAX_TEXT_ROWS);
    for (row, line) in lines[..text_rows].iter().enumerate() {
        canvas.put(canvas.height().saturating_sub(text_rows - row), 0, line, palette.waiting());
    }
    let height = canvas.height().saturating_sub(1 + text_rows);
    let from = (scene.state.memory.row, scene.state.memory.column);
    let (grid, window) = Grid::new(view, from, (canvas.width(), height));
    for column in 0..window.columns {
        let label = grid.column_label(window.column + column);
        let text = format!("{label:>width$}", width = window.cell_width);
        canvas.put(0, column_of(&window, column), &text, palette.faint());
    }
    for row in 0..window.rows {
        let label = format!("{:>width$}", grid.row_label(window.row + row), width = window.label_width - 1);
        canvas.put(row + 1, 0, &label, palette.faint());
        for column in 0..window.columns {
            draw_cell(scene, &mut canvas, (&grid, &window), (row, column), access.as_ref());
        }
    }
    (grid.rows(), grid.columns())
}

/// Start of a column in the window.
fn column_of(window: &Window, column: usize) -> usize {
    window.label_width + column * (window.cell_width + 1)
}

fn draw_cell(
    scene: &Scene<'_>,
    canvas: &mut Canvas<'_>,
    (grid, window): (&Grid<'_>, &Window),
    (row, column): (usize, usize),
    access: Option<&LastAccess<'_>>,
) {
    let palette = scene.palette;
    let Some(element) = grid.element(window.row + row, window.column + column) else { return };
    let range = &grid.view.range;
    let (offset, bytes) = (grid.view.offset(element.0, element.1), grid.view.element.bytes());
    let address = range.extent.start + offset as u64;
    let mut style = match range.extent.space {
        Space::Shared => palette.bank((address / 4 % 32) as u32),
        _ => Style::new(),
    };
    let copies = scene.state.copies.as_ref();
    let is_changed = copies.is_some_and(|copies| copies.differ(scene.stopped, range, offset, bytes));
    let lanes = access.map_or(0, |access| access.lanes_at(address, bytes));
    let is_in_conflict = access.is_some_and(|access| access.is_in_conflict(address, bytes, lanes));
    if is_changed {
        style = style.patch(palette.changed());
    }
    if lanes != 0 {
        style = style.patch(palette.accessed());
    }
    if lanes >> scene.state.lane & 1 == 1 {
        style = style.patch(palette.lane());
    }
    let text = format!("{:>width$}", grid.text(element), width = window.cell_width);
    let end = canvas.put(row + 1, column_of(window, column), &text, style);
    if is_in_conflict {
        canvas.put(row + 1, end, CONFLICT, palette.bad());
    } else if is_changed {
        canvas.put(row + 1, end, CHANGED, palette.good());
    }
}
