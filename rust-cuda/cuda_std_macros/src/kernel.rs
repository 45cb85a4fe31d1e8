//! `#[kernel]`: expands a function to the PTX entry and to the launcher, which has the simulator's copy of the body.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Block, Error, Item, ItemFn, Result, ReturnType, parse2};

use crate::body;
use crate::imports;
use crate::instance::Instance;
use crate::parameter::{Parameter, internal};

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut function = parse_function(body::keep_fragments(item))?;
    check_signature(&function)?;
    let instances = Instance::parse_all(attribute, &function.sig)?;

    let is_unsafe = matches!(function.sig.safety, syn::Safety::Unsafe(_));
    let mut parameters = Vec::new();
    let mut errors: Option<Error> = None;
    for input in &function.sig.inputs {
        match Parameter::parse(input, is_unsafe) {
            Ok(parameter) => parameters.push(parameter),
            Err(error) => match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            },
        }
    }
    if let Some(error) = errors {
        return Err(error);
    }
    // An unsafe kernel has slices of the language.
    let speaking = body::without_std(&mut function.block, if is_unsafe { &[] } else { &parameters })?;
    let entries = instances.iter().map(|instance| entry(&function, &parameters, is_unsafe, instance));
    let launcher = launcher(&function, &parameters, is_unsafe, &instances);
    let imports = imports::uses(&speaking);
    Ok(quote!(#(#entries)* #launcher #imports))
}

fn parse_function(item: TokenStream) -> Result<ItemFn> {
    parse2::<ItemFn>(item.clone()).map_err(|error| match parse2::<Item>(item) {
        Ok(other) => Error::new_spanned(
            other,
            "#[kernel] belongs to a function with a body: `#[kernel] pub fn name(x: &[f32], out: GlobalMut<f32>) { … }`",
        ),
        Err(_) => error,
    })
}

fn check_signature(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(inline) = function.attrs.iter().find(|attribute| attribute.path().is_ident("inline")) {
        return Err(Error::new_spanned(inline, "a kernel is launched, and nothing calls it: remove `#[inline]`"));
    }
    let exports = |attribute: &&Attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text.contains("no_mangle") || text.contains("export_name")
    };
    if let Some(attribute) = function.attrs.iter().find(exports) {
        return Err(Error::new_spanned(attribute, "#[kernel] exports the function by its name: remove the attribute"));
    }
    if let Some(token) = &signature.asyncness {
        return Err(Error::new_spanned(token, "a kernel cannot be async: a GPU thread has nothing to await"));
    }
    if let Some(token) = &signature.constness {
        return Err(Error::new_spanned(token, "a kernel cannot be const: it runs on the GPU"));
    }
    if let Some(abi) = &signature.abi {
        return Err(Error::new_spanned(abi, "#[kernel] chooses the calling convention itself"));
    }
    if let Some(lifetime) = signature.generics.lifetimes().next() {
        return Err(Error::new_spanned(
            lifetime,
            "the memory of a launch has one lifetime: leave out `<'a>` and write `&[T]`",
        ));
    }
    if let Some(clause) = signature.generics.where_clause.as_ref().filter(|_| signature.generics.params.is_empty()) {
        return Err(Error::new_spanned(clause, "a kernel without type parameters needs no `where`: remove it"));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(Error::new_spanned(variadic, "a kernel has a fixed number of parameters"));
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        return Err(Error::new_spanned(ty, "a kernel returns nothing: write results to a `GlobalMut`"));
    }
    if let syn::Safety::Safe(token) = &signature.safety {
        return Err(Error::new_spanned(token, "a kernel is safe unless it is `unsafe`: leave the word out"));
    }
    Ok(())
}

/// The name of the function with the body, which no user's name equals.
fn body_function(in_body: impl Iterator<Item = TokenStream>, body: &Block, is_unsafe: bool) -> TokenStream {
    let safety = is_unsafe.then(|| quote!(unsafe));
    quote! {
        #[allow(clippy::too_many_arguments)]
        #safety fn __cuda_std_kernel_body(#(#in_body),*) #body
    }
}

