//! Modifiers of instructions: rounding modes, `.ftz`, `.sat`, `.relu` and `.satfinite`.

use super::float::Format;
use super::rounding::Mode;

/// The rounding modifiers of floating-point arithmetic, with their dots.
pub(super) const ROUNDINGS: [(&str, Mode); 4] =
    [(".rn", Mode::Nearest), (".rz", Mode::TowardZero), (".rm", Mode::Down), (".rp", Mode::Up)];

/// The modifiers of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modifiers {
    pub(super) rounding: Mode,
    /// `.ftz`: subnormal operands and results become zero of the same sign.
    pub(super) flush: bool,
    /// `.sat`: a float is clamped to [0, 1], NaN to +0; an integer is clamped to the destination's range.
    pub(super) saturate: bool,
    /// `.relu`: a negative result becomes +0.
    pub(super) relu: bool,
    /// `.satfinite`: the result is clamped to the largest finite magnitude.
    pub(super) finite: bool,
}

impl Modifiers {
    /// Round to nearest, and no other modifier.
    pub(super) const NONE: Self =
        Self { rounding: Mode::Nearest, flush: false, saturate: false, relu: false, finite: false };

    pub(super) fn rounding(rounding: Mode) -> Self {
        Self { rounding, ..Self::NONE }
    }

    pub(super) fn flush(flush: bool) -> Self {
        Self { flush, ..Self::NONE }
    }

    /// The value of an operand.
    pub(super) fn operand(&self, format: Format, bits: u64) -> f64 {
        format.decode(if self.flush { format.flushed(bits) } else { bits })
    }

    /// The bits of a result, rounded to nearest. A result of another rounding mode must already be
    /// exact.
    pub(super) fn result(&self, format: Format, value: f64) -> u64 {
        let mut bits = format.encode(value);
        if self.flush {
            bits = format.flushed(bits);
        }
        if self.relu {
            bits = format.rectified(bits);
        }
        if self.saturate {
            bits = format.saturated(bits);
        }
        bits
    }
}

/// `suffix`, or nothing.
pub(super) fn name_if(present: bool, suffix: &'static str) -> &'static str {
    if present { suffix } else { "" }
}
