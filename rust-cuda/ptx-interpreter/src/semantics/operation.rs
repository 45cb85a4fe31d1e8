//! Operations on a warp's registers.

use super::compiled::{Compiled, PredicateLoop, ValueLoop, Vectors};
use super::definition::{Definition, Function};
use super::{Class, LANES, Lanes};
use crate::syntax::ScalarType;

/// An instruction that computes one value per lane from at most four others, without side effects.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The function that it computes.
    pub compute: Compute,
    /// The type of the destination. `Pred` for `Compute::Predicate`.
    pub destination: ScalarType,
    /// The types of the sources.
    pub sources: &'static [ScalarType],
    /// The kind of work that the operation does.
    pub class: Class,
}

/// The function of an operation. It computes all 32 lanes, accepts any bits in inactive ones, and never panics.
#[derive(Clone, Copy, Debug)]
pub enum Compute {
    /// Computes each lane's value.
    Value(Value),
    /// Computes a predicate per lane.
    Predicate(Predicate),
    /// Computes each lane's value, and reads or writes the carry flag `CC.CF`.
    Carry(Carry),
}

/// A function with one value per lane.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    definition: &'static Definition,
    compiled: Option<(Vectors, ValueLoop)>,
}

/// A function with one predicate per lane.
#[derive(Clone, Copy, Debug)]
pub struct Predicate {
    definition: &'static Definition,
    compiled: Option<(Vectors, PredicateLoop)>,
    swapped: bool,
    negated: bool,
}

/// A function with one value and one carry flag per lane.
#[derive(Clone, Copy, Debug)]
pub struct Carry(&'static Definition);

impl Operation {
    /// The operation of a form. Uses its loop if it has one and the host supports the loop's
    /// instructions.
    pub(super) fn new(definition: &'static Definition, compiled: Option<(Vectors, Compiled)>) -> Self {
        let compute = match (compiled, definition.function) {
            (Some((vectors, Compiled::Predicate { holds, swapped, negated })), _) => {
                Compute::Predicate(Predicate { definition, compiled: Some((vectors, holds)), swapped, negated })
            }
            (Some((vectors, Compiled::Value(function))), _) => {
                Compute::Value(Value { definition, compiled: Some((vectors, function)) })
            }
            (None, Function::Carry { .. }) => Compute::Carry(Carry(definition)),
            (None, _) if definition.destination == ScalarType::Pred => {
                Compute::Predicate(Predicate { definition, compiled: None, swapped: false, negated: false })
            }
            (None, _) => Compute::Value(Value { definition, compiled: None }),
        };
        let Definition { destination, ref sources, class, .. } = *definition;
        Self { compute, destination, sources, class }
    }
}

impl Value {
    /// Writes each lane's value. Extra sources are ignored.
    #[inline]
    pub fn compute(self, destination: &mut Lanes, sources: [&Lanes; 4]) {
        match self.compiled {
            Some((vectors, function)) => function(vectors, destination, sources),
            None => {
                for (lane, value) in destination.iter_mut().enumerate() {
                    *value = self.definition.value(sources.map(|source| source[lane]));
                }
            }
        }
    }
}

impl Predicate {
    /// Returns a mask: bit i is lane i.
    #[inline]
    pub fn compute(self, sources: [&Lanes; 4]) -> u32 {
        match self.compiled {
            Some((vectors, holds)) => {
                let [a, b, c, d] = sources;
                let mask = holds(vectors, if self.swapped { [b, a, c, d] } else { sources });
                if self.negated { !mask } else { mask }
            }
            None => self.bit(0, sources),
        }
    }

    /// The second predicate, given that the first one is `holds`: the upper halves' predicate in a
    /// comparison of halves, otherwise the complement.
    #[inline]
    pub fn second(self, holds: u32, sources: [&Lanes; 4]) -> u32 {
        if self.compares_halves() { self.bit(1, sources) } else { !holds }
    }

    /// Whether it compares the halves of words.
    #[inline]
    pub fn compares_halves(self) -> bool {
        self.compiled.is_none() && self.definition.is_packed_comparison()
    }

    fn bit(self, bit: u32, sources: [&Lanes; 4]) -> u32 {
        (0..LANES).fold(0, |mask, lane| {
            mask | (self.definition.value(sources.map(|source| source[lane])) as u32 >> bit & 1) << lane
        })
    }
}

impl Carry {
    /// Writes each lane's value. Takes the carry flags, bit i for lane i, and returns the new ones,
    /// which are unchanged if the instruction has no `.cc`. The caller preserves the flags of
    /// inactive lanes.
    pub fn compute(self, destination: &mut Lanes, flags: u32, sources: [&Lanes; 4]) -> u32 {
        (0..LANES).fold(0, |mask, lane| {
            let (value, flag) = self.0.carry(sources.map(|source| source[lane]), flags >> lane & 1 == 1);
            destination[lane] = value;
            mask | u32::from(flag) << lane
        })
    }
}
