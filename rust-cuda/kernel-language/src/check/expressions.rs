//! Expressions.

use syn::Expr as Syntax;
use syn::spanned::Spanned;

use super::{Around, Checker, made};
use crate::refusal::{Checked, Place};
use crate::tree::{Closure, Expr, Kind, Operation, Range};
use crate::types::Type;

/// Maximum number of arms, each of which is nested in the one before.
const MAX_ARMS: usize = 40;
const OTHER: &str = "this expression is not known here";

impl Checker<'_> {
    /// An expression whose value should be of a type; the caller checks that it is.
    pub(super) fn expression(&mut self, expr: &Syntax, wanted: Option<&Type>) -> Checked<Expr> {
        let place = self.place(expr);
        match expr {
            Syntax::Lit(literal) => self.literal(&literal.lit, wanted, place),
            Syntax::Paren(inner) => self.expression(&inner.expr, wanted),
            Syntax::Group(inner) => self.expression(&inner.expr, wanted),
            Syntax::Path(path) => self.path(path, place),
            Syntax::Block(block) if block.label.is_none() => self.block(&block.block, wanted),
            Syntax::Block(_) => place.refused("a block with a label is not known here: use a loop"),
            Syntax::Unsafe(_) => place.refused("`unsafe` is not known here: use `get` and `set`"),
            Syntax::If(of) => self.branches(of, wanted),
            Syntax::Match(of) => self.matching(of, wanted, place),
            Syntax::Unary(unary) => self.unary(unary, wanted, place),
            Syntax::Binary(binary) => self.binary(binary, wanted, place),
            Syntax::Assign(assign) => self.assign(&assign.left, &assign.right, place),
            Syntax::Cast(cast) => self.cast(cast, place),
            Syntax::Call(call) => self.call(call, place),
            Syntax::MethodCall(call) => self.method_call(call),
            Syntax::Macro(call) => self.macro_call(&call.mac, place),
            Syntax::Index(index) => self.index(expr, index, place),
            Syntax::Field(field) => self.field(field, place),
            Syntax::Tuple(tuple) => {
                let wanted = wanted.map(|wanted| self.inference.outer(wanted));
                let mut parts = Vec::new();
                for (index, part) in tuple.elems.iter().enumerate() {
                    let wanted = wanted.as_ref().and_then(|wanted| match wanted {
                        Type::Tuple(parts) => parts.get(index).cloned(),
                        _ => None,
                    });
                    parts.push(self.expression(part, wanted.as_ref())?);
                }
                let of = Type::Tuple(parts.iter().map(|part| part.r#type.clone()).collect());
                self.of_parts(parts, of, place, Kind::Tuple)
            }
            Syntax::Array(array) => {
                let element = self.inference.any();
                let mut parts = Vec::new();
                for part in &array.elems {
                    let part = self.expression(part, Some(&element))?;
                    parts.push(self.coerced(part, &element)?);
                }
                let of = Type::Array([element, Type::Length(parts.len() as u64)].into());
                self.of_parts(parts, of, place, Kind::Array)
            }
            Syntax::Repeat(repeat) => {
                let element = self.expression(&repeat.expr, None)?;
                let of = Type::Array([element.r#type.clone(), self.length(&repeat.len)?].into());
                let of = self.limited(of, place)?;
                let assigns = element.assigns;
                Ok(Expr { kind: Kind::Repeat(element.into()), r#type: of, place, assigns })
            }
            Syntax::Struct(of) => self.structure(of, place),
            Syntax::Reference(of) => {
                let inner = self.expression(&of.expr, None)?;
                if of.mutability.is_some() {
                    self.check_assignable(&inner)?;
                }
                let r#type = Type::Reference(inner.r#type.clone().into(), of.mutability.is_some());
                let assigns = inner.assigns || of.mutability.is_some();
                Ok(Expr { kind: Kind::Reference(inner.into()), r#type, place, assigns })
            }
            Syntax::While(of) => self.while_loop(of, place),
            Syntax::Loop(of) => self.endless_loop(of, wanted, place),
            Syntax::ForLoop(of) => self.for_loop(of, place),
            Syntax::Break(of) => self.r#break(of, place),
            Syntax::Continue(of) => {
                let index = self.target(of.label.as_ref(), place)?;
                Ok(made(Kind::Continue(self.around[index].number), Type::Never, place, &[]))
            }
            Syntax::Return(of) => {
                let result = self.results.last().cloned().unwrap_or_else(Type::unit);
                self.returns.iter_mut().next_back().into_iter().for_each(|returns| *returns = true);
                let value = match &of.expr {
                    Some(value) => {
                        let value = self.expression(value, Some(&result))?;
                        Some(Box::new(self.coerced(value, &result)?))
                    }
                    None if self.inference.unify(&result, &Type::unit()) => None,
                    None => return place.refused(format!("return a value: {}", self.shown(&result))),
                };
                Ok(made(Kind::Return(value), Type::Never, place, &[]))
            }
            Syntax::Closure(closure) => self.closure(closure, place),
            Syntax::Range(_) => place.refused("a range is known in `for i in a..b` and in `slice(a..b)` only"),
            Syntax::Let(_) => place.refused("`if let` is not known here: use a comparison"),
            _ => place.refused(OTHER),
        }
    }

    pub(super) fn of_parts(
        &self,
        parts: Vec<Expr>,
        r#type: Type,
        place: Place,
        kind: impl FnOnce(Vec<Expr>) -> Kind,
    ) -> Checked<Expr> {
        let assigns = parts.iter().any(|part| part.assigns);
        let r#type = self.limited(r#type, place)?;
        Ok(Expr { kind: kind(parts), r#type, place, assigns })
    }

    pub(super) fn operation(&self, operation: Operation, parts: Vec<Expr>, r#type: Type, place: Place) -> Expr {
        let assigns = parts.iter().any(|part| part.assigns);
        Expr { kind: Kind::Operation(operation, parts), r#type, place, assigns }
    }

    fn enter(&mut self, label: Option<String>, result: Option<Type>) -> usize {
        self.arounds += 1;
        self.around.push(Around { label, number: self.arounds, result, breaks: false });
        self.arounds
    }

    fn while_loop(&mut self, of: &syn::ExprWhile, place: Place) -> Checked<Expr> {
        let condition = self.condition(&of.cond)?;
        let label = of.label.as_ref().map(|label| label.name.ident.to_string());
        let number = self.enter(label, None);
        let body = self.block(&of.body, Some(&Type::unit()));
        self.around.pop();
        let body = body?;
        let body = self.coerced(body, &Type::unit())?;
        let kind = Kind::Loop(number, Some(condition.into()), body.into());
        Ok(Expr { kind, r#type: Type::unit(), place, assigns: true })
    }

    fn endless_loop(&mut self, of: &syn::ExprLoop, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let result = wanted.cloned().unwrap_or_else(|| self.inference.any());
        let label = of.label.as_ref().map(|label| label.name.ident.to_string());
        let number = self.enter(label, Some(result.clone()));
        let body = self.block(&of.body, Some(&Type::unit()));
        let around = self.around.pop();
        let body = body?;
        let body = self.coerced(body, &Type::unit())?;
        let r#type = if around.is_some_and(|around| around.breaks) { result } else { Type::Never };
        Ok(Expr { kind: Kind::Loop(number, None, body.into()), r#type, place, assigns: true })
    }

    fn for_loop(&mut self, of: &syn::ExprForLoop, place: Place) -> Checked<Expr> {
        let (mut iterated, mut step, mut is_reversed) = (&*of.expr, None, false);
        let range = loop {
            match iterated {
                Syntax::Paren(inner) => iterated = &inner.expr,
                Syntax::Range(range) => break range,
                Syntax::MethodCall(call) if call.method == "step_by" && step.is_none() && !is_reversed => {
                    let Some(by) = call.args.first() else { return place.refused("`step_by` needs a number") };
                    let by = self.expression(by, Some(&Type::USIZE))?;
                    step = Some(self.coerced(by, &Type::USIZE)?);
                    iterated = &call.receiver;
                }
                Syntax::MethodCall(call) if call.method == "rev" && step.is_none() && !is_reversed => {
                    is_reversed = true;
                    iterated = &call.receiver;
                }
                _ => {
                    let place = self.place(iterated);
                    return place.refused(
                        "`for` is known here over a range: `for i in a..b`, also with `.rev()` or `.step_by(n)`",
                    );
                }
            }
        };
        let (Some(from), Some(to)) = (&range.start, &range.end) else {
            return self.place(range).refused("a range in `for` has both ends here");
        };
        let of_range = self.inference.integer();
        let from = self.expression(from, Some(&of_range))?;
        let from = self.coerced(from, &of_range)?;
        let to = self.expression(to, Some(&of_range))?;
        let to = self.coerced(to, &of_range)?;
        let is_inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
        let label = of.label.as_ref().map(|label| label.name.ident.to_string());
        self.scopes.push(Vec::new());
        let variable = self.pattern(&of.pat, &of_range);
        let number = self.enter(label, None);
        let body = variable.and_then(|variable| Ok((variable, self.block(&of.body, Some(&Type::unit()))?)));
        self.around.pop();
        self.scopes.pop();
        let (variable, body) = body?;
        let body = self.coerced(body, &Type::unit())?;
        let range = Range { variable, from, to, is_inclusive, is_reversed, step };
        Ok(Expr { kind: Kind::For(number, range.into(), body.into()), r#type: Type::unit(), place, assigns: true })
    }

    /// The loop or block that `break` or `continue` means.
    fn target(&self, label: Option<&syn::Lifetime>, place: Place) -> Checked<usize> {
        let is_meant = |around: &&Around| match label {
            Some(label) => around.label.as_ref().is_some_and(|known| label.ident == known),
            None => true,
        };
        let found = self.around.iter().rev().find(is_meant).map(|around| around.number);
        match self.around.iter().position(|around| Some(around.number) == found) {
            Some(index) => Ok(index),
            None => place.refused("there is no such loop around this"),
        }
    }

    fn r#break(&mut self, of: &syn::ExprBreak, place: Place) -> Checked<Expr> {
        let index = self.target(of.label.as_ref(), place)?;
        self.around[index].breaks = true;
        let (number, result) = (self.around[index].number, self.around[index].result.clone());
        let value = match (&of.expr, result) {
            (Some(value), Some(result)) => {
                let value = self.expression(value, Some(&result))?;
                Some(Box::new(self.coerced(value, &result)?))
            }
            (None, Some(result)) if !self.inference.unify(&result, &Type::unit()) => {
                return place.refused(format!("`break` needs a value here: {}", self.shown(&result)));
            }
            (None, _) => None,
            (Some(_), None) => return place.refused("only `loop` has a value, which `break` gives"),
        };
        Ok(made(Kind::Break(number, value), Type::Never, place, &[]))
    }

    fn closure(&mut self, of: &syn::ExprClosure, place: Place) -> Checked<Expr> {
        self.scopes.push(Vec::new());
        let result = match &of.output {
            syn::ReturnType::Type(_, of) => self.type_of(of),
            syn::ReturnType::Default => Ok(self.inference.any()),
        };
        let around = std::mem::take(&mut self.around);
        let checked = result.and_then(|result| {
            self.results.push(result.clone());
            self.returns.push(false);
            let (mut parameters, mut types) = (Vec::new(), Vec::new());
            for input in &of.inputs {
                let of = self.inference.any();
                parameters.push(self.pattern(input, &of)?);
                types.push(of);
            }
            let body = self.expression(&of.body, Some(&result))?;
            let body = self.coerced(body, &result)?;
            let returns = self.returns.pop() == Some(true);
            Ok(Closure { parameters, types, result, body: Some(body), returns })
        });
        self.around = around;
        self.scopes.pop();
        let closure = checked?;
        self.results.pop();
        self.closures.push(closure);
        let number = self.closures.len() - 1;
        Ok(made(Kind::Closure(number), Type::Closure(number), place, &[]))
    }

    /// `match` over numbers, as comparisons one after the other.
    fn matching(&mut self, of: &syn::ExprMatch, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        if of.arms.len() > MAX_ARMS {
            return place.refused("this `match` has too many arms");
        }
        let value = self.expression(&of.expr, None)?;
        let r#type = value.r#type.clone();
        self.scopes.push(Vec::new());
        let number = self.declare("", r#type.clone(), false);
        let checked = self.arms(&of.arms, number, wanted, place);
        self.scopes.pop();
        let arms = checked?;
        let assigns = value.assigns || arms.assigns;
        let (of, place) = (arms.r#type.clone(), arms.place);
        let statements = vec![crate::tree::Statement::Let(crate::tree::Pattern::Local(number), value)];
        Ok(Expr { kind: Kind::Block(statements, Some(arms.into())), r#type: of, place, assigns })
    }

    fn arms(&mut self, arms: &[syn::Arm], number: usize, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let Some((arm, rest)) = arms.split_first() else {
            return place.refused("the last arm of `match` is `_ => …` here");
        };
        let at = Place::of(self.program.file_of(self.module), arm.pat.span());
        match self.arm_condition(&arm.pat, number)? {
            None => self.expression(&arm.body, wanted),
            Some(condition) => {
                let then = self.expression(&arm.body, wanted)?;
                let otherwise = self.arms(rest, number, wanted, place)?;
                self.joined(condition, then, otherwise, at)
            }
        }
    }

    /// When an arm is taken; None if always.
    fn arm_condition(&mut self, pattern: &syn::Pat, number: usize) -> Checked<Option<Expr>> {
        let place = self.place(pattern);
        let value = made(Kind::Local(number), self.locals[number].r#type.clone(), place, &[]);
        let equals = |checker: &mut Self, other: Expr| {
            let other = checker.coerced(other, &value.r#type)?;
            let kind = Kind::Compare(crate::tree::Comparison::Equal, value.clone().into(), other.into());
            Ok(Some(made(kind, Type::Bool, place, &[])))
        };
        match pattern {
            syn::Pat::Wild(_) => Ok(None),
            syn::Pat::Lit(literal) => {
                let literal = self.literal(&literal.lit, Some(&value.r#type), place)?;
                equals(self, literal)
            }
            syn::Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: name.ident.clone().into() };
                let constant = self.path(&path, place)?;
                match constant.kind {
                    Kind::Constant(_) => equals(self, constant),
                    _ => place.refused("a name in `match` is a constant here: use `_` and the value's own name"),
                }
            }
            syn::Pat::Path(path) => {
                let constant = self.path(path, place)?;
                equals(self, constant)
            }
            syn::Pat::Or(cases) => {
                let mut all: Option<Expr> = None;
                for case in &cases.cases {
                    let Some(condition) = self.arm_condition(case, number)? else { return Ok(None) };
                    all = Some(match all {
                        Some(all) => made(Kind::Or(all.into(), condition.into()), Type::Bool, place, &[]),
                        None => condition,
                    });
                }
                Ok(all)
            }
            syn::Pat::Guard(guarded) => {
                let guard = self.condition(&guarded.guard)?;
                Ok(Some(match self.arm_condition(&guarded.pat, number)? {
                    Some(condition) => made(Kind::And(condition.into(), guard.into()), Type::Bool, place, &[]),
                    None => guard,
                }))
            }
            _ => place.refused("`match` is known here over numbers, constants and `_`"),
        }
    }
}
