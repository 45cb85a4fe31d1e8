//! The procedural macros of `cuda_std`: `#[kernel]`, `shared_array!` and `#[derive(ByValue)]`.
//!
//! Use them through `cuda_std`, which documents them; the code that they produce names its items.

mod body;
mod brackets;
mod by_value;
mod cuda_c;
mod float_methods;
mod imports;
mod instance;
mod kernel;
mod parameter;
mod say;
mod shared_array;

use proc_macro::TokenStream;

/// Turns a function into a GPU kernel. See `cuda_std::kernel`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares an array in the block's shared memory. See `cuda_std::shared_array`.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    shared_array::expand(body::keep_fragments(input.into())).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// A struct that a kernel takes by value. See `cuda_std::ByValue`.
#[proc_macro_derive(ByValue)]
pub fn by_value(item: TokenStream) -> TokenStream {
    by_value::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Writes what a kernel says. See `cuda_std::speech`.
#[doc(hidden)]
#[proc_macro]
pub fn say(input: TokenStream) -> TokenStream {
    say::expand(body::keep_fragments(input.into())).unwrap_or_else(syn::Error::into_compile_error).into()
}
