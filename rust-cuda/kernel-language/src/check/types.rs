//! Type syntax.

use syn::{GenericArgument, PathArguments};

use super::Checker;
use crate::constants::Constant;
use crate::refusal::Checked;
use crate::source::{Named, segments};
use crate::types::{Float, Integer, Type};

const OTHER: &str = "this type is not known here: use numbers of 8 to 64 bits, f32, f64, bool, tuples, arrays, and the memory of cuda_std";

impl Checker<'_> {
    /// The type of a kernel's parameter.
    pub(super) fn parameter_type(&mut self, of: &syn::Type) -> Checked<Type> {
        if let syn::Type::Reference(reference) = of
            && let syn::Type::Slice(slice) = &*reference.elem
        {
            if reference.mutability.is_some() {
                return self
                    .place(of)
                    .refused("many threads write this memory: write `GlobalMut<T>` in place of `&mut [T]`");
            }
            return Ok(Type::Global(self.number_type(&slice.elem)?.into()));
        }
        let found = self.type_of(of)?;
        match found {
            Type::Bool | Type::Integer(_) | Type::Float(_) | Type::GlobalMut(_) => Ok(found),
            Type::Array(ref parts) if parts[0].bytes().is_some() => Ok(found),
            _ => self.place(of).refused(
                "a kernel's parameter is `&[T]`, `GlobalMut<T>`, a number, an array of numbers or a bool here",
            ),
        }
    }

    /// The type of an element in memory.
    fn number_type(&mut self, of: &syn::Type) -> Checked<Type> {
        let found = self.type_of(of)?;
        match self.inference.outer(&found) {
            Type::Integer(_) | Type::Float(_) | Type::Unknown(_) => Ok(found),
            _ => self.place(of).refused("elements in memory are integers of 8 to 64 bits, f32 or f64 here"),
        }
    }

    pub(super) fn type_of(&mut self, of: &syn::Type) -> Checked<Type> {
        let place = self.place(of);
        let found = match of {
            syn::Type::Paren(inner) => self.type_of(&inner.elem)?,
            syn::Type::Group(inner) => self.type_of(&inner.elem)?,
            syn::Type::Infer(_) => self.inference.any(),
            syn::Type::Never(_) => Type::Never,
            syn::Type::Tuple(tuple) => {
                Type::Tuple(tuple.elems.iter().map(|of| self.type_of(of)).collect::<Checked<_>>()?)
            }
            syn::Type::Array(array) => {
                let of = self.type_of(&array.elem)?;
                Type::Array([of, self.length(&array.len)?].into())
            }
            syn::Type::Reference(reference) => {
                Type::Reference(self.type_of(&reference.elem)?.into(), reference.mutability.is_some())
            }
            syn::Type::Path(path) if path.qself.is_none() => self.path_type(&path.path)?,
            _ => return place.refused(OTHER),
        };
        self.limited(found, place)
    }

    pub(super) fn path_type(&mut self, path: &syn::Path) -> Checked<Type> {
        let place = self.place(path);
        let names = segments(path);
        if let [name] = &names[..] {
            if let Some(of) = self.generics.get(name) {
                return Ok(of.clone());
            }
            match (Integer::named(name), Float::named(name), name.as_str()) {
                (Some(of), ..) => return Ok(Type::Integer(of)),
                (_, Some(of), _) => return Ok(Type::Float(of)),
                (.., "bool") => return Ok(Type::Bool),
                _ => {}
            }
        }
        let arguments = match path.segments.last().map(|segment| &segment.arguments) {
            Some(PathArguments::AngleBracketed(arguments)) => arguments.args.iter().collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        let arguments: Vec<_> =
            arguments.into_iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_))).collect();
        if let ([name], [GenericArgument::Type(of)]) = (&names[..], &arguments[..])
            && name == "Option"
            && !self.is_known(name)
        {
            return Ok(Type::option(self.type_of(of)?));
        }
        let named = self.find(&names, place)?;
        let Named::Other(other) = named else {
            return match named {
                Named::Struct(number) => self.struct_type(number, &arguments),
                _ => place.refused(OTHER),
            };
        };
        let first = match arguments.first() {
            Some(GenericArgument::Type(of)) => self.number_type(of)?,
            _ => return place.refused(OTHER),
        };
        let lengths: Vec<Type> =
            arguments[1..].iter().map(|argument| self.length_argument(argument)).collect::<Checked<_>>()?;
        match (other.as_str(), &lengths[..]) {
            ("cuda_std::Global", []) => Ok(Type::Global(first.into())),
            ("cuda_std::GlobalMut", []) => Ok(Type::GlobalMut(first.into())),
            ("cuda_std::DynamicShared", []) => Ok(Type::Dynamic(first.into())),
            ("cuda_std::SharedArray", [length]) => Ok(Type::Shared([first, length.clone()].into())),
            ("cuda_std::SharedArray2d", [rows, columns]) => {
                Ok(Type::Shared2d([first, rows.clone(), columns.clone()].into()))
            }
            _ => place.refused(OTHER),
        }
    }

    /// A struct in the sources with these generic arguments, or with unknown ones.
    pub(super) fn struct_type(&mut self, number: usize, arguments: &[&GenericArgument]) -> Checked<Type> {
        let (module, item) = self.program.structs[number].clone();
        let mut given = arguments.iter();
        let mut generics = std::collections::HashMap::new();
        for parameter in &item.generics.params {
            let name = match parameter {
                syn::GenericParam::Lifetime(_) => continue,
                syn::GenericParam::Type(of) => of.ident.to_string(),
                syn::GenericParam::Const(of) => of.ident.to_string(),
            };
            let of = match given.next() {
                Some(argument) => self.generic_argument(argument)?,
                None => self.inference.any(),
            };
            generics.insert(name, of);
        }
        // The fields' types are resolved in the struct's module.
        let outer = (std::mem::replace(&mut self.generics, generics), std::mem::replace(&mut self.module, module));
        let fields = item.fields.iter().map(|field| self.type_of(&field.ty)).collect::<Checked<_>>();
        (self.generics, self.module) = outer;
        Ok(Type::Struct(number, fields?))
    }

    pub(super) fn generic_argument(&mut self, argument: &GenericArgument) -> Checked<Type> {
        if let GenericArgument::Type(syn::Type::Path(path)) = argument
            && let Ok(Named::Constant(_)) = self.program.find(self.module, &segments(&path.path), self.place(argument))
        {
            return self.length_argument(argument);
        }
        match argument {
            GenericArgument::Type(of) => self.type_of(of),
            _ => self.length_argument(argument),
        }
    }

    fn length_argument(&mut self, argument: &GenericArgument) -> Checked<Type> {
        match argument {
            GenericArgument::Const(length) => self.length(length),
            GenericArgument::Type(syn::Type::Infer(_)) => Ok(self.inference.any()),
            // A bare name is parsed as a type.
            GenericArgument::Type(syn::Type::Path(path)) if path.qself.is_none() => {
                let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: copied(&path.path) };
                self.length(&syn::Expr::Path(path))
            }
            _ => self.place(argument).refused("this is no number of elements"),
        }
    }

    /// The length of an array.
    pub(super) fn length(&mut self, length: &syn::Expr) -> Checked<Type> {
        if let syn::Expr::Path(path) = length
            && let Some(name) = path.path.get_ident()
            && let Some(of) = self.generics.get(&name.to_string())
        {
            return Ok(of.clone());
        }
        match self.evaluated(length, &Type::USIZE)? {
            Constant::Integer(length) => Ok(Type::Length(length as u64)),
            _ => self.place(length).refused("this is no number of elements"),
        }
    }
}

/// The same path without generic arguments.
fn copied(path: &syn::Path) -> syn::Path {
    let segments = path.segments.iter().map(|segment| syn::PathSegment::from(segment.ident.clone()));
    syn::Path { leading_colon: None, segments: segments.collect() }
}
