//! The last rows: the reason for the stop, the result of the last key, and the keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Canvas, columns, wrap};
use super::scene::Scene;
use crate::StopReason;

/// The keys named in the last row.
const KEYS: &str =
    "s into  n over  o out  i instr  b barrier  c continue  S back  w warp  l lane  m memory  ? help  q quit";
const KEYS_NARROW: &str = "s into n over o out i instr b barrier c cont S back w warp l lane ? help q quit";

/// The rows between the heading and the keys, for a screen of this width and height.
pub(super) fn rows(scene: &Scene<'_>, width: usize, height: usize) -> Vec<(String, Style)> {
    let palette = scene.palette;
    let mut rows = Vec::new();
    let mut add = |text: &str, style| rows.extend(wrap(text, width).into_iter().map(|row| (row, style)));
    match &scene.stopped.stop.reason {
        StopReason::Fault(fault) => add(&fault.to_string(), palette.bad()),
        StopReason::BadCondition(error) => add(&format!("the condition has no value: {error}"), palette.bad()),
        StopReason::Write(write) => add(&scene.stopped.describe(write), Style::new()),
        StopReason::Entry | StopReason::Breakpoint | StopReason::Step | StopReason::Pause => {}
    }
    match &scene.state.message {
        Some(Ok(text)) => add(text, palette.good()),
        Some(Err(text)) => add(text, palette.bad()),
        None => {}
    }
    rows.truncate(height / 2);
    rows
}

pub(super) fn draw(scene: &Scene<'_>, rows: &[(String, Style)], buffer: &mut Buffer, area: Rect) {
    let stopped = scene.stopped;
    let reason = match &stopped.stop.reason {
        StopReason::Entry => "at the beginning",
        StopReason::Breakpoint | StopReason::BadCondition(_) => "at a breakpoint",
        StopReason::Step => "after a step",
        StopReason::Write(_) => "after a write",
        StopReason::Pause => "interrupted",
        StopReason::Fault(_) => "at a fault",
    };
    let (block, time) = (stopped.block.index(), stopped.stop.time);
    let mut title = format!("{reason}: block {block}, {}, time {time}", scene.lane());
    if stopped.stop.step.warp != scene.state.warp {
        title.push_str(&format!("; warp {} has stopped", stopped.stop.step.warp));
    }
    let mut canvas = Canvas::titled(buffer, area, &title, scene.palette);
    for (row, (text, style)) in rows.iter().enumerate() {
        canvas.put(row, 0, text, *style);
    }
    match &scene.state.entry {
        Some(entry) => {
            let end =
                canvas.put(rows.len(), 0, &format!(":{}", tail(entry, canvas.width().saturating_sub(2))), Style::new());
            canvas.put(rows.len(), end, " ", scene.palette.accessed());
        }
        None => draw_keys(&mut canvas, rows.len(), scene.palette.faint()),
    }
}

/// Draws text in the last rows of a screen that shows an earlier stop: how the launch continues.
pub(super) fn draw_over(text: &str, buffer: &mut Buffer, screen: Rect, style: Style) {
    let mut canvas = Canvas::new(buffer, screen);
    if let Some(row) = canvas.height().checked_sub(1) {
        let width = canvas.width();
        canvas.put(row, 0, &format!("{text:width$}"), style);
    }
}

fn draw_keys(canvas: &mut Canvas<'_>, row: usize, style: Style) {
    let keys = if columns(KEYS) <= canvas.width() { KEYS } else { KEYS_NARROW };
    canvas.put(row, 0, keys, style);
}

/// The last `width` characters of a text.
fn tail(text: &str, width: usize) -> &str {
    let skipped = text.chars().count().saturating_sub(width);
    text.char_indices().nth(skipped).map_or("", |(index, _)| &text[index..])
}
