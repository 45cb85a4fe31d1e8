//! `say!`: the record of a message, of which PTX has the text in a comment.
//!
//! The text becomes a static, which `cuda_builder` turns into that comment: the message's purpose, its file, its line, and the text with
//! arguments by their numbers.

use std::sync::atomic::AtomicU64;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitStr, Result, Token, parenthesized, parse2};

use crate::shared_array::site_of;

/// `says; "text", arguments`, `panics; …`, `checks; …`, or `panics(condition);`.
struct Said {
    purpose: Ident,
    text: LitStr,
    arguments: Vec<(Option<Ident>, Expr)>,
}

impl Parse for Said {
    fn parse(input: ParseStream) -> Result<Self> {
        let purpose: Ident = input.parse()?;
        if input.peek(syn::token::Paren) {
            let condition;
            parenthesized!(condition in input);
            // Parentheses keep a fragment of a macro together.
            let condition = match condition.parse()? {
                Expr::Paren(inner) => inner.expr,
                condition => Box::new(condition),
            };
            let condition = quote!(#condition).to_string();
            input.parse::<Token![;]>()?;
            let text = format!("assertion failed: {}", condition.replace('{', "{{").replace('}', "}}"));
            return Ok(Self { purpose, text: LitStr::new(&text, Span::call_site()), arguments: Vec::new() });
        }
        input.parse::<Token![;]>()?;
        if input.is_empty() {
            let text = if purpose == "says" { "" } else { "explicit panic" };
            return Ok(Self { purpose, text: LitStr::new(text, Span::call_site()), arguments: Vec::new() });
        }
        let text = input.parse().map_err(|error| Error::new(error.span(), "a kernel's message has a literal text"))?;
        let mut arguments = Vec::new();
        if input.parse::<Option<Token![,]>>()?.is_some() {
            let listed = Punctuated::<Argument, Token![,]>::parse_terminated(input)?;
            arguments = listed.into_iter().map(|Argument { name, value }| (name, value)).collect();
        }
        Ok(Self { purpose, text, arguments })
    }
}

struct Argument {
    name: Option<Ident>,
    value: Expr,
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut name = None;
        if input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            name = Some(input.parse()?);
            input.parse::<Token![=]>()?;
        }
        Ok(Self { name, value: input.parse()? })
    }
}

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (_, number) = site_of(&input.to_string(), &COUNT);
    let Said { purpose, text, mut arguments } = parse2(input)?;
    let numbered = numbered(&text, &mut arguments)?;
    let purpose = purpose.to_string();
    let values: Vec<_> = arguments.iter().map(|(_, value)| value).collect();
    let checked = quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        if false {
            #(let _ = ::cuda_std::speech::Spoken::words(&(#values));)*
        }
    };
    if purpose == "checks" {
        return Ok(quote!({ #checked }));
    }
    let symbol = format!("__cuda_std_message_{number:016x}");
    let number = Literal::u64_suffixed(number);
    let names: Vec<_> = (0..values.len()).map(|index| format_ident!("argument_{index}")).collect();
    Ok(quote! {{
        #checked
        #[cfg(target_arch = "nvptx64")]
        {
            const LINE: [u8; 4] = ::core::line!().to_le_bytes();
            const PARTS: &[&[u8]] =
                &[#purpose.as_bytes(), b"\0", &LINE, ::core::file!().as_bytes(), b"\0", #numbered.as_bytes()];
            #[allow(unsafe_code)]
            #[unsafe(export_name = #symbol)]
            static TEXT: [u8; ::cuda_std::signature::length(PARTS)] = ::cuda_std::signature::concat(PARTS);
            match (#(&(#values),)*) {
                (#(#names,)*) => {
                    let words = 0 #(+ ::cuda_std::speech::Spoken::words(#names))*;
                    #[allow(unused_mut)]
                    let mut record = ::cuda_std::Record::begin(#number, words);
                    #(::cuda_std::speech::Spoken::say(#names, &mut |word| record.word(word));)*
                    record.end();
                }
            }
        }
    }})
}

/// The text with arguments by their numbers. Adds those that the text captures.
fn numbered(text: &LitStr, arguments: &mut Vec<(Option<Ident>, Expr)>) -> Result<String> {
    let error = |message: &str| Err::<String, _>(Error::new(text.span(), message));
    let given = text.value();
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
            return error("a brace without its pair: write `{{` or `}}` for a brace of the text");
        };
        let (name, spec) = argument.split_once(':').unwrap_or((argument, ""));
        let name = name.trim();
        if spec.contains(['$', '*']) {
            return error("widths and precisions of a kernel's message are constant: `{:8.3}`");
        }
        let number = if name.is_empty() {
            next += 1;
            next - 1
        } else if let Ok(number) = name.parse() {
            number
        } else if let Some(number) =
            arguments.iter().position(|(known, _)| known.as_ref().is_some_and(|known| known == name))
        {
            number
        } else {
            let Ok(captured) = syn::parse_str::<Ident>(name) else { return error("an argument is a number or a name") };
            let captured = Ident::new(&captured.to_string(), text.span());
            arguments.push((Some(captured.clone()), syn::parse_quote!(#captured)));
            arguments.len() - 1
        };
        if number >= arguments.len() {
            return error("the text has more arguments than follow it");
        }
        result.push_str(&format!("{{{number}:{spec}}}"));
        rest = behind;
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tokens: TokenStream) -> Result<(String, usize)> {
        let Said { text, mut arguments, .. } = parse2(tokens)?;
        let text = numbered(&text, &mut arguments)?;
        Ok((text, arguments.len()))
    }

    #[test]
    fn arguments_get_numbers() {
        for (said, expected, count) in [
            (quote!(says;), "", 0),
            (quote!(panics;), "explicit panic", 0),
            (quote!(panics(a < 3);), "assertion failed: a < 3", 0),
            (quote!(says; "a {} {x:>5} {{}} {0:?} {}", 1, y), "a {0:} {2:>5} {{}} {0:?} {1:}", 3),
            (quote!(says; "{x} {x:e} {y}", y = 2,), "{1:} {1:e} {0:}", 2),
        ] {
            assert_eq!(of(said).unwrap(), (expected.to_owned(), count));
        }
    }

    #[test]
    fn texts_that_are_none_are_rejected() {
        for (said, message) in [
            (quote!(says; text), "literal"),
            (quote!(says; "{"), "brace"),
            (quote!(says; "}"), "brace"),
            (quote!(says; "{} {}", 1), "more arguments"),
            (quote!(says; "{:.*}", 1, 2), "constant"),
            (quote!(says; "{:w$}", 1), "constant"),
            (quote!(says; "{a b}"), "number or a name"),
        ] {
            let error = of(said).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
