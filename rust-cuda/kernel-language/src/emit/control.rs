//! Branches and loops.

use super::value::Value;
use super::{Emitter, Label, Target, width_of};
use crate::refusal::{Checked, Place};
use crate::tree::{Comparison, Expr, Kind, Range, Unary};
use crate::types::{Integer, Type};

impl Emitter<'_> {
    /// Jumps to a label if a condition has a given value. The right side of `&&` and `||` is
    /// evaluated only if it decides.
    pub(super) fn branch(&mut self, condition: &Expr, value: bool, label: Label) -> Checked<()> {
        self.count(condition.place)?;
        match &condition.kind {
            Kind::And(left, right) | Kind::Or(left, right) => {
                // If the left side has this value, it decides alone.
                let decides = matches!(condition.kind, Kind::Or(..));
                if decides == value {
                    self.branch(left, value, label)?;
                    self.branch(right, value, label)
                } else {
                    let over = self.label();
                    self.branch(left, decides, over)?;
                    self.branch(right, value, label)?;
                    self.place_label(over);
                    Ok(())
                }
            }
            Kind::Unary(Unary::Not, inner) => self.branch(inner, !value, label),
            Kind::Bool(constant) => {
                self.at(condition.place);
                if *constant == value {
                    self.jump(label);
                }
                Ok(())
            }
            _ => {
                let predicate = self.number(condition)?;
                self.at(condition.place);
                let predicate = self.in_register(predicate, &Type::Bool);
                self.jump_if(&predicate, value, label);
                Ok(())
            }
        }
    }

    /// The value of `&&` or `||`.
    pub(super) fn decided(&mut self, expr: &Expr) -> Checked<Value> {
        let result = self.fresh(&Type::Bool);
        let end = self.label();
        self.at(expr.place);
        self.mov(&result, "0", &Type::Bool);
        self.branch(expr, false, end)?;
        self.mov(&result, "-1", &Type::Bool);
        self.place_label(end);
        Ok(Value::Scalar(result))
    }

    pub(super) fn branches(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: Option<&Expr>,
        of: &Type,
        place: Place,
    ) -> Checked<Value> {
        let end = self.label();
        let Some(otherwise) = otherwise else {
            self.branch(condition, false, end)?;
            self.expression(then)?;
            self.place_label(end);
            return Ok(Value::Parts(Vec::new()));
        };
        let other = self.label();
        self.branch(condition, false, other)?;
        let result = self.unset(of, place)?;
        for (branch, label) in [(then, other), (otherwise, end)] {
            let value = self.expression(branch)?;
            self.at(branch.place);
            self.set(&result, value, of, place)?;
            if label == other {
                self.jump(end);
            }
            self.place_label(label);
        }
        Ok(result)
    }

    fn enter(&mut self, number: usize, r#continue: Label, of: &Type, place: Place) -> Checked<Target> {
        let target = Target { r#break: self.label(), r#continue, result: self.unset(of, place)? };
        self.activations[self.current].targets.insert(number, target.clone());
        Ok(target)
    }

    pub(super) fn r#loop(
        &mut self,
        number: usize,
        condition: Option<&Expr>,
        body: &Expr,
        of: &Type,
        place: Place,
    ) -> Checked<Value> {
        let head = self.label();
        let target = self.enter(number, head, of, place)?;
        self.place_label(head);
        if let Some(condition) = condition {
            self.branch(condition, false, target.r#break)?;
        }
        self.expression(body)?;
        self.at(condition.map_or(place, |condition| condition.place));
        self.jump(head);
        self.place_label(target.r#break);
        Ok(target.result)
    }

    pub(super) fn r#break(&mut self, number: usize, value: Option<&Expr>, place: Place) -> Checked<Value> {
        let Some(target) = self.activations[self.current].targets.get(&number).cloned() else {
            return place.refused("this `break` leads nowhere");
        };
        if let Some(value) = value {
            let of = self.type_of(value);
            let result = self.expression(value)?;
            self.set(&target.result, result, &of, place)?;
        }
        self.at(place);
        self.jump(target.r#break);
        Ok(Value::Nothing)
    }

    /// A loop over a range. Its variable is compared before each iteration, or after it if it could
    /// wrap around.
    pub(super) fn for_loop(&mut self, number: usize, range: &Range, body: &Expr, place: Place) -> Checked<Value> {
        let of = self.type_of(&range.from);
        let [from, to] = self.two(&range.from, &range.to)?;
        let mut to = to;
        if to.starts_with('%') && self.may_change(&range.to) {
            let end = self.fresh(&of);
            self.mov(&end, &to, &of);
            to = end;
        }
        let step = match &range.step {
            Some(step) => Some(self.step(step)?),
            None => None,
        };
        self.at(range.from.place);
        let counter = self.fresh(&of);
        let (first, last) = if range.is_reversed { (&to, &from) } else { (&from, &to) };
        self.mov(&counter, first, &of);
        let last = self.in_register(last.clone(), &of);
        let (head, next) = (self.label(), self.label());
        let target = self.enter(number, next, &Type::unit(), place)?;
        let is_checked_after = range.is_inclusive || step.is_some();
        // Whether the range has any values.
        let beyond = match (range.is_inclusive, range.is_reversed) {
            (true, false) => Comparison::Greater,
            (true, true) => Comparison::Less,
            (false, false) => Comparison::GreaterOrEqual,
            (false, true) => Comparison::LessOrEqual,
        };
        if !is_checked_after {
            self.place_label(head);
        }
        let ends = self.compared(beyond, &counter, &last, &of);
        self.jump_if(&ends, true, target.r#break);
        if is_checked_after {
            self.place_label(head);
        }
        if range.is_reversed && !range.is_inclusive {
            self.emit(format!("add.s{} \t{counter}, {counter}, -1;", width_of(&of)));
        }
        let open = self.names.open();
        self.bind(&range.variable, Value::Scalar(counter.clone()), &of, false)?;
        self.expression(body)?;
        let line = self.line();
        self.names.close(open, line);
        self.place_label(next);
        self.at(range.from.place);
        match step {
            // The remaining range contains no further value.
            Some(step) => {
                let rest = self.put(&of, format_args!("sub.s{}", width_of(&of)), format_args!("{last}, {counter}"));
                let counted = if width_of(&of) == 64 { Integer::Usize } else { Integer::U32 };
                let wide = self.between_integers(&rest, counted, Integer::Usize);
                let no_more = if range.is_inclusive { Comparison::Less } else { Comparison::LessOrEqual };
                let ends = self.compared(no_more, &wide, &step, &Type::USIZE);
                self.jump_if(&ends, true, target.r#break);
                let narrow = self.between_integers(&step, Integer::Usize, counted);
                self.emit(format!("add.s{} \t{counter}, {counter}, {narrow};", width_of(&of)));
            }
            None => {
                if range.is_inclusive {
                    let ends = self.compared(Comparison::Equal, &counter, &last, &of);
                    self.jump_if(&ends, true, target.r#break);
                }
                if range.is_inclusive || !range.is_reversed {
                    let by = if range.is_reversed { -1 } else { 1 };
                    self.emit(format!("add.s{} \t{counter}, {counter}, {by};", width_of(&of)));
                }
            }
        }
        self.jump(head);
        self.place_label(target.r#break);
        Ok(Value::Parts(Vec::new()))
    }

    /// The step of a range in a register. A step of 0 panics.
    fn step(&mut self, step: &Expr) -> Checked<String> {
        let value = self.number(step)?;
        self.at(step.place);
        if value == "0" {
            return step.place.refused("a step of 0 panics");
        }
        let register = self.wide();
        self.mov(&register, &value, &Type::USIZE);
        if value.starts_with('%') {
            let is_zero = self.put(&Type::Bool, "setp.eq.b64", format_args!("{register}, 0"));
            self.panic_if(&is_zero, true, "assertion failed: step != 0");
        }
        Ok(register)
    }
}
