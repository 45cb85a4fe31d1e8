//! Resolves names and types: from a function's syntax to its [`Body`].

mod calls;
mod elements;
mod expressions;
#[path = "../../../cuda_std_macros/src/float_methods.rs"]
#[allow(dead_code, reason = "the macros need all of it")]
mod float_methods;
mod hints;
mod literals;
mod matching;
mod memory;
mod methods;
mod operators;
mod options;
mod paths;
mod speech;
mod statements;
mod types;

use std::collections::HashMap;

use syn::{FnArg, GenericParam, ReturnType};

use crate::constants::{self, Constant};
use crate::inference::Inference;
use crate::refusal::{Checked, Place};
use crate::source::{Function, Program};
use crate::tree::{Body, Closure, Expr, Local, Pattern};
use crate::types::Type;

/// Maximum number of parts that a type may consist of.
const MAX_PARTS: usize = 256;

/// A loop around the current expression.
struct Around {
    label: Option<String>,
    number: usize,
    /// The type of the values of `break`; None if they have no value.
    result: Option<Type>,
    breaks: bool,
}

/// The state while a function is checked.
struct Checker<'a> {
    program: &'a Program,
    module: usize,
    /// The types and constants of generic parameters, and the type of `Self`.
    generics: HashMap<String, Type>,
    inference: Inference,
    locals: Vec<Local>,
    /// The variables of each block, innermost last.
    scopes: Vec<Vec<(String, usize)>>,
    around: Vec<Around>,
    /// Number of loops so far.
    arounds: usize,
    closures: Vec<Closure>,
    /// The return types of the function and of each closure around the expression.
    results: Vec<Type>,
    /// Whether each of them contains a `return`.
    returns: Vec<bool>,
    is_kernel: bool,
}

/// Checks a function with these generic arguments. The arguments of its `impl` block come first.
pub(crate) fn check(program: &Program, function: &Function, generics: &[Type]) -> Checked<Body> {
    let mut checker = Checker::new(program, function.module);
    checker.is_kernel = function.is_kernel;
    let names = generic_names(function);
    if names.len() != generics.len() {
        return function.place.refused("a generic kernel is not known here: name its types");
    }
    checker.generics = names.into_iter().map(|(name, _)| name).zip(generics.iter().cloned()).collect();
    checker.set_self(function)?;
    let (types, result) = checker.signature(function)?;
    if function.is_kernel && !result.is_unit() {
        return function.place.refused("a kernel returns nothing");
    }
    checker.results.push(result.clone());
    checker.scopes.push(Vec::new());
    let mut parameters = Vec::new();
    for (input, of) in function.item.sig.inputs.iter().zip(&types) {
        parameters.push(match input {
            FnArg::Receiver(receiver) => {
                let is_mutable = receiver.mutability.is_some();
                Pattern::Local(checker.declare("self", of.clone(), is_mutable))
            }
            FnArg::Typed(typed) => checker.pattern(&typed.pat, of)?,
        });
    }
    let expr = checker.block(&function.item.block, Some(&result))?;
    let place = expr.place;
    let expr = checker.coerced(expr, &result)?;
    checker.finish(place)?;
    Ok(Body {
        name: function.item.sig.ident.to_string(),
        place: function.place,
        parameters,
        types,
        result,
        locals: checker.locals,
        closures: checker.closures,
        expr,
        returns: checker.returns.contains(&true),
        inference: checker.inference,
    })
}

/// The value of an expression evaluated at compile time.
pub(crate) fn constant(program: &Program, module: usize, expr: &syn::Expr, of: &syn::Type) -> Checked<Constant> {
    let mut checker = Checker::new(program, module);
    let of = checker.type_of(of)?;
    checker.evaluated(expr, &of)
}

/// The names of the generic parameters, and whether each is a constant. Parameters of the `impl`
/// block come first.
fn generic_names(function: &Function) -> Vec<(String, bool)> {
    let blocks = function.of.iter().map(|of| &of.0).chain([&function.item.sig.generics]);
    blocks
        .flat_map(|generics| &generics.params)
        .filter_map(|parameter| match parameter {
            GenericParam::Type(of) => Some((of.ident.to_string(), false)),
            GenericParam::Const(of) => Some((of.ident.to_string(), true)),
            GenericParam::Lifetime(_) => None,
        })
        .collect()
}

impl<'a> Checker<'a> {
    fn new(program: &'a Program, module: usize) -> Self {
        Self {
            program,
            module,
            generics: HashMap::new(),
            inference: Inference::default(),
            locals: Vec::new(),
            scopes: Vec::new(),
            around: Vec::new(),
            arounds: 0,
            closures: Vec::new(),
            results: Vec::new(),
            returns: vec![false],
            is_kernel: false,
        }
    }

    fn place(&self, of: &impl syn::spanned::Spanned) -> Place {
        self.program.place(self.module, of)
    }

    fn behind(&self, of: &impl syn::spanned::Spanned) -> Place {
        Place::behind(self.program.file_of(self.module), of.span())
    }

