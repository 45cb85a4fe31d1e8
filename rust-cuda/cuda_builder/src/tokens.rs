//! The tokens of Rust source, its attributes, and the parts compiled for the GPU's target.

/// The number of tokens in an item including its first attribute, if `excludes` holds for the
/// attribute's text without spaces, or if the attribute is a `cfg` that is never true for kernels.
pub(crate) fn length_of_excluded(tokens: &[Token<'_>], excludes: impl Fn(&str) -> bool) -> Option<usize> {
    let [Token { text: "#", .. }, Token { text: "[", .. }, ..] = tokens else { return None };
    let attribute = 1 + group(&tokens[1..]);
    let text: String = tokens[..attribute].iter().map(|token| token.text).collect();
    if !excludes(&text) && !is_excluding(&tokens[..attribute]) {
        return None;
    }
    let mut end = attribute;
    while end < tokens.len() {
        match tokens[end].text {
            ";" => return Some(end + 1),
            "{" => return Some(end + group(&tokens[end..])),
            "(" | "[" => end += group(&tokens[end..]),
            _ => end += 1,
        }
    }
    Some(end)
}

/// Whether the whole file has a `#![cfg(…)]` that is never true for kernels.
pub(crate) fn is_excluded(tokens: &[Token<'_>]) -> bool {
    let mut rest = tokens;
    while let [Token { text: "#", .. }, Token { text: "!", .. }, Token { text: "[", .. }, ..] = rest {
        let end = 2 + group(&rest[2..]);
        if is_excluding(&rest[1..end]) {
            return true;
        }
        rest = &rest[end..];
    }
    false
}

/// Whether an attribute is a `cfg` that is never true for kernels.
fn is_excluding(attribute: &[Token<'_>]) -> bool {
    match attribute {
        [_, Token { text: "[", .. }, Token { text: "cfg", .. }, Token { text: "(", .. }, predicate @ .., _, _] => {
            value_of_cfg(predicate) == Some(false)
        }
        _ => false,
    }
}

/// The value of a `cfg` predicate when kernels are compiled; None if it depends on features or
/// other settings.
fn value_of_cfg(predicate: &[Token<'_>]) -> Option<bool> {
    let name = predicate.first()?.text;
    let value = predicate.get(2).map(|token| token.text.trim_matches('"'));
    let arguments = || {
        let mut rest = predicate.get(2..group(&predicate[1..])).unwrap_or_default();
        let mut values = Vec::new();
        while !rest.is_empty() {
            let mut end = 0;
            while end < rest.len() && rest[end].text != "," {
                end += if rest[end].text == "(" { group(&rest[end..]) } else { 1 };
            }
            values.push(value_of_cfg(&rest[..end]));
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        values
    };
    match (name, value) {
        ("test" | "doc" | "doctest" | "unix" | "windows" | "debug_assertions", None) => Some(false),
        ("target_arch", Some(arch)) => Some(arch == "nvptx64"),
        ("target_os", Some(system)) => Some(system == "cuda"),
        ("target_family", Some(_)) => Some(false),
        ("not", Some(_)) => arguments().first().copied().flatten().map(|value| !value),
        ("all", Some(_)) => {
            let values = arguments();
            if values.contains(&Some(false)) { Some(false) } else { values.iter().all(Option::is_some).then_some(true) }
        }
        ("any", Some(_)) => {
            let values = arguments();
            if values.contains(&Some(true)) { Some(true) } else { values.iter().all(Option::is_some).then_some(false) }
        }
        _ => None,
    }
}

/// The number of tokens from an opening bracket to its closing one.
pub(crate) fn group(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// A word, a literal or a punctuation character, with its line counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// The tokens of a source file without comments.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let length = length_of_token(rest, first);
        let (text, after) = rest.split_at(length);
        let is_comment = text.starts_with("//") || text.starts_with("/*");
        if !is_comment && !first.is_whitespace() {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

fn length_of_token(text: &str, first: char) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let until = |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |found| from + found + end.len());
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return length_of_comment(text);
    }
    // A raw string, possibly a byte string.
    let quoted = text.trim_start_matches(['b', 'c']);
    if let Some(raw) = quoted.strip_prefix('r').filter(|_| text.len() - quoted.len() <= 1) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let start = text.len() - raw.len() + hashes + 1;
            return until(&format!("\"{}", "#".repeat(hashes)), start);
        }
    }
    match first {
        '"' => length_of_quoted(text, '"'),
        // A character. Without a closing quote it is a lifetime.
        '\'' if text[1..].starts_with('\\') || text[1..].chars().nth(1) == Some('\'') => length_of_quoted(text, '\''),
        _ if is_word(first) => text.find(|c| !is_word(c)).unwrap_or(text.len()),
        _ => first.len_utf8(),
    }
}

/// The length of a comment including nested comments.
fn length_of_comment(text: &str) -> usize {
    let (mut depth, mut position) = (0, 0);
    while position < text.len() {
        let rest = &text.as_bytes()[position..];
        if rest.starts_with(b"/*") {
            (depth, position) = (depth + 1, position + 2);
        } else if rest.starts_with(b"*/") {
            (depth, position) = (depth - 1, position + 2);
        } else {
            position += 1;
        }
        if depth == 0 {
            return position;
        }
    }
    text.len()
}

fn length_of_quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (position, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return position + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cfg_is_false_where_no_kernel_is_compiled() {
        for (predicate, expected) in [
            ("test", Some(false)),
            (r#"target_arch = "nvptx64""#, Some(true)),
            (r#"not(target_arch = "nvptx64")"#, Some(false)),
            (r#"any(test, not(target_arch = "nvptx64"))"#, Some(false)),
            (r#"any(not(target_arch = "nvptx64"), target_feature = "sm_90")"#, None),
            (r#"all(feature = "half", not(test))"#, None),
            (r#"all(unix, feature = "half")"#, Some(false)),
            (r#"not(any(target_os = "cuda", feature = "a",))"#, Some(false)),
            (r#"all()"#, Some(true)),
            ("", None),
            ("not(", None),
        ] {
            assert_eq!(value_of_cfg(&tokens(predicate)), expected, "{predicate}");
        }
        assert!(is_excluded(&tokens(
            "//! Of the host.\n#![no_std]\n#![cfg(not(target_arch = \"nvptx64\"))]\nfn f() {}"
        )));
        assert!(!is_excluded(&tokens("#![no_std]\n#![cfg_attr(test, allow(unused))]\nfn f() {}")));
    }
}
