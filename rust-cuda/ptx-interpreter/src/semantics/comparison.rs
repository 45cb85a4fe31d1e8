//! Evaluates comparisons and selections by sign.

use super::float::Format;
use super::modifiers::Modifiers;
use super::values::{bits, read_integer};
use crate::syntax::ScalarType::{self, Pred};
use std::cmp::Ordering;

/// A comparison: the set of relations that satisfy it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    less: bool,
    equal: bool,
    greater: bool,
    /// An operand is NaN.
    unordered: bool,
}

impl Comparison {
    /// Holds for these relations of ordered operands.
    pub(super) const fn ordered(less: bool, equal: bool, greater: bool) -> Self {
        Self { less, equal, greater, unordered: false }
    }

    /// Also holds for NaN.
    pub(super) const fn or_unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    /// Whether it holds for two values of a type.
    pub(super) fn holds(self, t: ScalarType, flush: bool, operands: [u64; 2]) -> bool {
        let ordering = match Format::of(t) {
            Some(format) => {
                let [a, b] = operands.map(|bits| Modifiers::flush(flush).operand(format, bits));
                a.partial_cmp(&b)
            }
            None => {
                let [a, b] = operands.map(|bits| read_integer(t, bits));
                Some(a.cmp(&b))
            }
        };
        match ordering {
            Some(Ordering::Less) => self.less,
            Some(Ordering::Equal) => self.equal,
            Some(Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

/// True and false in a destination: all ones and 0 in an integer, 1 and +0 in a float, 1 and 0 in a predicate.
pub(super) fn boolean(t: ScalarType, value: bool) -> u64 {
    match Format::of(t) {
        _ if !value => 0,
        Some(format) => format.one(),
        None if t == Pred => 1,
        None => u64::MAX >> (64 - bits(t)),
    }
}

/// Whether `slct` selects its first source: if the condition is 0 or greater, including −0 but not
/// NaN.
pub(super) fn selects_first(t: ScalarType, flush: bool, condition: u64) -> bool {
    match Format::of(t) {
        Some(format) => Modifiers::flush(flush).operand(format, condition) >= 0.0,
        None => read_integer(t, condition) >= 0,
    }
}