    /// Sets the type of `Self` in a method.
    fn set_self(&mut self, function: &Function) -> Checked<()> {
        if let Some(of) = &function.of {
            let of = self.type_of(&of.1)?;
            self.generics.insert("Self".to_owned(), of);
        }
        Ok(())
    }

    /// The types of a function's parameters and result.
    fn signature(&mut self, function: &Function) -> Checked<(Vec<Type>, Type)> {
        let signature = &function.item.sig;
        let mut types = Vec::new();
        for input in &signature.inputs {
            types.push(match input {
                FnArg::Receiver(receiver) => {
                    let place = self.program.place(function.module, receiver);
                    let of = self.generics.get("Self").cloned();
                    let of = of.map_or_else(|| place.refused("`self` is only known in a method"), Ok)?;
                    match &receiver.kind {
                        syn::ReceiverKind::Value => of,
                        syn::ReceiverKind::Reference(_, _, mutability) => {
                            Type::Reference(of.into(), mutability.is_some())
                        }
                        _ => return place.refused("such a `self` is not known here: write `self` or `&self`"),
                    }
                }
                FnArg::Typed(typed) if function.is_kernel => self.parameter_type(&typed.ty)?,
                FnArg::Typed(typed) => self.type_of(&typed.ty)?,
            });
        }
        let result = match &signature.output {
            ReturnType::Default => Type::unit(),
            ReturnType::Type(_, of) => self.type_of(of)?,
        };
        Ok((types, result))
    }

    /// Sets undetermined types to their defaults, and rejects those without one.
    fn finish(&mut self, place: Place) -> Checked<()> {
        self.inference.set_defaults();
        for local in &self.locals {
            if self.is_larger(&local.r#type, &mut { MAX_PARTS }, true) {
                let place = if local.place.line > 0 { local.place } else { place };
                let name = &local.name;
                return place
                    .refused(format!("the type of `{name}` is not known: write it, as in `let {name}: u32 = …;`"));
            }
        }
        Ok(())
    }

    /// Rejects a type with too many parts, which would take too long.
    fn limited(&self, of: Type, place: Place) -> Checked<Type> {
        if self.is_larger(&of, &mut { MAX_PARTS }, false) {
            return place.refused("this value has too many parts");
        }
        Ok(of)
    }

    /// Whether a type has more parts than this, or unknown ones.
    fn is_larger(&self, of: &Type, parts: &mut usize, unknown_too: bool) -> bool {
        let outer = self.inference.outer(of);
        *parts = parts.saturating_sub(1);
        let is_it = *parts == 0 || unknown_too && matches!(outer, Type::Unknown(_));
        is_it || outer.parts().iter().any(|part| self.is_larger(part, parts, unknown_too))
    }

    fn declare(&mut self, name: &str, r#type: Type, is_mutable: bool) -> usize {
        let closures = self.results.len();
        self.locals.push(Local { name: name.to_owned(), r#type, is_mutable, place: Place::default(), closures });
        let number = self.locals.len() - 1;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name.to_owned(), number));
        }
        number
    }

    fn local(&self, name: &str) -> Option<usize> {
        let all = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        all.into_iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// An expression that must have this type.
    fn coerced(&mut self, expr: Expr, to: &Type) -> Checked<Expr> {
        self.coerced_from(None, expr, to)
    }

    /// An expression that must have this type, with its source text.
    fn coerced_from(&mut self, written: Option<&syn::Expr>, expr: Expr, to: &Type) -> Checked<Expr> {
        let from = self.inference.outer(&expr.r#type);
        if from == Type::Never || self.inference.unify(&from, to) {
            return Ok(expr);
        }
        // A `&mut` is accepted for a `&`.
        if let (Type::Reference(of, true), Type::Reference(wanted, false)) = (&from, self.inference.outer(to))
            && self.inference.unify(of, &wanted)
        {
            return Ok(expr);
        }
        self.mismatch(written, &expr, to)
    }

    /// A type as text for messages.
    fn shown(&self, of: &Type) -> String {
        if self.is_larger(of, &mut { MAX_PARTS }, false) {
            return "a large type".to_owned();
        }
        match self.inference.whole(of) {
            whole if whole.is_unit() => "no value".to_owned(),
            Type::Unknown(_) if self.inference.is_integer(of) => "an integer".to_owned(),
            Type::Unknown(_) if self.inference.is_float(of) => "a float".to_owned(),
            Type::Struct(number, _) => format!("`{}`", self.program.structs[number].1.ident),
            Type::Closure(_) => "a closure".to_owned(),
            whole => format!("`{whole}`"),
        }
    }

    /// The value of an expression of this type, evaluated at compile time.
    fn evaluated(&mut self, expr: &syn::Expr, of: &Type) -> Checked<Constant> {
        // It must not see any variables.
        let scopes = std::mem::take(&mut self.scopes);
        let checked = self.typed(expr, of);
        self.scopes = scopes;
        let mut inference = self.inference.clone();
        inference.set_defaults();
        constants::evaluate(self.program, &inference, &checked?)
    }
}
