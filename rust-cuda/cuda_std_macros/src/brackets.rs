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
use syn::{
    BinOp, Block, Error, Expr, ExprClosure, ExprForLoop, ExprIf, ExprIndex, ExprLet, ExprMatch, ExprWhile, Item, Local,
    Macro, Pat, PatIdent, Path, Stmt, StmtMacro, Type, parse_quote_spanned,
};

use crate::body::visit_arguments;
use crate::parameter::{Parameter, internal};

/// Replaces each access by brackets to the `parameters` that the kernel writes, and to variables of shared memory.
///
/// A name stands for the variable that the language gives it at its place: blocks, closures, loops and arms may shadow it.
///
/// # Errors
/// At a reference to an element and at an assignment to a part of one, with what to write in its place.
pub(crate) fn replace(body: &mut Block, parameters: &[Parameter]) -> Result<(), Error> {
    let written = parameters.iter().filter(|parameter| parameter.is_mutable());
    let scope = written.map(|parameter| (parameter.name.to_string(), Some(1))).collect();
    let mut visitor = Brackets { scopes: vec![scope], errors: None };
    visitor.visit_block_mut(body);
    visitor.errors.map_or(Ok(()), Err)
}

/// The variables of a scope. Memory that many threads write has the number of indices of an element, other variables have none.
type Scope = HashMap<String, Option<usize>>;

/// The number of indices of an element, if an expression declares shared memory.
fn indices_of(declaration: &Expr) -> Option<usize> {
    match declaration {
        Expr::Macro(call) => indices_of_macro(&call.mac),
        Expr::Call(call) => match &*call.func {
            Expr::Path(function) if is_last(&function.path, "dynamic_shared") => Some(1),
            _ => None,
        },
        _ => None,
    }
}

fn indices_of_macro(call: &Macro) -> Option<usize> {
    let indices = || if call.tokens.to_string().starts_with('[') { 2 } else { 1 };
    is_last(&call.path, "shared_array").then(indices)
}

