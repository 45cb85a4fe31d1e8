//! How far a processor's approximation may be away: what the PTX ISA promises.

use super::table::{UnknownForm, full_name, operation};
use std::f32::consts::PI;

/// The most by which a result may differ from the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ApproximationError {
    /// No more than so many units in the last place of the destination's type.
    Ulp(f64),
    /// No more than so many times the exact result.
    Relative(f64),
    /// No more than this.
    Absolute(f64),
    /// An absolute error for operands within the interval, open at both ends, and a relative error elsewhere.
    AbsoluteWithin {
        /// The interval.
        interval: (f32, f32),
        /// The error there.
        absolute: f64,
        /// The error elsewhere.
        relative: f64,
    },
    /// An absolute error for each of two ranges of the operand's magnitude, and no promise beyond the second.
    AbsoluteUpTo([(f32, f64); 2]),
}

/// How far the approximation of this name may be from the exact result on a processor, by PTX ISA 9.7.3 and 9.7.4; None
/// for an instruction that is exact, and for the coarse ones of f64, of which the ISA makes no promise.
///
/// `div.approx` keeps its promise for a divisor whose magnitude is from 2^−126 to 2^126.
///
/// # Errors
/// [`UnknownForm`] if there is no such form.
pub fn approximation_error(
    opcode: &str,
    modifiers: &[impl AsRef<str>],
) -> Result<Option<ApproximationError>, UnknownForm> {
    operation(opcode, modifiers)?;
    let name = full_name(opcode, modifiers).replace(".ftz", "");
    Ok(Some(match name.as_str() {
        "div.approx.f32" | "div.full.f32" | "ex2.approx.f32" => ApproximationError::Ulp(2.0),
        "rcp.approx.f32" => ApproximationError::Ulp(1.0),
        "sqrt.approx.f32" => ApproximationError::Relative(2f64.powi(-23)),
        "rsqrt.approx.f32" => ApproximationError::Relative(2f64.powf(-22.9)),
        "tanh.approx.f32" => ApproximationError::Relative(2f64.powi(-11)),
        "sin.approx.f32" | "cos.approx.f32" => {
            ApproximationError::AbsoluteUpTo([(2.0 * PI, 2f64.powf(-20.5)), (100.0 * PI, 2f64.powf(-14.7))])
        }
        "lg2.approx.f32" => ApproximationError::AbsoluteWithin {
            interval: (0.5, 2.0),
            absolute: 2f64.powi(-22),
            relative: 2f64.powi(-22),
        },
        "ex2.approx.f16" | "ex2.approx.f16x2" => ApproximationError::Relative(2f64.powf(-9.9)),
        "ex2.approx.bf16" | "ex2.approx.bf16x2" => ApproximationError::Relative(2f64.powi(-7)),
        "tanh.approx.f16" | "tanh.approx.f16x2" => ApproximationError::Absolute(2f64.powf(-10.987)),
        "tanh.approx.bf16" | "tanh.approx.bf16x2" => ApproximationError::Absolute(2f64.powi(-8)),
        _ => return Ok(None),
    }))
}
