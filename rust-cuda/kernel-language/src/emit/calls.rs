//! Calls, which are inlined.

use super::Emitter;
use super::value::Value;
use crate::check;
use crate::limits::MAX_CALLS;
use crate::refusal::{Checked, Place};
use crate::tree::Expr;
use crate::types::Type;

impl Emitter<'_> {
    pub(super) fn call(
        &mut self,
        number: usize,
        generics: &[Type],
        arguments: &[Expr],
        place: Place,
    ) -> Checked<Value> {
        let function = self.program.functions[number].clone();
        if self.calls.contains(&number) || self.calls.len() > MAX_CALLS {
            return place.refused("a function that calls itself is not known here");
        }
        let inference = self.body();
        let generics: Vec<Type> = generics.iter().map(|of| inference.inference.whole(of)).collect();
        let key = (number, generics.iter().map(|of| format!("{of},")).collect::<String>());
        let body = match self.bodies.get(&key) {
            Some(body) => body.clone(),
            None => {
                if generics.iter().any(|of| matches!(of, Type::Unknown(_) | Type::Struct(..))) {
                    return place.refused("the types of this call are not known: write them, as in `f::<f32>(…)`");
                }
                let body = std::rc::Rc::new(check::check(self.program, &function, &generics)?);
                self.bodies.insert(key, body.clone());
                body
            }
        };
        let values = self.values(arguments)?;
        let may_change: Vec<bool> = arguments.iter().map(|argument| self.may_change(argument)).collect();
        self.at(place);
        let caller = self.current;
        let frame = self.names.call(self.activations[caller].frame, &body.name, place);
        let open = self.names.open();
        self.current = self.activate(body.clone(), frame);
        self.calls.push(number);
        for ((pattern, value), (of, may_change)) in
            body.parameters.iter().zip(values).zip(body.types.iter().zip(may_change))
        {
            self.bind(pattern, value, of, may_change)?;
        }
        let result = self.inlined(&body.expr, &body.result.clone(), place);
        self.calls.pop();
        self.current = caller;
        // Its values are of no use any more, unless a closure has them.
        let line = self.line();
        self.names.close(open, line);
        result
    }

    /// The value of a function's or a closure's body, at whose end `return` leads.
    fn inlined(&mut self, body: &Expr, of: &Type, place: Place) -> Checked<Value> {
        let of = self.body().inference.whole(of);
        let end = self.label();
        let result = match of {
            // Most often there is no `return`: the value needs no registers of its own then.
            _ if !returns(body) => None,
            _ => Some(self.unset(&of, place)?),
        };
        self.returns.push(Some((end, result.clone().unwrap_or(Value::Nothing))));
        let value = self.expression(body);
        self.returns.pop();
        let value = value?;
        let value = match result {
            Some(result) => {
                self.set(&result, value, &of, place)?;
                result
            }
            None if self.may_change(body) => self.copied(value, &of, place)?,
            None => value,
        };
        self.place_label(end);
        Ok(value)
    }

    pub(super) fn r#return(&mut self, value: Option<&Expr>, place: Place) -> Checked<Value> {
        let result = match value {
            Some(value) => self.expression(value)?,
            None => Value::Parts(Vec::new()),
        };
        self.at(place);
        match self.returns.last().cloned().flatten() {
            Some((label, target)) => {
                if let Some(value) = value {
                    let of = self.type_of(value);
                    self.set(&target, result, &of, place)?;
                }
                self.jump(label);
            }
            None => {
                self.emit("ret;".to_owned());
                self.is_dead = true;
            }
        }
        Ok(Value::Nothing)
    }

    pub(super) fn call_closure(&mut self, closure: &Expr, arguments: &[Expr], place: Place) -> Checked<Value> {
        let Value::Closure(number, owner) = self.expression(closure)? else { return Ok(Value::Nothing) };
        if self.returns.len() > 2 * MAX_CALLS {
            return place.refused("closures call each other too deeply");
        }
        let values = self.values(arguments)?;
        let may_change: Vec<bool> = arguments.iter().map(|argument| self.may_change(argument)).collect();
        self.at(place);
        let caller = std::mem::replace(&mut self.current, owner);
        let body = self.body();
        let of = &body.closures[number];
        let frame = self.names.call(self.activations[caller].frame, &format!("{}::{{closure}}", body.name), place);
        let outer = std::mem::replace(&mut self.activations[owner].frame, frame);
        let open = self.names.open();
        for ((pattern, value), (r#type, may_change)) in
            of.parameters.iter().zip(values).zip(of.types.iter().zip(may_change))
        {
            let r#type = body.inference.whole(r#type);
            self.bind(pattern, value, &r#type, may_change)?;
        }
        let result = match &of.body {
            Some(expr) => self.inlined(expr, &of.result, place),
            None => Ok(Value::Nothing),
        };
        self.activations[owner].frame = outer;
        self.current = caller;
        let line = self.line();
        self.names.close(open, line);
        result
    }
}

/// Whether a body has `return`, other than in closures, which have been taken out of it.
fn returns(expr: &Expr) -> bool {
    use crate::tree::{Kind, Statement};
    let all = |parts: &[Expr]| parts.iter().any(returns);
    match &expr.kind {
        Kind::Return(_) => true,
        Kind::Tuple(parts) | Kind::Array(parts) | Kind::Call(.., parts) | Kind::Operation(_, parts) => all(parts),
        Kind::CallClosure(_, parts) => all(parts),
        Kind::Repeat(inner)
        | Kind::Field(inner, _)
        | Kind::Unary(_, inner)
        | Kind::Cast(inner)
        | Kind::Reference(inner)
        | Kind::Dereference(inner) => returns(inner),
        Kind::Element(left, right)
        | Kind::Binary(_, left, right)
        | Kind::Compare(_, left, right)
        | Kind::And(left, right)
        | Kind::Or(left, right)
        | Kind::Assign(left, right)
        | Kind::AssignBinary(_, left, right) => returns(left) || returns(right),
        Kind::If(condition, then, otherwise) => {
            returns(condition) || returns(then) || otherwise.as_deref().is_some_and(returns)
        }
        Kind::Block(statements, tail, _) => {
            let is_in = |statement: &Statement| match statement {
                Statement::Let(_, value) | Statement::Expr(value) => returns(value),
            };
            statements.iter().any(is_in) || tail.as_deref().is_some_and(returns)
        }
        Kind::Loop(_, condition, body) => condition.as_deref().is_some_and(returns) || returns(body),
        Kind::For(_, range, body) => {
            let step = range.step.as_ref().is_some_and(returns);
            returns(&range.from) || returns(&range.to) || step || returns(body)
        }
        Kind::Break(_, value) => value.as_deref().is_some_and(returns),
        _ => false,
    }
}
