//! The author's own explanation: a text file with paragraphs and headings.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Maximum size of the file, in bytes: about twenty pages.
pub const MAX_BYTES: u64 = 64 << 10;
/// The deepest heading level. Deeper headings count as this level.
const MAX_LEVEL: usize = 3;

/// A paragraph or a heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// 0 for a paragraph, 1 to 3 for a heading.
    pub level: usize,
    /// The text, on one line and without markup.
    pub text: String,
}

/// The errors of [`read`].
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// The file could not be read.
    #[error("cannot read the notes in {}: {error}: give --notes a text file", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file exceeds [`MAX_BYTES`].
    #[error("{} is larger than {} KiB: give --notes a shorter text", .0.display(), MAX_BYTES >> 10)]
    TooLarge(PathBuf),
    /// The file is not text.
    #[error("{}, line {line}: not a text in UTF-8 without control characters", path.display())]
    NotText {
        /// Its path.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
    /// The file contains only white space.
    #[error("{} has no text: write paragraphs and # headings into it, or leave out --notes", .0.display())]
    Empty(PathBuf),
}

/// Reads the blocks of a file.
///
/// # Errors
/// If it cannot be read, exceeds [`MAX_BYTES`], or is not text.
pub fn read(path: &Path) -> Result<Vec<Block>, NotesError> {
    let path_buf = || path.to_path_buf();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    file.map_err(|error| NotesError::Read { path: path_buf(), error })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(NotesError::TooLarge(path_buf()));
    }
    let not_text = |before: &[u8]| {
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        NotesError::NotText { path: path_buf(), line }
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| not_text(&bytes[..error.valid_up_to()]))?;
    let is_control = |letter: char| letter.is_control() && !['\n', '\r', '\t'].contains(&letter);
    if let Some(at) = text.find(is_control) {
        return Err(not_text(&bytes[..at]));
    }
    let blocks = blocks(text);
    if blocks.is_empty() { Err(NotesError::Empty(path_buf())) } else { Ok(blocks) }
}

/// Splits a text into blocks. A line that begins with `#`, `##` or `###` and a space is a heading.
/// Other lines, up to an empty one, form a paragraph.
///
/// ```
/// let blocks = report::notes::blocks("# Result\nTwo threads\nhelp.\n\nFour do not.");
/// let shown: Vec<_> = blocks.iter().map(|block| (block.level, block.text.as_str())).collect();
/// assert_eq!(shown, [(1, "Result"), (0, "Two threads help."), (0, "Four do not.")]);
/// ```
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut in_paragraph = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let level = words.chars().take_while(|letter| *letter == '#').count();
        let heading = words[level..].strip_prefix(' ').filter(|_| level > 0);
        match (heading, blocks.last_mut().filter(|_| in_paragraph)) {
            _ if words.is_empty() => {}
            (Some(heading), _) => blocks.push(Block { level: level.min(MAX_LEVEL), text: heading.to_owned() }),
            (None, Some(paragraph)) => paragraph.text.push_str(&format!(" {words}")),
            (None, None) => blocks.push(Block { level: 0, text: words.clone() }),
        }
        in_paragraph = heading.is_none() && !words.is_empty();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(bytes: &[u8]) -> Result<Vec<Block>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.md");
        std::fs::write(&path, bytes).unwrap();
        read(&path).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "notes.md"))
    }

    #[test]
    fn paragraphs_and_headings_are_told_apart() {
        let text = "\u{feff}First\r\nparagraph.\r\n\r\n## Deep  heading\r\n##### Deeper\nText *verbatim* #1.\n#no heading\n#\n";
        let shown: Vec<_> = blocks(text).into_iter().map(|block| (block.level, block.text)).collect();
        let expected =
            [(0, "First paragraph."), (2, "Deep heading"), (3, "Deeper"), (0, "Text *verbatim* #1. #no heading #")];
        assert_eq!(shown, expected.map(|(level, text)| (level, text.to_owned())));
    }

    #[test]
    fn what_is_not_a_short_text_is_rejected() {
        assert_eq!(of_bytes(&vec![b'a'; MAX_BYTES as usize]).unwrap().len(), 1);
        let cases: [(&[u8], &str); 4] = [
            (&vec![b'a'; MAX_BYTES as usize + 1], "notes.md is larger than 64 KiB: give --notes a shorter text"),
            (b"a\n\xff", "notes.md, line 2: not a text in UTF-8 without control characters"),
            (b"a\nb\n\x1b[31m", "notes.md, line 3: not a text in UTF-8 without control characters"),
            (b" \n\n", "notes.md has no text: write paragraphs and # headings into it, or leave out --notes"),
        ];
        for (bytes, message) in cases {
            assert_eq!(of_bytes(bytes).unwrap_err(), message);
        }
        let folder = tempfile::tempdir().unwrap();
        let missing = read(&folder.path().join("missing.md")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read the notes in "), "{missing}");
        assert!(matches!(read(folder.path()), Err(NotesError::Read { .. })));
    }
}
