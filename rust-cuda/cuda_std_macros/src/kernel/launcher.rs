//! The value by which the host launches a kernel.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Generics;

use super::Kernel;
use crate::body;
use crate::instance::Instance;
use crate::parameter::{Parameter, internal};

/// The value by which the host launches the kernel: a function without callers, since a variable may have a function's
/// name, but not that of a constant or of a struct without fields. Its type has a name of its own, since a module or a type
/// may have the kernel's: `use cuda_std::thread; fn thread() {}` compiles in Rust.
///
/// An unsafe kernel's value is made by an unsafe function, whose caller promises that all launches keep the kernel's contract.
/// The simulator cannot check its accesses and rejects the launch, but the host's compiler checks the types of its body.
///
/// Of a generic kernel, function and type have its parameters, so that a launch infers types from its arguments. The body is
/// compiled for each instance, as in PTX; a trait of the kernel has the instances.
pub(super) fn expand(kernel: &Kernel, instances: &[Instance]) -> TokenStream {
    let (text, span) = (kernel.name(), kernel.function.sig.ident.span());
    let launcher = Launcher {
        kernel,
        generics: &kernel.function.sig.generics,
        ty: format_ident!("__cuda_std_kernel_{text}", span = span),
        table: format_ident!("__cuda_std_instances_{text}", span = span),
        text,
    };
    let (function, ty) = (launcher.function(), launcher.ty());
    let table = launcher.is_generic().then(|| launcher.table(instances));
    let implementation = launcher.implementation();
    quote!(#function #ty #table #implementation)
}

struct Launcher<'k> {
    kernel: &'k Kernel,
    generics: &'k Generics,
    /// The kernel's name.
    text: String,
    /// The name of the value's type.
    ty: Ident,
    /// The name of the trait of a generic kernel's instances.
    table: Ident,
}

