//! Why a kernel traps: a comment after a PTX `trap`.
//!
//! A kernel's panic compiles to a `trap`, which gives no reason. `cuda_builder` adds a comment that
//! the interpreter reads:
//!
//! ```text
//! trap; exit; // panics: attempt to divide by zero
//! trap; exit; // panics: index out of bounds: the len is {5} but the index is {%rd4}
//! trap; exit; // out of bounds: buffer
//! trap; exit; // slice: %rd3 %rd4 5
//! trap; exit; // range: %rd3 %rd4 %rd5
//! ```
//!
//! Braces contain one of the function's registers or a number. Braces in a text are doubled, and
//! its other characters are escaped. A slice of the language and a range of a buffer have a start,
//! an end and the length of the memory, each as a register or a number.

use crate::message::unescaped;

/// The reason for a `trap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrapReason {
    /// A panic with this message.
    Panic(Vec<Piece>),
    /// An index beyond the end of this kind of memory. The index and the length are the ones that
    /// the branch to the trap compares.
    OutOfBounds(Bounded),
    /// The start and end of a slice, and the length of the memory that it exceeds, as registers or
    /// numbers.
    Slice([String; 3]),
    /// The same for a part of a buffer.
    Range([String; 3]),
}

/// A piece of a panic's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// A register, interpreted as unsigned, or a number.
    Value(String),
}

/// Memory with a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// A buffer or a part of one.
    Buffer,
    /// An array in shared memory.
    SharedArray,
}

/// Prefix of the comment for a panic.
const PANICS: &str = "// panics: ";

/// Prefix of the comment for an index out of bounds.
const OUT_OF_BOUNDS: &str = "// out of bounds: ";

/// Prefix of the comment for an invalid slice.
const SLICE: &str = "// slice: ";

/// Prefix of the comment for an invalid range of a buffer.
const RANGE: &str = "// range: ";

/// Prefix of the message in `core` for an index out of bounds.
pub const INDEX_OUT_OF_BOUNDS: &str = "index out of bounds";

/// The message in `core` for a slice from `start` to `end` that does not fit in `length` elements.
pub fn slice_message(start: u64, end: u64, length: u64) -> String {
    if start > length {
        format!("range start index {start} out of range for slice of length {length}")
    } else if start > end && end <= length {
        format!("slice index starts at {start} but ends at {end}")
    } else {
        format!("range end index {end} out of range for slice of length {length}")
    }
}

impl Bounded {
    const ALL: [(Self, &'static str); 2] = [(Self::Buffer, "buffer"), (Self::SharedArray, "shared array")];
}

impl TrapReason {
    /// The comment.
    pub fn comment(&self) -> String {
        let pieces = match self {
            Self::OutOfBounds(memory) => {
                let name = Bounded::ALL.iter().find_map(|(of, name)| (of == memory).then_some(*name));
                return format!("{OUT_OF_BOUNDS}{}", name.unwrap_or_default());
            }
            Self::Slice(values) => return format!("{SLICE}{}", values.join(" ")),
            Self::Range(values) => return format!("{RANGE}{}", values.join(" ")),
            Self::Panic(pieces) => pieces,
        };
        let text: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.replace('{', "{{").replace('}', "}}").escape_debug().to_string(),
                Piece::Value(value) => format!("{{{value}}}"),
            })
            .collect();
        format!("{PANICS}{text}")
    }

    /// Parses the reason in a comment; None if it contains none.
    pub fn parse(comment: &str) -> Option<Self> {
        let comment = comment.trim_start().trim_end_matches(['\r', '\n']);
        if let Some(memory) = comment.strip_prefix(OUT_OF_BOUNDS) {
            return Bounded::ALL.iter().find_map(|&(of, name)| (name == memory).then_some(Self::OutOfBounds(of)));
        }
        for (start, of) in [(SLICE, Self::Slice as fn(_) -> _), (RANGE, Self::Range)] {
            if let Some(values) = comment.strip_prefix(start) {
                let values: Vec<_> = values.split(' ').map(str::to_owned).collect();
                return values.try_into().ok().map(of);
            }
        }
        let text = unescaped(comment.strip_prefix(PANICS)?);
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), &*text);
        while let Some(brace) = rest.find(['{', '}']) {
            plain.push_str(&rest[..brace]);
            let (open, behind) = rest[brace..].split_at(1);
            if let Some(behind) = behind.strip_prefix(open) {
                plain.push_str(open);
                rest = behind;
                continue;
            }
            let (value, behind) = behind.split_once('}').filter(|_| open == "{")?;
            pieces.extend((!plain.is_empty()).then(|| Piece::Text(std::mem::take(&mut plain))));
            pieces.push(Piece::Value(value.to_owned()));
            rest = behind;
        }
        plain.push_str(rest);
        pieces.extend((!plain.is_empty()).then_some(Piece::Text(plain)));
        Some(Self::Panic(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_read_as_it_was_written() {
        let (text, value) = (|text: &str| Piece::Text(text.to_owned()), |name: &str| Piece::Value(name.to_owned()));
        for reason in [
            TrapReason::OutOfBounds(Bounded::Buffer),
            TrapReason::OutOfBounds(Bounded::SharedArray),
            TrapReason::Slice(["%rd3", "%rd4", "5"].map(str::to_owned)),
            TrapReason::Range(["%rd3", "0", "%rd5"].map(str::to_owned)),
            TrapReason::Panic(vec![]),
            TrapReason::Panic(vec![text("attempt to divide by zero ")]),
            TrapReason::Panic(vec![text("a {b} {{c\n\\ \"d\" é\u{1b}"), value("%rd4"), value("5"), text("}")]),
        ] {
            let comment = reason.comment();
            assert_eq!(TrapReason::parse(&comment), Some(reason), "{comment}");
            assert!(!comment.contains(['\n', '\u{1b}']));
        }
    }

    #[test]
    fn slices_have_the_messages_of_core() {
        for (start, end, length) in [(6, 7, 5), (6, 2, 5), (2, 6, 5), (3, 2, 5), (0, 6, 5)] {
            let panic = std::panic::catch_unwind(|| [0; 5][..length][start..end].len()).unwrap_err();
            let expected = slice_message(start as u64, end as u64, length as u64);
            assert_eq!(panic.downcast_ref(), Some(&expected));
        }
    }

    #[test]
    fn other_comments_give_no_reason() {
        for comment in [
            "",
            "// panics",
            "// out of bounds: x",
            "// slice: 1 2",
            "// panics: {a",
            "// panics: a}",
            "// begin inline asm",
        ] {
            assert_eq!(TrapReason::parse(comment), None, "{comment}");
        }
    }
}
