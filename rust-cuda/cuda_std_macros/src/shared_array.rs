//! `shared_array![T; N]`: expands to a symbol in shared memory, or to the simulator's array with that key.

use std::sync::atomic::{AtomicU64, Ordering};

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Result, Token, Type, parse2};

struct Declaration {
    element: Type,
    length: Expr,
}

impl Parse for Declaration {
    fn parse(input: ParseStream) -> Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { element, length: input.parse()? })
    }
}

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let hash = site_hash(&input.to_string());
    let Declaration { element, length } = parse2(input)?;
    let symbol = format!("__shared_{hash:016x}");
    let declare = Literal::string(&format!(".shared .align 16 .b8 {symbol}[{{bytes}}];"));
    let address = Literal::string(&format!("mov.u64 {{0}}, {symbol};"));
    Ok(quote! {{
        // global_asm! must be at module level; `super` is the module of the kernel.
        #[cfg(target_arch = "nvptx64")]
        #[allow(unused_imports)]
        mod shared_array {
            use super::*;
            ::core::arch::global_asm!(#declare, bytes = const ::core::mem::size_of::<#element>() * (#length));
        }
        #[cfg(target_arch = "nvptx64")]
        #[allow(unsafe_code)]
        let array = {
            let address: u64;
            // SAFETY: the instructions read only the address of the symbol declared above.
            unsafe {
                ::core::arch::asm!(
                    #address, "cvta.shared.u64 {0}, {0};", out(reg64) address,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            // SAFETY: the symbol is in shared memory, of the array's size, and this is its only use.
            unsafe { ::cuda_std::SharedArray::<#element, { #length }>::from_address(address) }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let array = ::cuda_std::SharedArray::<#element, { #length }>::in_block(#hash);
        array
    }})
}

/// A key that identifies this `shared_array!` in the program: a hash of the crate's name, the number of arrays before
/// it in the crate and its text. It does not depend on paths or the time, so that the same source gives the same PTX
/// everywhere.
fn site_hash(text: &str) -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let crate_name = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let site = format!("{crate_name}/{count}/{text}");
    // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
    site.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
