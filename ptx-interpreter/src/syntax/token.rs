//! From text to tokens (PTX ISA 4.1 to 4.5).

/// What a token is. What is no token of PTX is one too, so that the first mistake of a text is the one that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `add`, `%r1`, `$L__BB0_1` or `_`.
    Name,
    /// `.global`, `.shared::cta`: the dot belongs to it.
    Directive,
    /// `12`, `0x1F`, `0f3F800000`, `1.5`: it begins as a number, and may still be none.
    Number,
    /// `"text"`, quotation marks included.
    Quoted,
    /// One of `, ; : ( ) [ ] { } < > + - ! | @ =`.
    Sign(u8),
    /// A character that PTX does not have there.
    Unknown,
    /// `/*` without `*/`.
    UnclosedComment,
    /// `"` without a second one on its line.
    UnclosedQuotation,
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The offset of its first byte.
    pub(super) start: usize,
    /// The offset after its last byte.
    pub(super) end: usize,
    /// The line of its first byte, from 1.
    pub(super) line: u32,
}

/// The tokens of a text, without comments; the last one, and only that, is the end.
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
                    Kind::UnclosedComment
                }
            },
            b'"' => {
                let (end, closed) = quoted_end(bytes, start);
                position = end;
                if closed { Kind::Quoted } else { Kind::UnclosedQuotation }
            }
            b'.' if is_fraction(bytes, start) => {
                position = number_end(bytes, start);
                Kind::Number
            }
            b'.' => {
                position = directive_end(bytes, start);
                if position > start + 1 { Kind::Directive } else { Kind::Unknown }
            }
            b'0'..=b'9' => {
                position = number_end(bytes, start);
                Kind::Number
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' => {
                position = word_end(bytes, start);
                Kind::Name
            }
            b'%' => {
                position = word_end(bytes, start + 1);
                if position > start + 1 { Kind::Name } else { Kind::Unknown }
            }
            sign @ (b',' | b';' | b':' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'+' | b'-' | b'!'
            | b'|' | b'@' | b'=') => {
                position += 1;
                Kind::Sign(sign)
            }
            _ => {
                position += text[start..].chars().next().map_or(1, char::len_utf8);
                Kind::Unknown
            }
        };
        tokens.push(Token { kind, start, end: position, line });
        if kind == Kind::UnclosedComment {
            line += newlines(&bytes[start..]);
        }
    }
    // A newline at the end begins no line of its own.
    let last_line = if text.ends_with('\n') { line - 1 } else { line };
    tokens.push(Token { kind: Kind::End, start: bytes.len(), end: bytes.len(), line: last_line.max(1) });
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

/// The end of `.name`, in which `::` may stand between words.
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

/// Whether the dot begins a number such as `.5`, and not the second part of `tex.2d`.
fn is_fraction(bytes: &[u8], dot: usize) -> bool {
    bytes.get(dot + 1).is_some_and(u8::is_ascii_digit) && (dot == 0 || !is_word_byte(bytes[dot - 1]))
}

/// The end of what begins as a number: letters that don't belong to it are taken in, so that they are told as a mistake.
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

/// The end of a quotation, and whether it is closed; a backslash takes the byte after it along.
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

    fn kinds(text: &str) -> Vec<(Kind, &str, u32)> {
        tokens(text).iter().map(|token| (token.kind, &text[token.start..token.end], token.line)).collect()
    }

    #[test]
    fn a_name_a_directive_and_a_number_end_where_they_should() {
        let expected = [
            (Kind::Name, "ld"),
            (Kind::Directive, ".shared::cta"),
            (Kind::Directive, ".v4"),
            (Kind::Directive, ".2d"),
            (Kind::Name, "%r1"),
            (Kind::Sign(b','), ","),
            (Kind::Sign(b'-'), "-"),
            (Kind::Number, "1.5e-3"),
            (Kind::Number, ".5"),
            (Kind::Number, "0f3F800000"),
            (Kind::Sign(b'-'), "-"),
            (Kind::Number, "3"),
            (Kind::Sign(b'+'), "+"),
            (Kind::Name, "_"),
            (Kind::Name, "$L__BB0_1"),
            (Kind::Sign(b':'), ":"),
            (Kind::End, ""),
        ];
        let found = kinds("ld.shared::cta.v4.2d %r1,-1.5e-3 .5 0f3F800000-3+_ $L__BB0_1:");
        assert_eq!(found, expected.map(|(kind, text)| (kind, text, 1)));
    }

    #[test]
    fn comments_are_no_tokens_and_their_lines_count() {
        let expected = [(Kind::Name, "a", 1), (Kind::Name, "b", 3), (Kind::Name, "c", 5), (Kind::End, "", 5)];
        assert_eq!(kinds("a // x\n/* \n // */ b /**/\n//\nc\n"), expected);
    }

    #[test]
    fn what_is_no_token_is_kept_as_a_mistake() {
        assert_eq!(kinds("é")[0], (Kind::Unknown, "é", 1));
        assert_eq!(kinds("a . b")[1], (Kind::Unknown, ".", 1));
        assert_eq!(kinds("% 5")[0], (Kind::Unknown, "%", 1));
        assert_eq!(kinds("/* \n")[0], (Kind::UnclosedComment, "/* \n", 1));
        assert_eq!(kinds("\"a\n\"")[0], (Kind::UnclosedQuotation, "\"a", 1));
        assert_eq!(kinds("\"a\\\"b\" c")[0], (Kind::Quoted, "\"a\\\"b\"", 1));
        assert_eq!(kinds("12ab")[0], (Kind::Number, "12ab", 1));
    }
}
