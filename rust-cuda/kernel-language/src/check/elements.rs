//! Loops over the elements of arrays, and arrays of computed elements.

use syn::Expr as Syntax;

use super::Checker;
use super::methods::memory_of;
use crate::refusal::{Checked, Place};
use crate::tree::{Expr, Kind, Operation, Pattern, Range, Statement};
use crate::types::Type;

impl Checker<'_> {
    /// A loop over `a.iter()`, `a.iter_mut()`, `&a` or `a`, also with `.enumerate()` and `.zip(b)`.
    /// It becomes a loop over the indices.
    pub(super) fn for_elements(&mut self, of: &syn::ExprForLoop, place: Place) -> Checked<Expr> {
        self.scopes.push(Vec::new());
        let mut statements = Vec::new();
        let at = self.hidden(Type::USIZE, place);
        let looped = self.item(&of.expr, &at, &mut statements).and_then(|(item, length)| {
            let pattern = self.pattern(&of.pat, &item.r#type)?;
            let (number, body, _) = self.looped(of.label.as_ref(), None, &of.body)?;
            Ok(over(number, (&at, length), vec![Statement::Let(pattern, item), Statement::Expr(*body)], place))
        });
        self.scopes.pop();
        statements.push(Statement::Expr(looped?));
        Ok(Expr::new(Kind::Block(statements, None), Type::unit(), place))
    }

    /// The item of an iterator at the index `at`, and the number of items. Adds the necessary
    /// statements to `before`.
    fn item(&mut self, iterator: &Syntax, at: &Expr, before: &mut Vec<Statement>) -> Checked<(Expr, Expr)> {
        let place = self.place(iterator);
        let (array, of_method) = match iterator {
            Syntax::Paren(inner) => return self.item(&inner.expr, at, before),
            Syntax::MethodCall(call) if call.method == "enumerate" => {
                let (item, length) = self.item(&call.receiver, at, before)?;
                return Ok((self.both(at.clone(), item, place)?, length));
            }
            Syntax::MethodCall(call) if call.method == "zip" && call.args.len() == 1 => {
                let (left, length) = self.item(&call.receiver, at, before)?;
                let (right, other) = self.item(&call.args[0], at, before)?;
                let lengths = [&length, &other].map(|length| match &length.kind {
                    Kind::Operation(_, arrays) => self.inference.outer(&arrays[0].r#type).parts()[1].clone(),
                    _ => Type::Never,
                });
                if !self.inference.unify(&lengths[0], &lengths[1]) {
                    return place.refused("the arrays of `zip` have one length here");
                }
                return Ok((self.both(left, right, place)?, length));
            }
            Syntax::MethodCall(call) if call.method == "iter" || call.method == "iter_mut" => {
                (self.expression(&call.receiver, None)?, Some(call.method == "iter_mut"))
            }
            _ => (self.expression(iterator, None)?, None),
        };
        let of_reference = match self.inference.outer(&array.r#type) {
            Type::Reference(_, is_mutable) => Some(is_mutable),
            _ => None,
        };
        let (array, by_reference) = (self.value(array), of_method.or(of_reference));
        let Type::Array(parts) = self.inference.outer(&array.r#type) else {
            let way_out = match memory_of(&self.inference.outer(&array.r#type)) {
                Some(_) => {
                    let written = if let Syntax::MethodCall(call) = iterator { &call.receiver } else { iterator };
                    let text = self.text(written).unwrap_or_else(|| "x".to_owned());
                    format!(": write `for i in 0..{text}.len()` for memory")
                }
                None => ", as `0..n`, and over the elements of an array".to_owned(),
            };
            return place.refused(format!("`for` is known here over a range{way_out}"));
        };
        let is_mutable = by_reference == Some(true);
        if is_mutable {
            self.check_assignable(&array)?;
        }
        let whole = self.hidden(Type::Reference(array.r#type.clone().into(), is_mutable), place);
        let of = array.r#type.clone();
        let reference = Expr::new(Kind::Reference(array.into()), whole.r#type.clone(), place);
        before.push(Statement::Let(pattern_of(&whole), reference));
        let whole = Expr::new(Kind::Dereference(whole.into()), of, place);
        let length = self.operation(Operation::Length, vec![whole.clone()], Type::USIZE, place);
        let element = Expr::new(Kind::Element(whole.into(), at.clone().into()), parts[0].clone(), place);
        let of = Type::Reference(parts[0].clone().into(), is_mutable);
        let item = if by_reference.is_some() { Expr::new(Kind::Reference(element.into()), of, place) } else { element };
        Ok((item, length))
    }

    /// `core::array::from_fn(|i| …)`: evaluates the closure's body once per element.
    pub(super) fn array_from(&mut self, call: &syn::ExprCall, place: Place) -> Checked<Expr> {
        let (input, body) = match call.args.first() {
            Some(Syntax::Closure(closure)) if closure.inputs.len() == 1 => (&closure.inputs[0], &closure.body),
            _ => return place.refused("`from_fn` takes a closure of one index here: `from_fn(|i| …)`"),
        };
        let element = self.inference.any();
        let of = Type::Array([element.clone(), self.inference.any()].into());
        self.scopes.push(Vec::new());
        let (array, at) = (self.hidden(of.clone(), place), self.hidden(Type::USIZE, place));
        let (around, returns) = (std::mem::take(&mut self.around), std::mem::take(&mut self.returns));
        self.returns.push(false);
        let pattern = self.pattern(input, &Type::USIZE);
        let computed = pattern.and_then(|pattern| Ok((pattern, self.typed(body, &element)?)));
        let has_return = std::mem::replace(&mut self.returns, returns) == [true];
        self.around = around;
        self.scopes.pop();
        let (pattern, value) = computed?;
        if has_return {
            return place.refused("`return` is not known in this closure");
        }
        self.arounds += 1;
        let length = self.operation(Operation::Length, vec![array.clone()], Type::USIZE, place);
        let target = Expr::new(Kind::Element(array.clone().into(), at.clone().into()), element, place);
        let assigned = Expr::new(Kind::Assign(target.into(), value.into()), Type::unit(), place);
        let body = vec![Statement::Let(pattern, at.clone()), Statement::Expr(assigned)];
        let new = self.operation(Operation::NewArray, Vec::new(), of.clone(), place);
        let statements = vec![
            Statement::Let(pattern_of(&array), new),
            Statement::Expr(over(self.arounds, (&at, length), body, place)),
        ];
        Ok(Expr::new(Kind::Block(statements, Some(array.into())), of, place))
    }

    fn both(&self, left: Expr, right: Expr, place: Place) -> Checked<Expr> {
        let of = Type::Tuple([left.r#type.clone(), right.r#type.clone()].into());
        self.of_parts(vec![left, right], of, place, Kind::Tuple)
    }

    /// An unnamed variable.
    fn hidden(&mut self, of: Type, place: Place) -> Expr {
        Expr::new(Kind::Local(self.declare("", of.clone(), false)), of, place)
    }
}

fn pattern_of(local: &Expr) -> Pattern {
    if let Kind::Local(number) = local.kind { Pattern::Local(number) } else { Pattern::Ignore }
}

/// Runs the statements for each index below a length.
fn over(number: usize, (at, length): (&Expr, Expr), statements: Vec<Statement>, place: Place) -> Expr {
    let body = Expr::new(Kind::Block(statements, None), Type::unit(), place);
    let from = Expr::new(Kind::Integer(0), Type::USIZE, place);
    let variable = pattern_of(at);
    let range = Range { variable, from, to: length, is_inclusive: false, is_reversed: false, step: None };
    Expr::new(Kind::For(number, range.into(), body.into()), Type::unit(), place)
}
