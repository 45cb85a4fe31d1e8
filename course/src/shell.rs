//! Quoting of words in commands for a shell.

/// Quotes a word for a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A folder as a person types it after `cd`: quoted only if necessary.
pub(crate) fn folder(path: &str, is_windows: bool) -> String {
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    let is_plain = |letter: char| {
        let is_mark = "/._-+,:@".contains(letter) || is_windows && letter == '\\';
        letter.is_alphanumeric() || is_mark
    };
    match (path.chars().all(is_plain), is_windows) {
        (true, _) => path,
        // Windows paths cannot contain a quotation mark.
        (false, true) => format!("\"{path}\""),
        (false, false) => quoted(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_word_of_the_shell() {
        for (path, posix, windows) in [
            ("my-homework", "my-homework", "my-homework"),
            ("../übung/2026", "../übung/2026", "../übung/2026"),
            ("my homework", "'my homework'", "\"my homework\""),
            ("it's", "'it'\\''s'", "\"it's\""),
            ("a$b&c", "'a$b&c'", "\"a$b&c\""),
            ("-x", "./-x", "./-x"),
            ("~x", "'~x'", "\"~x\""),
            ("C:\\homework", "'C:\\homework'", "C:\\homework"),
        ] {
            assert_eq!((folder(path, false), folder(path, true)), (posix.to_owned(), windows.to_owned()));
        }
    }
}
