//! Immediate values as the bits of a register.

use crate::syntax::{Immediate, ScalarType};

/// The bits of an immediate in a register or variable of this type.
pub(crate) fn immediate_bits(value: Immediate, scalar_type: ScalarType) -> u64 {
    let bits = match (value, scalar_type) {
        (Immediate::Integer(value), _) => value as u64,
        (Immediate::F32(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::F32(bits), _) => u64::from(bits),
        (Immediate::F64(bits), ScalarType::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Immediate::F64(bits), _) => bits,
    };
    truncate(bits, scalar_type.bytes() * 8)
}

/// The low `bits` bits of a value.
pub(crate) fn truncate(value: u64, bits: usize) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}
