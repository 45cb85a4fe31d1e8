//! The registers of the selected lane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Canvas, clip};
use super::scene::Scene;
use crate::Register;
use crate::presentation::show;

/// Least width of a column of registers.
const COLUMN_WIDTH: usize = 30;

pub(super) fn draw(scene: &Scene<'_>, buffer: &mut Buffer, area: Rect) {
    let warp = scene.warp();
    let mut registers: Vec<Register> =
        warp.iter().flat_map(|warp| scene.stopped.registers(warp, |_| true).collect::<Vec<_>>()).collect();
    // Those of the next instruction first, predicates last.
    let instruction = scene.path().map(|path| &*scene.stopped.lines.place(path.pc).text).unwrap_or_default();
    let is_used = |name: &str| instruction.split(|character| !is_of_name(character)).any(|word| word == name);
    registers.sort_by_key(|register| (!is_used(&register.name), register.bits == 1));
    let first = scene.state.register.min(registers.len().saturating_sub(1));
    let title = format!("registers of lane {}, from {first} of {}", scene.state.lane, registers.len());
    let mut canvas = Canvas::titled(buffer, area, &title, scene.palette);
    let (width, height) = (canvas.width(), canvas.height());
    let columns = (width / COLUMN_WIDTH).max(1);
    let names = registers.iter().map(|register| register.name.len()).max().unwrap_or(0);
    for (index, register) in registers[first..].iter().take(columns * height).enumerate() {
        let (row, column) = (index % height, index / height * (width / columns));
        let value = show(register.lanes[scene.state.lane], register.bits);
        canvas.put(row, column, &register.name, scene.palette.faint());
        let value_width = (width / columns).saturating_sub(names + 2);
        canvas.put(row, column + names + 1, &clip(&value, value_width), Style::new());
    }
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '%' | '_' | '$')
}
