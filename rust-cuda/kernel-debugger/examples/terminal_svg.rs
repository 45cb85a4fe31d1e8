//! Draws the terminal view's screen after some keys as an SVG for the documentation:
//!
//! ```text
//! cargo run -p kernel-debugger --example terminal_svg -- LAUNCH.json 120x36 $'c:out[3]\n' > screen.svg
//! ```

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::vec::IntoIter;

use kernel_debugger::terminal;
use kernel_launch::LaunchFile;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

/// Size of a character in pixels.
const WIDTH: f32 = 8.4;
const HEIGHT: f32 = 17.0;

const FONTS: &str = "DejaVu Sans Mono, Menlo, Consolas, monospace";
const BACKGROUND: &str = "#1e1e1e";
const FOREGROUND: &str = "#d4d4d4";

/// Keys from text, followed by Ctrl-C.
struct Keys(IntoIter<char>);

impl terminal::Events for Keys {
    fn next(&mut self) -> io::Result<Event> {
        Ok(Event::Key(match self.0.next() {
            Some('\n') => KeyCode::Enter.into(),
            Some(character) => KeyCode::Char(character).into(),
            None => KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        }))
    }

    fn poll(&mut self) -> io::Result<Option<Event>> {
        Ok(None)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [launch, size, keys] = &arguments[..] else { return Err("arguments: LAUNCH.json 120x36 KEYS".into()) };
    let (width, height) = size.split_once('x').ok_or("write the size as 120x36")?;
    let mut terminal = Terminal::new(TestBackend::new(width.parse()?, height.parse()?))?;
    let mut keys = Keys(keys.chars().collect::<Vec<_>>().into_iter());
    terminal::run_on(&mut terminal, &mut keys, &LaunchFile::open(Path::new(launch))?, Path::new("."), true)?;
    println!("{}", svg(terminal.backend().buffer())?);
    Ok(())
}

fn svg(buffer: &Buffer) -> Result<String, std::fmt::Error> {
    let (width, height) = (f32::from(buffer.area.width) * WIDTH + 16.0, f32::from(buffer.area.height) * HEIGHT + 16.0);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}"
 font-family="{FONTS}" font-size="14">
<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>"#
    );
    for y in 0..buffer.area.height {
        let cells: Vec<(u16, &Cell)> = (0..buffer.area.width).map(|x| (x, &buffer[(x, y)])).collect();
        for run in cells.chunk_by(|one, other| style(one.1) == style(other.1)) {
            write_run(&mut svg, run, y)?;
        }
    }
    svg.push_str("\n</svg>");
    Ok(svg)
}

/// Writes a run of cells with the same style.
fn write_run(svg: &mut String, run: &[(u16, &Cell)], y: u16) -> std::fmt::Result {
    let (foreground, background, modifier) = style(run[0].1);
    let (x, y, width) = (f32::from(run[0].0) * WIDTH + 8.0, f32::from(y) * HEIGHT + 8.0, run.len() as f32 * WIDTH);
    if background != BACKGROUND {
        write!(svg, "\n<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"{background}\"/>")?;
    }
    let text: String = run.iter().map(|(_, cell)| cell.symbol()).collect();
    if text.trim().is_empty() {
        return Ok(());
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    write!(svg, "\n<text x=\"{x:.1}\" y=\"{}\" textLength=\"{width:.1}\" fill=\"{foreground}\"", y + 13.0)?;
    let weight = if modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let line = if modifier.contains(Modifier::UNDERLINED) { " text-decoration=\"underline\"" } else { "" };
    write!(svg, "{weight}{line} xml:space=\"preserve\">{text}</text>")
}

/// Foreground and background colors, and the remaining style.
fn style(cell: &Cell) -> (String, String, Modifier) {
    let (foreground, background) = (colour(cell.fg, FOREGROUND), colour(cell.bg, BACKGROUND));
    match cell.modifier.contains(Modifier::REVERSED) {
        true => (background, foreground, cell.modifier),
        false => (foreground, background, cell.modifier),
    }
}

fn colour(colour: Color, default: &str) -> String {
    match colour {
        Color::Red => "#f14c4c".to_owned(),
        Color::Green => "#23d18b".to_owned(),
        Color::Yellow => "#e5e510".to_owned(),
        Color::Cyan => "#29b8db".to_owned(),
        Color::DarkGray => "#808080".to_owned(),
        // The color cube of 256-color terminals.
        Color::Indexed(index @ 16..=231) => {
            let level = |component: u8| if component == 0 { 0 } else { 55 + 40 * component };
            let index = index - 16;
            format!("#{:02x}{:02x}{:02x}", level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        _ => default.to_owned(),
    }
}
