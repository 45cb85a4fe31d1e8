//! Operand types of PTX, their Rust types and their representation in a register.

use super::float::{Bf16Bits, F16Bits};
use crate::syntax::ScalarType;
#[cfg(target_arch = "x86_64")]
use pulp::{Simd, x86::V3};
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// An operand type of PTX, with the Rust type in which the functions compute.
pub(super) trait OperandType {
    /// The argument and result type of the functions.
    type Value: Copy;
    /// The PTX type.
    const TYPE: ScalarType;
    /// Its modifier in an instruction's name, with the dot.
    const NAME: &'static str;
    /// The value in a register, ignoring the bits above it.
    fn read(bits: u64) -> Self::Value;
    /// The register bits of the value, zero-extended.
    fn write(value: Self::Value) -> u64;
}

macro_rules! kinds {
    ($($kind:ident $name:literal $value:ty, |$bits:ident| $read:expr, |$written:ident| $write:expr;)*) => {$(
        pub(super) struct $kind;

        impl OperandType for $kind {
            type Value = $value;
            const TYPE: ScalarType = ScalarType::$kind;
            const NAME: &'static str = $name;

            #[inline(always)]
            fn read($bits: u64) -> $value {
                $read
            }

            #[inline(always)]
            fn write($written: $value) -> u64 {
                $write
            }
        }
    )*};
}

kinds! {
    B16 ".b16" u16, |bits| bits as u16, |value| u64::from(value);
    B32 ".b32" u32, |bits| bits as u32, |value| u64::from(value);
    B64 ".b64" u64, |bits| bits, |value| value;
    U8 ".u8" u8, |bits| bits as u8, |value| u64::from(value);
    U16 ".u16" u16, |bits| bits as u16, |value| u64::from(value);
    U32 ".u32" u32, |bits| bits as u32, |value| u64::from(value);
    U64 ".u64" u64, |bits| bits, |value| value;
    S8 ".s8" i8, |bits| bits as i8, |value| u64::from(value as u8);
    S16 ".s16" i16, |bits| bits as i16, |value| u64::from(value as u16);
    S32 ".s32" i32, |bits| bits as i32, |value| u64::from(value as u32);
    S64 ".s64" i64, |bits| bits as i64, |value| value as u64;
    F16 ".f16" F16Bits, |bits| F16Bits(bits as u16), |value| u64::from(value.0);
    Bf16 ".bf16" Bf16Bits, |bits| Bf16Bits(bits as u16), |value| u64::from(value.0);
    F16x2 ".f16x2" [F16Bits; 2], |bits| [F16Bits(bits as u16), F16Bits((bits >> 16) as u16)],
        |value| u64::from(value[0].0) | u64::from(value[1].0) << 16;
    Bf16x2 ".bf16x2" [Bf16Bits; 2], |bits| [Bf16Bits(bits as u16), Bf16Bits((bits >> 16) as u16)],
        |value| u64::from(value[0].0) | u64::from(value[1].0) << 16;
    Tf32 ".tf32" u32, |bits| bits as u32, |value| u64::from(value);
    F32 ".f32" f32, |bits| f32::from_bits(bits as u32), |value| u64::from(value.to_bits());
    F64 ".f64" f64, |bits| f64::from_bits(bits), |value| value.to_bits();
}

/// Runs a loop over the lanes with AVX2 and FMA if the host has them. The results are the same without, but each fma is
/// then a library call.
#[inline(always)]
pub(super) fn vectorized<R>(function: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        static AVX2: LazyLock<Option<V3>> = LazyLock::new(V3::try_new);
        if let Some(simd) = *AVX2 {
            return Simd::vectorize(simd, function);
        }
    }
    function()
}

