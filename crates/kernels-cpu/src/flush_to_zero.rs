//! Flush to zero: replaces values too small to matter by zero.
//!
//! Many processors handle subnormal operands or results in microcode, a hundred times slower.
//! Deltas and activations of saturated units, and momentum without gradients, shrink into that
//! range and stay there.
//!
//! Idea: every value that a training step stores as a later factor is 0 or at least [`THRESHOLD`] =
//! 2⁻⁵⁸ in absolute value. The product of two such values is 0 or at least 2⁻¹¹⁶, ten binary digits
//! above the smallest normal value, 2⁻¹²⁶. That leaves room for a third factor of 10⁻³, such as a
//! weight or a learning rate, or for a difference of products that loses ten digits. In single
//! precision, 2⁻⁵⁸ (3.5e-18) changes no sum above 6e-11.
//!
//! The bits are compared as an integer, so the comparison itself has no subnormal operand. A mask
//! then clears them. The result has the same bits on every instruction set. The processors' own
//! modes do not guarantee this: some detect tininess before rounding, others after it. Compiled
//! Rust code also relies on the default mode.

use pulp::Simd;

use crate::InstructionSet;
use crate::elementwise::{self, Unary};

/// Factors with absolute values below this become zero: 2⁻⁵⁸.
pub const THRESHOLD: f32 = f32::from_bits((127 - 58) << 23);
/// Values that are only multiplied by constants become zero below this: 2⁻¹¹⁶, the smallest product
/// of two factors.
pub const THRESHOLD_OF_PRODUCTS: f32 = THRESHOLD * THRESHOLD;
/// All bits except the sign.
const MAGNITUDE: i32 = i32::MAX;

/// Returns `value`, or +0 if its absolute value is below [`THRESHOLD`]. A NaN stays a NaN.
#[inline(always)]
pub fn flushed(value: f32) -> f32 {
    flushed_below(THRESHOLD, value)
}

/// Returns `value`, or +0 if its absolute value is below the positive `threshold`. A NaN stays a NaN.
#[inline(always)]
pub fn flushed_below(threshold: f32, value: f32) -> f32 {
    let magnitude = value.to_bits() as i32 & MAGNITUDE;
    if magnitude < threshold.to_bits() as i32 { 0.0 } else { value }
}

/// Applies [`flushed`] to each lane of a register.
#[inline(always)]
pub fn flushed_vector<S: Simd>(simd: S, values: S::f32s) -> S::f32s {
    let magnitudes = simd.and_i32s(simd.transmute_i32s_f32s(values), simd.splat_i32s(MAGNITUDE));
    let is_below = simd.less_than_i32s(magnitudes, simd.splat_i32s(THRESHOLD.to_bits() as i32));
    simd.select_f32s(is_below, simd.splat_f32s(0.0), values)
}

/// Applies [`flushed`] to each value.
pub fn flush_in_place(set: InstructionSet, values: &mut [f32]) {
    elementwise::map_in_place::<Flush>(set, values);
}

struct Flush;

impl Unary for Flush {
    #[inline(always)]
    fn apply<S: Simd>(x: f32) -> f32 {
        flushed(x)
    }
}
