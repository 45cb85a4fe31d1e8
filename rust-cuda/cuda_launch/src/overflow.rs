//! Integer overflows, which wrap in kernels compiled without checks.

use std::fmt;

/// An integer operation that wraps without overflow checks. Divisions are not included: they always
/// panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// `+`
    Add,
    /// `-` of two numbers
    Subtract,
    /// `*`
    Multiply,
    /// `-` of one number
    Negate,
    /// `<<` by the type's bits or more
    ShiftLeft,
    /// `>>` by the type's bits or more
    ShiftRight,
}

impl Overflow {
    /// Each with the message of rustc's check and the corresponding wrapping method.
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Add, "attempt to add with overflow", "wrapping_add"),
        (Self::Subtract, "attempt to subtract with overflow", "wrapping_sub"),
        (Self::Multiply, "attempt to multiply with overflow", "wrapping_mul"),
        (Self::Negate, "attempt to negate with overflow", "wrapping_neg"),
        (Self::ShiftLeft, "attempt to shift left with overflow", "wrapping_shl"),
        (Self::ShiftRight, "attempt to shift right with overflow", "wrapping_shr"),
    ];

    /// The overflow in a panic with this message; None for any other panic.
    pub fn of_panic(message: &str) -> Option<Self> {
        Self::ALL.iter().find_map(|&(overflow, of_check, _)| (of_check == message).then_some(overflow))
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, message, method) = Self::ALL.iter().find(|(overflow, ..)| overflow == self).expect("all are listed");
        write!(f, "overflow: {message}, which wraps in PTX without overflow checks; if that is meant, write {method}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::arithmetic_side_effects)]
    fn the_messages_are_those_of_rustc() {
        let (max, min, bits) = std::hint::black_box((i32::MAX, i32::MIN, 32));
        type Operation = fn(i32, i32, i32) -> i32;
        let operations: [(Operation, Overflow); 6] = [
            (|max, _, _| max + 1, Overflow::Add),
            (|_, min, _| min - 1, Overflow::Subtract),
            (|max, min, _| max * min, Overflow::Multiply),
            (|_, min, _| -min, Overflow::Negate),
            (|max, _, bits| max << bits, Overflow::ShiftLeft),
            (|max, _, bits| max >> bits, Overflow::ShiftRight),
        ];
        for (operation, overflow) in operations {
            let Err(panic) = std::panic::catch_unwind(|| operation(max, min, bits)) else {
                // This build has no overflow checks.
                continue;
            };
            let message: &str = panic.downcast_ref::<&str>().copied().unwrap_or_default();
            assert_eq!(Overflow::of_panic(message), Some(overflow));
            assert!(overflow.to_string().contains(message));
        }
        assert_eq!(Overflow::of_panic("attempt to divide with overflow"), None);
    }
}