/// Makes an [`Operation`](super::Operation) from a function on one lane's values: `integer!(add: (T, T) -> T)`.
///
/// The function is inlined into the loop over the lanes, so the compiler can vectorise it. The types
/// are [`OperandType`]s and may be type parameters of the function around it.
macro_rules! operation {
    ($class:ident, $function:path: ($($source:ty),+) -> $destination:ty) => {
        $crate::semantics::Operation {
            compute: $crate::semantics::Compute::Value(|destination, sources| {
                // Bound separately: a copy of the whole array would stall on the caller's four stores.
                #[allow(unused_variables)]
                let [a, b, c, d] = sources;
                $crate::semantics::operand_type::vectorized(
                    #[inline(always)]
                    move || {
                        for lane in 0..$crate::semantics::LANES {
                            let value = $crate::semantics::operand_type::apply!($function, [a, b, c, d], lane, $($source),+);
                            destination[lane] = <$destination as $crate::semantics::operand_type::OperandType>::write(value);
                        }
                    },
                );
            }),
            destination: <$destination as $crate::semantics::operand_type::OperandType>::TYPE,
            sources: const { &[$(<$source as $crate::semantics::operand_type::OperandType>::TYPE),+] },
            class: $crate::semantics::Class::$class,
        }
    };
}

/// As `operation!`, for rarely executed instructions: the loop is not compiled again for AVX2, to save compile time.
macro_rules! portable_operation {
    ($class:ident, $function:path: ($($source:ty),+) -> $destination:ty) => {
        $crate::semantics::Operation {
            compute: $crate::semantics::Compute::Value(|destination, sources| {
                #[allow(unused_variables)]
                let [a, b, c, d] = sources;
                for lane in 0..$crate::semantics::LANES {
                    let value = $crate::semantics::operand_type::apply!($function, [a, b, c, d], lane, $($source),+);
                    destination[lane] = <$destination as $crate::semantics::operand_type::OperandType>::write(value);
                }
            }),
            destination: <$destination as $crate::semantics::operand_type::OperandType>::TYPE,
            sources: const { &[$(<$source as $crate::semantics::operand_type::OperandType>::TYPE),+] },
            class: $crate::semantics::Class::$class,
        }
    };
}

/// Makes an [`Operation`](super::Operation) from a function that returns a `bool`: `predicate!(less: (T, T))`.
macro_rules! predicate {
    ($function:path: ($($source:ty),+)) => {
        $crate::semantics::Operation {
            compute: $crate::semantics::Compute::Predicate(|sources| {
                #[allow(unused_variables)]
                let [a, b, c, d] = sources;
                $crate::semantics::operand_type::vectorized(
                    #[inline(always)]
                    move || {
                        let mut mask = 0;
                        for lane in 0..$crate::semantics::LANES {
                            let holds: bool = $crate::semantics::operand_type::apply!($function, [a, b, c, d], lane, $($source),+);
                            mask |= u32::from(holds) << lane;
                        }
                        mask
                    },
                )
            }),
            destination: $crate::syntax::ScalarType::Pred,
            sources: const { &[$(<$source as $crate::semantics::operand_type::OperandType>::TYPE),+] },
            class: $crate::semantics::Class::Compare,
        }
    };
}

/// Calls a function with one lane's sources.
macro_rules! apply {
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty) => {
        $function(<$a as $crate::semantics::operand_type::OperandType>::read($a_lanes[$lane]))
    };
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty, $b:ty) => {
        $function(
            <$a as $crate::semantics::operand_type::OperandType>::read($a_lanes[$lane]),
            <$b as $crate::semantics::operand_type::OperandType>::read($b_lanes[$lane]),
        )
    };
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty, $b:ty, $c:ty) => {
        $function(
            <$a as $crate::semantics::operand_type::OperandType>::read($a_lanes[$lane]),
            <$b as $crate::semantics::operand_type::OperandType>::read($b_lanes[$lane]),
            <$c as $crate::semantics::operand_type::OperandType>::read($c_lanes[$lane]),
        )
    };
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty, $b:ty, $c:ty, $d:ty) => {
        $function(
            <$a as $crate::semantics::operand_type::OperandType>::read($a_lanes[$lane]),
            <$b as $crate::semantics::operand_type::OperandType>::read($b_lanes[$lane]),
            <$c as $crate::semantics::operand_type::OperandType>::read($c_lanes[$lane]),
            <$d as $crate::semantics::operand_type::OperandType>::read($d_lanes[$lane]),
        )
    };
}

macro_rules! integer {
    ($($signature:tt)+) => {
        $crate::semantics::operand_type::operation!(Integer, $($signature)+)
    };
}

pub(super) use {apply, integer, operation, portable_operation, predicate};
