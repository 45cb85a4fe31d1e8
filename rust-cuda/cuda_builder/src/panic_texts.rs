//! Panic messages from the sources: finds the text of calls such as `panic!("…")`, `assert!(…)` and
//! `x.expect("…")` by their location.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::rc::Rc;

use proc_macro2::{Delimiter, Group, LineColumn, TokenStream, TokenTree};
use syn::LitStr;

use crate::source_lines::Place;

/// Source files, each parsed once, and the texts at their locations, each found once: many traps
/// are inlined from one location.
#[derive(Default)]
pub(crate) struct PanicTexts {
    sources: RefCell<HashMap<Rc<str>, Option<Rc<Source>>>>,
    texts: RefCell<HashMap<Place, Option<String>>>,
}

struct Source {
    text: String,
    tokens: TokenStream,
}

impl PanicTexts {
    /// The message of the call at this line and column, which count from 1 and in bytes, if the
    /// call panics. Arguments in a text stay as written, such as `{x}`.
    pub(crate) fn text_at(&self, place: &Place) -> Option<String> {
        if let Some(known) = self.texts.borrow().get(place) {
            return known.clone();
        }
        let text = self.find(place);
        self.texts.borrow_mut().insert(place.clone(), text.clone());
        text
    }

    fn find(&self, (path, line, column): &Place) -> Option<String> {
        let source = self.source(path)?;
        let line = *line as usize;
        let before = source.text.lines().nth(line.checked_sub(1)?)?.get(..column.checked_sub(1)? as usize)?;
        let position = LineColumn { line, column: before.chars().count() };
        said(&tokens_from(source.tokens.clone(), position)?)
    }

    fn source(&self, path: &Rc<str>) -> Option<Rc<Source>> {
        let load = || {
            let text = fs::read_to_string(&**path).ok()?;
            let tokens = text.parse().ok()?;
            Some(Rc::new(Source { text, tokens }))
        };
        self.sources.borrow_mut().entry(Rc::clone(path)).or_insert_with(load).clone()
    }
}

/// The tokens from a position to the end of its token group.
fn tokens_from(tokens: TokenStream, position: LineColumn) -> Option<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    // A group's span begins at its opening bracket.
    let index = tokens.iter().rposition(|token| token.span().start() <= position)?;
    match &tokens[index] {
        token if token.span().start() == position => Some(tokens[index..].to_vec()),
        TokenTree::Group(group) => tokens_from(group.stream(), position),
        _ => None,
    }
}

/// The message of the call that the tokens begin with.
fn said(tokens: &[TokenTree]) -> Option<String> {
    let mut rest = tokens.iter();
    let mut name = String::new();
    let mut is_macro = false;
    let arguments = loop {
        match rest.next()? {
            TokenTree::Ident(ident) => name = ident.to_string(),
            TokenTree::Punct(colon) if colon.as_char() == ':' => {}
            TokenTree::Punct(mark) if mark.as_char() == '!' && !is_macro => is_macro = true,
            TokenTree::Group(group) => break group,
            _ => return None,
        }
    };
    if is_macro { said_by_macro(&name, arguments) } else { said_by_function(&name, arguments) }
}

fn said_by_macro(name: &str, arguments: &Group) -> Option<String> {
    let all: Vec<TokenTree> = arguments.stream().into_iter().collect();
    let text_of = |position: usize| all.split(is_comma).nth(position).and_then(text);
    let with = |said: &str, text: Option<String>| match text {
        Some(text) => format!("{said}: {text}"),
        None => said.to_owned(),
    };
    Some(match name.strip_prefix("debug_").unwrap_or(name) {
        "panic" => text_of(0).unwrap_or_else(|| "explicit panic".to_owned()),
        "unreachable" => with("internal error: entered unreachable code", text_of(0)),
        "todo" => with("not yet implemented", text_of(0)),
        "unimplemented" => with("not implemented", text_of(0)),
        "assert" => match text_of(1) {
            Some(text) => text,
            None => format!("assertion failed: {}", source_of(all.split(is_comma).next()?)?),
        },
        "assert_eq" => with("assertion `left == right` failed", text_of(2)),
        "assert_ne" => with("assertion `left != right` failed", text_of(2)),
        // Macros in `core`: the text without values precedes the text with values.
        "const_panic" => text_of(0)?,
        "const_assert" => text_of(1)?,
        _ => return None,
    })
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',')
}

