//! Output to the terminal, with control characters escaped.

use std::borrow::Cow;
use std::fmt::Display;
use std::fmt::Write as _;
use std::io::Write as _;

use clap::builder::styling::{AnsiColor, Style};

use crate::BAD_INPUT;

/// Unicode's bidirectional controls, which reorder the text around them.
const BIDIRECTIONAL: [char; 12] = [
    '\u{061c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}',
    '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Escapes control characters and bidirectional controls, as `\u001b`, so a terminal shows them
/// instead of executing them. Line feeds and tabs stay.
///
/// File names, URLs, column names and messages from a server or driver are untrusted. Printed
/// unescaped, they could move the cursor, set the window's title or disguise one name as another.
/// The escapes are JSON's, so a printed object keeps its meaning.
///
/// ```
/// assert_eq!(command_line::printable("a\u{1b}[31mb\tc\n"), "a\\u001b[31mb\tc\n");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_terminal_control(character) && !matches!(character, '\n' | '\t'))
}

/// Escapes like [`printable`], and line feeds too, so untrusted text cannot add lines that look
/// like the program's own.
///
/// ```
/// assert_eq!(command_line::printable_line("a.csv\nerror: b"), "a.csv\\nerror: b");
/// ```
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_terminal_control(character) && character != '\t')
}

fn is_terminal_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') || BIDIRECTIONAL.contains(&character)
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_escaped(character) {
            true if character == '\n' => escaped.push_str("\\n"),
            true => write!(escaped, "\\u{:04x}", u32::from(character)).expect("writing to a String does not fail"),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Prints lines to stdout, escaped by [`printable`]. Use it through [`crate::say!`].
///
/// A closed pipe, as with `| head`, does not stop the program, since its results may be worth
/// keeping. If the write fails for another reason, such as a full disk, the program prints one line
/// on stderr and exits with code 2.
pub fn print_line(line: std::fmt::Arguments) {
    match writeln!(std::io::stdout(), "{}", printable(&line.to_string())) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            note_line(format_args!("error: cannot write to standard output: {error}"));
            std::process::exit(BAD_INPUT.into());
        }
        _ => {}
    }
}

/// Line prefixes with clap's colors for them.
const COLOURED: [(&str, Style); 2] =
    [("error:", AnsiColor::Red.on_default().bold()), ("warning:", AnsiColor::Yellow.on_default().bold())];

/// Prints one line to stderr, escaped by [`printable_line`]. Use it through [`crate::note!`].
///
/// The line is lost if stderr is closed. On a terminal, "error:" and "warning:" are colored unless
/// `NO_COLOR` is set.
pub fn note_line(line: std::fmt::Arguments) {
    let line = line.to_string();
    let line = printable_line(&line);
    let coloured = COLOURED.iter().find_map(|(word, style)| Some((word, style, line.strip_prefix(word)?)));
    let mut stderr = anstream::stderr();
    let _closed = match coloured {
        Some((word, style, rest)) => writeln!(stderr, "{style}{word}{style:#}{rest}"),
        None => writeln!(stderr, "{line}"),
    };
}

/// Prints one line to stderr that begins with "warning:", as [`crate::note!`] does.
pub fn warn(warning: impl Display) {
    note_line(format_args!("warning: {warning}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_all_else_stays() {
        for text in ["", "Äpfel, 苹果, 🍎\u{200d}, e\u{301}", "a\tb\nc", "\\u001b"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
        for (text, expected) in [
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("50 %\r100 %", "50 %\\u000d100 %"),
            ("\u{9b}31m\u{7f}\0", "\\u009b31m\\u007f\\u0000"),
            ("\u{202e}gpj.exe\u{2069}\u{2028}", "\\u202egpj.exe\\u2069\\u2028"),
        ] {
            assert_eq!(printable(text), expected);
            assert_eq!(printable_line(text), expected);
        }
    }

    #[test]
    fn an_escaped_json_object_keeps_its_meaning() {
        let object = serde_json::json!({ "name": "a\u{9b}b\u{202e}c\u{7f}\u{1b}\n" }).to_string();
        let printed = printable(&object);
        assert_ne!(printed, object);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&printed).unwrap()["name"],
            "a\u{9b}b\u{202e}c\u{7f}\u{1b}\n"
        );
    }
}
