//! All keys and marks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::Canvas;
use super::keys::BINDINGS;
use super::palette::Palette;

/// Meanings of the marks.
const MARKS: [&str; 7] = [
    "lanes: ■ runs, □ diverged, b barrier, w waits for lanes, × exited, · no thread",
    "warps: * the one that has stopped; 3w three warps at a line; ● ◆ breakpoints",
    "memory: – never written, * changed, reversed: the warp's last access,",
    "! in the bank with the most conflicts; the colour is the bank",
    ": x[0..4][8..16], shared0 as f32 32x33, out[3][5], %r5",
    ":break 65, :break 65 if lane == 5",
    "time: instructions that warps have issued. q or Ctrl-C quits",
];

pub(super) fn draw(palette: Palette, buffer: &mut Buffer, screen: Rect) {
    let key_rows = BINDINGS.len().div_ceil(2);
    let height = (key_rows + MARKS.len() + 2) as u16;
    let (width, height) = (80.min(screen.width), height.min(screen.height));
    let area =
        Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (screen.height - height) / 2, width, height };
    let mut behind = Canvas::new(buffer, area);
    for row in 0..behind.height() {
        behind.put(row, 0, &" ".repeat(width.into()), Style::reset());
    }
    let mut canvas = Canvas::titled(buffer, area, "keys; any key closes", palette);
    for (index, binding) in BINDINGS.iter().enumerate() {
        let (row, column) = (index % key_rows, index / key_rows * 40 + 1);
        canvas.put(row, column, binding.names, palette.title());
        canvas.put(row, column + 8, binding.meaning, Style::new());
    }
    for (row, text) in MARKS.iter().enumerate() {
        canvas.put(key_rows + row, 1, text, Style::new());
    }
    let width = canvas.width();
    canvas.put(key_rows + MARKS.len(), 0, &"─".repeat(width), palette.faint());
}
