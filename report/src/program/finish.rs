use std::path::Path;

use report::typeset;

use super::Arguments;

/// The command that makes the report from saved figures.
pub(super) fn command(arguments: &Arguments, saved: &Path) -> String {
    let Arguments { assignment, out, author, notes, zip, html, .. } = arguments;
    let run = if typeset::is_dev() { "cargo run -p report --" } else { "cargo run --release -p report --" };
    let mut words = vec![run.to_owned()];
    let mut add = |option: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{option} {}", quoted(&value))));
    };
    let in_text = |path: &Path| path.to_string_lossy().into_owned();
    add("--assignment", Some(assignment.clone()).filter(|assignment| assignment != "1"));
    add("--figures", Some(in_text(saved)));
    add("--out", out.as_deref().map(in_text));
    add("--author", author.clone());
    add("--notes", notes.as_deref().map(in_text));
    for (is_given, flag) in [(zip, "--zip"), (html, "--html")] {
        words.extend(is_given.then(|| flag.to_owned()));
    }
    words.join(" ")
}

/// A word of a shell command, quoted if necessary.
fn quoted(word: &str) -> String {
    let in_paths = if cfg!(windows) { "/._-:\\" } else { "/._-:" };
    let is_plain = |letter: char| letter.is_alphanumeric() || in_paths.contains(letter);
    match (!word.is_empty() && word.chars().all(is_plain), cfg!(windows)) {
        (true, _) => word.to_owned(),
        (false, true) => format!("\"{word}\""),
        (false, false) => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
