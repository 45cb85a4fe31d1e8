//! `as` conversions.

use super::{Emitter, kind_of, width_of};
use crate::refusal::{Checked, Place};
use crate::types::{Float, Integer, Type};

impl Emitter<'_> {
    /// Converts the value to a number of another type.
    pub(super) fn cast(&mut self, value: &str, from: &Type, to: &Type, place: Place) -> Checked<String> {
        Ok(match (from, to) {
            (Type::Bool, Type::Integer(_)) => {
                let value = self.in_register(value.to_owned(), from);
                self.put(to, format_args!("selp.b{}", width_of(to)), format_args!("1, 0, {value}"))
            }
            (Type::Integer(from), Type::Integer(to)) => self.between_integers(value, *from, *to),
            (Type::Integer(_), Type::Float(_)) => {
                let value = self.in_register(value.to_owned(), from);
                self.put(to, format_args!("cvt.rn.{}.{}", kind_of(to), kind_of(from)), value)
            }
            (Type::Float(Float::F32), Type::Float(Float::F64)) => self.put(to, "cvt.f64.f32", value),
            (Type::Float(Float::F64), Type::Float(Float::F32)) => self.put(to, "cvt.rn.f32.f64", value),
            (Type::Float(_), Type::Float(_)) => value.to_owned(),
            (Type::Float(float), Type::Integer(integer)) => self.integer_of_float(value, *float, *integer),
            _ => return place.refused("this conversion is not known here"),
        })
    }

    pub(super) fn between_integers(&mut self, value: &str, from: Integer, to: Integer) -> String {
        let (wide_from, wide_to) = (from.bits() == 64, to.bits() == 64);
        let of = Type::Integer(to);
        if let Ok(constant) = value.parse::<i128>() {
            // An unsigned 64-bit number is written as a signed one.
            let constant = to.wrapped(from.wrapped(constant));
            return if wide_to { (constant as u64).cast_signed().to_string() } else { constant.to_string() };
        }
        match (wide_from, wide_to) {
            (true, true) => value.to_owned(),
            (false, true) => {
                let (kind, wide) = if from.is_signed() { ("s32", "s64") } else { ("u32", "u64") };
                self.put(&of, format_args!("cvt.{wide}.{kind}"), value)
            }
            (true, false) => {
                let result = self.put(&of, "cvt.u32.u64", value);
                self.normalised(result, &of)
            }
            (false, false) if to.contains(from.minimum()) && to.contains(from.maximum()) => value.to_owned(),
            (false, false) => self.normalised(value.to_owned(), &of),
        }
    }

    /// Truncates toward zero, saturating at the type's limits; 0 for NaN.
    fn integer_of_float(&mut self, value: &str, from: Float, to: Integer) -> String {
        let (float, of) = (Type::Float(from), Type::Integer(to));
        let value = self.in_register(value.to_owned(), &float);
        let mut result = self.put(&of, format_args!("cvt.rzi.{}.{}", kind_of(&of), kind_of(&float)), &value);
        if from == Float::F64 || to.bits() == 64 {
            let is_nan =
                self.put(&Type::Bool, format_args!("setp.nan.{}", kind_of(&float)), format_args!("{value}, {value}"));
            result = self.put(&of, format_args!("selp.b{}", width_of(&of)), format_args!("0, {result}, {is_nan}"));
        }
        if to.bits() < 32 {
            let kind = kind_of(&of);
            self.emit(format!("min.{kind} \t{result}, {result}, {};", to.maximum()));
            if to.is_signed() {
                self.emit(format!("max.{kind} \t{result}, {result}, {};", to.minimum()));
            }
        }
        result
    }
}
