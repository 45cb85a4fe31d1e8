//! Operators.

use super::{Emitter, kind_of, width_of};
use crate::refusal::Checked;
use crate::tree::{Binary, Comparison};
use crate::types::{Integer, Type};

impl Emitter<'_> {
    /// The result of an operator. The right operand's type matters for shifts.
    pub(super) fn binary(
        &mut self,
        operator: Binary,
        left: String,
        (right, right_type): (String, &Type),
        of: &Type,
    ) -> Checked<String> {
        let kind = kind_of(of);
        let width = width_of(of);
        let instruction = match (operator, of) {
            (Binary::And, Type::Bool) => "and.pred".to_owned(),
            (Binary::Or, Type::Bool) => "or.pred".to_owned(),
            (Binary::Xor, Type::Bool) => "xor.pred".to_owned(),
            (Binary::Add, Type::Float(_)) => format!("add.rn.{kind}"),
            (Binary::Sub, Type::Float(_)) => format!("sub.rn.{kind}"),
            (Binary::Mul, Type::Float(_)) => format!("mul.rn.{kind}"),
            (Binary::Div, Type::Float(_)) => format!("div.rn.{kind}"),
            (Binary::Add, _) => format!("add.s{width}"),
            (Binary::Sub, _) => format!("sub.s{width}"),
            (Binary::Mul, _) => format!("mul.lo.s{width}"),
            (Binary::And, _) => format!("and.b{width}"),
            (Binary::Or, _) => format!("or.b{width}"),
            (Binary::Xor, _) => format!("xor.b{width}"),
            (Binary::Div | Binary::Rem, Type::Integer(integer)) => {
                return self.divided(operator, left, right, *integer);
            }
            (Binary::ShiftLeft | Binary::ShiftRight, Type::Integer(integer)) => {
                return self.shifted(operator, &left, (&right, right_type), *integer);
            }
            _ => return self.place.refused("this operator is not known for these values"),
        };
        let (left, right) = match of {
            Type::Bool => (self.in_register(left, of), self.in_register(right, of)),
            _ => (left, right),
        };
        let result = self.put(of, &instruction, format_args!("{left}, {right}"));
        Ok(self.normalised(result, of))
    }

    /// A quotient or a remainder. Division by zero traps, and so does the smallest integer divided
    /// by −1.
    fn divided(&mut self, operator: Binary, left: String, right: String, integer: Integer) -> Checked<String> {
        let of = Type::Integer(integer);
        let divisor = right.parse::<i128>().ok();
        let [by_zero, overflow] = match operator {
            Binary::Div => ["attempt to divide by zero", "attempt to divide with overflow"],
            _ => [
                "attempt to calculate the remainder with a divisor of zero",
                "attempt to calculate the remainder with overflow",
            ],
        };
        if divisor == Some(0) {
            return self.place.refused("this divides by zero");
        }
        if divisor.is_none() {
            let is_zero = self.put(&Type::Bool, format_args!("setp.eq.b{}", width_of(&of)), format_args!("{right}, 0"));
            self.panic_if(&is_zero, true, by_zero);
        }
        if integer.is_signed() && divisor.is_none_or(|divisor| divisor == -1) {
            let [is_least, is_minus_one, both] = [(); 3].map(|()| self.fresh(&Type::Bool));
            let kind = kind_of(&of);
            let (left, right) = (self.in_register(left.clone(), &of), self.in_register(right.clone(), &of));
            self.emit(format!("setp.eq.{kind} \t{is_least}, {left}, {};", integer.minimum()));
            self.emit(format!("setp.eq.{kind} \t{is_minus_one}, {right}, -1;"));
            self.emit(format!("and.pred \t{both}, {is_least}, {is_minus_one};"));
            self.panic_if(&both, true, overflow);
        }
        let name = if operator == Binary::Div { "div" } else { "rem" };
        let result = self.put(&of, format_args!("{name}.{}", kind_of(&of)), format_args!("{left}, {right}"));
        Ok(self.normalised(result, &of))
    }

    /// A shift by the lowest bits of the right operand.
    pub(super) fn shifted(
        &mut self,
        operator: Binary,
        left: &str,
        (right, right_type): (&str, &Type),
        integer: Integer,
    ) -> Checked<String> {
        let of = Type::Integer(integer);
        let amount = match right.parse::<i128>() {
            Ok(amount) if (0..i128::from(integer.bits())).contains(&amount) => amount.to_string(),
            Ok(_) => return self.place.refused("this shifts by all bits or more"),
            Err(_) => {
                let mut amount = right.to_owned();
                if width_of(right_type) == 64 {
                    amount = self.put(&Type::U32, "cvt.u32.u64", right);
                }
                self.put(&Type::U32, "and.b32", format_args!("{amount}, {}", integer.bits() - 1))
            }
        };
        let shift = match operator {
            Binary::ShiftLeft => format!("shl.b{}", width_of(&of)),
            _ => format!("shr.{}", kind_of(&of)),
        };
        let result = self.put(&of, shift, format_args!("{left}, {amount}"));
        Ok(self.normalised(result, &of))
    }

    /// A comparison with the result in a predicate.
    pub(super) fn compared(&mut self, comparison: Comparison, left: &str, right: &str, of: &Type) -> String {
        let result = self.fresh(&Type::Bool);
        if *of == Type::Bool {
            // false < true
            let [left, right] = [left, right].map(|value| {
                let value = self.in_register(value.to_owned(), of);
                self.put(&Type::U32, "selp.b32", format_args!("1, 0, {value}"))
            });
            self.emit(format!("setp.{}.u32 \t{result}, {left}, {right};", name_of(comparison, &Type::U32)));
            return result;
        }
        let (left, right) = (self.in_register(left.to_owned(), of), right);
        self.emit(format!("setp.{}.{} \t{result}, {left}, {right};", name_of(comparison, of), kind_of(of)));
        result
    }
}

/// The comparison's name in PTX. A NaN is unequal to everything.
fn name_of(comparison: Comparison, of: &Type) -> &'static str {
    match comparison {
        Comparison::Equal => "eq",
        Comparison::NotEqual if matches!(of, Type::Float(_)) => "neu",
        Comparison::NotEqual => "ne",
        Comparison::Less => "lt",
        Comparison::LessOrEqual => "le",
        Comparison::Greater => "gt",
        Comparison::GreaterOrEqual => "ge",
    }
}
