//! The function that PTX exports.

use proc_macro2::TokenStream;
use quote::quote;

use super::Kernel;
use crate::instance::Instance;
use crate::parameter::Parameter;

/// The entry of an instance, and its signature. A generic kernel's are in a scope in which its parameters name the instance's arguments.
pub(super) fn expand(kernel: &Kernel, instance: &Instance) -> TokenStream {
    let (function, signature, aliases) = (function(kernel, instance), signature(kernel, instance), &instance.aliases);
    if aliases.is_empty() {
        return quote! {
            #[cfg(target_arch = "nvptx64")]
            #function

            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #signature
            };
        };
    }
    let (in_impl, _, clause) = kernel.function.sig.generics.split_for_impl();
    quote! {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            // Uses what the bounds name.
            #[allow(dead_code)]
            fn bounds #in_impl() #clause {}
        };

        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #(#aliases)*
            #function
            #signature
        };
    }
}

fn function(kernel: &Kernel, instance: &Instance) -> TokenStream {
    let (attributes, name) = (&kernel.function.attrs, &kernel.function.sig.ident);
    let exported = &instance.name;
    let export = match instance.aliases.is_empty() {
        true => quote!(#[unsafe(no_mangle)]),
        false => quote!(#[unsafe(export_name = #exported)]),
    };
    let in_entry = kernel.parameters.iter().map(Parameter::in_entry);
    let body = kernel.body_function(&kernel.function.block);
    let passed = kernel.parameters.iter().map(Parameter::passed_to_body);
    let mut call = quote!(__cuda_std_kernel_body(#(#passed),*));
    if kernel.is_unsafe {
        call = quote!(unsafe { #call });
    }
    quote! {
        #(#attributes)*
        #[allow(unsafe_code, improper_ctypes_definitions, clippy::all)]
        #export
        pub unsafe extern "ptx-kernel" fn #name(#(#in_entry),*) {
            #[inline(always)]
            #body
            #call;
        }
    }
}

fn signature(kernel: &Kernel, instance: &Instance) -> TokenStream {
    let (parts, symbol) = (kernel.signature_parts(), format!("{}__signature", instance.name));
    quote! {
        #parts
        #[allow(unsafe_code)]
        #[unsafe(export_name = #symbol)]
        pub static SIGNATURE: [u8; ::cuda_std::signature::length(PARTS)] = ::cuda_std::signature::concat(PARTS);
    }
}
