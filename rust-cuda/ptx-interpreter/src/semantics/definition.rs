//! Definitions of instruction forms: data that a single interpreter evaluates, lane by lane.

use super::Class;
use super::comparison::{self, Comparison};
use super::conversion;
use super::eight_bits::{self, EightBits};
use super::float::Format;
use super::modifiers::Modifiers;
use super::values::{bits, clamp, read_integer, truncate};
use crate::syntax::ScalarType;

/// The function of an instruction form, with its types and modifiers.
#[derive(Debug)]
pub struct Definition {
    pub(super) function: Function,
    /// The type of the destination. `Pred` for a form that computes a predicate.
    pub(super) destination: ScalarType,
    /// The types of the sources, at most four.
    pub(super) sources: Vec<ScalarType>,
    pub(super) class: Class,
    pub(super) modifiers: Modifiers,
}

/// The function of a form on the values of one lane.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    /// On exact integers. It receives the type of the first source; its result is truncated to the
    /// destination's bits.
    Integer(fn(ScalarType, [i128; 4]) -> i128),
    /// On words of 32 bits.
    Words(fn([u32; 4]) -> u32),
    /// On unsigned integers with the carry flag. The resulting flag is the bit above the
    /// destination's.
    Carry {
        exact: fn(ScalarType, [i128; 3], i128) -> i128,
        reads: bool,
        writes: bool,
    },
    /// On floats, or on both halves of packed floats. Its result is rounded to nearest.
    Float(fn(&Modifiers, Format, [f64; 4]) -> f64),
    /// On the bits of floats, or on both halves of packed floats.
    FloatBits(fn(Format, [u64; 2]) -> u64),
    /// `testp`
    Test(fn(Format, u64) -> bool),
    /// `setp` and `set`
    Compare(Comparison),
    /// `slct`
    Select,
    /// `cvt`; with `integral`, rounds to an integral value.
    Convert {
        to: ScalarType,
        integral: bool,
    },
    /// `cvt` of two floats to the halves of a word. The first goes to the upper half.
    ConvertPair {
        to: ScalarType,
    },
    /// `cvt` of two floats to a pair of 8-bit ones, and the reverse.
    ToEightBits(EightBits),
    FromEightBits(EightBits),
}

impl Definition {
    pub(super) fn new(class: Class, function: Function, destination: ScalarType, sources: &[ScalarType]) -> Self {
        Self { function, destination, sources: sources.to_vec(), class, modifiers: Modifiers::NONE }
    }

    pub(super) fn integer(
        function: fn(ScalarType, [i128; 4]) -> i128,
        destination: ScalarType,
        sources: &[ScalarType],
    ) -> Self {
        Self::new(Class::Integer, Function::Integer(function), destination, sources)
    }

    pub(super) fn words(function: fn([u32; 4]) -> u32, destination: ScalarType, sources: &[ScalarType]) -> Self {
        Self::new(Class::Integer, Function::Words(function), destination, sources)
    }

    pub(super) fn with(self, modifiers: Modifiers) -> Self {
        Self { modifiers, ..self }
    }

    /// The result of one lane. A predicate is 0 or 1; a comparison of halves has the upper half's
    /// predicate in bit 1. A form with the carry flag receives it as 0.
    pub(super) fn value(&self, sources: [u64; 4]) -> u64 {
        match self.function {
            Function::Integer(function) => {
                let mut values = [0; 4];
                for ((value, &t), bits) in values.iter_mut().zip(&self.sources).zip(sources) {
                    *value = read_integer(t, bits);
                }
                self.write_integer(function(self.sources[0], values))
            }
            Function::Words(function) => function(sources.map(|source| source as u32)).into(),
            Function::Carry { .. } => self.carry(sources, false).0,
            Function::Float(_) | Function::FloatBits(_) => self.float(sources),
            Function::Test(test) => Format::of(self.sources[0]).is_some_and(|format| test(format, sources[0])).into(),
            Function::Compare(comparison) if self.is_packed_comparison() => {
                let [low, high] = [0, 16].map(|shift| {
                    let halves = [sources[0], sources[1]].map(|source| source >> shift & 0xffff);
                    comparison.holds(self.sources[0], self.modifiers.flush, halves)
                });
                // The upper half's predicate is in bit 1.
                let shift = if self.destination == ScalarType::Pred { 1 } else { 16 };
                let half = |holds| comparison::boolean(self.destination, holds) & if shift == 1 { 1 } else { 0xffff };
                half(high) << shift | half(low)
            }
            Function::Compare(comparison) => {
                let holds = comparison.holds(self.sources[0], self.modifiers.flush, [sources[0], sources[1]]);
                comparison::boolean(self.destination, holds)
            }
            Function::Select => {
                let first = comparison::selects_first(self.sources[2], self.modifiers.flush, sources[2]);
                truncate(self.destination, sources[usize::from(!first)])
            }
            Function::Convert { to, integral } => {
                conversion::value(&self.modifiers, self.sources[0], to, integral, sources[0])
            }
            Function::ToEightBits(format) => {
                eight_bits::to_pair(format, self.modifiers.relu, Format::of(self.sources[0]), sources)
            }
            Function::FromEightBits(format) => eight_bits::from_pair(format, self.modifiers, sources[0]),
            Function::ConvertPair { to } => {
                let half = |source| conversion::value(&self.modifiers, self.sources[0], to, false, source);
                half(sources[0]) << 16 | half(sources[1])
            }
        }
    }

    /// Whether it compares the halves of words and returns a result for each.
    pub(super) fn is_packed_comparison(&self) -> bool {
        matches!(self.function, Function::Compare(_))
            && matches!(self.sources[0], ScalarType::F16x2 | ScalarType::Bf16x2)
    }

    /// The result of one lane, and its carry flag, which is unchanged if the form does not write
    /// it.
    pub(super) fn carry(&self, sources: [u64; 4], carry: bool) -> (u64, bool) {
        let Function::Carry { exact, reads, writes } = self.function else {
            return (self.value(sources), carry);
        };
        let operands = [0, 1, 2].map(|source: usize| truncate(self.destination, sources[source]).into());
        let value = exact(self.destination, operands, i128::from(reads && carry));
        let flag = value >> bits(self.destination) & 1 == 1;
        (truncate(self.destination, value as u64), if writes { flag } else { carry })
    }

    fn write_integer(&self, value: i128) -> u64 {
        let value = if self.modifiers.saturate { clamp(self.destination, value) } else { value };
        truncate(self.destination, value as u64)
    }

    fn float(&self, sources: [u64; 4]) -> u64 {
        let Some(format) = Format::of(self.destination) else { return 0 };
        if matches!(self.destination, ScalarType::F16x2 | ScalarType::Bf16x2) {
            let upper = self.float_element(format, sources.map(|source| source >> 16));
            return upper << 16 | self.float_element(format, sources);
        }
        self.float_element(format, sources)
    }

    fn float_element(&self, format: Format, sources: [u64; 4]) -> u64 {
        let sources = sources.map(|source| source & (u64::MAX >> (64 - format.bits)));
        match self.function {
            Function::Float(function) => {
                let values = sources.map(|source| self.modifiers.operand(format, source));
                self.modifiers.result(format, function(&self.modifiers, format, values))
            }
            Function::FloatBits(function) => {
                let [a, b, ..] = sources;
                function(format, [a, b].map(|bits| if self.modifiers.flush { format.flushed(bits) } else { bits }))
            }
            _ => 0,
        }
    }
}
