//! Reference results of instructions, independent of the interpreter. Integers are computed in i128
//! and bit by bit, floating-point values as exact fractions that are rounded once. Slow and simple.

mod eight_bits;
mod exact;
mod floats;
mod form;
mod integers;
mod samples;

pub use exact::{Fraction, Layout, Rounding, Value, decode, encode};
pub use form::Form;
pub use integers::evaluate_carry;
pub use samples::{edges, random};

/// The result of an instruction of this form. `None` if there is no reference for it. A predicate
/// is 0 or 1. A comparison of halves returns the upper half's predicate in bit 1. The sources must
/// have no bits above their types.
pub fn evaluate(form: &Form<'_>, sources: [u64; 4]) -> Option<u64> {
    match form.opcode {
        "setp" => match floats::of_halves(form, sources) {
            Some([low, high]) => Some(u64::from(low) | u64::from(high) << 1),
            None => floats::holds(form, sources).map(u64::from),
        },
        "testp" => floats::test(form, sources).map(u64::from),
        "set" | "slct" => floats::select(form, sources),
        "cvt" => eight_bits::convert(form, sources).or_else(|| floats::convert(form, sources)),
        _ => integers::evaluate(form, sources).or_else(|| floats::evaluate(form, sources)),
    }
}