/// The function that PTX exports: of a generic kernel, that of one instance.
fn entry(function: &ItemFn, parameters: &[Parameter], is_unsafe: bool, instance: &Instance) -> TokenStream {
    let (attributes, name) = (&function.attrs, &function.sig.ident);
    let in_entry = parameters.iter().map(Parameter::in_entry);
    let body = body_function(parameters.iter().map(Parameter::in_body), &function.block, is_unsafe);
    let passed = parameters.iter().map(Parameter::passed_to_body);
    let mut call = quote!(__cuda_std_kernel_body(#(#passed),*));
    if is_unsafe {
        call = quote!(unsafe { #call });
    }
    let (in_impl, _, clause) = function.sig.generics.split_for_impl();
    let exported = &instance.name;
    let (parts, symbol) = (signature_parts(name, parameters), format!("{exported}__signature"));
    let export = match instance.aliases.is_empty() {
        true => quote!(#[unsafe(no_mangle)]),
        false => quote!(#[unsafe(export_name = #exported)]),
    };
    let exports = quote! {
        #(#attributes)*
        #[allow(unsafe_code, improper_ctypes_definitions, clippy::all)]
        #export
        pub unsafe extern "ptx-kernel" fn #name(#(#in_entry),*) {
            #[inline(always)]
            #body
            #call;
        }
    };
    let signature = quote! {
        #parts
        #[allow(unsafe_code)]
        #[unsafe(export_name = #symbol)]
        pub static SIGNATURE: [u8; ::cuda_std::signature::length(PARTS)] = ::cuda_std::signature::concat(PARTS);
    };
    let aliases = &instance.aliases;
    match aliases.is_empty() {
        true => quote! {
            #[cfg(target_arch = "nvptx64")]
            #exports

            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #signature
            };
        },
        false => quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                // Uses what the bounds name.
                #[allow(dead_code)]
                fn bounds #in_impl() #clause {}
            };

            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #(#aliases)*
                #exports
                #signature
            };
        },
    }
}

/// The constant `PARTS`, the parts of the signature in the format of `cuda_std::signature`. The compiler checks the parameters of the
/// kernel `name` where it evaluates them.
fn signature_parts(name: &Ident, parameters: &[Parameter]) -> TokenStream {
    let parts = parameters.iter().map(Parameter::signature);
    let rooms = parameters.iter().map(Parameter::room);
    let kernel = name.unraw().to_string();
    quote! {
        const PARTS: &[&[u8]] = {
            ::cuda_std::signature::check_room(#kernel, &[#(#rooms),*]);
            &[&[::cuda_std::signature::START], #(#parts,)* &[::cuda_std::signature::END]]
        };
    }
}

/// The value by which the host launches the kernel: a function without callers, since a variable may have a function's
/// name, but not that of a constant or of a struct without fields. Its type has a name of its own, since a module or a type
/// may have the kernel's: `use cuda_std::thread; fn thread() {}` compiles in Rust.
///
/// An unsafe kernel's value is made by an unsafe function, whose caller promises that all launches keep the kernel's contract.
/// The simulator cannot check its accesses and rejects the launch, but the host's compiler checks the types of its body.
///
/// Of a generic kernel, function and type have its parameters, so that a launch infers types from its arguments. The body is
/// compiled for each instance, as in PTX; a trait of the kernel has the instances.
fn launcher(function: &ItemFn, parameters: &[Parameter], is_unsafe: bool, instances: &[Instance]) -> TokenStream {
    let (attributes, name) = (&function.attrs, &function.sig.ident);
    let (visibility, text) = (&function.vis, name.unraw().to_string());
    let generics = &function.sig.generics;
    let (in_impl, in_type, clause) = generics.split_for_impl();
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
    let argument_types = parameters.iter().map(Parameter::argument_type);
    let parameter_types = |lifetime: TokenStream| -> Vec<TokenStream> {
        match is_unsafe {
            true => Vec::new(),
            false => parameters.iter().map(|parameter| parameter.type_in_body(lifetime.clone())).collect(),
        }
    };
    let in_kernel = parameter_types(quote!('a));
    let in_thread = parameter_types(quote!('_));
    let pushes = parameters.iter().map(Parameter::push);
    let mut block = (*function.block).clone();
    if !is_unsafe {
        body::count_loops(&mut block);
    }
    let body = body_function(parameters.iter().map(Parameter::in_body), &block, is_unsafe);
    let parts = signature_parts(name, parameters);
    let (raw, visit) = (internal("raw"), internal("visit"));
    let run_thread = match is_unsafe {
        true => quote! {
            fn run_thread(_: &(#(#in_thread,)*)) {
                #[allow(dead_code, unused, unsafe_code, clippy::all)]
                #body
            }
        },
        false => quote! {
            fn run_thread((#(#names,)*): &(#(#in_thread,)*)) {
                #body
                __cuda_std_kernel_body(#(::core::clone::Clone::clone(#names)),*);
            }
        },
    };
    let binding = match is_unsafe {
        true => quote! {
            fn bind_arguments<'a, __Memory: ::cuda_std::Memory>(
                _: Self::Arguments<'a, __Memory>,
            ) -> ::core::result::Result<Self::Parameters<'a>, ::cuda_std::ArgumentError> {
                ::core::result::Result::Err(::cuda_std::ArgumentError::UnsafeKernel)
            }

            fn for_each_mutable(
                _: &Self::Parameters<'_>,
                _: &mut dyn ::core::ops::FnMut(&dyn ::cuda_std::simulator::Saved),
            ) {}
        },
        false => {
            let binds = parameters.iter().enumerate().map(|(index, parameter)| parameter.bind(index));
            let mutable_or_none = parameters.iter().map(|parameter| {
                let name = &parameter.name;
                if parameter.is_mutable() { quote!(#name) } else { quote!(_) }
            });
            let mutable = parameters.iter().filter(|parameter| parameter.is_mutable()).map(|parameter| &parameter.name);
            quote! {
                fn bind_arguments<'a, __Memory: ::cuda_std::Memory>(
                    (#(#names,)*): Self::Arguments<'a, __Memory>,
                ) -> ::core::result::Result<Self::Parameters<'a>, ::cuda_std::ArgumentError> {
                    ::core::result::Result::Ok((#(#binds,)*))
                }

                fn for_each_mutable(
                    (#(#mutable_or_none,)*): &Self::Parameters<'_>,
                    #visit: &mut dyn ::core::ops::FnMut(&dyn ::cuda_std::simulator::Saved),
                ) {
                    #(#visit(#mutable);)*
                }
            }
        }
    };
    let launched_not_called = if is_unsafe { quote!() } else { quote!(_: ::cuda_std::LaunchedNotCalled) };
    let safety = is_unsafe.then(|| quote!(unsafe));
    let launcher = Ident::new(&format!("__cuda_std_kernel_{text}"), name.span());
    let table = Ident::new(&format!("__cuda_std_instances_{text}"), name.span());
    let signature = quote! {
        const SIGNATURE: &'static [u8] = {
            #parts
            const SIGNATURE: [u8; ::cuda_std::signature::length(PARTS)] = ::cuda_std::signature::concat(PARTS);
            &SIGNATURE
        };
    };
    let is_generic = !generics.params.is_empty();
    let of_instance = |item: TokenStream| quote!(<#launcher #in_type as #table #in_type>::#item);
    let (constants, run, listed) = match is_generic {
        false => (quote!(const NAME: &'static str = #text; #signature), run_thread.clone(), quote!(#clause)),
        true => {
            let (name, signature, run) =
                (of_instance(quote!(NAME)), of_instance(quote!(SIGNATURE)), of_instance(quote!(run_thread)));
            let mut clause = clause.cloned().unwrap_or_else(|| syn::parse_quote!(where));
            clause.predicates.push(syn::parse_quote!(#launcher #in_type: #table #in_type));
            (
                quote!(const NAME: &'static str = #name; const SIGNATURE: &'static [u8] = #signature;),
                quote!(fn run_thread(parameters: &Self::Parameters<'_>) { #run(parameters) }),
                quote!(#clause),
            )
        }
    };
    let instances = is_generic.then(|| {
        let message = format!("the kernel `{text}` is not compiled for these types or constants");
        let note = "list them: `#[kernel(f32, f64)]` for one parameter, `#[kernel(<f32, 16>, <f64, 8>)]` for several";
        let impls = instances.iter().map(|Instance { name, aliases, arguments }| {
            quote! {
                #[cfg(not(target_arch = "nvptx64"))]
                const _: () = {
                    #(#aliases)*
                    // The bounds hold of what is listed.
                    const _: fn(#launcher<#(#arguments),*>) = |_| {};
                    #[doc(hidden)]
                    #[allow(clippy::all)]
                    impl #table<#(#arguments),*> for #launcher<#(#arguments),*> {
                        const NAME: &'static str = #name;
                        #signature
                        #run_thread
                    }
                };
            }
        });
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #[doc(hidden)]
            #[allow(non_camel_case_types)]
            #[diagnostic::on_unimplemented(message = #message, label = "not among the kernel's instances", note = #note)]
            #visibility trait #table #in_impl #clause {
                const NAME: &'static str;
                const SIGNATURE: &'static [u8];
                fn run_thread(parameters: &(#(#in_thread,)*));
            }

            #(#impls)*
        }
    });
    let types = generics.type_params().map(|parameter| &parameter.ident);
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attributes)*
        #[allow(unsafe_code)]
        #visibility #safety fn #name #in_impl(#launched_not_called) -> #launcher #in_type #clause {
            #launcher { _private: ::core::marker::PhantomData }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #launcher #in_impl #clause {
            _private: ::core::marker::PhantomData<fn(#(#types),*)>,
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl #in_impl ::core::clone::Clone for #launcher #in_type #clause {
            fn clone(&self) -> Self {
                *self
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl #in_impl ::core::marker::Copy for #launcher #in_type #clause {}

        #[cfg(not(target_arch = "nvptx64"))]
        impl #in_impl ::core::fmt::Debug for #launcher #in_type #clause {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.write_str(#text)
            }
        }

        #instances

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the arguments are pushed in the order of the signature, each by the method of its type.
        #[allow(unsafe_code)]
        unsafe impl #in_impl ::cuda_std::Kernel for #launcher #in_type #listed {
            const PLACE: (&'static str, u32) = (::core::file!(), ::core::line!());
            #constants
            type Arguments<'a, __Memory: ::cuda_std::Memory> = (#(#argument_types,)*);
            type Parameters<'a> = (#(#in_kernel,)*);

            fn push_arguments<__Memory: ::cuda_std::Memory>(
                (#(#names,)*): Self::Arguments<'_, __Memory>,
                #raw: &mut ::cuda_std::RawParameters,
            ) -> ::core::result::Result<(), ::cuda_std::ArgumentError> {
                #(#pushes)*
                ::core::result::Result::Ok(())
            }

            #binding

            #run
        }
    }
}
