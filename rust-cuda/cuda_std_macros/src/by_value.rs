//! `#[derive(ByValue)]`: a struct that a kernel takes by value.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Result, Type, parse2};

pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let input = parse2::<DeriveInput>(item)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            "a kernel takes structs by value: pass an enum's number as `u32`",
        ));
    };
    if !input.generics.params.is_empty() {
        let message = "the launch and the PTX agree on one type: name the types of the fields";
        return Err(Error::new_spanned(&input.generics, message));
    }
    if !input.attrs.iter().any(is_repr_c) {
        let message = "host and GPU lay out only a `#[repr(C)]` struct in the same way: add `#[repr(C)]`";
        return Err(Error::new_spanned(&input.ident, message));
    }
    let name = &input.ident;
    let types: Vec<&Type> = data.fields.iter().map(|field| &field.ty).collect();
    // Spanned at the type: this is where the compiler rejects a field that is not passed by value.
    let parts = types.iter().map(|ty| quote_spanned!(ty.span()=> <#ty as ::cuda_std::ByValue>::PART));
    Ok(quote! {
        // SAFETY: every field is a type that is passed by value, and there is no padding, since the sizes of the fields add
        // up.
        #[allow(unsafe_code)]
        unsafe impl ::cuda_std::ByValue for #name {
            const SIGNATURE: &'static [u8] = <Self as ::cuda_std::ByValue>::PART;
            const PART: &'static [u8] = {
                const PARTS: &[&[u8]] =
                    &[&[::cuda_std::signature::STRUCT], #(#parts,)* &[::cuda_std::signature::END_OF_STRUCT]];
                const PART: [u8; ::cuda_std::signature::length(PARTS)] = ::cuda_std::signature::concat(PARTS);
                &PART
            };
        }

        const _: () = ::core::assert!(
            ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
            "a struct that is passed by value has no padding: order its fields by size"
        );
    })
}

/// Whether an attribute is `#[repr(C)]`, perhaps with an alignment.
fn is_repr_c(attribute: &Attribute) -> bool {
    let mut is_c = false;
    if attribute.path().is_ident("repr") {
        // What does not parse is no `C`; the compiler rejects it itself.
        let _ = attribute.parse_nested_meta(|meta| {
            is_c |= meta.path.is_ident("C");
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        });
    }
    is_c
}
