//! `x[i]` of memory that many threads write: reads and writes by brackets become calls of `get` and `set`.
//!
//! Rust's operator returns a reference, which may not point to memory that other threads write. In the body of a kernel the macro
//! sees what is read and what is assigned, so that no reference is needed. A function that a kernel calls uses `get` and `set`.

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Error, Expr, ExprIndex, Item, Local, Macro, Pat, PatIdent, Path, Type, parse_quote_spanned};

use crate::body::visit_arguments;
use crate::parameter::{Parameter, internal};

/// Replaces each access by brackets to the `parameters` that the kernel writes, and to variables of shared memory.
///
/// A name that the body gives to several variables is left as it is.
///
/// # Errors
/// At a reference to an element and at an assignment to a part of one, with what to write in its place.
pub(crate) fn replace(body: &mut Block, parameters: &[Parameter], declared: &Declared) -> Result<(), Error> {
    let written =
        parameters.iter().filter(|parameter| parameter.is_mutable()).map(|parameter| parameter.name.to_string());
    let written = written.filter(|name| !declared.has(name)).map(|name| (name, 1));
    let shared = declared.shared.iter().filter(|(name, _)| declared.patterns.get(*name) == Some(&1));
    let memory: HashMap<String, usize> =
        written.chain(shared.map(|(name, indices)| (name.clone(), *indices))).collect();
    if memory.is_empty() {
        return Ok(());
    }
    let mut visitor = Brackets { memory, errors: None };
    visitor.visit_block_mut(body);
    visitor.errors.map_or(Ok(()), Err)
}

/// The variables of a body.
#[derive(Default)]
pub(crate) struct Declared {
    /// The number of patterns that bind each name.
    patterns: HashMap<String, usize>,
    /// The names that are declared as shared memory, with the number of indices of an element.
    shared: HashMap<String, usize>,
}

impl Declared {
    pub(crate) fn of(body: &Block) -> Self {
        let mut declared = Self::default();
        declared.visit_block(body);
        declared
    }

    /// Whether a variable has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.patterns.contains_key(name)
    }
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        *self.patterns.entry(pattern.ident.to_string()).or_default() += 1;
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        if let (Pat::Ident(name), Some(init)) = (pattern, &local.init)
            && let Some(indices) = indices_of(&init.expr)
        {
            self.shared.insert(name.ident.to_string(), indices);
        }
        visit::visit_local(self, local);
    }
}

/// The number of indices of an element, if an expression declares shared memory.
fn indices_of(declaration: &Expr) -> Option<usize> {
    let is_last = |path: &Path, name: &str| path.segments.last().is_some_and(|segment| segment.ident == name);
    match declaration {
        Expr::Macro(call) if is_last(&call.mac.path, "shared_array") => {
            let text = call.mac.tokens.to_string();
            Some(if text.starts_with('[') { 2 } else { 1 })
        }
        Expr::Call(call) => match &*call.func {
            Expr::Path(function) if is_last(&function.path, "dynamic_shared") => Some(1),
            _ => None,
        },
        _ => None,
    }
}

/// An access by brackets to memory that many threads write.
struct Access {
    memory: Expr,
    /// The index, or the array of several.
    index: Expr,
    span: Span,
}

struct Brackets {
    /// The variables, with the number of indices of an element.
    memory: HashMap<String, usize>,
    errors: Option<Error>,
}

