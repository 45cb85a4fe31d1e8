//! Guesses the encoding of a text without a byte order mark, from its lines that are not ASCII.

use std::io::{BufRead, BufReader, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{ISO_2022_JP, UTF_8};
use memchr::memmem;

use crate::Encoding;

/// Number of bytes in lines used for the decision; what follows does not change the guess.
const DECIDING: usize = 4 << 20;
/// Longer lines are truncated.
const LONGEST_LINE: u64 = 1 << 20;

/// Whether a text may have another encoding than UTF-8: it is invalid, or it has an escape of
/// ISO-2022-JP. A character cut off at the end counts as valid.
pub(super) fn may_be_other(text: &[u8]) -> bool {
    let is_invalid = std::str::from_utf8(text).is_err_and(|error| error.error_len().is_some());
    is_invalid || has_escape(text)
}

fn has_escape(text: &[u8]) -> bool {
    memmem::find(text, b"\x1b$").is_some()
}

/// The encoding of a text: UTF-8 if most lines that are not ASCII are valid UTF-8, and otherwise
/// `unless_utf8` or chardetng's guess. A few damaged characters do not change how the others are
/// read. An I/O error ends the text.
pub(super) fn encoding(text: impl Read, unless_utf8: Option<Encoding>) -> Encoding {
    let mut text = BufReader::with_capacity(1 << 16, text);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let (mut fed, mut valid, mut invalid, mut escaped) = (0, 0_usize, 0_usize, false);
    let mut line = Vec::new();
    while fed < DECIDING {
        line.clear();
        if !matches!((&mut text).take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
            break;
        }
        if line.is_ascii() && !has_escape(&line) {
            continue;
        }
        match std::str::from_utf8(&line) {
            Ok(_) if line.is_ascii() => escaped = true,
            Ok(_) => valid += 1,
            Err(_) => invalid += 1,
        }
        detector.feed(&line, false);
        fed += line.len();
    }
    detector.feed(&[], true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let is_other = invalid > valid || escaped && guess == ISO_2022_JP;
    if is_other { unless_utf8.unwrap_or(Encoding(guess)) } else { Encoding(UTF_8) }
}
