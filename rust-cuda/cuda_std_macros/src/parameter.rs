//! The kinds of kernel parameters, and the code that each expands to.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericArgument, Pat, PathArguments, PointerMutability, Result, Type, TypePath, parse_quote};

/// A variable of the macro's own, which a user's variable of that name does not meet.
pub(crate) fn internal(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The kind of a parameter.
#[derive(Clone)]
enum Kind {
    /// `&[T]`: memory that the kernel only reads. Holds T.
    ReadOnly(Type),
    /// `GlobalMut<T>`: memory that the kernel writes. Holds the path as written in the source, and T.
    Mutable(TypePath, Type),
    /// What is passed by value. Holds its type.
    Value(Type),
    /// `&[T]` of an unsafe kernel, a slice of the language. Holds T.
    Slice(Type),
    /// `*const T` or `*mut T` of an unsafe kernel: the address of a buffer. Holds T, and whether the kernel writes.
    Pointer(Type, bool),
    /// A value of an unsafe kernel that has a path, of any type that is `Copy`.
    Copied(Type),
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
    pub(crate) fn parse(input: &FnArg, is_unsafe: bool) -> Result<Self> {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => return Err(Error::new_spanned(receiver, "a kernel cannot be a method")),
        };
        let pattern = match &*typed.pat {
            Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => pattern,
            _ => {
                let message = "a kernel's parameter needs a plain name, by which faults name its memory: take it apart in the body";
                return Err(Error::new_spanned(&typed.pat, message));
            }
        };
        let kind = match is_unsafe {
            true => Kind::parse_unsafe(&typed.ty)?,
            false => Kind::parse(&typed.ty)?,
        };
        Ok(Self { name: pattern.ident.clone(), is_mutable: pattern.mutability.is_some(), kind })
    }

    /// Whether it is memory of the launch.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self.kind, Kind::ReadOnly(_) | Kind::Mutable(..))
    }

    /// The element type of memory that the kernel only reads, as text.
    pub(crate) fn read_only_element(&self) -> Option<String> {
        match &self.kind {
            Kind::ReadOnly(element) => Some(text(element)),
            _ => None,
        }
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
            Kind::Value(value) | Kind::Copied(value) => quote!(#value),
            Kind::Slice(element) => quote!(&#lifetime [#element]),
            Kind::Pointer(element, false) => quote!(*const #element),
            Kind::Pointer(element, true) => quote!(*mut #element),
        }
    }

    /// The kind as the launch has it: a pointer to an array has a buffer of its elements.
    fn launched(&self) -> Kind {
        match &self.kind {
            Kind::Pointer(Type::Array(array), is_mutable) => {
                let mut element = &*array.elem;
                while let Type::Array(inner) = element {
                    element = &inner.elem;
                }
                Kind::Pointer(element.clone(), *is_mutable)
            }
            kind => kind.clone(),
        }
    }

    /// The type of the launch's argument, whose buffer is in the memory `__Memory`.
    pub(crate) fn argument_type(&self) -> TokenStream {
        match &self.launched() {
            Kind::ReadOnly(element) | Kind::Slice(element) | Kind::Pointer(element, false) => {
                quote_spanned!(element.span()=> &'a <__Memory as ::cuda_std::Memory>::Buffer<#element>)
            }
            Kind::Mutable(_, element) | Kind::Pointer(element, true) => {
                quote_spanned!(element.span()=> &'a mut <__Memory as ::cuda_std::Memory>::Buffer<#element>)
            }
            Kind::Value(value) | Kind::Copied(value) => quote!(#value),
        }
    }

    /// Code that appends the argument to `raw` in the driver's form.
    pub(crate) fn push(&self) -> TokenStream {
        let (name, raw) = (&self.name, internal("raw"));
        let text = name.unraw().to_string();
        match &self.launched() {
            Kind::ReadOnly(element) | Kind::Slice(element) => {
                quote_spanned!(element.span()=> #raw.push_buffer::<__Memory, #element>(#text, #name)?;)
            }
            Kind::Pointer(element, false) => {
                quote_spanned!(element.span()=> #raw.push_pointer::<__Memory, #element>(#text, #name)?;)
            }
            Kind::Pointer(element, true) => {
                quote_spanned!(element.span()=> #raw.push_pointer_mut::<__Memory, #element>(#text, #name)?;)
            }
            // SAFETY (of the produced code): who made the kernel's value has promised that it has no padding.
            Kind::Copied(value) => quote_spanned!(value.span()=> unsafe { #raw.push_copy::<#value>(#text, #name) };),
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> #raw.push_buffer_mut::<__Memory, #element>(#text, #name)?;)
            }
            // Spanned at the type: this is where the compiler rejects a type that is not passed by value.
            Kind::Value(value) => quote_spanned!(value.span()=> #raw.push_value::<#value>(#text, #name);),
        }
    }

    /// The parameter's part of the kernel's signature, a slice of bytes.
    pub(crate) fn signature(&self) -> TokenStream {
        match &self.launched() {
            Kind::ReadOnly(element) | Kind::Slice(element) => {
                quote_spanned!(element.span()=> &[::cuda_std::signature::READ_ONLY, <#element as ::cuda_std::Element>::CODE])
            }
            Kind::Pointer(element, is_mutable) => {
                let kind = if *is_mutable { quote!(POINTER_MUT) } else { quote!(POINTER) };
                quote_spanned!(element.span()=> &[::cuda_std::signature::#kind, <#element as ::cuda_std::Element>::CODE])
            }
            Kind::Copied(value) => {
                quote_spanned!(value.span()=> &::cuda_std::signature::copied(::core::mem::size_of::<#value>()))
            }
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> &[::cuda_std::signature::MUTABLE, <#element as ::cuda_std::Element>::CODE])
            }
            Kind::Value(value) => {
                quote_spanned!(value.span()=> ::cuda_std::signature::of_value::<#value>())
            }
        }
    }

    /// The room that the parameter takes.
    pub(crate) fn room(&self) -> TokenStream {
        let text = self.name.unraw().to_string();
        match &self.kind {
            Kind::ReadOnly(_) | Kind::Slice(_) | Kind::Mutable(..) => {
                quote!(::cuda_std::signature::Room::of_buffer(#text, true))
            }
            Kind::Pointer(..) => quote!(::cuda_std::signature::Room::of_buffer(#text, false)),
            Kind::Value(value) | Kind::Copied(value) => {
                quote_spanned!(value.span()=> ::cuda_std::signature::Room::of_value::<#value>(#text))
            }
        }
    }

    /// Whether the kernel writes the buffer.
    pub(crate) fn is_mutable(&self) -> bool {
        matches!(self.kind, Kind::Mutable(..))
    }

    /// The value that the simulator passes to each thread.
    pub(crate) fn bind(&self, index: usize) -> TokenStream {
        let name = &self.name;
        let text = name.unraw().to_string();
        let index = index as u32;
        match &self.kind {
            Kind::ReadOnly(element) => {
                quote_spanned!(element.span()=> ::cuda_std::Global::<#element>::bind::<__Memory>(#text, #name)?)
            }
            Kind::Mutable(_, element) => {
                quote_spanned!(element.span()=> ::cuda_std::GlobalMut::<#element>::bind::<__Memory>(#text, #index, #name)?)
            }
            // The simulator runs no unsafe kernel.
            Kind::Value(_) | Kind::Slice(_) | Kind::Pointer(..) | Kind::Copied(_) => quote!(#name),
        }
    }

    /// The parameters of the PTX entry: a slice is a pointer and a length.
    pub(crate) fn in_entry(&self) -> TokenStream {
        let name = &self.name;
        let (pointer, length) = self.pointer_and_length();
        match &self.kind {
            // A reference to zero elements: LLVM infers that nothing else writes there and emits loads through the
            // read-only cache (ld.global.nc).
            Kind::ReadOnly(element) | Kind::Slice(element) => {
                quote!(#pointer: &'static [#element; 0], #length: usize)
            }
            Kind::Mutable(_, element) => quote!(#pointer: *mut #element, #length: usize),
            Kind::Pointer(element, false) => quote!(#name: *const #element),
            Kind::Pointer(element, true) => quote!(#name: *mut #element),
            Kind::Value(value) | Kind::Copied(value) => quote!(#name: #value),
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
            Kind::Slice(_) => quote!(unsafe { ::core::slice::from_raw_parts(#pointer.as_ptr(), #length) }),
            Kind::Value(_) | Kind::Pointer(..) | Kind::Copied(_) => quote!(#name),
        }
    }

    fn pointer_and_length(&self) -> (Ident, Ident) {
        let name = self.name.unraw();
        (internal(&format!("{name}_pointer")), internal(&format!("{name}_length")))
    }
}

impl Kind {
    /// A parameter of an unsafe kernel, which takes slices and pointers of the language besides what others take.
    fn parse_unsafe(ty: &Type) -> Result<Self> {
        match ty {
            Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem {
                Type::Slice(slice) => Ok(Self::Slice((*slice.elem).clone())),
                _ => Self::parse(ty),
            },
            Type::Ptr(pointer) => {
                let is_mutable = matches!(pointer.mutability, PointerMutability::Mut(_));
                Ok(Self::Pointer((*pointer.elem).clone(), is_mutable))
            }
            Type::Path(path)
                if !is_named(path, "GlobalMut") && path.path.get_ident().is_none_or(|name| !is_scalar(name)) =>
            {
                Ok(Self::Copied(ty.clone()))
            }
            _ => Self::parse(ty),
        }
    }

    fn parse(ty: &Type) -> Result<Self> {
        let error = |message: String| Err(Error::new_spanned(ty, message));
        match ty {
            Type::Reference(reference) => {
                let is_mutable = reference.mutability.is_some();
                match &*reference.elem {
                    Type::Slice(slice) if !is_mutable => match instead_of_element(&slice.elem) {
                        Some(instead) => error(instead),
                        None => Ok(Self::ReadOnly((*slice.elem).clone())),
                    },
                    Type::Slice(slice) => {
                        error(format!("many threads share this memory: take `GlobalMut<{}>`", text(&slice.elem)))
                    }
                    Type::Path(path) if is_named(path, "GlobalMut") => {
                        error(format!("`GlobalMut` is passed by value: take `{}`", text(path)))
                    }
                    Type::Path(path) if is_named(path, "Vec") => match element(path) {
                        Some(element) if !is_mutable => {
                            error(format!("a GPU has no `Vec`: take `&[{}]`", text(&element)))
                        }
                        Some(element) => error(format!("a GPU has no `Vec`: take `GlobalMut<{}>`", text(&element))),
                        None => error(TAKES.to_owned()),
                    },
                    Type::Path(path) if is_named(path, "str") || is_named(path, "String") => error(NO_TEXT.to_owned()),
                    Type::TraitObject(_) => error(NO_FUNCTION.to_owned()),
                    Type::Path(path) if is_mutable => {
                        let path = text(path);
                        error(format!(
                            "a kernel writes to memory of the device: take `GlobalMut<{path}>`, of one element"
                        ))
                    }
                    Type::Path(path) => {
                        let path = text(path);
                        error(format!("one value is passed by value: take `{path}`; for many, take `&[{path}]`"))
                    }
                    _ => error(TAKES.to_owned()),
                }
            }
            Type::Path(path) if is_named(path, "GlobalMut") => match element(path) {
                Some(Type::Slice(slice)) => {
                    error(format!("`GlobalMut` has many elements already: take `GlobalMut<{}>`", text(&slice.elem)))
                }
                Some(element) => match instead_of_element(&element) {
                    Some(instead) => error(instead),
                    None => Ok(Self::Mutable(path.clone(), element)),
                },
                None => error("`GlobalMut` needs its element type: `GlobalMut<f32>`".to_owned()),
            },
            Type::Path(path) if is_named(path, "Global") => {
                let element = element(path).map_or_else(|| "T".to_owned(), |element| text(&element));
                error(format!("take `&[{element}]`: the kernel's body sees it as `Global<{element}>`"))
            }
            Type::Path(path) if is_named(path, "Vec") || is_named(path, "Box") => match element(path) {
                Some(Type::Slice(slice)) => error(of_elements(&slice.elem)),
                Some(element) => error(of_elements(&element)),
                None => error(TAKES.to_owned()),
            },
            Type::Path(path) if is_named(path, "String") => error(NO_TEXT.to_owned()),
            Type::Path(path) => match instead_of_value(path) {
                Some(instead) => error(instead),
                None => Ok(Self::Value(ty.clone())),
            },
            Type::Paren(inner) => Self::parse(&inner.elem),
            Type::Group(inner) => Self::parse(&inner.elem),
            Type::Ptr(_) => error(
                "a kernel takes `&[T]` or `GlobalMut<T>`, no raw pointer: the launch passes a buffer's address with \
                 its length, so that each access is checked. An `unsafe fn` may take pointers"
                    .to_owned(),
            ),
            Type::Array(_) => Ok(Self::Value(ty.clone())),
            Type::Tuple(_) => error(
                "a kernel takes no tuple: give each value a parameter, or declare a struct of scalars by `plain_data!`"
                    .to_owned(),
            ),
            Type::FnPtr(_) | Type::TraitObject(_) => error(NO_FUNCTION.to_owned()),
            Type::ImplTrait(_) => error("a kernel cannot be generic: name the type".to_owned()),
            _ => error(TAKES.to_owned()),
        }
    }
}

const TAKES: &str = "a kernel takes `&[T]`, `GlobalMut<T>`, a scalar, an array or a struct";
const NO_TEXT: &str = "a GPU has no strings: take the text's bytes, `&[u8]`";
const NO_FUNCTION: &str =
    "a kernel takes no function: the host's code is not on the GPU. Call a function of the kernel's crate by its name";

/// The message for a type that is no element, where the macro sees that it is none. The compiler rejects others.
fn instead_of_element(element: &Type) -> Option<String> {
    let name = text(element);
    let advice = match element {
        Type::Path(path) => match path.path.get_ident().map(ToString::to_string).unwrap_or_default().as_str() {
            "bool" => "store 0 and 1 as `u8` or `u32`",
            "char" | "usize" => "store it as `u32` or `u64`",
            "isize" => "store it as `i32` or `i64`",
            _ if is_named(path, "Vec") || is_named(path, "Box") || is_named(path, "String") => ROWS,
            _ => return None,
        },
        Type::Reference(_) | Type::Slice(_) | Type::Array(_) => ROWS,
        Type::Tuple(_) => "give each part a buffer of its own",
        _ => return None,
    };
    Some(format!(
        "`{name}` is no element of a GPU's memory, which has integers of 8 to 128 bits, f32, f64, F32x4 and I32x4: {advice}"
    ))
}

const ROWS: &str = "store all rows one after the other in one buffer, and pass their length";

/// The message for a type that is not passed by value, where the macro sees it.
fn instead_of_value(path: &TypePath) -> Option<String> {
    let name = text(path);
    let advice = match path.path.get_ident().map(ToString::to_string).unwrap_or_default().as_str() {
        "char" => "pass a `u32`",
        _ if is_named(path, "Option") => "pass the value, and a `u32` that says whether there is one",
        _ => return None,
    };
    Some(format!("a launch passes no `{name}`: {advice}"))
}

/// Whether a type of this name is a scalar of `cuda_std`.
fn is_scalar(name: &Ident) -> bool {
    let scalars = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "bool", "f32", "f64",
        "F32x4", "I32x4",
    ];
    scalars.iter().any(|scalar| name == scalar)
}

fn of_elements(element: &Type) -> String {
    let element = text(element);
    format!(
        "a GPU has no heap: take `&[{element}]` to read, or `GlobalMut<{element}>` to write; the launch passes a buffer"
    )
}

/// The type as a person writes it: `Option<f32>`, not `Option < f32 >`.
fn text(ty: &impl ToTokens) -> String {
    let text = quote!(#ty).to_string();
    text.replace(" < ", "<").replace(" >", ">").replace(" :: ", "::").replace("& ", "&").replace("[ ", "[")
}

fn is_named(path: &TypePath, name: &str) -> bool {
    path.path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// The first type in the angle brackets behind a path.
fn element(path: &TypePath) -> Option<Type> {
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(element) => Some(element.clone()),
        _ => None,
    })
}
