//! `shared_array![T; N]`: expands to a symbol in shared memory, or to the simulator's array with that key.

use std::sync::atomic::{AtomicU64, Ordering};

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Result, Token, Type, parse2};

use crate::parameter::internal;

struct Declaration {
    element: Type,
    /// The number of elements, or of rows of `columns` elements.
    length: Expr,
    columns: Option<Expr>,
}

impl Parse for Declaration {
    fn parse(input: ParseStream) -> Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        let length = input.parse()?;
        Ok(match element {
            Type::Array(row) => Self { element: *row.elem, length, columns: Some(row.len) },
            element => Self { element, length, columns: None },
        })
    }
}

const FORM: &str = "an array in shared memory has an element type and a constant length, and no values yet: `shared_array![f32; 256]`, or `shared_array![[f32; 33]; 32]` of rows";

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (count, hash) = site_of(&input.to_string(), &COUNT);
    let Declaration { element, length, columns } = parse2(input).map_err(|error| Error::new(error.span(), FORM))?;
    let symbol = format!("__shared_{count:04}_{hash:016x}");
    let load = Literal::string(&format!("mov.u64 {{0}}, {symbol};"));
    let (array, address) = (internal("array"), internal("address"));
    let (ty, count) = match columns {
        None => (quote!(::cuda_std::SharedArray::<#element, { #length }>), quote!((#length))),
        Some(columns) => {
            (quote!(::cuda_std::SharedArray2d::<#element, { #length }, { #columns }>), quote!((#length) * (#columns)))
        }
    };
    Ok(quote! {{
        #[cfg(target_arch = "nvptx64")]
        #[allow(unsafe_code)]
        let #array = {
            // Rust has no statics in shared memory: cuda_builder moves this one there by its name. It is an item of the block, so
            // that its length may name the function's constants.
            #[repr(C, align(16))]
            struct Room([u8; ::core::mem::size_of::<#element>() * #count]);
            #[unsafe(export_name = #symbol)]
            static ROOM: Room = Room([0; ::core::mem::size_of::<#element>() * #count]);
            let #address: u64;
            // SAFETY: the instructions read only the address of the symbol declared above.
            unsafe {
                ::core::arch::asm!(
                    #load, "cvta.shared.u64 {0}, {0};", out(reg64) #address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            // SAFETY: the symbol is in shared memory, of the array's size, and this is its only use.
            unsafe { #ty::from_address(#address) }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let #array = #ty::in_block(#hash);
        #array
    }})
}

/// The number of calls of a macro before this one in the crate, of which `calls` keeps count, and a key that identifies it in the
/// program: a hash of the crate's name, that number and its text. It does not depend on paths or the time, so that the same source gives the same PTX
/// everywhere.
pub(crate) fn site_of(text: &str, calls: &AtomicU64) -> (u64, u64) {
    let count = calls.fetch_add(1, Ordering::Relaxed);
    let crate_name = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let site = format!("{crate_name}/{count}/{text}");
    // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
    let hash =
        site.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (count, hash)
}
