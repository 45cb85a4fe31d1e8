//! Modifiers of floating-point instructions: rounding modes, `.ftz`, `.sat` and `.relu`.

use super::float::Float;
use super::rounding::{self, Mode};

/// Rounds to the format of T.
#[inline(always)]
pub(super) fn round_to<T: Float>(value: f64, mode: Mode) -> T {
    match mode {
        Mode::Nearest => T::nearest(value),
        mode => T::from_f64(rounding::convert(value, mode, T::FORMAT)),
    }
}

/// The modifiers of an instruction.
pub(super) trait Modifiers {
    /// `.rn`, `.rz`, `.rm` or `.rp`.
    const MODE: Mode;
    /// `.ftz`: subnormal operands and results become zero of the same sign.
    const FLUSH: bool;
    /// `.sat`: the result is clamped to [0, 1], NaN to +0.
    const SATURATE: bool;
    /// `.relu`: a negative result becomes +0.
    const RELU: bool;

    /// Applies the modifiers to an operand.
    #[inline(always)]
    fn operand<T: Float>(value: T) -> T {
        if Self::FLUSH { value.flushed() } else { value }
    }

    /// Applies the modifiers to a rounded result.
    #[inline(always)]
    fn result<T: Float>(value: T) -> T {
        let value = value.canonical();
        Self::result_unflushed(if Self::FLUSH { value.flushed() } else { value })
    }

    /// As `result`, without `.ftz`: for results that are not f32.
    #[inline(always)]
    fn result_unflushed<T: Float>(value: T) -> T {
        let mut value = value;
        if Self::RELU && !value.is_nan() && value.is_negative() {
            value = T::ZERO;
        }
        if Self::SATURATE {
            value = value.saturated();
        }
        value
    }
}

/// Round to nearest.
pub(super) struct Rn;
/// Round toward zero.
pub(super) struct Rz;
/// Round toward −∞.
pub(super) struct Rm;
/// Round toward +∞.
pub(super) struct Rp;
/// With `.ftz`.
pub(super) struct Ftz<M>(M);
/// With `.sat`.
pub(super) struct Sat<M>(M);
/// With `.relu`.
pub(super) struct Relu<M>(M);

macro_rules! modes {
    ($($type:ident $mode:ident;)*) => {$(
        impl Modifiers for $type {
            const MODE: Mode = Mode::$mode;
            const FLUSH: bool = false;
            const SATURATE: bool = false;
            const RELU: bool = false;
        }
    )*};
}

modes! {
    Rn Nearest;
    Rz TowardZero;
    Rm Down;
    Rp Up;
}

macro_rules! wrappers {
    ($($type:ident: $flush:expr, $saturate:expr, $relu:expr;)*) => {$(
        impl<M: Modifiers> Modifiers for $type<M> {
            const MODE: Mode = M::MODE;
            const FLUSH: bool = $flush;
            const SATURATE: bool = $saturate;
            const RELU: bool = $relu;
        }
    )*};
}

wrappers! {
    Ftz: true, M::SATURATE, M::RELU;
    Sat: M::FLUSH, true, M::RELU;
    Relu: M::FLUSH, M::SATURATE, true;
}
