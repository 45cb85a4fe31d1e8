//! Error bounds of approximate instructions on a GPU, as guaranteed by the PTX ISA.

use super::forms::operation;
use super::table::{UnknownForm, full_name};
use std::f32::consts::PI;
use std::fmt;

/// Maximum difference of a result from the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ApproximationError {
    /// In units in the last place of the destination's type.
    Ulp(f64),
    /// Relative to the exact result.
    Relative(f64),
    /// An absolute error.
    Absolute(f64),
    /// An absolute error for operands in the open interval, and a relative error elsewhere.
    AbsoluteWithin {
        /// The interval.
        interval: (f32, f32),
        /// Maximum absolute error inside.
        absolute: f64,
        /// Maximum relative error outside.
        relative: f64,
    },
    /// For each of two ranges, the maximum magnitude of the operand and the absolute error up to
    /// it. No bound beyond.
    AbsoluteUpTo([(f32, f64); 2]),
}

impl fmt::Display for ApproximationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let power = |error: f64| format!("2^{:.1}", error.log2()).replace(".0", "");
        match *self {
            Self::Ulp(error) => write!(f, "is within {error} ulp"),
            Self::Relative(error) => write!(f, "has a relative error of at most {}", power(error)),
            Self::Absolute(error) => write!(f, "has an error of at most {}", power(error)),
            Self::AbsoluteWithin { interval: (from, to), absolute, relative } => write!(
                f,
                "has an error of at most {} between {from} and {to}, and of {} of its value elsewhere",
                power(absolute),
                power(relative)
            ),
            Self::AbsoluteUpTo([(to, error), (far, larger)]) => {
                write!(
                    f,
                    "has an error of at most {} up to {to:.1}, and {} up to {far:.1}",
                    power(error),
                    power(larger)
                )
            }
        }
    }
}

/// The error bound of an approximate instruction on a GPU, from PTX ISA 9.7.3 and 9.7.4. `None` for
/// an exact instruction, and for the coarse approximations of f64, for which the ISA gives no
/// bound.
///
/// The bound of `div.approx` holds for divisors of magnitude 2^−126 to 2^126.
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