impl Launcher<'_> {
    fn is_generic(&self) -> bool {
        !self.generics.params.is_empty()
    }

    /// The function with the kernel's name, which makes the value.
    fn function(&self) -> TokenStream {
        let Self { kernel, ty, .. } = self;
        let (in_impl, in_type, clause) = self.generics.split_for_impl();
        let (attributes, visibility, name) = (&kernel.function.attrs, &kernel.function.vis, &kernel.function.sig.ident);
        let safety = kernel.is_unsafe.then(|| quote!(unsafe));
        let launched_not_called = (!kernel.is_unsafe).then(|| quote!(_: ::cuda_std::LaunchedNotCalled));
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #(#attributes)*
            #[allow(unsafe_code)]
            #visibility #safety fn #name #in_impl(#launched_not_called) -> #ty #in_type #clause {
                #ty { _private: ::core::marker::PhantomData }
            }
        }
    }

    /// The value's type.
    fn ty(&self) -> TokenStream {
        let Self { kernel, text, ty, .. } = self;
        let (in_impl, in_type, clause) = self.generics.split_for_impl();
        let visibility = &kernel.function.vis;
        let types = self.generics.type_params().map(|parameter| &parameter.ident);
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #[doc(hidden)]
            #[allow(non_camel_case_types)]
            #visibility struct #ty #in_impl #clause {
                _private: ::core::marker::PhantomData<fn(#(#types),*)>,
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl #in_impl ::core::clone::Clone for #ty #in_type #clause {
                fn clone(&self) -> Self {
                    *self
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl #in_impl ::core::marker::Copy for #ty #in_type #clause {}

            #[cfg(not(target_arch = "nvptx64"))]
            impl #in_impl ::core::fmt::Debug for #ty #in_type #clause {
                fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    formatter.write_str(#text)
                }
            }
        }
    }

    /// The trait of a generic kernel's instances, which has what differs between them.
    fn table(&self, instances: &[Instance]) -> TokenStream {
        let Self { text, ty, table, .. } = self;
        let (in_impl, _, clause) = self.generics.split_for_impl();
        let (visibility, in_thread) = (&self.kernel.function.vis, self.parameter_types(quote!('_)));
        let message = format!("the kernel `{text}` is not compiled for these types or constants");
        let note = "list them: `#[kernel(f32, f64)]` for one parameter, `#[kernel(<f32, 16>, <f64, 8>)]` for several";
        let impls = instances.iter().map(|Instance { name, aliases, arguments }| {
            let (constants, run_thread) = (self.constants(name), self.run_thread());
            quote! {
                #[cfg(not(target_arch = "nvptx64"))]
                const _: () = {
                    #(#aliases)*
                    // The bounds hold of what is listed.
                    const _: fn(#ty<#(#arguments),*>) = |_| {};
                    #[doc(hidden)]
                    #[allow(clippy::all)]
                    impl #table<#(#arguments),*> for #ty<#(#arguments),*> {
                        #constants
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
    }

    /// The implementation of `cuda_std::Kernel`. A generic kernel's takes from the trait of its instances what differs between them.
    fn implementation(&self) -> TokenStream {
        let Self { kernel, ty, table, .. } = self;
        let (in_impl, in_type, clause) = self.generics.split_for_impl();
        let (constants, run_thread, clause) = if self.is_generic() {
            let of_instance = |item: TokenStream| quote!(<#ty #in_type as #table #in_type>::#item);
            let (name, signature, run) =
                (of_instance(quote!(NAME)), of_instance(quote!(SIGNATURE)), of_instance(quote!(run_thread)));
            let mut clause = clause.cloned().unwrap_or_else(|| syn::parse_quote!(where));
            clause.predicates.push(syn::parse_quote!(#ty #in_type: #table #in_type));
            (
                quote!(const NAME: &'static str = #name; const SIGNATURE: &'static [u8] = #signature;),
                quote!(fn run_thread(parameters: &Self::Parameters<'_>) { #run(parameters) }),
                quote!(#clause),
            )
        } else {
            (self.constants(&self.text), self.run_thread(), quote!(#clause))
        };
        let names = kernel.parameters.iter().map(|parameter| &parameter.name);
        let argument_types = kernel.parameters.iter().map(Parameter::argument_type);
        let in_kernel = self.parameter_types(quote!('a));
        let pushes = kernel.parameters.iter().map(Parameter::push);
        let raw = internal("raw");
        let binding = if kernel.is_unsafe { refused_binding() } else { self.binding() };
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the arguments are pushed in the order of the signature, each by the method of its type.
            #[allow(unsafe_code)]
            unsafe impl #in_impl ::cuda_std::Kernel for #ty #in_type #clause {
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

                #run_thread
            }
        }
    }

    /// The kernel's types in the simulator, which borrow for `lifetime`; none for an unsafe kernel.
    fn parameter_types(&self, lifetime: TokenStream) -> Vec<TokenStream> {
        let simulated = self.kernel.parameters.iter().filter(|_| !self.kernel.is_unsafe);
        simulated.map(|parameter| parameter.type_in_body(lifetime.clone())).collect()
    }

    /// The name in PTX, and the signature.
    fn constants(&self, name: &str) -> TokenStream {
        let parts = self.kernel.signature_parts();
        quote! {
            const NAME: &'static str = #name;
            const SIGNATURE: &'static [u8] = {
                #parts
                const SIGNATURE: [u8; ::cuda_std::signature::length(PARTS)] = ::cuda_std::signature::concat(PARTS);
                &SIGNATURE
            };
        }
    }

    /// The function that runs a thread in the simulator. An unsafe kernel's only has the body, for the compiler.
    fn run_thread(&self) -> TokenStream {
        let (kernel, in_thread) = (self.kernel, self.parameter_types(quote!('_)));
        if kernel.is_unsafe {
            let body = kernel.body_function(&kernel.function.block);
            return quote! {
                fn run_thread(_: &(#(#in_thread,)*)) {
                    #[allow(dead_code, unused, unsafe_code, clippy::all)]
                    #body
                }
            };
        }
        let mut block = (*kernel.function.block).clone();
        body::count_loops(&mut block);
        let body = kernel.body_function(&block);
        let names: Vec<_> = kernel.parameters.iter().map(|parameter| &parameter.name).collect();
        quote! {
            fn run_thread((#(#names,)*): &(#(#in_thread,)*)) {
                #body
                __cuda_std_kernel_body(#(::core::clone::Clone::clone(#names)),*);
            }
        }
    }

    /// The functions that make the simulator's parameters of the arguments, and that visit the buffers which the kernel writes.
    fn binding(&self) -> TokenStream {
        let parameters = &self.kernel.parameters;
        let (names, visit) = (parameters.iter().map(|parameter| &parameter.name), internal("visit"));
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
}

/// The same functions of an unsafe kernel, which the simulator does not run.
fn refused_binding() -> TokenStream {
    quote! {
        fn bind_arguments<'a, __Memory: ::cuda_std::Memory>(
            _: Self::Arguments<'a, __Memory>,
        ) -> ::core::result::Result<Self::Parameters<'a>, ::cuda_std::ArgumentError> {
            ::core::result::Result::Err(::cuda_std::ArgumentError::UnsafeKernel)
        }

        fn for_each_mutable(
            _: &Self::Parameters<'_>,
            _: &mut dyn ::core::ops::FnMut(&dyn ::cuda_std::simulator::Saved),
        ) {}
    }
}
