//! The tokens of a source one after the other, for messages.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// Maximum length in characters of a text that a message repeats.
const MAX_SHOWN: usize = 60;

/// A token, or one of a pair of brackets.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Token {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }

    /// Whether nothing is between this token and the next one.
    pub(crate) fn touches(&self, next: &Self) -> bool {
        self.span.end() == next.span.start()
    }
}

/// The tokens, and the brackets around groups of them.
pub(crate) fn flat(tokens: TokenStream) -> Vec<Token> {
    let mut all = Vec::new();
    add(tokens, &mut all);
    all
}

fn add(tokens: TokenStream, all: &mut Vec<Token>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                let bracket = |text: &str, span| Token { text: text.to_owned(), span };
                all.extend((!open.is_empty()).then(|| bracket(open, group.span_open())));
                add(group.stream(), all);
                all.extend((!close.is_empty()).then(|| bracket(close, group.span_close())));
            }
            token => all.push(Token { text: token.to_string(), span: token.span() }),
        }
    }
}

/// The text of tokens, with a space where the source has some.
pub(crate) fn joined(tokens: &[Token]) -> String {
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        if index > 0 && !tokens[index - 1].touches(token) {
            text.push(' ');
        }
        text += &token.text;
    }
    text
}

/// A text of a source as messages repeat it; None if it is long, or has several lines.
pub(crate) fn short(text: String) -> Option<String> {
    let is_line = !text.is_empty() && !text.contains(char::is_control);
    (is_line && text.chars().count() <= MAX_SHOWN).then_some(text)
}

/// The index behind the bracket that closes the one at `open`.
pub(crate) fn behind_group(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match &*token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts between tokens of this text that are in no brackets.
pub(crate) fn split<'t>(tokens: &'t [Token], at: &str) -> Vec<&'t [Token]> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, token) in tokens.iter().enumerate() {
        match &*token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            text if text == at && depth == 0 => {
                parts.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts
}
