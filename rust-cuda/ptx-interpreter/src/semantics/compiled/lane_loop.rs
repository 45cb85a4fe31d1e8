//! A loop over the lanes.

use super::vectors::Vectors;
use crate::semantics::Lanes;

/// Writes each lane's value.
pub(in crate::semantics) type ValueLoop = fn(Vectors, &mut Lanes, [&Lanes; 4]);

/// Returns the lanes in which a predicate holds as a mask.
pub(in crate::semantics) type PredicateLoop = fn(Vectors, [&Lanes; 4]) -> u32;

/// A loop over the lanes.
#[derive(Clone, Copy, Debug)]
pub(in crate::semantics) enum Compiled {
    Value(ValueLoop),
    Predicate {
        holds: PredicateLoop,
        /// Whether to swap the first two sources.
        swapped: bool,
        /// Whether to negate the loop's predicate.
        negated: bool,
    },
}

/// Makes a loop from an expression of one lane's sources: `each_lane!(|a: u32, b: u32|
/// a.wrapping_add(b))`.
///
/// The types may be type parameters of the enclosing function.
macro_rules! each_lane {
    (|$a:ident: $A:ty| $value:expr) => {
        each_lane!(@ [a b c d] [$a: $A = a] $value)
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty| $value:expr) => {
        each_lane!(@ [a b c d] [$a: $A = a, $b: $B = b] $value)
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $value:expr) => {
        each_lane!(@ [a b c d] [$a: $A = a, $b: $B = b, $c: $C = c] $value)
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $d:ident: $D:ty| $value:expr) => {
        each_lane!(@ [a b c d] [$a: $A = a, $b: $B = b, $c: $C = c, $d: $D = d] $value)
    };
    (@ [$($lanes:ident)+] [$($source:ident: $type:ty = $from:ident),+] $value:expr) => {
        $crate::semantics::compiled::lane_loop::Compiled::Value(|vectors, destination, sources| {
            // Bind them separately: a copy of the whole array would stall on the caller's four
            // stores.
            #[allow(unused_variables)]
            let [$($lanes),+] = sources;
            vectors.run(
                #[inline(always)]
                move || {
                    for lane in 0..$crate::semantics::LANES {
                        $(let $source = <$type as $crate::semantics::compiled::element::Element>::read($from[lane]);)+
                        destination[lane] = $crate::semantics::compiled::element::Element::write($value);
                    }
                },
            );
        })
    };
}

pub(super) use each_lane;
