//! The update functions of atomic operations.

use super::error::Problem;
use super::instruction::Update;
use crate::syntax::ScalarType::{self, *};

/// The update functions of the atomic operation `name` on this type, for shared and for global
/// memory, and whether it takes two operands. `add.f32` flushes subnormal numbers only in global
/// memory (PTX ISA, `atom`).
pub(super) fn update(name: &str, scalar_type: ScalarType) -> Result<(Update, Update, bool), Problem> {
    let same = |update: Update| Ok((update, update, false));
    match (name, scalar_type) {
        ("and", B32 | B64) => same(|old, a, _| old & a),
        ("or", B32 | B64) => same(|old, a, _| old | a),
        ("xor", B32 | B64) => same(|old, a, _| old ^ a),
        ("exch", B32 | B64) => same(|_, a, _| a),
        ("cas", B16 | B32 | B64) => {
            let swap: Update = |old, a, b| if old == a { b } else { old };
            Ok((swap, swap, true))
        }
        ("add", U32 | S32) => same(|old, a, _| u64::from((old as u32).wrapping_add(a as u32))),
        ("add", U64) => same(|old, a, _| old.wrapping_add(a)),
        ("add", F32) => Ok((add_f32, add_f32_flushing, false)),
        ("add", F64) => same(|old, a, _| canonical_f64(f64::from_bits(old) + f64::from_bits(a))),
        ("inc", U32) => same(|old, a, _| if old >= a { 0 } else { old + 1 }),
        ("dec", U32) => same(|old, a, _| if old == 0 || old > a { a } else { old - 1 }),
        ("min", U32 | U64) => same(|old, a, _| old.min(a)),
        ("max", U32 | U64) => same(|old, a, _| old.max(a)),
        ("min", S32) => same(|old, a, _| u64::from((old as i32).min(a as i32) as u32)),
        ("max", S32) => same(|old, a, _| u64::from((old as i32).max(a as i32) as u32)),
        ("min", S64) => same(|old, a, _| (old as i64).min(a as i64) as u64),
        ("max", S64) => same(|old, a, _| (old as i64).max(a as i64) as u64),
        ("and" | "or" | "xor" | "exch" | "cas" | "add" | "inc" | "dec" | "min" | "max", _) => {
            Err(Problem::Unsupported("this operation on this type"))
        }
        _ => Err(Problem::Modifier(name.to_owned())),
    }
}

fn add_f32(old: u64, a: u64, _: u64) -> u64 {
    let sum = f32::from_bits(old as u32) + f32::from_bits(a as u32);
    u64::from(if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() })
}

fn add_f32_flushing(old: u64, a: u64, b: u64) -> u64 {
    let flush = |bits: u64| match f32::from_bits(bits as u32) {
        value if value.is_subnormal() => bits & 0x8000_0000,
        _ => bits,
    };
    flush(add_f32(flush(old), flush(a), b))
}

fn canonical_f64(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}
