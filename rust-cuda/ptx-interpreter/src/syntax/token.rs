//! The tokenizer (PTX ISA 4.1 to 4.5).

/// The kind of a token. Invalid text also becomes tokens, so the parser reports the first error in
/// the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `add`, `%r1`, `$L__BB0_1` or `_`.
    Name,
    /// `.global`, `.shared::cta`, including the dot.
    Directive,
    /// `12`, `0x1F`, `0f3F800000`, `1.5`: text that begins like a number, valid or not.
    Number,
    /// `"text"`, including the quotation marks.
    Quoted,
    /// One of `, ; : ( ) [ ] { } < > + - ! | @ =`.
    Punctuation(u8),
    /// A character that cannot begin a token.
    Unknown,
    /// `/*` without `*/`.
    UnclosedComment,
    /// `"` without a closing quotation mark on its line.
    UnclosedQuotation,
    /// The end of the text.
    End,
}

/// A token and its position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Offset of its first byte.
    pub(super) start: usize,
    /// Offset after its last byte.
    pub(super) end: usize,
    /// Line of its first byte, from 1.
    pub(super) line: u32,
}

/// The tokens of a text, without comments. Only the last one is [`TokenKind::End`].
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 3 + 1);
    let (mut position, mut line) = (0, 1);
    while position < bytes.len() {
        let start = position;
        let kind = match bytes[start] {
            b'\n' => {
                line += 1;
                position += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => {
                position += 1;
                continue;
            }
            b'/' if bytes[start..].starts_with(b"//") => {
                position += bytes[start..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - start);
                continue;
            }
            b'/' if bytes[start..].starts_with(b"/*") => match text[start + 2..].find("*/") {
                Some(length) => {
                    position += length + 4;
                    line += newlines(&bytes[start..position]);
                    continue;
                }
                None => {
                    position = bytes.len();
                    TokenKind::UnclosedComment
                }
            },
            b'"' => {
                let (end, closed) = quoted_end(bytes, start);
                position = end;
                if closed { TokenKind::Quoted } else { TokenKind::UnclosedQuotation }
            }
            b'.' if is_fraction(bytes, start) => {
                position = number_end(bytes, start);
                TokenKind::Number
            }
            b'.' => {
                position = directive_end(bytes, start);
                if position > start + 1 { TokenKind::Directive } else { TokenKind::Unknown }
            }
            b'0'..=b'9' => {
                position = number_end(bytes, start);
                TokenKind::Number
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' => {
                position = word_end(bytes, start);
                TokenKind::Name
            }
            b'%' => {
                position = word_end(bytes, start + 1);
                if position > start + 1 { TokenKind::Name } else { TokenKind::Unknown }
            }
            punctuation @ (b',' | b';' | b':' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'+' | b'-'
            | b'!' | b'|' | b'@' | b'=') => {
                position += 1;
                TokenKind::Punctuation(punctuation)
            }
            _ => {
                position += text[start..].chars().next().map_or(1, char::len_utf8);
                TokenKind::Unknown
            }
        };
        tokens.push(Token { kind, start, end: position, line });
        if kind == TokenKind::UnclosedComment {
            line += newlines(&bytes[start..]);
        }
    }
    // A newline at the end of the text does not start another line.
    let last_line = if text.ends_with('\n') { line - 1 } else { line };
    tokens.push(Token { kind: TokenKind::End, start: bytes.len(), end: bytes.len(), line: last_line.max(1) });
    tokens
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u32
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|&byte| !is_word_byte(byte)).map_or(bytes.len(), |length| start + length)
}

/// The end of `.name`. Its words may be joined by `::`.
fn directive_end(bytes: &[u8], start: usize) -> usize {
    let mut end = word_end(bytes, start + 1);
    while end > start + 1
        && bytes[end..].starts_with(b"::")
        && bytes.get(end + 2).is_some_and(|&byte| is_word_byte(byte))
    {
        end = word_end(bytes, end + 2);
    }
    end
}

