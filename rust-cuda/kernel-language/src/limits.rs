//! Limits on a source: it is untrusted, and the parser and the compiler are recursive.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::refusal::{Checked, Place};

/// Maximum size of all files in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Maximum number of tokens before a token in its statement and in the enclosing ones. This bounds
/// the depth of the syntax tree.
const MAX_DEPTH: usize = 600;
/// Maximum number of brackets around a token.
const MAX_NESTING: usize = 48;
/// Maximum depth of inlined function calls.
pub(crate) const MAX_CALLS: usize = 32;
/// Maximum number of PTX lines.
pub(crate) const MAX_LINES: usize = 60_000;
/// Maximum size in bytes of an array in registers or shared memory.
pub(crate) const MAX_ARRAY_BYTES: u64 = 1 << 18;

/// Rejects tokens that are nested too deeply.
pub(crate) fn check_nesting(file: usize, tokens: &TokenStream) -> Checked<()> {
    check(file, tokens.clone(), 0, 0)
}

fn check(file: usize, tokens: TokenStream, before: usize, nesting: usize) -> Checked<()> {
    let mut depth = before;
    let mut after_braces = false;
    for token in tokens {
        if after_braces && begins_statement(&token) {
            depth = before;
        }
        after_braces = false;
        depth += 1;
        if depth > MAX_DEPTH || nesting > MAX_NESTING {
            return Place::of(file, token.span()).refused("this is nested too deeply: use more statements");
        }
        match token {
            TokenTree::Group(group) => {
                check(file, group.stream(), depth, nesting + 1)?;
                after_braces = group.delimiter() == Delimiter::Brace;
            }
            TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ',') => depth = before,
            _ => {}
        }
    }
    Ok(())
}

/// Whether a token after `}` begins another statement and does not continue the expression.
fn begins_statement(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(word) => *word != "else" && *word != "as",
        TokenTree::Punct(mark) => mark.as_char() == '#',
        TokenTree::Literal(_) | TokenTree::Group(_) => true,
    }
}
