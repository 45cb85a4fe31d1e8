//! The kinds of kernel parameters, and the code that each expands to.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericArgument, Pat, PathArguments, Result, Type, TypePath, parse_quote};

/// A variable of the macro's own, which a user's variable of that name does not meet.
pub(crate) fn internal(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The kind of a parameter.
enum Kind {
    /// `&[T]`: memory that the kernel only reads. Holds T.
    ReadOnly(Type),
    /// `GlobalMut<T>`: memory that the kernel writes. Holds the path as written in the source, and T.
    Mutable(TypePath, Type),
    /// A scalar or a struct of scalars, by value. Holds its type.
    Value(Type),
}

/// One parameter of a kernel.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    is_mutable: bool,
    kind: Kind,
}

impl Parameter {
    /// Parses `input`.
    ///
    /// # Errors
    /// At the span of `input`, if a kernel cannot have such a parameter.
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
        let kind = Kind::parse(&typed.ty)?;
        Ok(Self { name: pattern.ident.clone(), is_mutable: pattern.mutability.is_some(), kind })
    }

    /// The parameter in the kernel's body: `name: Type`.
    pub(crate) fn in_body(&self) -> TokenStream {
        let name = &self.name;
        let ty = self.type_in_body(quote!('_));
        let mutability = self.is_mutable.then(|| quote!(mut));
        quote!(#mutability #name: #ty)
    }

    /// The type in the kernel's body, which borrows for `lifetime`.
    pub(crate) fn type_in_body(&self, lifetime: TokenStream) -> TokenStream {
        match &self.kind {
            Kind::ReadOnly(element) => quote_spanned!(element.span()=> ::cuda_std::Global<#lifetime, #element>),
            Kind::Mutable(path, element) => {
                // The path as written, so that the import of `GlobalMut` is used.
                let mut path = path.clone();
                if let Some(last) = path.path.segments.last_mut() {
                    last.arguments = PathArguments::AngleBracketed(parse_quote!(<#lifetime, #element>));
                }
                quote!(#path)
            }
            Kind::Value(value) => quote!(#value),
        }
    }

    /// The type of the launch's argument, whose buffer is in the memory `__Memory`.
    pub(crate) fn argument_type(&self) -> TokenStream {
        match &self.kind {
            Kind::ReadOnly(element) => {
                quote_spanned!(element.span()=> &'a <__Memory as ::cuda_std::Memory>::Buffer<#element>)
            }
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> &'a mut <__Memory as ::cuda_std::Memory>::Buffer<#element>)
            }
            Kind::Value(value) => quote!(#value),
        }
    }

    /// Code that appends the argument to `raw` in the driver's form.
    pub(crate) fn push(&self) -> TokenStream {
        let (name, raw) = (&self.name, internal("raw"));
        let text = name.to_string();
        match &self.kind {
            Kind::ReadOnly(element) => {
                quote_spanned!(element.span()=> #raw.push_buffer::<__Memory, #element>(#text, #name)?;)
            }
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> #raw.push_buffer_mut::<__Memory, #element>(#text, #name)?;)
            }
            // Spanned at the type: this is where the compiler rejects a type that is not passed by value.
            Kind::Value(value) => quote_spanned!(value.span()=> #raw.push_value::<#value>(#text, #name);),
        }
    }

    /// The parameter's part of the kernel's signature, a slice of bytes.
    pub(crate) fn signature(&self) -> TokenStream {
        match &self.kind {
            Kind::ReadOnly(element) => {
                quote_spanned!(element.span()=> &[::cuda_std::signature::READ_ONLY, <#element as ::cuda_std::Element>::CODE])
            }
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> &[::cuda_std::signature::MUTABLE, <#element as ::cuda_std::Element>::CODE])
            }
            Kind::Value(value) => {
                quote_spanned!(value.span()=> <#value as ::cuda_std::ByValue>::SIGNATURE)
            }
        }
    }

    /// The value that the simulator passes to each thread.
    pub(crate) fn bind(&self, index: usize) -> TokenStream {
        let name = &self.name;
        let text = name.to_string();
        let index = index as u32;
        match &self.kind {
            Kind::ReadOnly(element) => {
                quote_spanned!(element.span()=> ::cuda_std::Global::<#element>::bind::<__Memory>(#text, #name)?)
            }
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> ::cuda_std::GlobalMut::<#element>::bind::<__Memory>(#text, #index, #name)?)
            }
            Kind::Value(_) => quote!(#name),
        }
    }

    /// The parameters of the PTX entry: a slice is a pointer and a length.
    pub(crate) fn in_entry(&self) -> TokenStream {
        let name = &self.name;
        let (pointer, length) = self.pointer_and_length();
        match &self.kind {
            // A reference to zero elements: LLVM infers that nothing else writes there and emits loads through the
            // read-only cache (ld.global.nc).
            Kind::ReadOnly(element) => quote!(#pointer: &'static [#element; 0], #length: usize),
            Kind::Mutable(_, element) => quote!(#pointer: *mut #element, #length: usize),
            Kind::Value(value) => quote!(#name: #value),
        }
    }

    /// In the PTX entry, the argument that is passed to the body.
    pub(crate) fn passed_to_body(&self) -> TokenStream {
        let name = &self.name;
        let (pointer, length) = self.pointer_and_length();
        match &self.kind {
            // SAFETY (of the produced code): the launch passes each buffer's own address and length.
            Kind::ReadOnly(_) => quote!(unsafe { ::cuda_std::Global::from_raw_parts(#pointer.as_ptr(), #length) }),
            Kind::Mutable(..) => quote!(unsafe { ::cuda_std::GlobalMut::from_raw_parts(#pointer, #length) }),
            Kind::Value(_) => quote!(#name),
        }
    }

    fn pointer_and_length(&self) -> (Ident, Ident) {
        (internal(&format!("{}_pointer", self.name)), internal(&format!("{}_length", self.name)))
    }
}

impl Kind {
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
                    Err(Error::new_spanned(ty, "a kernel takes `&[T]`, `GlobalMut<T>` or a value, no other reference"))
                }
            },
            Type::Path(path) => {
                let last = path.path.segments.last().filter(|segment| segment.ident == "GlobalMut");
                let Some(last) = last else { return Ok(Self::Value(ty.clone())) };
                if let PathArguments::AngleBracketed(arguments) = &last.arguments {
                    let mut types = arguments.args.iter().filter_map(|argument| match argument {
                        GenericArgument::Type(element) => Some(element.clone()),
                        _ => None,
                    });
                    if let Some(element) = types.next() {
                        return Ok(Self::Mutable(path.clone(), element));
                    }
                }
                Err(Error::new_spanned(ty, "`GlobalMut` needs its element type: `GlobalMut<f32>`"))
            }
            Type::Paren(inner) => Self::parse(&inner.elem),
            Type::Group(inner) => Self::parse(&inner.elem),
            Type::Ptr(_) => {
                let message = "a kernel takes `&[T]` or `GlobalMut<T>`, no raw pointer: the launch passes a buffer's address with \
                               its length, so that each access is checked";
                Err(Error::new_spanned(ty, message))
            }
            Type::ImplTrait(_) => Err(Error::new_spanned(ty, "a kernel cannot be generic: name the type")),
            _ => Err(Error::new_spanned(ty, "a kernel takes `&[T]`, `GlobalMut<T>`, a scalar or a struct of scalars")),
        }
    }
}
