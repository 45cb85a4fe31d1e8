//! Looks up variables, constants and functions by name.

use quote::ToTokens;

use super::{Checker, generic_names};
use crate::refusal::{Checked, Place};
use crate::source::{Named, segments};
use crate::tokens::{flat, joined};
use crate::tree::{Expr, Kind, Operation};
use crate::types::{Float, Integer, Type};

impl Checker<'_> {
    pub(super) fn path(&mut self, of: &syn::ExprPath, place: Place) -> Checked<Expr> {
        let names = segments(&of.path);
        if let ([name], None) = (&names[..], &of.qself) {
            if let Some(number) = self.local(name) {
                let local = &self.locals[number];
                if local.is_mutable && local.closures < self.results.len() {
                    let name = &local.name;
                    return place.refused(format!("`{name}` changes, so a closure takes it as a parameter here"));
                }
                return Ok(Expr::new(Kind::Local(number), local.r#type.clone(), place));
            }
            if let Some(Type::Length(length)) = self.generics.get(name).map(|of| self.inference.outer(of)) {
                return Ok(Expr::new(Kind::Integer(length.into()), Type::USIZE, place));
            }
        }
        if names == ["None"] && !self.is_known("None") {
            return Ok(self.none(place));
        }
        if let [of, name] = &names[..]
            && let Some(number) = self.associated(of, name, place)
        {
            return Ok(number);
        }
        match self.find(&names, place)? {
            Named::Constant(number) => {
                let (module, item) = self.program.constants[number].clone();
                let outer = std::mem::replace(&mut self.module, module);
                let r#type = self.type_of(&item.0);
                self.module = outer;
                Ok(Expr::new(Kind::Constant(number), r#type?, place))
            }
            Named::Other(other) => {
                let parts: Vec<&str> = other.split("::").collect();
                let number = match parts[..] {
                    [_, of, name] => self.associated(of, name, place),
                    [_, of, "consts", name] => consts(of, name, place),
                    _ => None,
                };
                match number {
                    Some(number) => Ok(number),
                    None => place.unknown(format!("`{other}` is not known here")),
                }
            }
            _ => place.refused("this is no value: a function needs its arguments"),
        }
    }

    /// A constant of a numeric type: `u32::MAX`.
    fn associated(&self, of: &str, name: &str, place: Place) -> Option<Expr> {
        let generic = self.generics.get(of).map(|of| self.inference.outer(of));
        if let Some(of @ (Type::Integer(_) | Type::Float(_))) = &generic
            && let Some(number) = self.program.associated.get(&(of.to_string(), name.to_owned()))
        {
            return Some(Expr::new(Kind::Constant(*number), of.clone(), place));
        }
        let integer = Integer::named(of).or(match generic {
            Some(Type::Integer(of)) => Some(of),
            _ => None,
        });
        if let Some(of) = integer {
            let (value, r#type) = match name {
                "MAX" => (of.maximum(), Type::Integer(of)),
                "MIN" => (of.minimum(), Type::Integer(of)),
                "BITS" => (of.bits().into(), Type::U32),
                _ => return None,
            };
            return Some(Expr::new(Kind::Integer(value), r#type, place));
        }
        let of = Float::named(of).or(match generic {
            Some(Type::Float(of)) => Some(of),
            _ => None,
        })?;
        let (single, double) = match name {
            "INFINITY" => (f32::INFINITY, f64::INFINITY),
            "NEG_INFINITY" => (f32::NEG_INFINITY, f64::NEG_INFINITY),
            "NAN" => (f32::NAN, f64::NAN),
            "MAX" => (f32::MAX, f64::MAX),
            "MIN" => (f32::MIN, f64::MIN),
            "EPSILON" => (f32::EPSILON, f64::EPSILON),
            "MIN_POSITIVE" => (f32::MIN_POSITIVE, f64::MIN_POSITIVE),
            _ => return None,
        };
        let digits = if of == Float::F32 { single.to_string() } else { double.to_string() };
        Some(Expr::new(Kind::Float(digits), Type::Float(of), place))
    }

    /// The parameter types and the result of a function with generic arguments. Missing arguments
    /// are inferred.
    pub(super) fn instance(
        &mut self,
        number: usize,
        given: Vec<Type>,
        of: Option<&Type>,
        place: Place,
    ) -> Checked<(Vec<Type>, Vec<Type>, Type)> {
        let function = self.program.functions[number].clone();
        if function.is_kernel {
            return place.refused("a kernel is launched, not called");
        }
        let names = generic_names(&function);
        let mut generics: Vec<Type> = names.iter().map(|_| self.inference.any()).collect();
        if given.len() > generics.len() {
            return place.refused("there are more generic arguments than parameters");
        }
        if !given.is_empty() {
            let first = generics.len() - given.len();
            generics.splice(first.., given);
        }
        let named = names.into_iter().map(|(name, _)| name).zip(generics.iter().cloned()).collect();
        let outer =
            (std::mem::replace(&mut self.generics, named), std::mem::replace(&mut self.module, function.module));
        let signature = self.set_self(&function).and_then(|()| self.signature(&function));
        let own = self.generics.get("Self").cloned();
        (self.generics, self.module) = outer;
        let (types, result) = signature?;
        if let (Some(of), Some(own)) = (of, own)
            && !self.inference.unify(of, &own)
        {
            return place.refused("the method is of another type");
        }
        Ok((generics, types, result))
    }

    /// Checks arguments of these types for the function or method of this name.
    pub(super) fn arguments<'s>(
        &mut self,
        name: &str,
        given: impl ExactSizeIterator<Item = &'s syn::Expr>,
        types: &[Type],
        place: Place,
    ) -> Checked<Vec<Expr>> {
        if given.len() != types.len() {
            let shown: Vec<String> = types.iter().map(|of| self.shown(of).replace('`', "")).collect();
            return place.refused(wrong_count(&format!("{name}({})", shown.join(", ")), types.len(), given.len()));
        }
        given.zip(types).map(|(argument, of)| self.typed(argument, of)).collect()
    }

    /// Checks arguments for a function in the sources.
    pub(super) fn arguments_of<'s>(
        &mut self,
        number: usize,
        given: impl ExactSizeIterator<Item = &'s syn::Expr>,
        types: &[Type],
        place: Place,
    ) -> Checked<Vec<Expr>> {
        let signature = &self.program.functions[number].item.sig;
        if given.len() != types.len() {
            let shown = format!("{}({})", signature.ident, joined(&flat(signature.inputs.to_token_stream())));
            return place.refused(wrong_count(&shown, types.len(), given.len()));
        }
        self.arguments("", given, types, place)
    }

    /// An operation with arguments of these types.
    pub(super) fn simple<'s>(
        &mut self,
        (name, operation): (&str, Operation),
        given: impl ExactSizeIterator<Item = &'s syn::Expr>,
        (types, result): (&[Type], Type),
        place: Place,
    ) -> Checked<Expr> {
        let arguments = self.arguments(name, given, types, place)?;
        Ok(self.operation(operation, arguments, result, place))
    }
}

/// The message for a call with the wrong number of arguments for the function with this signature.
fn wrong_count(signature: &str, expected: usize, given: usize) -> String {
    let plural = if expected == 1 { "" } else { "s" };
    format!("`{signature}` takes {expected} argument{plural}, not {given}")
}

/// `f32::consts::PI` and the others.
fn consts(of: &str, name: &str, place: Place) -> Option<Expr> {
    use std::f64::consts;
    // As f32 they round to the f32 constants.
    let value = match name {
        "PI" => consts::PI,
        "LN_2" => consts::LN_2,
        "LOG2_E" => consts::LOG2_E,
        _ => return None,
    };
    Some(Expr::new(Kind::Float(value.to_string()), Type::Float(Float::named(of)?), place))
}