fn is_last(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// An access by brackets to memory that many threads write.
struct Access {
    memory: Expr,
    /// The index, or the array of several.
    index: Expr,
    span: Span,
}

/// The number of indices of an element, if a type is that of memory that many threads write.
fn indices_of_type(ty: &Type) -> Option<usize> {
    match ty {
        Type::Path(path) => match path.path.segments.last()?.ident.to_string().as_str() {
            "GlobalMut" | "SharedArray" | "DynamicShared" => Some(1),
            "SharedArray2d" => Some(2),
            _ => None,
        },
        Type::Reference(reference) => indices_of_type(&reference.elem),
        Type::Paren(inner) => indices_of_type(&inner.elem),
        _ => None,
    }
}

struct Brackets {
    /// The scopes around the present place, the innermost last.
    scopes: Vec<Scope>,
    errors: Option<Error>,
}

impl Brackets {
    /// Visits what is in a scope of its own.
    fn in_scope(&mut self, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(Scope::new());
        visit(self);
        self.scopes.pop();
    }

    /// Adds the variables of a pattern to the innermost scope; `value` is what is matched, if it is known.
    fn bind(&mut self, pattern: &Pat, value: Option<&Expr>) {
        match (pattern, value) {
            (Pat::Type(typed), _) => match (&*typed.pat, indices_of_type(&typed.ty)) {
                (Pat::Ident(name), Some(indices)) => self.declare(&name.ident, Some(indices)),
                (pattern, _) => self.bind(pattern, value),
            },
            (Pat::Ident(name), Some(value)) if name.subpat.is_none() => {
                let indices = self.indices_of(value);
                self.declare(&name.ident, indices);
            }
            (Pat::Tuple(patterns), Some(Expr::Tuple(values))) if patterns.elems.len() == values.elems.len() => {
                patterns.elems.iter().zip(&values.elems).for_each(|(pattern, value)| self.bind(pattern, Some(value)));
            }
            (Pat::Paren(inner), value) => self.bind(&inner.pat, value),
            _ => Others(self).visit_pat(pattern),
        }
    }

    fn declare(&mut self, name: &Ident, indices: Option<usize>) {
        let scope = self.scopes.last_mut().expect("the scope of the parameters");
        scope.insert(name.to_string(), indices);
    }

    /// The number of indices of an element, if an expression is memory that many threads write.
    fn indices_of(&self, expression: &Expr) -> Option<usize> {
        match expression {
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                self.scopes.iter().rev().find_map(|scope| scope.get(&name)).copied().flatten()
            }
            Expr::Paren(inner) => self.indices_of(&inner.expr),
            Expr::Reference(reference) => self.indices_of(&reference.expr),
            Expr::Block(block) => self.indices_of_block(&block.block),
            Expr::If(condition) => self.indices_of_block(&condition.then_branch),
            declaration => indices_of(declaration),
        }
    }

    /// As [`Self::indices_of`], of a block that is one expression.
    fn indices_of_block(&self, block: &Block) -> Option<usize> {
        match &block.stmts[..] {
            [Stmt::Expr(value, None)] => self.indices_of(value),
            [Stmt::Macro(StmtMacro { mac, semi_token: None, .. })] => indices_of_macro(mac),
            _ => None,
        }
    }

    fn access(&self, expression: &Expr) -> Option<Access> {
        let span = expression.span();
        let mut indices: Vec<&Expr> = Vec::new();
        let mut inner = expression;
        while let Expr::Index(ExprIndex { expr, index, .. }) = inner {
            indices.push(index);
            inner = expr;
        }
        indices.reverse();
        if !matches!(inner, Expr::Path(_)) {
            return None;
        }
        let count = self.indices_of(inner)?;
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

    fn visit_block_mut(&mut self, block: &mut Block) {
        self.in_scope(|inner| visit_mut::visit_block_mut(inner, block));
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        if let Some(init) = &mut local.init {
            self.visit_local_init_mut(init);
        }
        self.bind(&local.pat, local.init.as_ref().map(|init| &*init.expr));
    }

    fn visit_expr_let_mut(&mut self, matched: &mut ExprLet) {
        self.visit_expr_mut(&mut matched.expr);
        self.bind(&matched.pat, Some(&matched.expr));
    }

    fn visit_expr_if_mut(&mut self, condition: &mut ExprIf) {
        self.in_scope(|inner| {
            inner.visit_expr_mut(&mut condition.cond);
            inner.visit_block_mut(&mut condition.then_branch);
        });
        if let Some((_, otherwise)) = &mut condition.else_branch {
            self.visit_expr_mut(otherwise);
        }
    }

    fn visit_expr_while_mut(&mut self, repeated: &mut ExprWhile) {
        self.in_scope(|inner| visit_mut::visit_expr_while_mut(inner, repeated));
    }

    fn visit_expr_for_loop_mut(&mut self, repeated: &mut ExprForLoop) {
        self.visit_expr_mut(&mut repeated.expr);
        self.in_scope(|inner| {
            inner.bind(&repeated.pat, None);
            inner.visit_block_mut(&mut repeated.body);
        });
    }

    fn visit_expr_match_mut(&mut self, matched: &mut ExprMatch) {
        self.visit_expr_mut(&mut matched.expr);
        for arm in &mut matched.arms {
            self.in_scope(|inner| {
                match &mut arm.pat {
                    Pat::Guard(guarded) => {
                        inner.bind(&guarded.pat, Some(&matched.expr));
                        inner.visit_expr_mut(&mut guarded.guard);
                    }
                    pattern => inner.bind(pattern, Some(&matched.expr)),
                }
                inner.visit_expr_mut(&mut arm.body);
            });
        }
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        self.in_scope(|inner| {
            closure.inputs.iter().for_each(|input| inner.bind(input, None));
            inner.visit_expr_mut(&mut closure.body);
        });
    }

    // Functions within the body do not see its variables.
    fn visit_item_mut(&mut self, _: &mut Item) {}

    fn visit_type_mut(&mut self, _: &mut Type) {}
}

/// Adds all variables of a pattern to the innermost scope, as none that many threads write.
struct Others<'a>(&'a mut Brackets);

