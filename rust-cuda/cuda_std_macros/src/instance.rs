//! The instances of a generic kernel: `#[kernel(f32, f64)]`, `#[kernel(<f32, 16>, <f64, 8>)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{AngleBracketedGenericArguments, Error, GenericArgument, GenericParam, Result, Signature, Token};

/// One entry of the PTX that a kernel becomes.
pub(crate) struct Instance {
    /// The entry's name: of a generic kernel its name and its arguments, `scale__f32_16`.
    pub(crate) name: String,
    /// `type T = f32; const N: usize = 16;`, in the scope of which the kernel is compiled.
    pub(crate) aliases: Vec<TokenStream>,
    pub(crate) arguments: Vec<GenericArgument>,
}

/// The arguments of an instance, as written.
struct Arguments(Vec<GenericArgument>);

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Self> {
        if input.peek(Token![<]) {
            Ok(Self(input.parse::<AngleBracketedGenericArguments>()?.args.into_iter().collect()))
        } else {
            Ok(Self(vec![input.parse()?]))
        }
    }
}

impl Instance {
    /// The instances that the attribute's arguments list; a kernel without parameters has one.
    ///
    /// # Errors
    /// If a generic kernel has no list, if another has one, or if an instance has too many or too few arguments, or is listed twice.
    pub(crate) fn parse_all(attribute: TokenStream, signature: &Signature) -> Result<Vec<Self>> {
        let (name, parameters) = (signature.ident.unraw().to_string(), &signature.generics.params);
        if parameters.is_empty() {
            return match attribute.is_empty() {
                true => Ok(vec![Self { name, aliases: Vec::new(), arguments: Vec::new() }]),
                false => {
                    Err(Error::new_spanned(attribute, "#[kernel] takes no arguments, unless the function is generic"))
                }
            };
        }
        if attribute.is_empty() {
            let form = if parameters.len() == 1 { "#[kernel(f32, f64)]" } else { "#[kernel(<f32, 16>, <f64, 8>)]" };
            let message =
                format!("PTX has a function for each type: list those that the program launches, as in `{form}`");
            return Err(Error::new_spanned(parameters, message));
        }
        let listed = Punctuated::<Arguments, Token![,]>::parse_terminated.parse2(attribute)?;
        let mut instances: Vec<Self> = Vec::new();
        for Arguments(arguments) in listed {
            let text = quote!(#(#arguments),*);
            if arguments.len() != parameters.len() {
                let (given, taken) = (arguments.len(), parameters.len());
                return Err(Error::new_spanned(
                    text,
                    format!("the kernel has {taken} parameters, and this gives {given}"),
                ));
            }
            let mut suffix = String::new();
            for character in text.to_string().chars().filter(|character| !character.is_whitespace()) {
                suffix.push(if character.is_ascii_alphanumeric() { character } else { '_' });
            }
            let name = format!("{name}__{suffix}");
            if instances.iter().any(|other| other.name == name) {
                return Err(Error::new_spanned(text, "this instance is listed already"));
            }
            let aliases = parameters.iter().zip(&arguments).map(|(parameter, argument)| alias(parameter, argument));
            let aliases = aliases.collect::<Result<_>>()?;
            instances.push(Self { name, aliases, arguments });
        }
        Ok(instances)
    }
}

/// The item that gives an argument the name of its parameter.
fn alias(parameter: &GenericParam, argument: &GenericArgument) -> Result<TokenStream> {
    let unused = quote!(#[allow(dead_code, non_camel_case_types)]);
    match (parameter, argument) {
        (GenericParam::Type(parameter), GenericArgument::Type(ty)) => {
            let name = &parameter.ident;
            Ok(quote!(#unused type #name = #ty;))
        }
        (GenericParam::Const(parameter), _) if !matches!(argument, GenericArgument::Lifetime(_)) => {
            let (name, ty) = (&parameter.ident, &parameter.ty);
            Ok(quote!(#unused const #name: #ty = #argument;))
        }
        _ => {
            let tokens = argument.to_token_stream();
            let span = tokens.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
            Err(Error::new(span, format!("`{tokens}` is no type, which this parameter of the kernel is")))
        }
    }
}
