//! Expressions.

use super::Emitter;
use super::value::Value;
use crate::constants;
use crate::refusal::{Checked, Place};
use crate::tree::{Binary, Expr, Kind, Statement, Unary};
use crate::types::{Integer, Type};

impl Emitter<'_> {
    pub(super) fn expression(&mut self, expr: &Expr) -> Checked<Value> {
        self.count(expr.place)?;
        let of = self.type_of(expr);
        if let Kind::Binary(..) | Kind::Cast(_) | Kind::Unary(..) = expr.kind
            && is_constant(expr)
        {
            let value = constants::evaluate(self.program, &self.body().inference, expr)?;
            return self.constant(value, &of, expr.place);
        }
        Ok(match &expr.kind {
            Kind::Integer(value) => self.constant(constants::Constant::Integer(*value), &of, expr.place)?,
            Kind::Float(digits) => self.constant(constants::float(digits, &of), &of, expr.place)?,
            Kind::Bool(value) => self.constant(constants::Constant::Bool(*value), &of, expr.place)?,
            Kind::Constant(number) => {
                let value = constants::value_of(self.program, *number, expr.place)?;
                self.constant(value, &of, expr.place)?
            }
            Kind::Local(number) => self.activations[self.current].values[*number].clone(),
            Kind::Tuple(parts) => Value::Parts(self.values(parts)?),
            Kind::Array(parts) => self.array_of(parts, &of, expr.place)?,
            Kind::Repeat(element) => self.repeated(element, &of, expr.place)?,
            Kind::Field(base, index) => match self.expression(base)? {
                Value::Parts(parts) => parts.get(*index).cloned().unwrap_or(Value::Nothing),
                _ => Value::Nothing,
            },
            Kind::Element(base, index) => {
                let place = self.element(base, index, expr.place)?;
                self.load_element(place, &of)
            }
            Kind::Unary(operator, operand) => self.unary(*operator, operand, &of)?,
            Kind::Binary(operator, left, right) => {
                let [left_value, right_value] = self.two(left, right)?;
                self.at(expr.place);
                let right_type = self.type_of(right);
                Value::Scalar(self.binary(*operator, left_value, (right_value, &right_type), &of)?)
            }
            Kind::Compare(comparison, left, right) => {
                let [left_value, right_value] = self.two(left, right)?;
                self.at(expr.place);
                let of = self.type_of(left);
                Value::Scalar(self.compared(*comparison, &left_value, &right_value, &of))
            }
            Kind::And(..) | Kind::Or(..) => self.decided(expr)?,
            Kind::Assign(target, value) => {
                self.assign(target, value)?;
                Value::Parts(Vec::new())
            }
            Kind::AssignBinary(operator, target, value) => {
                self.assign_computed(*operator, target, value, expr.place)?;
                Value::Parts(Vec::new())
            }
            Kind::Cast(operand) => {
                let from = self.type_of(operand);
                let value = self.expression(operand)?;
                self.at(expr.place);
                let value = self.scalar(value, &from);
                Value::Scalar(self.cast(&value, &from, &of, expr.place)?)
            }
            Kind::If(condition, then, otherwise) => {
                self.branches(condition, then, otherwise.as_deref(), &of, expr.place)?
            }
            Kind::Block(statements, tail) => self.block(statements, tail.as_deref())?,
            Kind::Loop(number, condition, body) => self.r#loop(*number, condition.as_deref(), body, &of, expr.place)?,
            Kind::For(number, range, body) => self.for_loop(*number, range, body, expr.place)?,
            Kind::Break(number, value) => self.r#break(*number, value.as_deref(), expr.place)?,
            Kind::Continue(number) => {
                let target = self.activations[self.current].targets.get(number).map(|target| target.r#continue);
                self.at(expr.place);
                target.into_iter().for_each(|label| self.jump(label));
                Value::Nothing
            }
            Kind::Return(value) => self.r#return(value.as_deref(), expr.place)?,
            Kind::Call(function, generics, arguments) => self.call(*function, generics, arguments, expr.place)?,
            Kind::CallClosure(closure, arguments) => self.call_closure(closure, arguments, expr.place)?,
            Kind::Closure(number) => Value::Closure(*number, self.current),
            Kind::Reference(inner) if matches!(of, Type::Reference(_, true)) => self.target(inner)?,
            Kind::Reference(inner) | Kind::Dereference(inner) => self.expression(inner)?,
            Kind::Say(message, values) => self.say(message, values, expr.place)?,
            Kind::Operation(operation, arguments) => self.operation(*operation, arguments, &of, expr.place)?,
        })
    }

    /// Evaluates expressions in order. A later one does not change an earlier value.
    pub(super) fn values(&mut self, parts: &[Expr]) -> Checked<Vec<Value>> {
        let mut values = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let mut value = self.expression(part)?;
            if self.may_change(part) && parts[index + 1..].iter().any(|later| later.assigns) {
                let of = self.type_of(part);
                value = self.copied(value, &of, part.place)?;
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The numeric values of two expressions.
    pub(super) fn two(&mut self, left: &Expr, right: &Expr) -> Checked<[String; 2]> {
        let left_type = self.type_of(left);
        let mut left_value = self.expression(left)?;
        if right.assigns && self.may_change(left) {
            left_value = self.copied(left_value, &left_type, left.place)?;
        }
        let left_value = self.scalar(left_value, &left_type);
        let right_type = self.type_of(right);
        let right_value = self.expression(right)?;
        Ok([left_value, self.scalar(right_value, &right_type)])
    }

    /// The numeric value of an expression.
    pub(super) fn number(&mut self, expr: &Expr) -> Checked<String> {
        let of = self.type_of(expr);
        let value = self.expression(expr)?;
        Ok(self.scalar(value, &of))
    }

    fn unary(&mut self, operator: Unary, operand: &Expr, of: &Type) -> Checked<Value> {
        let value = self.number(operand)?;
        self.at(operand.place);
        let (value, kind) = match (operator, of) {
            (Unary::Not, Type::Bool) => (self.in_register(value, of), "not.pred".to_owned()),
            (Unary::Not, _) => (value, format!("not.b{}", super::width_of(of))),
            (Unary::Negate, Type::Integer(integer)) if !integer.is_signed() => {
                let name = integer.name();
                return operand
                    .place
                    .refused(format!("`-` is not known for `{name}`, which has no sign: write `-(value as i32)`"));
            }
            (Unary::Negate, _) => (value, format!("neg.{}", super::kind_of(of))),
        };
        let result = self.put(of, kind, value);
        Ok(Value::Scalar(self.normalised(result, of)))
    }

    /// A register with the upper bits of a small integer set as its type requires.
    pub(super) fn normalised(&mut self, register: String, of: &Type) -> String {
        let Type::Integer(integer) = of else { return register };
        if integer.bits() >= 32 {
            return register;
        }
        match integer {
            Integer::U8 | Integer::U16 => self.put(of, "and.b32", format_args!("{register}, {}", integer.maximum())),
            _ => {
                let shift = 32 - integer.bits();
                let shifted = self.put(of, "shl.b32", format_args!("{register}, {shift}"));
                self.put(of, "shr.s32", format_args!("{shifted}, {shift}"))
            }
        }
    }

    /// The target of an assignment.
    fn target(&mut self, target: &Expr) -> Checked<Value> {
        match (&target.kind, self.type_of(target)) {
            (Kind::Element(base, index), of) if of.bytes().is_some() => {
                let (base, offset) = self.element(base, index, target.place)?;
                Ok(Value::Cell(base, offset))
            }
            _ => self.expression(target),
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> Checked<()> {
        let of = self.type_of(target);
        let result = self.expression(value)?;
        self.at(value.place);
        let to = self.target(target)?;
        self.set(&to, result, &of, target.place)
    }

    /// `target += value`: evaluates the value first.
    fn assign_computed(&mut self, operator: Binary, target: &Expr, value: &Expr, place: Place) -> Checked<()> {
        let (of, right_type) = (self.type_of(target), self.type_of(value));
        let right = self.number(value)?;
        let to = self.target(target)?;
        let old = self.scalar(to.clone(), &of);
        self.at(place);
        let result = self.binary(operator, old, (right, &right_type), &of)?;
        self.set(&to, Value::Scalar(result), &of, place)
    }

    fn block(&mut self, statements: &[Statement], tail: Option<&Expr>) -> Checked<Value> {
        let open = self.names.open();
        for statement in statements {
            match statement {
                Statement::Let(pattern, value) => {
                    let of = self.type_of(value);
                    let result = self.expression(value)?;
                    self.at(value.place);
                    self.bind(pattern, result, &of, self.may_change(value))?;
                }
                Statement::Expr(value) => {
                    self.expression(value)?;
                }
            }
        }
        let result = match tail {
            Some(tail) => self.expression(tail)?,
            None => Value::Parts(Vec::new()),
        };
        let line = self.line();
        self.names.close(open, line);
        Ok(result)
    }
}

/// Whether an expression consists only of numbers, constants and operators. The compiler evaluates
/// it, as rustc does.
fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Constant(_) => true,
        Kind::Unary(_, operand) | Kind::Cast(operand) => is_constant(operand),
        // The runtime error is more helpful.
        Kind::Binary(Binary::Div | Binary::Rem, ..) => false,
        Kind::Binary(_, left, right) => is_constant(left) && is_constant(right),
        _ => false,
    }
}