impl<'ast> Visit<'ast> for Others<'_> {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        self.0.declare(&pattern.ident, None);
        visit::visit_pat_ident(self, pattern);
    }
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
        replace(&mut body, &parameters).map_err(|error| error.to_string())?;
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
            quote!(let f = |out| out[0];),
            quote!(for out in [[1.0]] {
                y = out[0];
            }),
            quote!(match y {
                Some(out) if out[0] > 1 => out[1],
                out => out[2],
            }),
            quote!(if let Some(out) = y
                && out[0] > 1
            {
                z = out[1];
            }),
            quote!(while let Some(out) = y {
                z = out[1];
            }),
            quote!(let Some(out) = y else { return; }; z = out[1];),
            quote!(let (out, z) = y; z = out[1];),
            quote!(let Pair { out, .. } = y; z = out[1];),
            quote!(let [out, z] = y; z = out[1];),
            quote!(let z @ out = y; z = out[1];),
        ] {
            assert_eq!(replaced(body.clone()).unwrap(), quote!({ #body }).to_string());
        }
    }

    #[test]
    fn a_name_is_the_variable_of_its_scope() {
        let pairs = [
            (
                quote!(let tile = shared_array![u32; 2]; let y = { let tile = shared_array![[u32; 2]; 2]; tile[0][1] }; tile[y]),
                quote!(let tile = shared_array![u32; 2]; let y = { let tile = shared_array![[u32; 2]; 2]; tile.get([0, 1]) }; tile.get(y)),
            ),
            (
                quote!(let y = out[0]; { let out = [1]; y = out[1]; } let out = shared_array![u32; 2]; out[2]),
                quote!(let y = out.get(0); { let out = [1]; y = out[1]; } let out = shared_array![u32; 2]; out.get(2)),
            ),
            (
                quote!(let tile = [1]; let tile = shared_array![u32; 2]; let tile: SharedArray<u32, 2> = tile; tile[0]),
                quote!(let tile = [1]; let tile = shared_array![u32; 2]; let tile: SharedArray<u32, 2> = tile; tile.get(0)),
            ),
            (
                quote!(let (a, b) = (shared_array![u32; 2], [1]); let c = &a; c[a[b[0]]]),
                quote!(let (a, b) = (shared_array![u32; 2], [1]); let c = &a; c.get(a.get(b[0]))),
            ),
            (
                quote!(let f = |out: GlobalMut<f32>, x: &SharedArray<f32, 2>| out[0] + x[1]; let g = |out| out[0] + x[1]; out[2]),
                quote!(let f = |out: GlobalMut<f32>, x: &SharedArray<f32, 2>| out.get(0) + x.get(1); let g = |out| out[0] + x[1]; out.get(2)),
            ),
            (
                quote!(for x in out[0]..out[1] { let out = [x]; y = out[0]; } y = out[2];),
                quote!(for x in out.get(0)..out.get(1) { let out = [x]; y = out[0]; } y = out.get(2);),
            ),
            (
                quote!(if let Some(out) = f(out[0]) { y = out[1]; } else { y = out[2]; } y = out[3];),
                quote!(if let Some(out) = f(out.get(0)) { y = out[1]; } else { y = out.get(2); } y = out.get(3);),
            ),
            (
                quote!(match out[0] {
                    out if out[1] => out[2],
                    1 => out[3],
                    _ => {
                        let out = out;
                        out[4]
                    }
                }),
                quote!(match out.get(0) {
                    out if out[1] => out[2],
                    1 => out.get(3),
                    _ => {
                        let out = out;
                        out.get(4)
                    }
                }),
            ),
            (
                quote!(while let Some(out) = f(out[0]) { y = out[1]; } let Some(out) = f(out[2]) else { return f(out[3]); }; y = out[4];),
                quote!(while let Some(out) = f(out.get(0)) { y = out[1]; } let Some(out) = f(out.get(2)) else { return f(out.get(3)); }; y = out[4];),
            ),
            (
                quote!(let a = shared_array![u32; 2]; let b = if y { a } else { out }; let c = { shared_array![u32; 2] }; b[0] + c[1]),
                quote!(let a = shared_array![u32; 2]; let b = if y { a } else { out }; let c = { shared_array![u32; 2] }; b.get(0) + c.get(1)),
            ),
        ];
        for (body, expected) in pairs {
            assert_eq!(replaced(body).unwrap(), quote!({ #expected }).to_string());
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
