//! The block's warps, each with its lanes.

use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{StoppedWarp, Waits, WarpPath};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Canvas, columns};
use super::palette::Palette;
use super::scene::Scene;

/// Minimum width to explain the lanes' marks in the heading.
const LEGEND_WIDTH: u16 = 50;

/// State of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Executes the warp's next instruction.
    Runs,
    /// Is on another path of the warp, or waits at the reconvergence point.
    Diverged,
    AtBarrier,
    /// Waits for other lanes of a warp-level operation.
    WaitsForLanes,
    Exited,
    /// There is no such thread.
    Missing,
}

impl Lane {
    fn of(warp: &StoppedWarp<'_>, lane: usize, shown: Option<WarpPath>) -> Self {
        let has = |lanes: u32| lanes >> lane & 1 == 1;
        if !has(warp.existing()) {
            return Self::Missing;
        }
        if has(warp.exited()) {
            return Self::Exited;
        }
        let Some(path) = warp.paths().find(|path| has(path.lanes)) else { return Self::Diverged };
        match path.waits {
            Some(Waits::Barrier(_) | Waits::ClusterBarrier) => Self::AtBarrier,
            Some(Waits::Lanes) => Self::WaitsForLanes,
            None if Some(path) == shown => Self::Runs,
            None => Self::Diverged,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Runs => "■",
            Self::Diverged => "□",
            Self::AtBarrier => "b",
            Self::WaitsForLanes => "w",
            Self::Exited => "×",
            Self::Missing => "·",
        }
    }

    fn style(self, palette: Palette) -> Style {
        match self {
            Self::Runs => palette.good(),
            Self::Diverged => palette.diverged(),
            Self::AtBarrier | Self::WaitsForLanes => palette.waiting(),
            Self::Exited | Self::Missing => palette.faint(),
        }
    }
}

pub(super) fn draw(scene: &Scene<'_>, buffer: &mut Buffer, area: Rect) {
    let warps: Vec<_> = scene.stopped.block.warps().collect();
    let mut title = format!("block {}", scene.stopped.block.index());
    if area.width > LEGEND_WIDTH {
        title.push_str(": ■ runs, □ diverged, b barrier");
    }
    let mut canvas = Canvas::titled(buffer, area, &title, scene.palette);
    let selected = warps.iter().position(|warp| warp.number() == scene.state.warp).unwrap_or(0);
    let height = canvas.height();
    let top = selected.saturating_sub(height / 2).min(warps.len().saturating_sub(height));
    for (row, warp) in warps[top..].iter().take(height).enumerate() {
        draw_warp(scene, &mut canvas, row, warp);
    }
}

fn draw_warp(scene: &Scene<'_>, canvas: &mut Canvas<'_>, row: usize, warp: &StoppedWarp<'_>) {
    let (stopped, palette) = (scene.stopped, scene.palette);
    let is_selected = warp.number() == scene.state.warp;
    let number = if is_selected { palette.current() } else { Style::new() };
    let mut column = canvas.put(row, 0, &format!("{:>2}", warp.number()), number);
    let mark = if warp.number() == stopped.stop.step.warp { "*" } else { " " };
    column = canvas.put(row, column, mark, Style::new());
    let path = stopped.path(warp);
    for index in 0..LANES {
        let lane = Lane::of(warp, index, path);
        let mut style = lane.style(palette);
        if is_selected && index == scene.state.lane {
            style = style.patch(palette.accessed());
        }
        column = canvas.put(row, column, lane.mark(), style);
    }
    let line = path.and_then(|path| stopped.lines.source(path.pc)).map(|(_, line)| line);
    let line = line.map(|line| line.to_string()).unwrap_or_default();
    column = canvas.put(row, column, &format!(" {line:>4}"), Style::new());
    let waits = match path.map(|path| path.waits) {
        None if warp.exited() == warp.existing() => " ended".to_owned(),
        None | Some(None) => String::new(),
        Some(Some(Waits::Barrier(0))) => " barrier".to_owned(),
        Some(Some(Waits::Barrier(number))) => format!(" barrier {number}"),
        Some(Some(Waits::ClusterBarrier)) => " cluster".to_owned(),
        Some(Some(Waits::Lanes)) => " lanes".to_owned(),
    };
    if column + columns(&waits) <= canvas.width() {
        canvas.put(row, column, &waits, palette.waiting());
    }
}
