//! Numeric methods.

use super::value::Value;
use super::{Emitter, kind_of, width_of};
use crate::refusal::Checked;
use crate::tree::{Binary, Comparison};
use crate::types::{Float, Integer, Type};

impl Emitter<'_> {
    /// The result of a method. The first value is `self`, and all values have its type.
    pub(super) fn method(&mut self, name: &str, values: &[String], of: &Type, to: &Type) -> Checked<String> {
        let kind = kind_of(of);
        let width = width_of(of);
        let value = values[0].clone();
        let argument = values.get(1).cloned().unwrap_or_default();
        Ok(match (name, of) {
            ("min" | "max", _) => self.result(&format!("{name}.{kind}"), values, of),
            ("abs", Type::Float(_)) => self.result(&format!("abs.{kind}"), values, of),
            ("abs" | "unsigned_abs", _) => {
                let positive = self.result(&format!("abs.{kind}"), values, of);
                self.normalised(positive, to)
            }
            ("sqrt", _) => self.result(&format!("sqrt.rn.{kind}"), values, of),
            ("floor", _) => self.result(&format!("cvt.rmi.{kind}.{kind}"), values, of),
            ("ceil", _) => self.result(&format!("cvt.rpi.{kind}.{kind}"), values, of),
            ("trunc", _) => self.result(&format!("cvt.rzi.{kind}.{kind}"), values, of),
            ("round_ties_even", _) => self.result(&format!("cvt.rni.{kind}.{kind}"), values, of),
            ("mul_add", _) => self.result(&format!("fma.rn.{kind}"), values, of),
            // PTX takes the sign from the first operand.
            ("copysign", _) => self.result(&format!("copysign.{kind}"), &[argument, value], of),
            ("recip", Type::Float(float)) => {
                let one = if *float == Float::F32 { "0f3F800000" } else { "0d3FF0000000000000" };
                self.combined(Binary::Div, one.to_owned(), value, of)?
            }
            ("is_nan", _) => self.predicate(&format!("setp.nan.{kind}"), &value, &value, of),
            ("is_finite" | "is_infinite", Type::Float(float)) => {
                let positive = self.result(&format!("abs.{kind}"), values, of);
                let infinity = if *float == Float::F32 { "0f7F800000" } else { "0d7FF0000000000000" };
                let comparison = if name == "is_finite" { "lt" } else { "eq" };
                self.predicate(&format!("setp.{comparison}.{kind}"), &positive, infinity, of)
            }
            ("is_sign_negative", _) => self.predicate(&format!("setp.lt.s{width}"), &value, "0", of),
            ("is_sign_positive", _) => self.predicate(&format!("setp.ge.s{width}"), &value, "0", of),
            ("clamp", _) => {
                // It panics unless min <= max, and preserves NaN.
                let [low, high] = [values[1].clone(), values[2].clone()];
                let is_range = self.compared(Comparison::LessOrEqual, &low, &high, of);
                self.panic_if(&is_range, false, "min > max");
                let is_below = self.compared(Comparison::Less, &value, &low, of);
                let raised = self.selected(&is_below, &low, &value, of);
                let is_above = self.compared(Comparison::Greater, &raised, &high, of);
                self.selected(&is_above, &high, &raised, of)
            }
            ("abs_diff", _) => {
                let larger = self.result(&format!("max.{kind}"), &[value.clone(), argument.clone()], of);
                let smaller = self.result(&format!("min.{kind}"), &[value, argument], of);
                self.combined(Binary::Sub, larger, smaller, to)?
            }
            ("wrapping_neg", _) => {
                let negative = self.result(&format!("neg.s{width}"), &[value], of);
                self.normalised(negative, of)
            }
            ("saturating_add" | "saturating_sub", Type::Integer(integer)) => {
                self.saturating(name, value, argument, *integer)?
            }
            ("is_multiple_of", Type::Integer(integer)) => self.is_multiple(value, argument, *integer)?,
            ("div_ceil", _) => {
                let quotient = self.combined(Binary::Div, value.clone(), argument.clone(), of)?;
                let whole = self.combined(Binary::Mul, quotient.clone(), argument, of)?;
                let has_rest = self.compared(Comparison::NotEqual, &whole, &value, of);
                let next = self.combined(Binary::Add, quotient.clone(), "1".to_owned(), of)?;
                self.selected(&has_rest, &next, &quotient, of)
            }
            ("is_power_of_two", _) => {
                let ones = self.counted("popc", &value, of);
                self.compared(Comparison::Equal, &ones, "1", &Type::U32)
            }
            (
                "count_ones" | "count_zeros" | "leading_zeros" | "trailing_zeros" | "reverse_bits",
                Type::Integer(integer),
            ) => self.bits(name, value, *integer)?,
            _ => return self.place.refused(format!("`{name}` is not known here")),
        })
    }

    fn result(&mut self, instruction: &str, values: &[String], of: &Type) -> String {
        let first = self.in_register(values[0].clone(), of);
        let operands = [vec![first], values[1..].to_vec()].concat().join(", ");
        self.put(of, instruction, operands)
    }

    fn predicate(&mut self, instruction: &str, left: &str, right: &str, of: &Type) -> String {
        let left = self.in_register(left.to_owned(), of);
        self.put(&Type::Bool, instruction, format_args!("{left}, {right}"))
    }

    /// `yes` if a predicate holds, otherwise `no`.
    fn selected(&mut self, predicate: &str, yes: &str, no: &str, of: &Type) -> String {
        self.put(of, format_args!("selp.b{}", width_of(of)), format_args!("{yes}, {no}, {predicate}"))
    }

    /// `popc` and `clz`, with a 32-bit result.
    fn counted(&mut self, name: &str, value: &str, of: &Type) -> String {
        let value = self.in_register(value.to_owned(), of);
        self.put(&Type::U32, format_args!("{name}.b{}", width_of(of)), &value)
    }

    fn bits(&mut self, name: &str, value: String, integer: Integer) -> Checked<String> {
        // Use the unsigned type, so small integers have no sign extension.
        let of = Type::Integer(integer.unsigned());
        let value = self.cast(&value, &Type::Integer(integer), &of, self.place)?;
        let value = self.in_register(value, &of);
        let (width, bits) = (width_of(&of), integer.bits());
        let unused = width - bits;
        Ok(match name {
            "count_ones" => self.counted("popc", &value, &of),
            "count_zeros" => {
                let ones = self.counted("popc", &value, &of);
                self.combined(Binary::Sub, bits.to_string(), ones, &Type::U32)?
            }
            "leading_zeros" => {
                let zeros = self.counted("clz", &value, &of);
                self.combined(Binary::Sub, zeros, unused.to_string(), &Type::U32)?
            }
            _ => {
                let reversed = self.put(&of, format_args!("brev.b{width}"), &value);
                if name == "trailing_zeros" {
                    let zeros = self.counted("clz", &reversed, &of);
                    self.result("min.u32", &[zeros, bits.to_string()], &Type::U32)
                } else {
                    let low = self.put(&of, format_args!("shr.u{width}"), format_args!("{reversed}, {unused}"));
                    self.cast(&low, &of, &Type::Integer(integer), self.place)?
                }
            }
        })
    }

    /// Whether a number is a multiple of another. Only 0 is a multiple of 0.
    fn is_multiple(&mut self, value: String, of_value: String, integer: Integer) -> Checked<String> {
        let of = Type::Integer(integer);
        let is_zero = self.compared(Comparison::Equal, &of_value, "0", &of);
        let divisor = self.selected(&is_zero, "1", &of_value, &of);
        let rest = self.put(&of, format_args!("rem.{}", kind_of(&of)), format_args!("{value}, {divisor}"));
        let number = self.selected(&is_zero, &value, &rest, &of);
        Ok(self.compared(Comparison::Equal, &number, "0", &of))
    }

    /// An unsigned sum or difference that saturates at the type's limits.
    fn saturating(&mut self, name: &str, left: String, right: String, integer: Integer) -> Checked<String> {
        let of = Type::Integer(integer);
        let is_sum = name == "saturating_add";
        let result = self.combined(if is_sum { Binary::Add } else { Binary::Sub }, left.clone(), right, &of)?;
        // The maximum has all bits set.
        let maximum = if integer.bits() == 64 { -1 } else { integer.maximum() };
        let (comparison, end) = if is_sum { (Comparison::Less, maximum) } else { (Comparison::Greater, 0) };
        let overflows = self.compared(comparison, &result, &left, &of);
        Ok(self.selected(&overflows, &end.to_string(), &result, &of))
    }

    /// Whether a result fits in its type, and the result.
    pub(super) fn checked(&mut self, name: &str, values: &[String], integer: Integer) -> Checked<Value> {
        let of = Type::Integer(integer);
        let (kind, width) = (kind_of(&of), width_of(&of));
        let [left, right] = [0, 1].map(|index| self.in_register(values[index].clone(), &of));
        if let "div" | "rem" = name {
            return self.checked_division(name, left, right, integer);
        }
        let instruction = if name == "mul" { format!("mul.lo.s{width}") } else { format!("{name}.s{width}") };
        let exact = self.put(&of, &instruction, format_args!("{left}, {right}"));
        let result = self.normalised(exact.clone(), &of);
        let signed = if width == 64 { Type::Integer(Integer::I64) } else { Type::Integer(Integer::I32) };
        let fits = match (name, integer.is_signed()) {
            // A register has more bits than the type.
            _ if integer.bits() < 32 => self.compared(Comparison::Equal, &result, &exact, &of),
            ("mul", is_signed) => {
                let high = self.put(&of, format_args!("mul.hi.{kind}"), format_args!("{left}, {right}"));
                let sign = match is_signed {
                    true => self.put(&of, format_args!("shr.s{width}"), format_args!("{result}, {}", width - 1)),
                    false => "0".to_owned(),
                };
                self.compared(Comparison::Equal, &high, &sign, &of)
            }
            ("add", false) => self.compared(Comparison::GreaterOrEqual, &result, &left, &of),
            (_, false) => self.compared(Comparison::GreaterOrEqual, &left, &right, &of),
            // The sum's sign differs from both operands' signs; for a difference, the first
            // operand's sign differs from both others.
            (_, true) => {
                let other = if name == "add" { &result } else { &right };
                let xor = format!("xor.b{width}");
                let first = self.put(&of, &xor, format_args!("{left}, {other}"));
                let second = match name {
                    "add" => self.put(&of, &xor, format_args!("{right}, {result}")),
                    _ => self.put(&of, &xor, format_args!("{left}, {result}")),
                };
                let both = self.put(&of, format_args!("and.b{width}"), format_args!("{first}, {second}"));
                self.compared(Comparison::GreaterOrEqual, &both, "0", &signed)
            }
        };
        Ok(Value::Parts(vec![Value::Scalar(fits), Value::Scalar(result)]))
    }

    fn checked_division(&mut self, name: &str, left: String, right: String, integer: Integer) -> Checked<Value> {
        let of = Type::Integer(integer);
        let mut fails = self.compared(Comparison::Equal, &right, "0", &of);
        if integer.is_signed() {
            let is_least = self.compared(Comparison::Equal, &left, &integer.minimum().to_string(), &of);
            let is_minus_one = self.compared(Comparison::Equal, &right, "-1", &of);
            let overflows = self.put(&Type::Bool, "and.pred", format_args!("{is_least}, {is_minus_one}"));
            fails = self.put(&Type::Bool, "or.pred", format_args!("{fails}, {overflows}"));
        }
        let divisor = self.selected(&fails, "1", &right, &of);
        let result = self.put(&of, format_args!("{name}.{}", kind_of(&of)), format_args!("{left}, {divisor}"));
        let fits = self.put(&Type::Bool, "not.pred", fails);
        Ok(Value::Parts(vec![Value::Scalar(fits), Value::Scalar(self.normalised(result, &of))]))
    }
}
