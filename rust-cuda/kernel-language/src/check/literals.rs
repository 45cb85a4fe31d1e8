//! Numeric literals.

use syn::Lit;

use super::Checker;
use crate::refusal::{Checked, Place};
use crate::tree::{Expr, Kind};
use crate::types::{Float, Integer, Type};

impl Checker<'_> {
    pub(super) fn literal(&mut self, literal: &Lit, wanted: Option<&Type>, place: Place) -> Checked<Expr> {
        let (kind, r#type) = match literal {
            Lit::Bool(value) => (Kind::Bool(value.value), Type::Bool),
            Lit::Int(value) if Float::named(value.suffix()).is_some() => {
                let of = Float::named(value.suffix()).map_or(Type::F32, Type::Float);
                (Kind::Float(value.base10_digits().to_owned()), of)
            }
            Lit::Int(value) => {
                let of = match Integer::named(value.suffix()) {
                    Some(of) => Type::Integer(of),
                    None if !value.suffix().is_empty() => {
                        let digits = value.base10_digits();
                        return place.refused(match value.suffix() {
                            "u128" | "i128" => format!("integers have 8 to 64 bits here: write `{digits}_u64`"),
                            "f" | "F" => format!("`{value}` is C: write `{digits}.0`"),
                            _ => format!("`{value}` is no number of Rust: write `{digits}`, or `{digits}_u32`"),
                        });
                    }
                    None => match wanted.map(|wanted| self.inference.outer(wanted)) {
                        Some(of @ Type::Integer(_)) => of,
                        _ => self.inference.integer(),
                    },
                };
                match value.base10_digits().parse::<i128>() {
                    Ok(value) if value <= i128::from(u64::MAX) => (Kind::Integer(value), of),
                    _ => return place.refused("this integer is too large"),
                }
            }
            Lit::Float(value) => {
                let of = match Float::named(value.suffix()) {
                    Some(of) => Type::Float(of),
                    None if !value.suffix().is_empty() => {
                        let digits = value.base10_digits();
                        let digits =
                            if digits.contains(['.', 'e']) { digits.to_owned() } else { format!("{digits}.0") };
                        return place.refused(format!("`{value}` is C: write `{digits}` or `{digits}_f32`"));
                    }
                    None => self.inference.float(),
                };
                (Kind::Float(value.base10_digits().to_owned()), of)
            }
            _ => return place.refused("texts and characters are not known here"),
        };
        Ok(Expr::new(kind, r#type, place))
    }
}
