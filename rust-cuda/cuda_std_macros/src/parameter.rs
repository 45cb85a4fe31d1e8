//! What a kernel's parameters may be, and what each becomes.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericArgument, Pat, PathArguments, Result, Type, TypePath, parse_quote};

/// How a parameter reaches the kernel.
enum Passing {
    /// `&[T]`: memory that the kernel only reads; T.
    ReadOnly(Type),
    /// `GlobalMut<T>`: memory that the kernel writes; the path as it was written, and T.
    Mutable(TypePath, Type),
    /// A number, by value.
    Scalar(Type),
}

/// One parameter of a kernel.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    is_mutable: bool,
    passing: Passing,
}

impl Parameter {
    /// Understands `input`, or says at its place why a kernel cannot have it.
    pub(crate) fn parse(input: &FnArg) -> Result<Self> {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => return Err(Error::new_spanned(receiver, "a kernel cannot be a method")),
        };
        let Pat::Ident(pattern) = &*typed.pat else {
            return Err(Error::new_spanned(&typed.pat, "a kernel's parameter needs a plain name"));
        };
        if let Some(by_ref) = &pattern.by_ref {
            return Err(Error::new_spanned(by_ref, "a kernel's parameter needs a plain name"));
        }
        let passing = Passing::parse(&typed.ty)?;
        Ok(Self { name: pattern.ident.clone(), is_mutable: pattern.mutability.is_some(), passing })
    }

    /// The parameter as the kernel's body sees it: `name: Type`.
    pub(crate) fn in_body(&self) -> TokenStream {
        let name = &self.name;
        let ty = self.type_in_body(quote!('_));
        let mutability = self.is_mutable.then(|| quote!(mut));
        quote!(#mutability #name: #ty)
    }

    /// The type that the kernel's body sees, which borrows for `lifetime`.
    pub(crate) fn type_in_body(&self, lifetime: TokenStream) -> TokenStream {
        match &self.passing {
            Passing::ReadOnly(element) => quote_spanned!(element.span()=> ::cuda_std::Global<#lifetime, #element>),
            Passing::Mutable(path, element) => {
                // As it was written, so that its import is used.
                let mut path = path.clone();
                if let Some(last) = path.path.segments.last_mut() {
                    last.arguments = PathArguments::AngleBracketed(parse_quote!(<#lifetime, #element>));
                }
                quote!(#path)
            }
            Passing::Scalar(scalar) => quote!(#scalar),
        }
    }

    /// The type of the launch's argument, whose buffers live in the memory `__Memory`.
    pub(crate) fn argument_type(&self) -> TokenStream {
        match &self.passing {
            Passing::ReadOnly(element) => {
                quote_spanned!(element.span()=> &'a <__Memory as ::cuda_std::Memory>::Buffer<#element>)
            }
            Passing::Mutable(_, element) => {
                quote_spanned!(element.span()=> &'a mut <__Memory as ::cuda_std::Memory>::Buffer<#element>)
            }
            Passing::Scalar(scalar) => quote!(#scalar),
        }
    }

    /// Appends the argument to `raw`, as a driver wants it.
    pub(crate) fn push(&self) -> TokenStream {
        let name = &self.name;
        let text = name.to_string();
        match &self.passing {
            Passing::ReadOnly(element) => {
                quote_spanned!(element.span()=> raw.push_buffer::<__Memory, #element>(#text, #name)?;)
            }
            Passing::Mutable(_, element) => {
                quote_spanned!(element.span()=> raw.push_buffer_mut::<__Memory, #element>(#text, #name)?;)
            }
            // Reported at the type: this is where one that is not a number is refused.
            Passing::Scalar(scalar) => quote_spanned!(scalar.span()=> raw.push_scalar::<#scalar>(#name);),
        }
    }

    /// Its two bytes of the kernel's signature.
    pub(crate) fn signature(&self) -> TokenStream {
        match &self.passing {
            Passing::ReadOnly(element) => {
                quote_spanned!(element.span()=> ::cuda_std::signature::READ_ONLY, <#element as ::cuda_std::Element>::CODE)
            }
            Passing::Mutable(_, element) => {
                quote_spanned!(element.span()=> ::cuda_std::signature::MUTABLE, <#element as ::cuda_std::Element>::CODE)
            }
            Passing::Scalar(scalar) => {
                quote_spanned!(scalar.span()=> ::cuda_std::signature::SCALAR, <#scalar as ::cuda_std::Scalar>::CODE)
            }
        }
    }

    /// What the simulator hands to each thread.
    pub(crate) fn bind(&self, index: usize) -> TokenStream {
        let name = &self.name;
        let text = name.to_string();
        let index = index as u32;
        match &self.passing {
            Passing::ReadOnly(element) => {
                quote_spanned!(element.span()=> ::cuda_std::Global::<#element>::bind::<__Memory>(#text, #name)?)
            }
            Passing::Mutable(_, element) => {
                quote_spanned!(element.span()=> ::cuda_std::GlobalMut::<#element>::bind::<__Memory>(#text, #index, #name)?)
            }
            Passing::Scalar(_) => quote!(#name),
        }
    }

    /// The parameters of the PTX entry: a slice is a pointer and a length.
    pub(crate) fn in_entry(&self) -> TokenStream {
        let name = &self.name;
        let (pointer, length) = self.pointer_and_length();
        match &self.passing {
            // A reference to no elements: LLVM then knows that nobody else writes there, and reads through the
            // read-only cache (ld.global.nc).
            Passing::ReadOnly(element) => quote!(#pointer: &'static [#element; 0], #length: usize),
            Passing::Mutable(_, element) => quote!(#pointer: *mut #element, #length: usize),
            Passing::Scalar(scalar) => quote!(#name: #scalar),
        }
    }

    /// In the PTX entry, what the body gets.
    pub(crate) fn passed_to_body(&self) -> TokenStream {
        let name = &self.name;
        let (pointer, length) = self.pointer_and_length();
        match &self.passing {
            // SAFETY (of what is produced): the launch passes each buffer's own address and length.
            Passing::ReadOnly(_) => quote!(unsafe { ::cuda_std::Global::from_raw_parts(#pointer.as_ptr(), #length) }),
            Passing::Mutable(..) => quote!(unsafe { ::cuda_std::GlobalMut::from_raw_parts(#pointer, #length) }),
            Passing::Scalar(_) => quote!(#name),
        }
    }

    fn pointer_and_length(&self) -> (Ident, Ident) {
        (format_ident!("{}_pointer", self.name), format_ident!("{}_length", self.name))
    }
}

impl Passing {
    fn parse(ty: &Type) -> Result<Self> {
        match ty {
            Type::Reference(reference) => match &*reference.elem {
                Type::Slice(slice) if reference.mutability.is_none() => Ok(Self::ReadOnly((*slice.elem).clone())),
                Type::Slice(slice) => {
                    let element = &slice.elem;
                    let element = quote!(#element);
                    let message = format!("many threads share this memory: take `GlobalMut<{element}>`");
                    Err(Error::new_spanned(ty, message))
                }
                _ => {
                    Err(Error::new_spanned(ty, "a kernel takes `&[T]`, `GlobalMut<T>` or a number, no other reference"))
                }
            },
            Type::Path(path) => {
                let last = path.path.segments.last().filter(|segment| segment.ident == "GlobalMut");
                let Some(last) = last else { return Ok(Self::Scalar(ty.clone())) };
                if let PathArguments::AngleBracketed(arguments) = &last.arguments {
                    let mut types = arguments.args.iter().filter_map(|argument| match argument {
                        GenericArgument::Type(element) => Some(element.clone()),
                        _ => None,
                    });
                    if let Some(element) = types.next() {
                        return Ok(Self::Mutable(path.clone(), element));
                    }
                }
                Err(Error::new_spanned(ty, "`GlobalMut` needs its element's type: `GlobalMut<f32>`"))
            }
            Type::Paren(inner) => Self::parse(&inner.elem),
            Type::Group(inner) => Self::parse(&inner.elem),
            Type::ImplTrait(_) => Err(Error::new_spanned(ty, "a kernel cannot be generic: name the type")),
            _ => Err(Error::new_spanned(ty, "a kernel takes `&[T]`, `GlobalMut<T>` or a number")),
        }
    }
}
