//! `#[kernel]`: expands a function to the PTX entry and to the launcher, which has the simulator's copy of the body.

mod entry;
mod launcher;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Block, Error, Item, ItemFn, Result, ReturnType, parse2};

use crate::body;
use crate::imports;
use crate::instance::Instance;
use crate::parameter::Parameter;

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function = parse_function(body::keep_fragments(item))?;
    check_signature(&function)?;
    let instances = Instance::parse_all(attribute, &function.sig)?;
    let mut kernel = Kernel::new(function)?;
    let speaking = kernel.without_std()?;
    let entries = instances.iter().map(|instance| entry::expand(&kernel, instance));
    let launcher = launcher::expand(&kernel, &instances);
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

/// A function with `#[kernel]`.
struct Kernel {
    function: ItemFn,
    parameters: Vec<Parameter>,
    is_unsafe: bool,
}

impl Kernel {
    /// # Errors
    /// All parameters that a kernel cannot have.
    fn new(function: ItemFn) -> Result<Self> {
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
        errors.map_or(Ok(Self { function, parameters, is_unsafe }), Err)
    }

    /// Rewrites the body as [`body::without_std`] does.
    fn without_std(&mut self) -> Result<Vec<Ident>> {
        // An unsafe kernel has slices of the language.
        let parameters: &[Parameter] = if self.is_unsafe { &[] } else { &self.parameters };
        body::without_std(&mut self.function.block, parameters)
    }

    /// The function's name in PTX and in messages.
    fn name(&self) -> String {
        self.function.sig.ident.unraw().to_string()
    }

    /// A function with this body and the kernel's parameters, under a name that no user's name equals.
    fn body_function(&self, body: &Block) -> TokenStream {
        let safety = self.is_unsafe.then(|| quote!(unsafe));
        let parameters = self.parameters.iter().map(Parameter::in_body);
        quote! {
            #[allow(clippy::too_many_arguments)]
            #safety fn __cuda_std_kernel_body(#(#parameters),*) #body
        }
    }

    /// The constant `PARTS`, the parts of the signature in the format of `cuda_std::signature`. The compiler checks the kernel's
    /// parameters where it evaluates them.
    fn signature_parts(&self) -> TokenStream {
        let parts = self.parameters.iter().map(Parameter::signature);
        let rooms = self.parameters.iter().map(Parameter::room);
        let name = self.name();
        quote! {
            const PARTS: &[&[u8]] = {
                ::cuda_std::signature::check_room(#name, &[#(#rooms),*]);
                &[&[::cuda_std::signature::START], #(#parts,)* &[::cuda_std::signature::END]]
            };
        }
    }
}
