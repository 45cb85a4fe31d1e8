//! Numbers as they are written.

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
                    None if !value.suffix().is_empty() => return place.refused("integers have 8 to 64 bits here"),
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
                    None if !value.suffix().is_empty() => return place.refused("floats are f32 or f64 here"),
                    None => self.inference.float(),
                };
                (Kind::Float(value.base10_digits().to_owned()), of)
            }
            _ => return place.refused("texts and characters are not known here"),
        };
        Ok(Expr::new(kind, r#type, place))
    }
}
