//! Element types of messages, and the operations of reductions.

use std::fmt::Debug;

use bytemuck::Pod;

/// The type of a message's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    U8,
    I32,
    F32,
    F64,
}

mod sealed {
    use super::{Kind, Operation};

    pub trait Sealed: Sized {
        #[doc(hidden)]
        #[expect(private_interfaces, reason = "the trait is not accessible outside of the crate")]
        const KIND: Kind;

        /// a ∘ b
        #[doc(hidden)]
        fn combined(operation: Operation, a: Self, b: Self) -> Self;
    }
}

pub(crate) use sealed::Sealed;

/// The types that messages are made of: `u8`, `i32`, `f32` and `f64`.
pub trait Element: Pod + Debug + PartialEq + Send + Sync + Sealed {}

/// An associative and commutative operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// a + b; integers wrap around.
    Sum,
    /// a · b; integers wrap around.
    Product,
    /// The smaller of a and b.
    Minimum,
    /// The larger of a and b.
    Maximum,
}

impl Operation {
    /// a ∘ b
    pub fn apply<T: Element>(self, a: T, b: T) -> T {
        T::combined(self, a, b)
    }
}

macro_rules! element {
    ($type:ty, $kind:ident, $sum:expr, $product:expr) => {
        impl Sealed for $type {
            #[expect(private_interfaces, reason = "the trait is not accessible outside of the crate")]
            const KIND: Kind = Kind::$kind;

            fn combined(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Sum => $sum(a, b),
                    Operation::Product => $product(a, b),
                    Operation::Minimum => {
                        if b < a {
                            b
                        } else {
                            a
                        }
                    }
                    Operation::Maximum => {
                        if b > a {
                            b
                        } else {
                            a
                        }
                    }
                }
            }
        }

        impl Element for $type {}
    };
}

element!(u8, U8, u8::wrapping_add, u8::wrapping_mul);
element!(i32, I32, i32::wrapping_add, i32::wrapping_mul);
element!(f32, F32, |a, b| a + b, |a, b| a * b);
element!(f64, F64, |a, b| a + b, |a, b| a * b);
