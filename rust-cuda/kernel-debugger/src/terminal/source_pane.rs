//! The source file, with the warps' positions.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::canvas::{Canvas, clip, columns, wrap};
use super::scene::Scene;

/// Width of a warp count such as `31w`.
const COUNT_WIDTH: usize = 3;

pub(super) fn draw(scene: &Scene<'_>, buffer: &mut Buffer, area: Rect) {
    let listing = scene.listing;
    let file = match listing.file {
        Some(file) if listing.is_source => file,
        _ => "PTX",
    };
    let title = title(file, &functions(scene), usize::from(area.width).saturating_sub(4));
    let mut canvas = Canvas::titled(buffer, area, &title, scene.palette);
    let mut first_row = 0;
    if !listing.is_source {
        for line in wrap(&problem(scene), canvas.width()) {
            canvas.put(first_row, 0, &line, scene.palette.bad());
            first_row += 1;
        }
    }
    draw_instruction(scene, &mut canvas);
    let height = canvas.height().saturating_sub(first_row + 1);
    draw_lines(scene, &mut canvas, first_row, height);
}

/// The selected warp's active functions, innermost first. Empty if the warp has ended.
fn functions(scene: &Scene<'_>) -> String {
    let frames = scene.path().map(|path| scene.stopped.frames(path.pc)).unwrap_or_default();
    frames.iter().map(|frame| &*frame.function).collect::<Vec<_>>().join(" < ")
}

/// A file's name and functions. Drops the first directories if the text is wider than `width`.
fn title(file: &str, functions: &str, width: usize) -> String {
    if functions.is_empty() {
        return file.to_owned();
    }
    let mut title = format!("{file}: {functions}");
    let mut rest = file;
    while columns(&title) > width
        && let Some((_, shorter)) = rest.split_once('/')
    {
        rest = shorter;
        title = format!("…/{rest}: {functions}");
    }
    title
}

/// The reason why the instructions are listed.
fn problem(scene: &Scene<'_>) -> String {
    let root = match scene.listing.root.as_os_str().is_empty() {
        true => ".".into(),
        false => scene.listing.root.display().to_string(),
    };
    match (scene.listing.file, scene.listing.error) {
        (Some(file), Some(error)) if error.kind() != ErrorKind::NotFound => format!("{file} is not shown: {error}"),
        (Some(file), _) => format!("{file} is not found in {root}; --source-root names the directory"),
        (None, _) => "the PTX names no source lines".to_owned(),
    }
}

/// Draws the PTX instruction that the selected warp executes next, in the last row.
fn draw_instruction(scene: &Scene<'_>, canvas: &mut Canvas<'_>) {
    let text = match scene.path() {
        Some(path) => {
            let place = scene.stopped.lines.place(path.pc);
            format!("PTX line {}: {}", place.line, place.text)
        }
        None => format!("warp {} has ended", scene.state.warp),
    };
    if let Some(row) = canvas.height().checked_sub(1) {
        canvas.put(row, 0, &clip(&text, canvas.width()), scene.palette.waiting());
    }
}

fn draw_lines(scene: &Scene<'_>, canvas: &mut Canvas<'_>, first_row: usize, height: usize) {
    let (listing, palette) = (scene.listing, scene.palette);
    let current = scene.current_line();
    let centre = scene.state.cursor.or(current).unwrap_or(1).min(listing.lines.len());
    let top = centre.saturating_sub(height / 2 + 1).min(listing.lines.len().saturating_sub(height));
    let visible = &listing.lines[top..(top + height).min(listing.lines.len())];
    let warps = warps_by_line(scene);
    let number_width = listing.lines.len().max(999).to_string().len();
    let code_column = 1 + number_width + 1 + COUNT_WIDTH + 1;
    let code_width = canvas.width().saturating_sub(code_column);
    let indent = indent(visible, code_width);
    for (index, text) in visible.iter().enumerate() {
        let (row, line) = (first_row + index, top + index + 1);
        let breakpoint = listing.file.and_then(|file| scene.state.breakpoints.at(file, line as u32));
        if listing.is_source
            && let Some(condition) = breakpoint
        {
            canvas.put(row, 0, if condition.is_some() { "◆" } else { "●" }, palette.bad());
        }
        let is_cursor = scene.state.cursor == Some(line);
        let number = match is_cursor {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => palette.faint(),
        };
        canvas.put(row, 1, &format!("{line:>number_width$}"), number);
        if let Some(count) = warps.get(&line) {
            canvas.put(row, 2 + number_width, &format!("{count}w"), palette.waiting());
        }
        let text = clip(text.get(indent..).unwrap_or_default(), code_width);
        if current == Some(line) {
            canvas.put(row, code_column, &format!("{text:code_width$}"), palette.current());
        } else {
            canvas.put(row, code_column, &text, Style::new());
        }
    }
}

/// Number of warps at each line.
fn warps_by_line(scene: &Scene<'_>) -> BTreeMap<usize, usize> {
    let mut warps = BTreeMap::new();
    for warp in scene.stopped.block.warps() {
        let path = scene.stopped.path(&warp);
        if let Some(line) = path.and_then(|path| scene.listing.line(scene.stopped, path.pc)) {
            *warps.entry(line).or_default() += 1;
        }
    }
    warps
}

/// Number of leading spaces to leave out. If a line is too long, the indentation common to all
/// lines.
fn indent(lines: &[String], width: usize) -> usize {
    if lines.iter().all(|line| line.chars().count() <= width) {
        return 0;
    }
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    filled.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_displace_directories() {
        let file = "kernels/src/tiles.rs";
        assert_eq!(title(file, "", 5), file);
        assert_eq!(title(file, "add < tiles", 33), "kernels/src/tiles.rs: add < tiles");
        assert_eq!(title(file, "add < tiles", 32), "…/src/tiles.rs: add < tiles");
        assert_eq!(title(file, "add < tiles", 10), "…/tiles.rs: add < tiles");
    }
}
