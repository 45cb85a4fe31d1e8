//! Layout of the panes.

use ratatui::layout::Rect;

/// Minimum width of the screen.
pub(super) const MIN_WIDTH: u16 = 80;
pub(super) const MIN_HEIGHT: u16 = 24;

/// Minimum width to show the source beside the other panes.
const WIDE: u16 = 100;

/// Minimum height of the panes to show the variables and registers.
const TALL: u16 = 22;

/// Width of the warps pane beside the memory on a narrow screen.
const WARPS_WIDTH: u16 = 44;

/// The panes' parts of the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Areas {
    pub(super) source: Rect,
    pub(super) warps: Rect,
    /// The variables and registers. `None` if there is no room for them.
    pub(super) registers: Option<Rect>,
    pub(super) memory: Rect,
    pub(super) status: Rect,
    /// The column between the source and the other panes, or between warps and memory.
    pub(super) divider: Rect,
}

impl Areas {
    /// The panes of a screen of at least the minimum size, for a block with `warps` warps.
    pub(super) fn new(screen: Rect, warps: usize, status_rows: u16) -> Self {
        let (content, status) = rows(screen, screen.height - status_rows.min(screen.height));
        let warps_rows = u16::try_from(warps + 1).unwrap_or(u16::MAX);
        if content.width < WIDE {
            let (source, below) = rows(content, content.height / 2);
            let (warps, divider, memory) = columns(below, WARPS_WIDTH);
            return Self { source, warps, registers: None, memory, status, divider };
        }
        let right = (content.width * 46 / 100).clamp(52, 110);
        let (source, divider, right) = columns(content, content.width - right);
        let (warps, right) = rows(right, warps_rows.min(content.height / 3));
        if content.height < TALL {
            return Self { source, warps, registers: None, memory: right, status, divider };
        }
        let (registers, memory) = rows(right, content.height / 3);
        Self { source, warps, registers: Some(registers), memory, status, divider }
    }
}

/// The first `height` rows, and the rest.
fn rows(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (Rect { height, ..area }, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The first `width` columns, the column after them, and the rest.
fn columns(area: Rect, width: u16) -> (Rect, Rect, Rect) {
    let width = width.min(area.width.saturating_sub(1));
    let divider = Rect { x: area.x + width, width: 1, ..area };
    (Rect { width, ..area }, divider, Rect { x: area.x + width + 1, width: area.width - width - 1, ..area })
}
