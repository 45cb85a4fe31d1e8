//! Element types of messages, and reduction operations.

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
    }

    pub trait Combined: Sized {
        /// a ∘ b
        #[doc(hidden)]
        fn combined(operation: Operation, a: Self, b: Self) -> Self;
    }
}

pub(crate) use sealed::{Combined, Sealed};

/// The possible element types of messages: `u8`, `i32`, `f32` and `f64`.
pub trait Datatype: Pod + Debug + PartialEq + Send + Sync + Sealed {}

/// The types that reductions combine: `i32`, `f32` and `f64`. `u8` is excluded because libraries
/// differ in how they sum bytes: some saturate at 255.
pub trait Number: Datatype + Combined {}

/// An associative and commutative reduction operation.
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
    pub fn apply<T: Number>(self, a: T, b: T) -> T {
        T::combined(self, a, b)
    }
}

macro_rules! element {
    ($type:ty, $kind:ident) => {
        impl Sealed for $type {
            #[expect(private_interfaces, reason = "the trait is not accessible outside of the crate")]
            const KIND: Kind = Kind::$kind;
        }

        impl Datatype for $type {}
    };
}

element!(u8, U8);
element!(i32, I32);
element!(f32, F32);
element!(f64, F64);

macro_rules! number {
    ($type:ty, $sum:expr, $product:expr) => {
        impl Combined for $type {
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

        impl Number for $type {}
    };
}

number!(i32, i32::wrapping_add, i32::wrapping_mul);
number!(f32, |a, b| a + b, |a, b| a * b);
number!(f64, |a, b| a + b, |a, b| a * b);
