//! A source's tokens as a flat list, for messages.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// Maximum length in characters of source text quoted in a message.
const MAX_SHOWN: usize = 60;

/// A token, or a single bracket.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Token {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }

    /// Whether there is no space between this token and the next.
    pub(crate) fn touches(&self, next: &Self) -> bool {
        self.span.end() == next.span.start()
    }
}

/// Flattens tokens, including the brackets around groups.
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

/// The text of tokens, with spaces where the source has them.
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

/// Source text as quoted in messages; None if it is long or spans several lines.
pub(crate) fn short(text: String) -> Option<String> {
    let is_line = !text.is_empty() && !text.contains(char::is_control);
    (is_line && text.chars().count() <= MAX_SHOWN).then_some(text)
}

/// The index after the bracket that closes the one at `open`.
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

/// Splits tokens at tokens with this text outside brackets.
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
