//! Expressions.

use syn::Expr as Syntax;

use super::{Around, Checker};
use crate::refusal::{Checked, Place};
use crate::tree::{Closure, Expr, Kind, Operation, Range};
use crate::types::Type;

const OTHER: &str = "this expression is not known here";

impl Checker<'_> {
    /// An expression that should have a given type. The caller checks that it does.
    pub(super) fn expression(&mut self, expr: &Syntax, wanted: Option<&Type>) -> Checked<Expr> {
        let checked = self.known(expr, wanted);
        checked.map_err(|refused| if refused.is_name { self.foreign(expr, refused) } else { refused })
    }

    fn known(&mut self, expr: &Syntax, wanted: Option<&Type>) -> Checked<Expr> {
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
                    parts.push(self.typed(part, &element)?);
                }
                let of = Type::Array([element, Type::Length(parts.len() as u64)].into());
                self.of_parts(parts, of, place, Kind::Array)
            }
            Syntax::Repeat(repeat) => {
                let element = self.expression(&repeat.expr, None)?;
                let of = Type::Array([element.r#type.clone(), self.length(&repeat.len)?].into());
                let of = self.limited(of, place)?;
                Ok(Expr::new(Kind::Repeat(element.into()), of, place))
            }
            Syntax::Struct(of) => self.structure(of, place),
            Syntax::Reference(of) => {
                let inner = self.expression(&of.expr, None)?;
                if of.mutability.is_some() {
                    self.check_assignable(&inner)?;
                }
                let r#type = Type::Reference(inner.r#type.clone().into(), of.mutability.is_some());
                Ok(Expr::new(Kind::Reference(inner.into()), r#type, place))
            }
            Syntax::While(of) => self.while_loop(of, place),
            Syntax::Loop(of) => self.endless_loop(of, wanted, place),
            Syntax::ForLoop(of) => self.for_loop(of, place),
            Syntax::Break(of) => self.r#break(of, place),
            Syntax::Continue(of) => {
                let index = self.target(of.label.as_ref(), place)?;
                Ok(Expr::new(Kind::Continue(self.around[index].number), Type::Never, place))
            }
            Syntax::Return(of) => {
                let result = self.results.last().cloned().unwrap_or_else(Type::unit);
                self.returns.iter_mut().next_back().into_iter().for_each(|returns| *returns = true);
                let value = match &of.expr {
                    Some(value) if self.place(value).line > self.place(&of.return_token).line => {
                        return self.behind(&of.return_token).refused("`;` is missing at the end of this line");
                    }
                    Some(value) if self.is_kernel && self.results.len() == 1 => {
                        return self
                            .place(value)
                            .refused("a kernel returns nothing: write the value to memory, then `return;`");
                    }
                    Some(value) => Some(Box::new(self.typed(value, &result)?)),
                    None if self.inference.unify(&result, &Type::unit()) => None,
                    None => return place.refused(format!("return a value: {}", self.shown(&result))),
                };
                Ok(Expr::new(Kind::Return(value), Type::Never, place))
            }
            Syntax::Closure(closure) => self.closure(closure, place),
            Syntax::Range(_) => place.refused("a range is known in `for i in a..b` and in `slice(a..b)` only"),
            Syntax::Let(_) => place.refused("`let` is known here in `if let`: write one `if` in the other"),
            Syntax::Try(_) => place.refused("`?` is not known here: write `let Some(value) = … else { return };`"),
            _ => place.refused(OTHER),
        }
    }

    /// An expression that must have a given type.
    pub(super) fn typed(&mut self, expr: &Syntax, of: &Type) -> Checked<Expr> {
        let checked = self.expression(expr, Some(of))?;
        self.coerced_from(Some(expr), checked, of)
    }

    pub(super) fn of_parts(
        &self,
        parts: Vec<Expr>,
        r#type: Type,
        place: Place,
        kind: impl FnOnce(Vec<Expr>) -> Kind,
    ) -> Checked<Expr> {
        Ok(Expr::new(kind(parts), self.limited(r#type, place)?, place))
    }

    pub(super) fn operation(&self, operation: Operation, parts: Vec<Expr>, r#type: Type, place: Place) -> Expr {
        Expr::new(Kind::Operation(operation, parts), r#type, place)
    }

    /// A loop's number and body, and whether it has a `break`.
    pub(super) fn looped(
        &mut self,
        label: Option<&syn::Label>,
        result: Option<Type>,
        body: &syn::Block,
    ) -> Checked<(usize, Box<Expr>, bool)> {
        self.arounds += 1;
        let number = self.arounds;
        let label = label.map(|label| label.name.ident.to_string());
        self.around.push(Around { label, number, result, breaks: false });
        let body = self.block(body, Some(&Type::unit()));
        let breaks = self.around.pop().is_some_and(|around| around.breaks);
        Ok((number, self.coerced(body?, &Type::unit())?.into(), breaks))
    }

    fn while_loop(&mut self, of: &syn::ExprWhile, place: Place) -> Checked<Expr> {
        if let Syntax::Let(_) = &*of.cond {
            let reason = "`while let` is not known here: write `loop { let Some(value) = … else { break }; … }`";
            return place.refused(reason);
        }
        let condition = self.condition(&of.cond)?;
        let (number, body, _) = self.looped(of.label.as_ref(), None, &of.body)?;
        Ok(Expr::new(Kind::Loop(number, Some(condition.into()), body), Type::unit(), place))
    }

    fn endless_loop(&mut self, of: &syn::ExprLoop, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let result = wanted.cloned().unwrap_or_else(|| self.inference.any());
        let (number, body, breaks) = self.looped(of.label.as_ref(), Some(result.clone()), &of.body)?;
        let r#type = if breaks { result } else { Type::Never };
        Ok(Expr::new(Kind::Loop(number, None, body), r#type, place))
    }

    fn for_loop(&mut self, of: &syn::ExprForLoop, place: Place) -> Checked<Expr> {
        let (mut iterated, mut step, mut is_reversed) = (&*of.expr, None, false);
        let range = loop {
            match iterated {
                Syntax::Paren(inner) => iterated = &inner.expr,
                Syntax::Range(range) => break range,
                Syntax::MethodCall(call) if call.method == "step_by" && step.is_none() && !is_reversed => {
                    let Some(by) = call.args.first() else { return place.refused("`step_by` needs a number") };
                    step = Some(self.typed(by, &Type::USIZE)?);
                    iterated = &call.receiver;
                }
                Syntax::MethodCall(call) if call.method == "rev" && step.is_none() && !is_reversed => {
                    is_reversed = true;
                    iterated = &call.receiver;
                }
                _ if step.is_none() && !is_reversed => return self.for_elements(of, place),
                _ => return self.place(iterated).refused("only a range is reversed here, or has steps"),
            }
        };
        let (Some(from), Some(to)) = (&range.start, &range.end) else {
            return self.place(range).refused("a range in `for` has both ends here");
        };
        let of_range = self.inference.integer();
        let (from, to) = (self.typed(from, &of_range)?, self.typed(to, &of_range)?);
        let is_inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
        self.scopes.push(Vec::new());
        let variable = self.pattern(&of.pat, &of_range);
        let body = variable.and_then(|variable| Ok((variable, self.looped(of.label.as_ref(), None, &of.body)?)));
        self.scopes.pop();
        let (variable, (number, body, _)) = body?;
        let range = Range { variable, from, to, is_inclusive, is_reversed, step };
        Ok(Expr::new(Kind::For(number, range.into(), body), Type::unit(), place))
    }

    /// The loop or block that `break` or `continue` refers to.
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
            (Some(value), Some(result)) => Some(Box::new(self.typed(value, &result)?)),
            (None, Some(result)) if !self.inference.unify(&result, &Type::unit()) => {
                return place.refused(format!("`break` needs a value here: {}", self.shown(&result)));
            }
            (None, _) => None,
            (Some(_), None) => return place.refused("only `loop` has a value, which `break` gives"),
        };
        Ok(Expr::new(Kind::Break(number, value), Type::Never, place))
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
            let body = self.typed(&of.body, &result)?;
            let returns = self.returns.pop() == Some(true);
            Ok(Closure { parameters, types, result, body: Some(body), returns })
        });
        self.around = around;
        self.scopes.pop();
        let closure = checked?;
        self.results.pop();
        self.closures.push(closure);
        let number = self.closures.len() - 1;
        Ok(Expr::new(Kind::Closure(number), Type::Closure(number), place))
    }
}
