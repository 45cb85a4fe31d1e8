//! A bound on how deeply a TOML text is nested, checked before it is parsed.
//!
//! The parser's own bound counts brackets, and the parts of one key apart from them: keys of many parts in many brackets make
//! values that are thousands of levels deep, and code that walks through these by recursion needs more stack than there is.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// The deepest brackets and dots within one another. Settings need three; a table's header and the keys below it count apart.
const MAX_DEPTH: usize = 32;

/// # Errors
/// If something is deeper; one line that names the text's line.
pub(super) fn check(text: &str) -> Result<(), String> {
    // For each open bracket, the dots of the key that is being read in it; the first entry is for what is in none.
    let mut dots = vec![0_usize];
    let mut depth = 0;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                dots.push(0);
                depth += 1;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket if dots.len() > 1 => {
                depth -= 1 + dots.pop().unwrap_or(0);
            }
            TokenKind::Dot => {
                dots.last_mut().into_iter().for_each(|dots| *dots += 1);
                depth += 1;
            }
            TokenKind::Comma | TokenKind::Newline => {
                depth -= dots.last_mut().map_or(0, std::mem::take);
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            let line = 1 + text[..token.span().start()].matches('\n').count();
            return Err(format!("line {line}: nested more than {MAX_DEPTH} levels deep: settings need three"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_settings_need_is_allowed() {
        let many = "\"a.b[\", ".repeat(10_000);
        for text in [
            "[data.source.synthetic]\nrows = 4\n# [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
            &format!("features = [{many}]\n[network]\nhidden = [\n1,\n2,\n]\n"),
            &"gain = 1.5\n".repeat(1000),
            "]]]]}}}} = ....",
        ] {
            assert_eq!(check(text), Ok(()), "{text:.60}");
        }
    }

    #[test]
    fn what_is_deeper_is_refused_with_its_line() {
        let key = vec!["a"; MAX_DEPTH + 2].join(".");
        for text in [
            format!("\n{key} = 1"),
            format!("\n[{key}]"),
            format!("\nx = {}", "[".repeat(MAX_DEPTH + 1)),
            format!("\nx = {}", "{a.b=".repeat(MAX_DEPTH / 2 + 1)),
            format!("x = [\n{}", "{ a = [".repeat(MAX_DEPTH / 2 + 1)),
        ] {
            assert!(check(&text).unwrap_err().starts_with("line 2: nested more than 32"), "{text}");
        }
    }
}