/// Whether the dot begins a number such as `.5`, rather than the second part of `tex.2d`.
fn is_fraction(bytes: &[u8], dot: usize) -> bool {
    bytes.get(dot + 1).is_some_and(u8::is_ascii_digit) && (dot == 0 || !is_word_byte(bytes[dot - 1]))
}

/// The end of text that begins like a number. Includes trailing letters, so the number is reported
/// as invalid.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let has_radix = bytes[start] == b'0'
        && matches!(bytes.get(start + 1), Some(b'x' | b'X' | b'b' | b'B' | b'f' | b'F' | b'd' | b'D'));
    let mut end = word_end(bytes, start);
    if has_radix {
        return end;
    }
    if bytes.get(end) == Some(&b'.') {
        end = word_end(bytes, end + 1);
    }
    if matches!(bytes[end - 1], b'e' | b'E') && matches!(bytes.get(end), Some(b'+' | b'-')) {
        end = word_end(bytes, end + 1);
    }
    end
}

/// The end of a quoted string, and whether it is closed. A backslash escapes the byte after it.
fn quoted_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut end = start + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'"' => return (end + 1, true),
            b'\n' => return (end, false),
            b'\\' if bytes.get(end + 1).is_some_and(|&next| next != b'\n') => end += 2,
            _ => end += 1,
        }
    }
    (bytes.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str, u32)> {
        tokens(text).iter().map(|token| (token.kind, &text[token.start..token.end], token.line)).collect()
    }

    #[test]
    fn names_directives_and_numbers_end_at_the_right_byte() {
        let expected = [
            (TokenKind::Name, "ld"),
            (TokenKind::Directive, ".shared::cta"),
            (TokenKind::Directive, ".v4"),
            (TokenKind::Directive, ".2d"),
            (TokenKind::Name, "%r1"),
            (TokenKind::Punctuation(b','), ","),
            (TokenKind::Punctuation(b'-'), "-"),
            (TokenKind::Number, "1.5e-3"),
            (TokenKind::Number, ".5"),
            (TokenKind::Number, "0f3F800000"),
            (TokenKind::Punctuation(b'-'), "-"),
            (TokenKind::Number, "3"),
            (TokenKind::Punctuation(b'+'), "+"),
            (TokenKind::Name, "_"),
            (TokenKind::Name, "$L__BB0_1"),
            (TokenKind::Punctuation(b':'), ":"),
            (TokenKind::End, ""),
        ];
        let found = kinds("ld.shared::cta.v4.2d %r1,-1.5e-3 .5 0f3F800000-3+_ $L__BB0_1:");
        assert_eq!(found, expected.map(|(kind, text)| (kind, text, 1)));
    }

    #[test]
    fn comments_are_skipped_and_their_lines_counted() {
        let expected =
            [(TokenKind::Name, "a", 1), (TokenKind::Name, "b", 3), (TokenKind::Name, "c", 5), (TokenKind::End, "", 5)];
        assert_eq!(kinds("a // x\n/* \n // */ b /**/\n//\nc\n"), expected);
    }

    #[test]
    fn invalid_text_becomes_tokens() {
        assert_eq!(kinds("é")[0], (TokenKind::Unknown, "é", 1));
        assert_eq!(kinds("a . b")[1], (TokenKind::Unknown, ".", 1));
        assert_eq!(kinds("% 5")[0], (TokenKind::Unknown, "%", 1));
        assert_eq!(kinds("/* \n")[0], (TokenKind::UnclosedComment, "/* \n", 1));
        assert_eq!(kinds("\"a\n\"")[0], (TokenKind::UnclosedQuotation, "\"a", 1));
        assert_eq!(kinds("\"a\\\"b\" c")[0], (TokenKind::Quoted, "\"a\\\"b\"", 1));
        assert_eq!(kinds("12ab")[0], (TokenKind::Number, "12ab", 1));
    }
}