/// Functions and methods that panic with the text that they receive.
const FUNCTIONS: [&str; 7] =
    ["expect", "expect_err", "panic", "panic_fmt", "panic_nounwind", "trap_because", "unwrap_failed"];

fn said_by_function(name: &str, arguments: &Group) -> Option<String> {
    let all: Vec<TokenTree> = arguments.stream().into_iter().collect();
    let first = all.split(is_comma).next()?;
    match first {
        _ if !FUNCTIONS.contains(&name) || arguments.delimiter() != Delimiter::Parenthesis => None,
        // `panic_fmt(format_args!("…"))`
        [.., TokenTree::Group(inner)] => text(&inner.stream().into_iter().collect::<Vec<_>>()),
        _ => text(first),
    }
}

/// The value of a literal, with doubled braces replaced by single ones.
fn text(argument: &[TokenTree]) -> Option<String> {
    let Some(TokenTree::Literal(literal)) = argument.first() else { return None };
    let literal: LitStr = syn::parse_str(&literal.to_string()).ok()?;
    Some(literal.value().replace("{{", "{").replace("}}", "}"))
}

/// The source text of some tokens on one line.
fn source_of(tokens: &[TokenTree]) -> Option<String> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let source = first.span().join(last.span()).and_then(|span| span.source_text());
    let source = source.unwrap_or_else(|| tokens.iter().cloned().collect::<TokenStream>().to_string());
    Some(source.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_its_text() {
        let source = r##"fn f(x: Option<u32>) {
    /* é */ panic!("a {x} {{b}}\n");
    core::panic!();
    if x.is_none() { unreachable!("no {}", 5) } else { unreachable!() }
    todo!(); unimplemented!(r#"a "b""#);
    assert!(x  == y[(1,
        2)].z, "x is {x}, y"); assert!(a
        < b); debug_assert!(c,);
    assert_eq!(a, b); core::assert_ne!(a, f(b, c), "differ");
    f(x).expect("a number").count::<f32>();
    core::panicking::panic_fmt(format_args!("two {}", 2)); panic("three");
    const_panic!("four", "five {six}", six: usize); g("seven"); x[3]; let y = x; my!("eight");
}
"##;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.rs");
        fs::write(&path, source).unwrap();
        let path: Rc<str> = path.to_str().unwrap().into();
        let texts = PanicTexts::default();
        let said = |call: &str| {
            let start = source.find(call).unwrap();
            let before = &source[..start];
            let column = start + 1 - before.rfind('\n').map_or(0, |newline| newline + 1);
            texts.text_at(&(Rc::clone(&path), before.matches('\n').count() as u32 + 1, column as u32))
        };
        for (call, expected) in [
            ("panic!(\"a", "a {x} {b}\n"),
            ("core::panic!(", "explicit panic"),
            ("unreachable!(\"", "internal error: entered unreachable code: no {}"),
            ("unreachable!()", "internal error: entered unreachable code"),
            ("todo!", "not yet implemented"),
            ("unimplemented!", "not implemented: a \"b\""),
            ("assert!(x", "x is {x}, y"),
            ("assert!(a\n", "assertion failed: a < b"),
            ("debug_assert!", "assertion failed: c"),
            ("assert_eq!", "assertion `left == right` failed"),
            ("core::assert_ne!", "assertion `left != right` failed: differ"),
            ("expect(", "a number"),
            ("core::panicking", "two {}"),
            ("panic(\"", "three"),
            ("const_panic!", "four"),
        ] {
            assert_eq!(said(call).as_deref(), Some(expected), "{call}");
        }
        for call in ["fn f", "f(x)", "count", "g(\"", "x[3]", "let y", "my!", "x.is_none"] {
            assert_eq!(said(call), None, "{call}");
        }
        assert_eq!(texts.text_at(&(Rc::clone(&path), 1000, 1)), None);
        assert_eq!(texts.text_at(&(Rc::clone(&path), 1, 1000)), None);
        assert_eq!(texts.text_at(&("/nonexistent.rs".into(), 1, 1)), None);
    }
}
