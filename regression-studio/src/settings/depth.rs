//! Limits the nesting depth of a TOML text before it is parsed.
//!
//! The parser limits brackets and the parts of a dotted key separately. Dotted keys in nested
//! brackets can therefore give values thousands of levels deep, and recursive code over these
//! overflows the stack.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Maximum nesting of brackets and dots. Settings need three levels. A table's header and the keys
/// below it count separately.
const MAX_DEPTH: usize = 32;

/// Checks the nesting depth.
///
/// # Errors
/// If it exceeds [`MAX_DEPTH`]. The message is one line with the line number.
pub(super) fn check(text: &str) -> Result<(), String> {
    // Number of dots of the current key in each open bracket; the first entry is the top level.
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
            return Err(format!("line {line}: nested more than {MAX_DEPTH} levels deep; settings need three"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_of_settings_is_allowed() {
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
    fn deeper_nesting_is_rejected_with_its_line() {
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
