//! The user's choices.

use std::collections::HashMap;

use kernel_launch::{Argument, ElementType};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{MemoryRange, StoppedWarp};

use super::breakpoint_list::BreakpointList;
use super::changes::Copies;
use crate::{Query, StopReason, Stopped};

/// The user's choices, kept from stop to stop.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The selected warp, by its index in the block.
    pub(super) warp: u32,
    pub(super) lane: usize,
    /// Line of the listing, from 1. `None` for the line that the selected warp executes next.
    pub(super) cursor: Option<usize>,
    /// The first shown entry of the variables and registers.
    pub(super) register: usize,
    pub(super) memory: MemoryChoice,
    pub(super) breakpoints: BreakpointList,
    /// Memory as it was at the last stop.
    pub(super) copies: Option<Copies>,
    /// The text being entered.
    pub(super) entry: Option<String>,
    /// Result of the last key, or the reason why it had no effect.
    pub(super) message: Option<Result<String, String>>,
    pub(super) shows_help: bool,
}

impl State {
    /// Selects the warp that has stopped. A step keeps the lane.
    pub(super) fn arrive(&mut self, stopped: &Stopped<'_>) {
        let stop = stopped.stop;
        let keeps_lane = self.warp == stop.step.warp && stop.reason == StopReason::Step;
        self.warp = stop.step.warp;
        if !keeps_lane {
            self.lane = stop.lane;
        }
        self.cursor = None;
        self.message = None;
    }

    /// Remembers the state to compare with at the next stop.
    pub(super) fn leave(&mut self, stopped: &Stopped<'_>) {
        self.copies = Some(Copies::new(stopped));
    }

    /// The selected warp.
    pub(super) fn selected<'a>(&self, stopped: &Stopped<'a>) -> Option<StoppedWarp<'a>> {
        stopped.block.warps().find(|warp| warp.number() == self.warp)
    }

    /// The instruction that the selected warp executes next. If the warp has ended, the stop's
    /// instruction.
    pub(super) fn pc(&self, stopped: &Stopped<'_>) -> usize {
        let path = self.selected(stopped).and_then(|warp| stopped.path(&warp));
        path.map_or(stopped.stop.step.pc, |path| path.pc)
    }

    pub(super) fn select_warp(&mut self, warp: u32, stopped: &Stopped<'_>) {
        let number = stopped.block.warps().count();
        if warp as usize >= number {
            self.message = Some(Err(format!("the block has no warp {warp}; its warps are 0 to {}", number - 1)));
            return;
        }
        self.warp = warp;
        self.cursor = None;
    }

    pub(super) fn move_warp(&mut self, by: i32, stopped: &Stopped<'_>) {
        let number = stopped.block.warps().count().max(1) as i64;
        let warp = (i64::from(self.warp) + i64::from(by)).rem_euclid(number);
        self.select_warp(warp as u32, stopped);
    }

    pub(super) fn move_lane(&mut self, by: i32) {
        self.lane = (self.lane as i64 + i64::from(by)).rem_euclid(LANES as i64) as usize;
    }
}

/// The shown memory and its presentation.
#[derive(Debug, Default)]
pub(super) struct MemoryChoice {
    /// Name of the memory. `None` for the first one.
    name: Option<String>,
    /// The expressions entered by the user, by the memory's name.
    entered: HashMap<String, (String, Query)>,
    /// The first shown row and column.
    pub(super) row: usize,
    pub(super) column: usize,
    /// Rows and columns of the memory as it was last drawn.
    pub(super) extents: (usize, usize),
}

impl MemoryChoice {
    /// The shown expression with its text. `None` if the launch has neither shared memory nor
    /// buffers.
    pub(super) fn expression(&self, stopped: &Stopped<'_>) -> Option<(String, Query)> {
        let name = self.name.clone().or_else(|| names(stopped).into_iter().next())?;
        if let Some(entered) = self.entered.get(&name) {
            return Some(entered.clone());
        }
        let mut query: Query = name.parse().ok()?;
        let is_untyped = stopped.launch.shared().iter().any(|shared| shared.name == name && shared.element.is_none());
        if is_untyped && stopped.shared().any(|(other, range)| other == name && holds_small_integers(&range)) {
            query.element = Some(ElementType::U32);
        }
        Some((name, query))
    }

    /// Shows the next memory.
    pub(super) fn next(&mut self, stopped: &Stopped<'_>) {
        let names = names(stopped);
        let shown = self.name.as_ref().and_then(|name| names.iter().position(|other| other == name)).unwrap_or(0);
        self.show(names.get((shown + 1) % names.len().max(1)).cloned());
    }

    /// Shows the memory of an expression.
    pub(super) fn enter(&mut self, text: &str, query: Query, stopped: &Stopped<'_>) {
        let name = stopped.launch.name_of_shared(&query.name).to_owned();
        self.entered.insert(name.clone(), (text.trim().to_owned(), query));
        self.show(Some(name));
    }

    pub(super) fn show(&mut self, name: Option<String>) {
        (self.name, self.row, self.column) = (name, 0, 0);
    }

    /// Scrolls to the element at an offset of the shown memory, which must have been drawn. Returns
    /// whether the element is in the shown part.
    pub(super) fn scroll_to(&mut self, stopped: &Stopped<'_>, offset: u64) -> bool {
        let view = self.expression(stopped).and_then(|(_, query)| stopped.view(&query).ok());
        let Some(view) = view.filter(|view| view.columns > 0) else { return false };
        let index = offset as usize / view.element.bytes();
        let (row, column) = (index / view.columns, index % view.columns);
        if !view.shown_rows.contains(&row) || !view.shown_columns.contains(&column) {
            return false;
        }
        let (row, column) = (row - view.shown_rows.start, column - view.shown_columns.start);
        // A single row may be broken into several.
        (self.row, self.column) = match view.shown_rows.len() {
            1 => (column / self.extents.1.max(1), 0),
            _ => (row, column),
        };
        true
    }

    pub(super) fn scroll(&mut self, rows: i32, columns: i32) {
        self.row = moved(self.row, rows, self.extents.0);
        self.column = moved(self.column, columns, self.extents.1);
    }
}

/// The memories that can be shown: shared variables, then buffers.
fn names(stopped: &Stopped<'_>) -> Vec<String> {
    let buffers = stopped.launch.arguments().iter().filter_map(|argument| match argument {
        Argument::Buffer { name, .. } => Some(name.clone()),
        Argument::Value { .. } | Argument::Structure { .. } => None,
    });
    stopped.shared().map(|(name, _)| name.to_owned()).chain(buffers).collect()
}

/// Whether the written words of a shared variable are integers below 2²³ and not all 0. As floats
/// they would all be subnormal. PTX does not type variables.
fn holds_small_integers(range: &MemoryRange<'_>) -> bool {
    let word = |index: usize| {
        let mut bytes = [0; 4];
        range.is_written(index * 4, 4).then(|| range.read(index * 4, &mut bytes))??;
        Some(u32::from_le_bytes(bytes))
    };
    let words = || (0..range.extent.bytes as usize / 4).filter_map(word);
    words().all(|word| word < 1 << 23) && words().any(|word| word != 0)
}

/// Moves an index, keeping it below `extent`.
pub(super) fn moved(index: usize, by: i32, extent: usize) -> usize {
    index.saturating_add_signed(by as isize).min(extent.saturating_sub(1))
}
