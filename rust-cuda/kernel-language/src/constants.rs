//! Expressions evaluated at compile time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Rem, Sub};

use crate::check;
use crate::inference::Inference;
use crate::refusal::{Checked, Place};
use crate::source::Program;
use crate::tree::{Binary, Comparison, Expr, Kind, Unary};
use crate::types::{Float, Type};

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constant {
    Integer(i128),
    F32(f32),
    F64(f64),
    Bool(bool),
}

thread_local! {
    /// The constants of the current program; None while one is being evaluated.
    static KNOWN: RefCell<HashMap<usize, Option<Constant>>> = RefCell::default();
}

/// Clears the constants of the previous program.
pub(crate) fn forget() {
    KNOWN.with_borrow_mut(HashMap::clear);
}

/// The value of a constant in the sources.
pub(crate) fn value_of(program: &Program, number: usize, place: Place) -> Checked<Constant> {
    match KNOWN.with_borrow(|known| known.get(&number).copied()) {
        Some(Some(value)) => return Ok(value),
        Some(None) => return place.refused("this constant is defined by itself"),
        None => {}
    }
    let pending = KNOWN.with_borrow(|known| known.values().filter(|value| value.is_none()).count());
    if pending > 64 {
        return place.refused("too many constants are defined by one another");
    }
    KNOWN.with_borrow_mut(|known| known.insert(number, None));
    let (module, item) = &program.constants[number];
    let value = check::constant(program, *module, &item.1, &item.0)?;
    KNOWN.with_borrow_mut(|known| known.insert(number, Some(value)));
    Ok(value)
}

/// The value of an expression.
pub(crate) fn evaluate(program: &Program, inference: &Inference, expr: &Expr) -> Checked<Constant> {
    let evaluate = |inner: &Expr| evaluate(program, inference, inner);
    let of = inference.outer(&expr.r#type);
    let overflow = || expr.place.refused("the result does not fit its type");
    Ok(match &expr.kind {
        Kind::Integer(value) => match of {
            Type::Integer(of) if !of.contains(*value) => return overflow(),
            _ => Constant::Integer(*value),
        },
        Kind::Float(digits) => float(digits, &of),
        Kind::Bool(value) => Constant::Bool(*value),
        Kind::Constant(number) => value_of(program, *number, expr.place)?,
        Kind::Unary(operator, operand) => match (operator, evaluate(operand)?, &of) {
            (Unary::Negate, Constant::Integer(value), Type::Integer(of)) if of.contains(-value) => {
                Constant::Integer(-value)
            }
            (Unary::Negate, Constant::F32(value), _) => Constant::F32(-value),
            (Unary::Negate, Constant::F64(value), _) => Constant::F64(-value),
            (Unary::Not, Constant::Bool(value), _) => Constant::Bool(!value),
            (Unary::Not, Constant::Integer(value), Type::Integer(of)) => Constant::Integer(of.wrapped(!value)),
            _ => return overflow(),
        },
        Kind::Binary(operator, left, right) => match (evaluate(left)?, evaluate(right)?, &of) {
            (Constant::Integer(left), Constant::Integer(right), Type::Integer(of)) => {
                match integer(*operator, left, right, of.bits()) {
                    Some(value) if of.contains(value) => Constant::Integer(value),
                    Some(value) if *operator == Binary::ShiftLeft => Constant::Integer(of.wrapped(value)),
                    _ => return overflow(),
                }
            }
            (Constant::F32(left), Constant::F32(right), _) => Constant::F32(float_result(*operator, left, right)),
            (Constant::F64(left), Constant::F64(right), _) => Constant::F64(float_result(*operator, left, right)),
            (Constant::Bool(left), Constant::Bool(right), _) => match operator {
                Binary::And => Constant::Bool(left & right),
                Binary::Or => Constant::Bool(left | right),
                _ => Constant::Bool(left ^ right),
            },
            _ => return overflow(),
        },
        Kind::Compare(comparison, left, right) => match (evaluate(left)?, evaluate(right)?) {
            (Constant::Integer(left), Constant::Integer(right)) => Constant::Bool(compare(*comparison, &left, &right)),
            (Constant::F32(left), Constant::F32(right)) => Constant::Bool(compare(*comparison, &left, &right)),
            (Constant::F64(left), Constant::F64(right)) => Constant::Bool(compare(*comparison, &left, &right)),
            (Constant::Bool(left), Constant::Bool(right)) => Constant::Bool(compare(*comparison, &left, &right)),
            _ => return overflow(),
        },
        Kind::And(left, right) => {
            Constant::Bool(evaluate(left)? == Constant::Bool(true) && evaluate(right)? == Constant::Bool(true))
        }
        Kind::Or(left, right) => {
            Constant::Bool(evaluate(left)? == Constant::Bool(true) || evaluate(right)? == Constant::Bool(true))
        }
        Kind::Cast(operand) => cast(evaluate(operand)?, &of),
        _ => return expr.place.refused(NO_CONSTANT),
    })
}

const NO_CONSTANT: &str = "this is not known as a constant: write numbers, constants and operators";

fn compare<T: PartialOrd>(comparison: Comparison, left: &T, right: &T) -> bool {
    match comparison {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
    }
}

/// Parses digits as a number of this type.
pub(crate) fn float(digits: &str, of: &Type) -> Constant {
    match of {
        Type::Float(Float::F32) => Constant::F32(digits.parse().unwrap_or_default()),
        _ => Constant::F64(digits.parse().unwrap_or_default()),
    }
}

fn float_result<T>(operator: Binary, left: T, right: T) -> T
where
    T: Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T> + Rem<Output = T>,
{
    match operator {
        Binary::Add => left + right,
        Binary::Sub => left - right,
        Binary::Mul => left * right,
        Binary::Div => left / right,
        _ => left % right,
    }
}

/// The result for integers of any size in `bits` bits; None if there is no result.
fn integer(operator: Binary, left: i128, right: i128, bits: u32) -> Option<i128> {
    match operator {
        Binary::Add => left.checked_add(right),
        Binary::Sub => left.checked_sub(right),
        Binary::Mul => left.checked_mul(right),
        Binary::Div => left.checked_div(right),
        Binary::Rem => left.checked_rem(right),
        Binary::And => Some(left & right),
        Binary::Or => Some(left | right),
        Binary::Xor => Some(left ^ right),
        Binary::ShiftLeft => (0..i128::from(bits)).contains(&right).then(|| left.wrapping_shl(right as u32)),
        Binary::ShiftRight => (0..i128::from(bits)).contains(&right).then(|| left >> right),
    }
}

/// The value of `value as of`.
pub(crate) fn cast(value: Constant, of: &Type) -> Constant {
    match (value, of) {
        (Constant::Integer(value), Type::Integer(of)) => Constant::Integer(of.wrapped(value)),
        (Constant::Bool(value), Type::Integer(_)) => Constant::Integer(value.into()),
        (Constant::F32(value), Type::Integer(of)) => {
            Constant::Integer((value as i128).clamp(of.minimum(), of.maximum()))
        }
        (Constant::F64(value), Type::Integer(of)) => {
            Constant::Integer((value as i128).clamp(of.minimum(), of.maximum()))
        }
        (Constant::Integer(value), Type::Float(Float::F32)) => Constant::F32(value as f32),
        (Constant::Integer(value), Type::Float(Float::F64)) => Constant::F64(value as f64),
        (Constant::F32(value), Type::Float(Float::F64)) => Constant::F64(value.into()),
        (Constant::F64(value), Type::Float(Float::F32)) => Constant::F32(value as f32),
        _ => value,
    }
}
