//! What instructions without side effects compute, on the bits of registers.

mod accuracy;
mod arithmetic;
mod carry;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod kind;
mod logic;
mod modifiers;
mod packed;
mod permute;
mod rounding;
mod special;
mod table;

pub use accuracy::{ApproximationError, approximation_error};
pub use carry::{CarryOperation, carry};
pub use table::{UnknownForm, comparison, forms, operation};

use crate::syntax::ScalarType;

/// The lanes of a warp.
pub const LANES: usize = 32;

/// One register of each lane. A value narrower than 64 bits stands in the low bits, zeros above it.
pub type Lanes = [u64; LANES];

/// An instruction that computes a value of each lane from at most four others, without side effects.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What it computes.
    pub compute: Compute,
    /// The type of the destination; for `Compute::Predicate` it is `Pred`.
    pub destination: ScalarType,
    /// The types of the sources, as many as there are.
    pub sources: &'static [ScalarType],
    /// What kind of work it is.
    pub class: Class,
}

/// How an operation is computed: always for all 32 lanes, whatever the unused ones hold, and never with a panic.
#[derive(Clone, Copy, Debug)]
pub enum Compute {
    /// Writes each lane's value. Sources beyond the operation's number are to be ignored.
    Value(fn(&mut Lanes, [&Lanes; 4])),
    /// Returns a bit for each lane: bit i is lane i.
    Predicate(fn([&Lanes; 4]) -> u32),
}

/// A class of instructions, for counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Arithmetic, logic and shifts on integers.
    Integer,
    /// f32 arithmetic.
    F32,
    /// f64 arithmetic.
    F64,
    /// f16 and bf16 arithmetic.
    Half,
    /// Approximations of the special function unit: ex2, sin, rcp.approx and so on.
    Special,
    /// Conversions between types.
    Convert,
    /// Comparisons, selections and logic on predicates.
    Compare,
    /// Moves between registers, and of addresses.
    Move,
    /// Loads, stores and asynchronous copies.
    Memory,
    /// Atomic operations.
    Atomic,
    /// Shuffles, votes and matches of a warp.
    Warp,
    /// Barriers and fences.
    Barrier,
    /// Branches, calls and exits.
    Control,
    /// Matrix products of a warp.
    Matrix,
}
