//! Finds float methods that give different results on a GPU, in functions that kernels call:
//! `#[kernel]` does not replace them there. The host compiles the methods from `std`, even in a
//! `#![no_std]` crate, and their last bits differ from a GPU's. Its `max` and `min` may return
//! either of 0 and −0.

use crate::float_methods::{EXTREMES, FLOAT_METHODS};
use crate::tokens::{Token, group, length_of_excluded, tokens};

/// The lines, counted from 1, with calls of such methods in a source file, each with the method's
/// name. Kernels, tests and host-only items are skipped. Types are not known, so another type's
/// method of the same name is reported too.
pub(crate) fn std_methods(source: &str) -> Vec<(usize, &'static str)> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut position = 0;
    while position < tokens.len() {
        if let Some(end) = skipped_item(&tokens[position..]) {
            position += end;
            continue;
        }
        let call = match &tokens[position..] {
            [Token { text: ".", .. }, method, Token { text: "(", .. }, ..] => Some(method),
            [Token { text: "f32" | "f64", .. }, Token { text: ":", .. }, Token { text: ":", .. }, method, ..] => {
                Some(method)
            }
            _ => None,
        };
        if let Some(method) = call
            && let Some(name) = FLOAT_METHODS.iter().chain(&EXTREMES).find(|name| **name == method.text)
            && (!EXTREMES.contains(name) || tokens[position].text != "." || is_float(&tokens[position + 3..]))
        {
            found.push((method.line, *name));
        }
        position += 1;
    }
    found
}

/// Whether an argument begins with a float literal or constant.
fn is_float(argument: &[Token<'_>]) -> bool {
    let is_digit = |token: &Token<'_>| token.text.starts_with(|c: char| c.is_ascii_digit());
    match argument {
        [Token { text: "-", .. }, rest @ ..] => is_float(rest),
        [Token { text: "f32" | "f64", .. }, ..] => true,
        [number, ..] if is_digit(number) && (number.text.ends_with("f32") || number.text.ends_with("f64")) => true,
        [number, Token { text: ".", .. }, after, ..] => is_digit(number) && (is_digit(after) || after.text == ")"),
        _ => false,
    }
}

/// The number of tokens in a skipped item: an item with an attribute that excludes it, or one that
/// is generic over `GpuFloat`.
fn skipped_item(tokens: &[Token<'_>]) -> Option<usize> {
    if let [Token { text: "fn" | "impl", .. }, ..] = tokens {
        let body = tokens.iter().position(|token| matches!(token.text, "{" | ";"))?;
        let is_generic = tokens[..body].iter().any(|token| token.text == "GpuFloat");
        return is_generic.then(|| body + group(&tokens[body..]));
    }
    length_of_excluded(tokens, |attribute| {
        ["#[kernel]", "#[cuda_std::kernel]", "#[test]"].contains(&attribute)
            || ["#[kernel(", "#[cuda_std::kernel("].iter().any(|start| attribute.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_functions_only() {
        let source = r##"
//! x.sin()
#[kernel]
pub fn wave(x: &[f32], out: GlobalMut<f32>) {
    out.set(0, x[0].sin());
}
/* x.sin() /* y.cos() */ x.exp() */
fn length(x: f32, y: f32) -> f32 { // x.ln()
    let _ = ("x.tan()", 'a', '\'', r#"x.tan() " "#, b"x.tan()");
    (x * x + y * y)
        .sqrt()
}
fn whole<'a>(x: &'a f32) -> f32 { f32::floor(*x) + x.abs() + self.ln + ln(x) }
#[cfg(not(target_arch = "nvptx64"))]
mod host { fn f(x: f32) -> f32 { x.powi(2) } }
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
#[cfg(test)]
mod tests { fn f(x: f64) -> f64 { x.exp() } }
fn any<F: GpuFloat>(x: F) -> F { x.exp() }
impl<F> Wave for F where F: GpuFloat { fn wave(self) -> F { self.sin() } }
#[inline]
fn last(x: f64) -> f64 { x.powf(2.0) }
fn extremes(x: f32, i: usize) -> f32 {
    let _ = (i.max(1), (0..i).max(), f(i).min(i), i.max(1 << 2), [i].iter().min(), i.min(2.max(i)), x.max(x));
    let relu = x.max(0.0)
        .min(-1.);
    x.max(f32::MIN).min(1_f32) + [x].iter().copied().fold(
        x, f64::max)
}
"##;
        let extremes = [(26, "max"), (27, "min"), (28, "max"), (28, "min"), (29, "max")];
        let expected = [&[(11, "sqrt"), (13, "floor"), (23, "powf")][..], &extremes].concat();
        assert_eq!(std_methods(source), expected);
        assert_eq!(std_methods("fn f(x: f32) -> f32 { x.sin( /* no end"), [(1, "sin")]);
        assert_eq!(std_methods("#[kernel] fn f(x: f32) { x.sin("), []);
    }
}
