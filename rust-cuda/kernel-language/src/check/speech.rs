//! `println!`, `assert!`, `panic!` and similar macros, as in `cuda_std`.

use proc_macro2::{Ident, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{Expr as Syntax, LitStr, Token};

use super::Checker;
use crate::refusal::{Checked, Place};
use crate::tokens::{flat, joined};
use crate::tree::{Comparison, Expr, Kind, Message, Statement, Unary};
use crate::types::Type;

/// A text and its arguments, which may be named.
struct Spoken {
    text: Option<LitStr>,
    arguments: Vec<(Option<Ident>, Syntax)>,
}

impl Parse for Spoken {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self { text: None, arguments: Vec::new() });
        }
        let message = "the text is first, in quotes: write `\"{}\"` to show a value";
        let text = input.parse().map_err(|error| syn::Error::new(error.span(), message))?;
        let mut arguments = Vec::new();
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let is_named = input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
            let name = if is_named { Some(input.parse()?) } else { None };
            if is_named {
                input.parse::<Token![=]>()?;
            }
            arguments.push((name, input.parse()?));
        }
        Ok(Self { text: Some(text), arguments })
    }
}

/// Values in front of the text: one for `assert!`, two for `assert_eq!`.
struct Asserted {
    values: Vec<Syntax>,
    spoken: TokenStream,
}

fn asserted(count: usize) -> impl FnOnce(ParseStream<'_>) -> syn::Result<Asserted> {
    move |input| {
        let mut values = Vec::new();
        while values.len() < count {
            values.push(input.parse()?);
            let comma: Option<Token![,]> = input.parse()?;
            if values.len() < count && comma.is_none() {
                return Err(input.error("two values are compared: write `,` and the second"));
            }
        }
        Ok(Asserted { values, spoken: input.parse()? })
    }
}

