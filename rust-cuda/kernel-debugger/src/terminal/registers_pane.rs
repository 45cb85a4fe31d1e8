//! The variables and the registers of the selected lane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Canvas, clip, columns};
use super::scene::Scene;
use super::state::State;
use crate::{Register, Stopped};

/// Minimum width of a column of registers.
const COLUMN_WIDTH: usize = 30;

/// Maximum width of a name beside its value.
const MAX_NAME_WIDTH: usize = 14;

/// An entry of the pane.
enum Entry {
    /// The function of the following variables, or "registers".
    Heading(String),
    Variable {
        name: String,
        value: String,
    },
    Register {
        name: String,
        value: String,
    },
}

/// Number of entries to scroll through.
pub(super) fn number_of_entries(stopped: &Stopped<'_>, state: &State) -> usize {
    entries(stopped, state).len()
}

pub(super) fn draw(scene: &Scene<'_>, buffer: &mut Buffer, area: Rect) {
    let entries = entries(scene.stopped, scene.state);
    let has_variables = entries.iter().any(|entry| matches!(entry, Entry::Variable { .. }));
    let shown = if has_variables { "variables and registers" } else { "registers" };
    let first = scene.state.register.min(entries.len().saturating_sub(1));
    let title = format!("{shown} of lane {}, from {first} of {}", scene.state.lane, entries.len());
    let mut canvas = Canvas::titled(buffer, area, &title, scene.palette);
    let (width, height) = (canvas.width(), canvas.height());
    let number = (width / COLUMN_WIDTH).max(1);
    let width = width / number;
    let widest = |name_of: fn(&Entry) -> Option<&str>| {
        entries.iter().filter_map(name_of).map(columns).max().unwrap_or(0).min(MAX_NAME_WIDTH)
    };
    let variables = widest(|entry| if let Entry::Variable { name, .. } = entry { Some(name) } else { None });
    let registers = widest(|entry| if let Entry::Register { name, .. } = entry { Some(name) } else { None });
    for (index, entry) in entries[first..].iter().take(number * height).enumerate() {
        let (row, column) = (index % height, index / height * width);
        let (name, value, name_width) = match entry {
            Entry::Heading(text) => {
                canvas.put(row, column, &clip(text, width.saturating_sub(1)), scene.palette.title());
                continue;
            }
            Entry::Variable { name, value } => (name, value, variables),
            Entry::Register { name, value } => (name, value, registers),
        };
        canvas.put(row, column, &clip(name, name_width), scene.palette.faint());
        let value_width = width.saturating_sub(name_width + 2);
        canvas.put(row, column + name_width + 1, &clip(value, value_width), Style::new());
    }
}

/// The variables of the selected warp's innermost frame, then the variables of its callers, each
/// group after its function's name, and finally the registers.
fn entries(stopped: &Stopped<'_>, state: &State) -> Vec<Entry> {
    let Some(warp) = state.selected(stopped) else { return Vec::new() };
    let path = stopped.path(&warp);
    let mut entries = Vec::new();
    let frames = path.map(|path| stopped.frames(path.pc)).unwrap_or_default();
    for (depth, frame) in frames.into_iter().enumerate() {
        let variables = stopped.variables(&warp, frame.index);
        if depth > 0 && !variables.is_empty() {
            entries.push(Entry::Heading(frame.function));
        }
        entries.extend(variables.into_iter().map(|variable| {
            let value = stopped.show(&variable, state.lane);
            Entry::Variable { name: variable.name, value }
        }));
    }
    let mut registers: Vec<Register> = stopped.registers(&warp, |_| true).collect();
    // Registers of the next instruction come first, predicates last.
    let instruction = path.map(|path| &*stopped.lines.place(path.pc).text).unwrap_or_default();
    let is_used = |name: &str| instruction.split(|character| !is_of_name(character)).any(|word| word == name);
    registers.sort_by_key(|register| (!is_used(&register.name), register.bits == 1));
    if !entries.is_empty() && !registers.is_empty() {
        entries.push(Entry::Heading("registers".to_owned()));
    }
    entries.extend(registers.into_iter().map(|register| {
        let value = stopped.show_register(&register, state.lane);
        Entry::Register { name: register.name, value }
    }));
    entries
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '%' | '_' | '$')
}
