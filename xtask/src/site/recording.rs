//! The recording of a race being found, `docs/race.svg`: an animated picture, drawn from a kernel
//! and the simulator's message about it.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use command_line::say;
use neural_net::files;

use super::markdown::escaped;
use crate::capture::stdout_of;
use crate::workspace_root;

const PATH: &str = "docs/race.svg";
const COMMAND: &str = "cargo run -p gpu --example find_a_race";
/// The kernel's body, as in README.md and the example.
const KERNEL: [&str; 5] = [
    "for round in 0..2 {",
    "    values.set(t, round);",
    "    thread::sync_threads();",
    "    out.set(t, values.get(63 - t));",
    "}",
];
/// Characters per line of the message.
const COLUMNS: usize = 92;
/// Duration of one loop of the recording, in seconds.
const SECONDS: f64 = 16.0;

/// Runs the example, and writes the recording.
///
/// # Errors
/// If the example does not build or does not report the race, or the file cannot be written.
pub(super) fn write() -> Result<()> {
    let example = COMMAND.split(' ').skip(1);
    let said = stdout_of(Command::new(env!("CARGO")).args(example).current_dir(workspace_root().join("rust-cuda")))?;
    let message = said.lines().find(|line| line.starts_with("simulator: ")).context("the simulator found no race")?;
    let path = workspace_root().join(PATH);
    files::write_atomically(&path, svg(message)?.as_bytes()).with_context(|| format!("cannot write {PATH}"))?;
    say!("[*] {PATH}");
    Ok(())
}

/// The picture of a run that prints `message`.
///
/// # Errors
/// If the message names threads that the picture does not show.
fn svg(message: &str) -> Result<String> {
    for part in ["thread (32, 0, 0)", "reads element 31", "thread (31, 0, 0) writes"] {
        ensure!(
            message.contains(part),
            "the picture shows another race than the message, which lacks \"{part}\": {message}"
        );
    }
    let mut scenes = Scenes::default();
    let typed = COMMAND.len() as f64;
    let code: String =
        KERNEL.iter().enumerate().map(|(at, line)| text(34, 96 + 27 * at as u32, "code", line)).collect();
    let command = format!(
        "<g class=\"{}\">{}</g>\n",
        scenes.typed(0.8, 2.8, typed),
        text(34, 300, "code", &format!("$ {COMMAND}"))
    );
    let mut shown = String::new();
    let mut show = |at: f64, part: String| shown.push_str(&format!("<g class=\"{}\">\n{part}</g>\n", scenes.from(at)));
    show(
        3.6,
        [marked(3, "read"), cell_mark("read"), text(452, 204, "label read", "thread 32, round 0: reads element 31")]
            .concat(),
    );
    show(
        5.6,
        [
            marked(1, "write"),
            cell_mark("write"),
            text(452, 231, "label write", "thread 31, round 1: writes element 31"),
        ]
        .concat(),
    );
    show(7.4, [fault_cell(), text(452, 96, "label fault", "No barrier between them: a race.")].concat());
    let lines = wrapped(message);
    let lines = lines.iter().enumerate().map(|(at, line)| text(34, 328 + 24 * at as u32, "message", line));
    show(8.6, lines.collect());
    let repaired = text(34, 328 + 24 * 4, "message comment", "// A second barrier, behind the read, repairs it.");
    show(11.5, repaired);
    let cells: String = (28..36).map(cell).collect();
    Ok(include_str!("recording.svg")
        .replace("{{scenes}}", &scenes.style)
        .replace("{{code}}", &code)
        .replace("{{cells}}", &cells)
        .replace("{{shown}}", &(command + &shown)))
}

/// The style sheet's rules for what appears when.
#[derive(Default)]
struct Scenes {
    style: String,
    count: u32,
}

impl Scenes {
    /// The class of an element that appears at a time, in seconds.
    fn from(&mut self, at: f64) -> String {
        let start = at / SECONDS * 100.0;
        self.add(&format!("0%, {start:.2}% {{ opacity: 0; }} {:.2}%, 100% {{ opacity: 1; }}", start + 1.0), "linear")
    }

    /// The class of a line that appears as if typed, with `letters` characters plus two.
    fn typed(&mut self, from: f64, to: f64, letters: f64) -> String {
        let [from, to] = [from, to].map(|at| at / SECONDS * 100.0);
        let hidden = "clip-path: inset(0 100% 0 0)";
        let rule = format!("0%, {from:.2}% {{ {hidden}; }} {to:.2}%, 100% {{ clip-path: inset(0); }}");
        self.add(&rule, &format!("steps({})", letters + 2.0))
    }

    fn add(&mut self, frames: &str, timing: &str) -> String {
        self.count += 1;
        let class = format!("s{}", self.count);
        self.style.push_str(&format!(
            "@keyframes {class} {{ {frames} }}\n.{class} {{ animation: {class} {SECONDS}s {timing} infinite; }}\n"
        ));
        class
    }
}

fn text(x: u32, y: u32, class: &str, text: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\" xml:space=\"preserve\">{}</text>\n", escaped(text))
}

/// The kernel line with a colored background.
fn marked(line: u32, class: &str) -> String {
    let y = 77 + 27 * line;
    format!("<rect x=\"26\" y=\"{y}\" width=\"392\" height=\"26\" rx=\"3\" class=\"line {class}\"/>\n")
}

/// An element of the shared array.
fn cell(element: u32) -> String {
    let x = cell_x(element);
    format!("<rect x=\"{x}\" y=\"118\" width=\"48\" height=\"36\" class=\"cell\"/>\n")
        + &text(x + 13, 142, "code", &element.to_string())
}

fn cell_x(element: u32) -> u32 {
    452 + 52 * (element - 28)
}

/// The outline of element 31: reads above it, writes below.
fn cell_mark(class: &str) -> String {
    let (x, y) = (cell_x(31), if class == "read" { 114 } else { 155 });
    format!("<rect x=\"{x}\" y=\"{y}\" width=\"48\" height=\"5\" class=\"mark {class}\"/>\n")
}

fn fault_cell() -> String {
    let x = cell_x(31);
    format!("<rect x=\"{x}\" y=\"119\" width=\"48\" height=\"36\" class=\"faulty\"/>\n")
        + &text(x + 13, 142, "code on-fault", "31")
}

/// The message in lines of at most [`COLUMNS`] characters.
fn wrapped(message: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in message.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= COLUMNS {
            line.push_str(&format!(" {word}"));
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::read;

    /// Matches README.md's quotation from the example.
    #[test]
    fn the_recording_shows_what_the_readme_quotes() {
        let readme = read(&workspace_root().join("README.md")).unwrap();
        let from = readme.find("simulator: kernel missing_second_barrier").expect("README.md quotes the message");
        let message = readme[from..].split("\n```").next().unwrap().replace('\n', " ");
        assert!(readme.contains(&KERNEL.join("\n")), "README.md shows the kernel");
        assert_eq!(
            read(&workspace_root().join(PATH)).unwrap(),
            svg(&message).unwrap(),
            "draw it again: cargo xtask site --recording"
        );
    }

    #[test]
    fn another_race_is_not_drawn() {
        let error = svg("thread (32, 0, 0) reads element 7").unwrap_err().to_string();
        assert!(error.contains("lacks \"reads element 31\""), "{error}");
    }

    #[test]
    fn lines_have_at_most_their_letters() {
        let text = "word ".repeat(100);
        let lines = wrapped(text.trim());
        assert!(lines.iter().all(|line| line.len() <= COLUMNS) && lines.join(" ") == text.trim());
    }
}