impl Checker<'_> {
    pub(super) fn speaking_macro(&mut self, name: &str, call: &syn::Macro, place: Place) -> Checked<Expr> {
        let parsed = |error: syn::Error| Place::of(place.file, error.span()).refused(reason_of(&error));
        let tokens = call.tokens.clone();
        match name {
            "println" => self.said(false, tokens, "", place),
            "panic" => self.said(true, tokens, "explicit panic", place),
            "assert" | "debug_assert" => {
                let Asserted { mut values, spoken } = call.parse_body_with(asserted(1)).or_else(parsed)?;
                let condition = self.condition(&values.swap_remove(0))?;
                let text = joined(&flat(condition_of(tokens)));
                let text = format!("assertion failed: {}", text.replace('{', "{{").replace('}', "}}"));
                let panic = match spoken.is_empty() {
                    true => panic_with(text, Vec::new(), place),
                    false => self.said(true, spoken, "", place)?,
                };
                self.unless(condition, panic, name.starts_with("debug_"), place)
            }
            "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => {
                let Asserted { values, spoken } = call.parse_body_with(asserted(2)).or_else(parsed)?;
                let [left, right] = &values[..] else { return place.refused("two values are compared") };
                let (first, second) = (self.expression(left, None)?, self.expression(right, None)?);
                let (first, second) = (self.value(first), self.value(second));
                let second = self.coerced_from(Some(right), second, &first.r#type)?;
                let is_number = |of: &Type| self.inference.is_integer(of) || self.inference.is_float(of);
                if !is_number(&first.r#type) && self.inference.outer(&first.r#type) != Type::Bool {
                    let shown = self.shown(&first.r#type);
                    return place.refused(format!("numbers and bools are compared here, and this is {shown}"));
                }
                let ((keep_first, first), (keep_second, second)) = (self.kept(first), self.kept(second));
                let is_equal = name.ends_with("_eq");
                let kind = Kind::Compare(Comparison::Equal, first.clone().into(), second.clone().into());
                let mut condition = Expr::new(kind, Type::Bool, place);
                if !is_equal {
                    condition = Expr::new(Kind::Unary(Unary::Not, condition.into()), Type::Bool, place);
                }
                let operator = if is_equal { "==" } else { "!=" };
                let text = format!("assertion `left {operator} right` failed\n  left: {{0:?}}\n right: {{1:?}}");
                let panic = match spoken.is_empty() {
                    true => panic_with(text, vec![first, second], place),
                    false => self.said(true, spoken, "", place)?,
                };
                let check = self.unless(condition, panic, name.starts_with("debug_"), place)?;
                // Without the check the values are not used, so they are only type-checked.
                let statements = match name.starts_with("debug_") {
                    true => Vec::new(),
                    false => vec![keep_first, keep_second, Statement::Expr(check)],
                };
                Ok(Expr::new(Kind::Block(statements, None), Type::unit(), place))
            }
            "print" | "eprint" | "eprintln" | "dbg" => {
                place.refused(format!("`{name}!` is not known in a kernel: write `println!(\"{{}}\", value)`"))
            }
            "vec" => place.refused("a kernel has no `vec!`: write an array, `[0.0; 4]`"),
            "format" => place.refused("a kernel has no `format!`: print the values by `println!`"),
            "todo" | "unimplemented" | "unreachable" => {
                place.refused(format!("`{name}!` is not known here: write `panic!(\"{name}\")`"))
            }
            _ => place.refused(format!("`{name}!` is not known here")),
        }
    }

    /// Panics unless a condition holds. In an optimized kernel, `debug_assert!` checks nothing.
    fn unless(&mut self, condition: Expr, panic: Expr, is_debug: bool, place: Place) -> Checked<Expr> {
        if is_debug {
            return Ok(Expr::new(Kind::Block(Vec::new(), None), Type::unit(), place));
        }
        let not = Expr::new(Kind::Unary(Unary::Not, condition.into()), Type::Bool, place);
        Ok(Expr::new(Kind::If(not.into(), panic.into(), None), Type::unit(), place))
    }

    /// Prints a line, or panics. `otherwise` is the default text.
    fn said(&mut self, panics: bool, tokens: TokenStream, otherwise: &str, place: Place) -> Checked<Expr> {
        let spoken: Checked<Spoken> =
            syn::parse2(tokens).or_else(|error| Place::of(place.file, error.span()).refused(reason_of(&error)));
        let Spoken { text, mut arguments } = spoken?;
        let text = match &text {
            Some(text) => self.numbered(text, &mut arguments)?,
            None => otherwise.to_owned(),
        };
        let mut values = Vec::new();
        for (_, argument) in &arguments {
            let value = self.expression(argument, None)?;
            let value = self.value(value);
            let mut of = self.inference.outer(&value.r#type);
            while let Type::Array(parts) = &of {
                of = self.inference.outer(&parts[0]);
            }
            if !self.inference.is_integer(&of) && !self.inference.is_float(&of) && of != Type::Bool {
                let shown = self.shown(&of);
                return value.place.refused(format!(
                    "a kernel prints numbers, bools and arrays of them, and this is {shown}: print its parts one by one"
                ));
            }
            values.push(value);
        }
        let of = if panics { Type::Never } else { Type::unit() };
        Ok(Expr::new(Kind::Say(Message { panics, text }.into(), values), of, place))
    }

    /// The text with numbered arguments. Adds the arguments that the text captures.
    fn numbered(&self, text: &LitStr, arguments: &mut Vec<(Option<Ident>, Syntax)>) -> Checked<String> {
        let place = self.place(text);
        let (given, mut used) = (text.value(), vec![false; arguments.len()]);
        let (mut result, mut next, mut rest) = (String::new(), 0, &*given);
        while let Some(brace) = rest.find(['{', '}']) {
            result.push_str(&rest[..brace]);
            let (open, behind) = (&rest[brace..=brace], &rest[brace + 1..]);
            if let Some(behind) = behind.strip_prefix(open) {
                result.push_str(open);
                result.push_str(open);
                rest = behind;
                continue;
            }
            let Some((argument, behind)) = behind.split_once('}').filter(|_| open == "{") else {
                return place.refused("a brace without its pair: write `{{` or `}}` for a brace of the text");
            };
            let (name, form) = argument.split_once(':').unwrap_or((argument, ""));
            let name = name.trim();
            if form.contains(['$', '*']) {
                return place.refused("widths and precisions of a kernel's message are constant: `{:8.3}`");
            }
            let named = |known: &Option<Ident>| known.as_ref().is_some_and(|known| known == name);
            let number = if name.is_empty() {
                next += 1;
                next - 1
            } else if let Ok(number) = name.parse() {
                number
            } else if let Some(number) = arguments.iter().position(|(known, _)| named(known)) {
                number
            } else {
                let Ok(captured) = syn::parse_str::<Ident>(name) else {
                    let reason = format!("`{{{name}}}` is no name: write `{{}}`, and `{name}` behind the text");
                    return place.refused(reason);
                };
                let captured = Ident::new(&captured.to_string(), text.span());
                arguments.push((Some(captured.clone()), syn::parse_quote!(#captured)));
                arguments.len() - 1
            };
            if number >= arguments.len() {
                return place.refused("the text has more `{}` than values behind it");
            }
            if let Some(used) = used.get_mut(number) {
                *used = true;
            }
            result.push_str(&format!("{{{number}:{form}}}"));
            rest = behind;
        }
        result.push_str(rest);
        match used.iter().position(|used| !used) {
            Some(unused) => {
                let place = self.place(&arguments[unused].1);
                place.refused("the text has no `{}` for this value")
            }
            None => Ok(result),
        }
    }
}

fn reason_of(error: &syn::Error) -> String {
    error.to_string().trim_start_matches("unexpected end of input, ").to_owned()
}

fn panic_with(text: String, values: Vec<Expr>, place: Place) -> Expr {
    Expr::new(Kind::Say(Message { panics: true, text }.into(), values), Type::Never, place)
}

/// The tokens before the first comma outside brackets.
fn condition_of(tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .take_while(|token| !matches!(token, proc_macro2::TokenTree::Punct(mark) if mark.as_char() == ','))
        .collect()
}
