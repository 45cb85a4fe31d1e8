//! The types of PTX as the tables name them, and how their values stand in a register.

use super::float::{Bf16Bits, F16Bits};
use crate::syntax::ScalarType;
#[cfg(target_arch = "x86_64")]
use pulp::{Simd, x86::V3};
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// A type of PTX, with the plain Rust type that the functions compute on.
pub(super) trait Kind {
    /// What the functions take and return.
    type Value: Copy;
    /// The type of the operand.
    const TYPE: ScalarType;
    /// Its name in an instruction, with the dot.
    const NAME: &'static str;
    /// The value in a register, whatever the bits above it hold.
    fn read(bits: u64) -> Self::Value;
    /// The bits of a register that holds the value: zeros above it.
    fn write(value: Self::Value) -> u64;
}

macro_rules! kinds {
    ($($kind:ident $name:literal $value:ty, |$bits:ident| $read:expr, |$written:ident| $write:expr;)*) => {$(
        pub(super) struct $kind;

        impl Kind for $kind {
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

/// Runs a loop over the lanes with AVX2 and FMA where the processor has them. It computes the same without, but calls a
/// library for each fma.
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

/// Makes an [`Operation`](super::Operation) of a function on one lane's values: `integer!(add: (T, T) -> T)`.
///
/// The function is called directly within the loop over the lanes, so the compiler can make vectors of it. The types
/// are [`Kind`]s and may be type parameters of the function around it.
macro_rules! operation {
    ($class:ident, $function:path: ($($source:ty),+) -> $destination:ty) => {
        $crate::semantics::Operation {
            compute: $crate::semantics::Compute::Value(|destination, sources| {
                // One by one: to copy the four together would wait for the caller's four stores.
                #[allow(unused_variables)]
                let [a, b, c, d] = sources;
                $crate::semantics::kind::vectorized(
                    #[inline(always)]
                    move || {
                        for lane in 0..$crate::semantics::LANES {
                            let value = $crate::semantics::kind::apply!($function, [a, b, c, d], lane, $($source),+);
                            destination[lane] = <$destination as $crate::semantics::kind::Kind>::write(value);
                        }
                    },
                );
            }),
            destination: <$destination as $crate::semantics::kind::Kind>::TYPE,
            sources: const { &[$(<$source as $crate::semantics::kind::Kind>::TYPE),+] },
            class: $crate::semantics::Class::$class,
        }
    };
}

/// The same for what is seldom executed: its loop isn't compiled a second time for AVX2, which spares compile time.
macro_rules! seldom {
    ($class:ident, $function:path: ($($source:ty),+) -> $destination:ty) => {
        $crate::semantics::Operation {
            compute: $crate::semantics::Compute::Value(|destination, sources| {
                #[allow(unused_variables)]
                let [a, b, c, d] = sources;
                for lane in 0..$crate::semantics::LANES {
                    let value = $crate::semantics::kind::apply!($function, [a, b, c, d], lane, $($source),+);
                    destination[lane] = <$destination as $crate::semantics::kind::Kind>::write(value);
                }
            }),
            destination: <$destination as $crate::semantics::kind::Kind>::TYPE,
            sources: const { &[$(<$source as $crate::semantics::kind::Kind>::TYPE),+] },
            class: $crate::semantics::Class::$class,
        }
    };
}

/// Makes an [`Operation`](super::Operation) of a function from values to a truth: `predicate!(less: (T, T))`.
macro_rules! predicate {
    ($function:path: ($($source:ty),+)) => {
        $crate::semantics::Operation {
            compute: $crate::semantics::Compute::Predicate(|sources| {
                #[allow(unused_variables)]
                let [a, b, c, d] = sources;
                $crate::semantics::kind::vectorized(
                    #[inline(always)]
                    move || {
                        let mut mask = 0;
                        for lane in 0..$crate::semantics::LANES {
                            let truth: bool = $crate::semantics::kind::apply!($function, [a, b, c, d], lane, $($source),+);
                            mask |= u32::from(truth) << lane;
                        }
                        mask
                    },
                )
            }),
            destination: $crate::syntax::ScalarType::Pred,
            sources: const { &[$(<$source as $crate::semantics::kind::Kind>::TYPE),+] },
            class: $crate::semantics::Class::Compare,
        }
    };
}

/// Calls a function with one lane's sources.
macro_rules! apply {
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty) => {
        $function(<$a as $crate::semantics::kind::Kind>::read($a_lanes[$lane]))
    };
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty, $b:ty) => {
        $function(
            <$a as $crate::semantics::kind::Kind>::read($a_lanes[$lane]),
            <$b as $crate::semantics::kind::Kind>::read($b_lanes[$lane]),
        )
    };
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty, $b:ty, $c:ty) => {
        $function(
            <$a as $crate::semantics::kind::Kind>::read($a_lanes[$lane]),
            <$b as $crate::semantics::kind::Kind>::read($b_lanes[$lane]),
            <$c as $crate::semantics::kind::Kind>::read($c_lanes[$lane]),
        )
    };
    ($function:path, [$a_lanes:ident, $b_lanes:ident, $c_lanes:ident, $d_lanes:ident], $lane:ident, $a:ty, $b:ty, $c:ty, $d:ty) => {
        $function(
            <$a as $crate::semantics::kind::Kind>::read($a_lanes[$lane]),
            <$b as $crate::semantics::kind::Kind>::read($b_lanes[$lane]),
            <$c as $crate::semantics::kind::Kind>::read($c_lanes[$lane]),
            <$d as $crate::semantics::kind::Kind>::read($d_lanes[$lane]),
        )
    };
}

macro_rules! integer {
    ($($signature:tt)+) => {
        $crate::semantics::kind::operation!(Integer, $($signature)+)
    };
}

pub(super) use {apply, integer, operation, predicate, seldom};