impl Brackets {
    fn access(&self, expression: &Expr) -> Option<Access> {
        let span = expression.span();
        let mut indices: Vec<&Expr> = Vec::new();
        let mut inner = expression;
        while let Expr::Index(ExprIndex { expr, index, .. }) = inner {
            indices.push(index);
            inner = expr;
        }
        indices.reverse();
        let Expr::Path(path) = inner else { return None };
        let count = *self.memory.get(&path.path.get_ident()?.to_string())?;
        let index = match &indices[..] {
            [index] if count == 1 => (*index).clone(),
            [row, column] if count == 2 => parse_quote_spanned!(span=> [#row, #column]),
            _ => return None,
        };
        Some(Access { memory: inner.clone(), index, span })
    }

    /// Whether an expression is an element, or a part of one: `x[i]`, `x[i].y`.
    fn is_of_element(&self, expression: &Expr) -> bool {
        let base = match expression {
            _ if self.access(expression).is_some() => return true,
            Expr::Field(field) => &field.base,
            Expr::Paren(inner) => &inner.expr,
            Expr::Index(index) => &index.expr,
            _ => return false,
        };
        self.is_of_element(base)
    }

    /// What writes `value` to `place`, by the operator of a compound assignment if there is one; None if it is no element.
    fn write(&mut self, place: &Expr, value: &mut Expr, operator: Option<BinOp>) -> Option<Expr> {
        let Some(Access { memory, mut index, span }) = self.access(place) else {
            if self.is_of_element(place) {
                self.error(place, WHOLE);
            }
            return None;
        };
        self.visit_expr_mut(value);
        self.visit_expr_mut(&mut index);
        // As in an assignment, the value is computed before the index.
        let (computed, at) = (internal("value"), internal("place"));
        Some(match operator {
            None => parse_quote_spanned!(span=> { let #computed = #value; #memory.set(#index, #computed) }),
            Some(operator) => parse_quote_spanned!(span=> {
                let #computed = #value;
                let #at = #index;
                #memory.set(#at, #memory.get(#at) #operator #computed)
            }),
        })
    }

    fn error(&mut self, at: &impl ToTokens, message: &str) {
        let error = Error::new_spanned(at, message);
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }
}

const WHOLE: &str = "a thread reads and writes whole elements of memory that others write too: `let mut element = x[i];`, change it, then \
                     `x[i] = element;`";

impl VisitMut for Brackets {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let replaced = match expression {
            Expr::Assign(assigned) => self.write(&assigned.left, &mut assigned.right, None),
            Expr::Binary(binary) => match operator_of(&binary.op) {
                Some(operator) => self.write(&binary.left, &mut binary.right, Some(operator)),
                None => None,
            },
            Expr::Reference(reference) if reference.mutability.is_some() && self.is_of_element(&reference.expr) => {
                self.error(reference, WHOLE);
                return;
            }
            Expr::MethodCall(call) if is_mutating(&call.method) && self.is_of_element(&call.receiver) => {
                self.error(call, WHOLE);
                return;
            }
            Expr::Index(_) => self.access(expression).map(|Access { memory, mut index, span }| {
                self.visit_expr_mut(&mut index);
                parse_quote_spanned!(span=> #memory.get(#index))
            }),
            _ => None,
        };
        match replaced {
            Some(replaced) => *expression = replaced,
            None => visit_mut::visit_expr_mut(self, expression),
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        visit_arguments(call, |argument| self.visit_expr_mut(argument));
    }

    // Functions within the body do not see its variables.
    fn visit_item_mut(&mut self, _: &mut Item) {}

    fn visit_type_mut(&mut self, _: &mut Type) {}
}

/// Whether a method of this name changes what it is called on.
fn is_mutating(method: &Ident) -> bool {
    let method = method.to_string();
    method.ends_with("_assign") || method.ends_with("_mut")
}

/// The operator of a compound assignment without the assignment: `+` of `+=`.
fn operator_of(operator: &BinOp) -> Option<BinOp> {
    let span = operator.span();
    Some(match operator {
        BinOp::AddAssign(_) => BinOp::Add(syn::Token![+](span)),
        BinOp::SubAssign(_) => BinOp::Sub(syn::Token![-](span)),
        BinOp::MulAssign(_) => BinOp::Mul(syn::Token![*](span)),
        BinOp::DivAssign(_) => BinOp::Div(syn::Token![/](span)),
        BinOp::RemAssign(_) => BinOp::Rem(syn::Token![%](span)),
        BinOp::BitXorAssign(_) => BinOp::BitXor(syn::Token![^](span)),
        BinOp::BitAndAssign(_) => BinOp::BitAnd(syn::Token![&](span)),
        BinOp::BitOrAssign(_) => BinOp::BitOr(syn::Token![|](span)),
        BinOp::ShlAssign(_) => BinOp::Shl(syn::Token![<<](span)),
        BinOp::ShrAssign(_) => BinOp::Shr(syn::Token![>>](span)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::quote;
    use syn::{FnArg, parse_quote, parse2};

    use super::*;

    /// The body after the replacement, in a kernel with `out` to write and `x` to read.
    fn replaced(body: TokenStream) -> Result<String, String> {
        let inputs: [FnArg; 2] = [parse_quote!(out: GlobalMut<f32>), parse_quote!(x: &[f32])];
        let parameters = inputs.map(|input| Parameter::parse(&input, false).unwrap());
        let mut body: Block = parse2(quote!({ #body })).unwrap();
        let declared = Declared::of(&body);
        replace(&mut body, &parameters, &declared).map_err(|error| error.to_string())?;
        Ok(body.to_token_stream().to_string())
    }

    #[test]
    fn reads_and_writes_become_calls() {
        let text = |tokens: TokenStream| tokens.to_string();
        assert_eq!(
            replaced(quote!(let y = out[i] + x[i];)).unwrap(),
            text(quote!({
                let y = out.get(i) + x[i];
            }))
        );
        assert_eq!(
            replaced(quote!(out[x[i]] = out[out[0]];)).unwrap(),
            text(quote!({
                {
                    let value = out.get(out.get(0));
                    out.set(x[i], value)
                };
            }))
        );
        assert_eq!(
            replaced(quote!(
                let tile = shared_array![[f32; 3]; 2];
                tile[0][1] <<= tile[1][2];
            ))
            .unwrap(),
            text(quote!({
                let tile = shared_array![[f32; 3]; 2];
                {
                    let value = tile.get([1, 2]);
                    let place = [0, 1];
                    tile.set(place, tile.get(place) << value)
                };
            }))
        );
    }

    #[test]
    fn other_variables_are_left_as_they_are() {
        for body in [
            quote!(let out = [1]; let y = out[0];),
            quote!(let tile = shared_array![f32; 2]; let tile = [1]; tile[0]),
            quote!(let tile = shared_array![[f32; 2]; 2]; tile[0]),
            quote!(
                fn f(out: &[f32]) -> f32 {
                    out[0]
                }
            ),
            quote!(let f = |out: &[f32]| out[0];),
        ] {
            assert_eq!(replaced(body.clone()).unwrap(), quote!({ #body }).to_string());
        }
    }

    #[test]
    fn references_and_parts_are_rejected() {
        for body in [
            quote!(f(&mut out[1]);),
            quote!(out[1].x = 2.0;),
            quote!(out[1].x += 2.0;),
            quote!(out[1].add_assign(1.0);),
            quote!(let y = &mut (out[1]).x;),
        ] {
            assert_eq!(replaced(body).unwrap_err(), WHOLE);
        }
    }
}
