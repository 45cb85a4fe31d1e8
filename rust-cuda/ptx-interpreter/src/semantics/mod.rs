//! Semantics of instructions without side effects, on the bits of registers.
//!
//! A form of an instruction is data: a [`Definition`] with a function, types and modifiers, which
//! is evaluated lane by lane. The most frequent forms in compiled code additionally have loops over
//! the lanes, in `compiled`.

mod accuracy;
mod arithmetic;
mod carry;
mod compare;
mod comparison;
mod compiled;
mod conversion;
mod convert;
mod definition;
mod eight_bits;
mod float;
mod forms;
mod integer;
mod logic;
mod modifiers;
mod operation;
mod packed;
mod permute;
mod rounding;
mod special;
mod table;
mod values;

pub use accuracy::{ApproximationError, approximation_error};
pub use definition::Definition;
pub use forms::{definition, forms, loop_count, operation};
pub use operation::{Carry, Compute, Operation, Predicate, Value};
pub use table::UnknownForm;

/// Number of lanes of a warp.
pub const LANES: usize = 32;

/// One register in all lanes. A value narrower than 64 bits is in the low bits, zero-extended.
pub type Lanes = [u64; LANES];

/// Class of an instruction, used for counts.
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
