//! Calls. All of them are inlined.

use super::Emitter;
use super::value::Value;
use crate::check;
use crate::limits::MAX_CALLS;
use crate::refusal::{Checked, Place};
use crate::tree::{Expr, Pattern};
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
        let values = self.passed(arguments, place)?;
        let caller = self.current;
        let is_own = self.is_own;
        self.is_own |= self.program.is_own(function.module);
        let frame = match self.is_own {
            true => self.activations[caller].frame,
            false => self.names.call(self.activations[caller].frame, &body.name, place),
        };
        let open = self.names.open();
        self.current = self.activate(body.clone(), frame);
        self.calls.push(number);
        self.bind_all(&body.parameters, values, &body.types)?;
        let result = self.inlined(&body.expr, (&body.result, body.returns), place);
        self.is_own = is_own;
        self.calls.pop();
        self.current = caller;
        // Its values are no longer needed, unless a closure captures them.
        let line = self.line();
        self.names.close(open, line);
        result
    }

    /// The values of arguments, and whether they may change later.
    fn passed(&mut self, arguments: &[Expr], place: Place) -> Checked<Vec<(Value, bool)>> {
        let values = self.values(arguments)?;
        self.at(place);
        Ok(values.into_iter().zip(arguments.iter().map(|argument| self.may_change(argument))).collect())
    }

    fn bind_all(&mut self, patterns: &[Pattern], values: Vec<(Value, bool)>, types: &[Type]) -> Checked<()> {
        let body = self.body();
        for ((pattern, (value, may_change)), of) in patterns.iter().zip(values).zip(types) {
            self.bind(pattern, value, &body.inference.whole(of), may_change)?;
        }
        Ok(())
    }

    /// The value of a function's or closure's body. `return` jumps to its end.
    fn inlined(&mut self, body: &Expr, (of, returns): (&Type, bool), place: Place) -> Checked<Value> {
        let of = self.body().inference.whole(of);
        let end = self.label();
        // Without a `return`, the value needs no separate registers.
        let result = if returns { Some(self.unset(&of, place)?) } else { None };
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
        let values = self.passed(arguments, place)?;
        let caller = std::mem::replace(&mut self.current, owner);
        let body = self.body();
        let of = &body.closures[number];
        let frame = self.names.call(self.activations[caller].frame, &format!("{}::{{closure}}", body.name), place);
        let outer = std::mem::replace(&mut self.activations[owner].frame, frame);
        let open = self.names.open();
        self.bind_all(&of.parameters, values, &of.types)?;
        let result = match &of.body {
            Some(expr) => self.inlined(expr, (&of.result, of.returns), place),
            None => Ok(Value::Nothing),
        };
        self.activations[owner].frame = outer;
        self.current = caller;
        let line = self.line();
        self.names.close(open, line);
        result
    }
}
