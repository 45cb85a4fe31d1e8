//! The compiler's errors as shown to a student, without texts that come from macros.
//!
//! Otherwise `compile_error!(include_str!("/a/file"))` would show a file on the grader's machine.

use std::path::Path;

/// Maximum number of errors, and maximum number of characters per error.
const MAX_ERRORS: usize = 5;
const MAX_LENGTH: usize = 300;

/// An error: its location, if any, and its text.
struct Message<'a> {
    place: Option<&'a str>,
    text: &'a str,
}

/// Returns the first errors in cargo's messages about a package of a workspace. Errors of a kernel,
/// which its build script prints, consist of a line and its location.
pub(super) fn errors_in(messages: &str, package: &str, workspace: &Path) -> String {
    let of_kernels = format!("error: {package}@0.1.0: ");
    let kernels = || messages.lines().filter_map(|line| line.strip_prefix(&of_kernels));
    let mut errors: Vec<Message<'_>> = Vec::new();
    for line in kernels() {
        if line.starts_with("error") && !line.contains("could not compile") {
            errors.push(Message { place: None, text: line });
        } else if let (Some(place), Some(error)) = (line.trim_start().strip_prefix("--> "), errors.last_mut()) {
            error.place.get_or_insert(place);
        }
    }
    if errors.is_empty() {
        // Other lines belong to a longer message, which may be the text of a file.
        errors.extend(messages.lines().filter_map(of_line));
    }
    // A macro's text may contain lines that look like errors, but they come after the location of
    // the real one.
    let has_places = errors.iter().any(|error| error.place.is_some());
    errors.retain(|error| error.place.is_some() == has_places);
    let folders = [workspace.to_owned(), workspace.join(package)];
    let shown = errors.iter().take(MAX_ERRORS).map(|error| {
        let text = error.shown(&folders);
        let short: String = text.chars().take(MAX_LENGTH).collect();
        if short.len() < text.len() { short + "…" } else { short }
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Parses an error in a line of cargo's short messages: `error…`, or `FILE:LINE:COLUMN: error…`.
fn of_line(line: &str) -> Option<Message<'_>> {
    if line.starts_with("error") {
        return Some(Message { place: None, text: line });
    }
    let (place, _) = line.split_once(": error")?;
    let text = &line[place.len() + 2..];
    position(place).map(|_| Message { place: Some(place), text })
}

/// Splits a location into file, line and column.
fn position(place: &str) -> Option<(&str, usize, usize)> {
    let mut words = place.rsplitn(3, ':');
    let (column, line, file) = (words.next()?, words.next()?, words.next()?);
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

impl Message<'_> {
    fn shown(&self, folders: &[std::path::PathBuf]) -> String {
        let text = match self.place.and_then(|place| macro_at(place, folders)) {
            // An error with a code comes from the compiler itself.
            Some(name) if !self.text.starts_with("error[") && !is_unknown(self.text, &name) => {
                format!("error: the macro {name}! fails")
            }
            _ => without_quoted(self.text),
        };
        self.place.map_or(text.clone(), |place| format!("{place}: {text}"))
    }
}

/// Whether an error says that the macro does not exist.
fn is_unknown(text: &str, name: &str) -> bool {
    text == format!("error: cannot find macro `{name}` in this scope")
}

/// Returns the name of the macro called at a location in a source file.
fn macro_at(place: &str, folders: &[std::path::PathBuf]) -> Option<String> {
    let (file, line, column) = position(place)?;
    let text = folders.iter().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())?;
    let rest: String = text.lines().nth(line.checked_sub(1)?)?.chars().skip(column.checked_sub(1)?).collect();
    let is_of_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':' | '$' | '#');
    let end = rest.find(|letter| !is_of_path(letter)).unwrap_or(rest.len());
    let (path, after) = rest.split_at(end);
    let name = path.rsplit(':').next()?;
    // Whatever stands between the name and its `!`, this may be a macro call.
    let is_call = after.trim_start().starts_with('!') && !after.trim_start().starts_with("!=");
    let is_passed_on = path.starts_with('$') || name == "compile_error";
    (!name.is_empty() && (is_call || is_passed_on)).then(|| name.to_owned())
}

/// Replaces quoted text with `"…"`.
fn without_quoted(text: &str) -> String {
    let mut parts = text.split('"');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        shown.push('"');
        shown.push_str(if index % 2 == 0 && !part.is_empty() { "…" } else { part });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, messages: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), source).unwrap();
        errors_in(messages, "package", folder.path())
    }

    #[test]
    fn grade_shows_the_compilers_errors_as_they_are() {
        for message in [
            "a.rs:1:1: error[E0308]: mismatched types: expected `i32`, found `&str`",
            "a.rs:1:5: error: expected one of `!` or `::`, found `fn`",
            "error: could not compile `utils` (lib) due to 1 previous error",
            "a.rs:2:1: error: cannot find macro `prinln` in this scope",
        ] {
            assert_eq!(shown("let x = 1;\nprinln!();", message), message);
        }
        assert_eq!(
            shown("x", "a.rs:1:1: warning: unused\na.rs:1:1: error[E0001]: one\nnote: an error\n"),
            "a.rs:1:1: error[E0001]: one"
        );
        let of_kernel =
            "error: package@0.1.0: error[E0425]: no x\nerror: package@0.1.0:   --> a.rs:1:1\nerror: could not";
        assert_eq!(shown("x", of_kernel), "a.rs:1:1: error[E0425]: no x");
    }

    #[test]
    fn grade_shows_no_text_that_a_macro_has_put_into_an_error() {
        for (source, place, name) in [
            ("compile_error!(env!(\"SECRET\"));", "1:1", "compile_error"),
            ("std::compile_error !(env!(\"SECRET\"));", "1:1", "compile_error"),
            ("use compile_error as c;\nfn f() { c!(env!(\"SECRET\")); }", "2:10", "c"),
            ("macro_rules! m { ($x:ident) => { $x!(env!(\"SECRET\")); } }", "1:34", "$x"),
            ("m!(compile_error);", "1:4", "compile_error"),
        ] {
            let message = format!("a.rs:{place}: error: the secret\nerror: its second line");
            assert_eq!(shown(source, &message), format!("a.rs:{place}: error: the macro {name}! fails"), "{source}");
            let of_kernel =
                format!("error: package@0.1.0: error: the secret\nerror: package@0.1.0:    --> a.rs:{place}");
            assert_eq!(shown(source, &of_kernel), format!("a.rs:{place}: error: the macro {name}! fails"), "{source}");
        }
        assert_eq!(
            shown("f(\"secret\")", "a.rs:1:3: error: unknown \"secret\" and \"\""),
            "a.rs:1:3: error: unknown \"…\" and \"\""
        );
    }

    #[test]
    fn grade_shows_few_and_short_errors() {
        let long = format!("a.rs:1:1: error[E0308]: {}\n", "x".repeat(1 << 20));
        let text = shown("x", &long.repeat(10));
        assert_eq!(text.lines().count(), MAX_ERRORS);
        assert!(text.lines().all(|line| line.chars().count() == MAX_LENGTH + 1 && line.ends_with('…')));
    }
}
