//! Lines for the terminal.

/// Prints a line to stdout. A closed pipe, as of `| head`, is no error.
macro_rules! say {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _written = writeln!(std::io::stdout(), $($argument)*);
    }};
}

/// Prints a line to stderr.
macro_rules! note {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _written = writeln!(std::io::stderr(), $($argument)*);
    }};
}

pub(crate) use {note, say};

/// A text from a compiler or a test, without control characters.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// The count and the noun: "1 file", "2 files".
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
