//! Messages from kernels: printed lines and failed assertions.
//!
//! A kernel's PTX has a comment for each message that it can produce, with the source location and
//! the text:
//!
//! ```text
//! // message 00c1…9f says learn/src/lib.rs:12: i = {0}, x = {1:.3}
//! ```
//!
//! and [`BUFFER`], a variable with the address of a buffer, or 0. A thread with a message reserves
//! a record in the buffer and writes the message's number, its place in the grid, and the values.
//! After the launch, the host inserts the values into the text.

mod format;
mod value;

use std::collections::HashMap;
use std::fmt;

use crate::Dim3;
use format::Piece;
use value::Value;

/// The module's global variable with the buffer's address.
pub const BUFFER: &str = "__cuda_std_messages";

/// The buffer's size in 32-bit words. Word 0 counts the words that threads have reserved, starting
/// at [`FIRST`]. Word 1 contains this size.
pub const BUFFER_WORDS: usize = 1 << 18;

/// The first word of the first record.
pub const FIRST: usize = 2;

/// Words of a record before its values: its length, whether it is complete, the message's number,
/// block and thread.
const HEADER_WORDS: usize = 10;

/// The line that replaces messages without room in the buffer.
pub const LOST: &str = "… and more, which had no room in the buffer of messages";

/// Prefix of the comment that declares a message.
pub const DECLARATION: &str = "// message ";

/// The messages that a module's kernels can produce.
#[derive(Clone, Debug, Default)]
pub struct Messages(HashMap<u64, Declared>);

#[derive(Clone, Debug)]
struct Declared {
    kind: MessageKind,
    file: String,
    line: u32,
    pieces: Vec<Piece>,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A printed line.
    Print,
    /// A panic, such as a failed assertion: the thread stops at a trap.
    Panic,
}

/// A message from a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub kind: MessageKind,
    /// Index of the block in the grid.
    pub block: Dim3,
    /// Index of the thread in its block.
    pub thread: Dim3,
    /// The source file.
    pub file: String,
    /// The line there.
    pub line: u32,
    /// The text.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, thread {}: {}", self.block, self.thread, self.text)
    }
}

impl Messages {
    /// The messages declared by the comments in a PTX text; None if there are none.
    pub fn of(ptx: &str) -> Option<Self> {
        let declared: HashMap<_, _> = ptx.lines().filter_map(declared).collect();
        (!declared.is_empty()).then_some(Self(declared))
    }

    /// The messages in a buffer in the order in which threads reserved their records, and the
    /// number of words that did not fit. Incomplete records are omitted.
    pub fn read(&self, words: &[u32]) -> (Vec<Message>, usize) {
        let reserved = words.first().map_or(0, |&words| words as usize);
        let end = words.len().min(FIRST + reserved);
        let lost = FIRST + reserved - end;
        let mut messages = Vec::new();
        let mut rest = words.get(FIRST..end).unwrap_or_default();
        while let Some(&length) = rest.first() {
            let Some(record) = rest.get(..length as usize).filter(|record| record.len() >= HEADER_WORDS) else { break };
            if record[1] != 0 {
                messages.extend(self.message(record));
            }
            rest = &rest[record.len()..];
        }
        (messages, lost)
    }

    fn message(&self, record: &[u32]) -> Option<Message> {
        let number = u64::from(record[3]) << 32 | u64::from(record[2]);
        let Declared { kind, file, line, pieces } = self.0.get(&number)?;
        let mut words = &record[HEADER_WORDS..];
        let values: Vec<Value> = std::iter::from_fn(|| Value::read(&mut words)).collect();
        Some(Message {
            kind: *kind,
            block: Dim3 { x: record[4], y: record[5], z: record[6] },
            thread: Dim3 { x: record[7], y: record[8], z: record[9] },
            file: file.clone(),
            line: *line,
            text: pieces.iter().map(|piece| piece.text(&values)).collect(),
        })
    }
}

/// The comment that declares a message.
pub fn declaration(number: u64, kind: MessageKind, file: &str, line: u32, text: &str) -> String {
    let kind = match kind {
        MessageKind::Print => "says",
        MessageKind::Panic => "panics",
    };
    let text = text.escape_debug();
    format!("{DECLARATION}{number:016x} {kind} {}:{line}: {text}", file.escape_debug())
}

fn declared(line: &str) -> Option<(u64, Declared)> {
    let (number, rest) = line.strip_prefix(DECLARATION)?.split_once(' ')?;
    let (kind, rest) = rest.split_once(' ')?;
    let kind = match kind {
        "says" => MessageKind::Print,
        "panics" => MessageKind::Panic,
        _ => return None,
    };
    let (place, text) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let (file, line) = place.rsplit_once(':')?;
    let declared =
        Declared { kind, file: unescaped(file), line: line.parse().ok()?, pieces: format::pieces(&unescaped(text))? };
    Some((u64::from_str_radix(number, 16).ok()?, declared))
}

/// The inverse of `escape_debug`.
pub(crate) fn unescaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => result.push('\n'),
            Some('r') => result.push('\r'),
            Some('t') => result.push('\t'),
            Some('0') => result.push('\0'),
            Some('u') => {
                let code: String = rest.by_ref().skip(1).take_while(|&character| character != '}').collect();
                result.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            other => result.extend(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_from_their_records() {
        let texts =
            [(1, MessageKind::Print, "x = {0:>5.2}, \"{1:?}\" {{\n{0}}}\u{1f600}"), (u64::MAX, MessageKind::Panic, "")];
        let comments = texts.map(|(number, kind, text)| declaration(number, kind, "a b.rs", 7, text));
        let messages = Messages::of(&format!(".version 8.0\n{}\n", comments.join("\n"))).unwrap();
        let place = [1, 2, 3, 4, 5, 6];
        let mut words = vec![0, BUFFER_WORDS as u32];
        words.extend([14, 1, 1, 0].into_iter().chain(place).chain([
            u32::from(b'f'),
            1.5_f32.to_bits(),
            u32::from(b'B'),
            1,
        ]));
        // An incomplete record.
        words.extend([10, 0, 1, 0].into_iter().chain(place));
        words.extend([10, 1, u32::MAX, u32::MAX].into_iter().chain(place));
        words[0] = words.len() as u32 - 2 + 5;
        let (found, lost) = messages.read(&words);
        assert_eq!(lost, 5);
        let (block, thread) = (Dim3 { x: 1, y: 2, z: 3 }, Dim3 { x: 4, y: 5, z: 6 });
        let of = |kind, text: &str| Message { kind, block, thread, file: "a b.rs".into(), line: 7, text: text.into() };
        let first = of(MessageKind::Print, "x =  1.50, \"true\" {\n1.5}\u{1f600}");
        assert_eq!(found, [first.clone(), of(MessageKind::Panic, "")]);
        assert_eq!(first.to_string(), "block (1, 2, 3), thread (4, 5, 6): x =  1.50, \"true\" {\n1.5}\u{1f600}");
    }

    #[test]
    fn damaged_buffers_have_no_messages() {
        let comment = declaration(1, MessageKind::Print, "a.rs", 7, "{0}");
        let messages = Messages::of(&comment).unwrap();
        for words in [&[][..], &[3], &[u32::MAX, 9, 1, 1], &[20, 9, 12, 1, 1, 0, 0, 0, 0, 0, 0, 0], &[1, 9, 0]] {
            assert_eq!(messages.read(words).0, []);
        }
        assert!(Messages::of("// message zz says a.rs:1: x\n// message 01 says x\n").is_none());
    }
}
