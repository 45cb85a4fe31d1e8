//! Semantics of instructions without side effects, on the bits of registers.

mod accuracy;
mod arithmetic;
mod carry;
mod compare;
mod convert;
mod float;
mod forms;
mod half;
mod integer;
mod logic;
mod modifiers;
mod operand_type;
mod packed;
mod permute;
mod rounding;
mod special;
mod table;

pub use accuracy::{ApproximationError, approximation_error};
pub use forms::{forms, operation};
pub use table::UnknownForm;

use crate::syntax::ScalarType;

/// Number of lanes of a warp.
pub const LANES: usize = 32;

/// One register of all lanes. A value narrower than 64 bits is in the low bits, zero-extended.
pub type Lanes = [u64; LANES];

/// An instruction that computes one value per lane from at most four others, without side effects.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The function that it computes.
    pub compute: Compute,
    /// The type of the destination; for `Compute::Predicate` it is `Pred`.
    pub destination: ScalarType,
    /// The types of the sources.
    pub sources: &'static [ScalarType],
    /// The kind of work that it does.
    pub class: Class,
}

/// The function of an operation. It computes all 32 lanes, accepts any bits in inactive ones, and never panics.
#[derive(Clone, Copy, Debug)]
pub enum Compute {
    /// Writes each lane's value. It ignores sources beyond the operation's.
    Value(fn(&mut Lanes, [&Lanes; 4])),
    /// Returns a mask: bit i is lane i.
    Predicate(fn([&Lanes; 4]) -> u32),
    /// Writes each lane's value. Takes the carry flags `CC.CF`, bit i for lane i, and returns the new ones: unchanged if
    /// the instruction has no `.cc`. The caller keeps the flags of inactive lanes.
    Carry(fn(&mut Lanes, u32, [&Lanes; 4]) -> u32),
}

/// Class of an instruction, for counts.
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
    /// Approximations by the special function unit, such as ex2, sin and rcp.approx.
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
