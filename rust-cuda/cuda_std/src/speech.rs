//! What kernels say: [`println!`](crate::println), [`assert!`](crate::assert), [`panic!`](crate::panic) and their kind.
//!
//! In the body of a kernel these are the macros of their names. For functions that kernels call, the library's root has the line
//! `#[macro_use] extern crate cuda_std;`, or they name a macro: `use cuda_std::panic;`. Without either, `panic!` is the one of `core`.
//! `use cuda_std::*` does not do: Rust rejects a macro that a glob import and `core` have. They say the same in the simulator, in the interpreter and
//! on a GPU: there, a thread writes its values into a buffer, which the device reads after the launch ([`cuda_launch::message`]); the
//! text itself is never on the GPU. What fails stops the thread by a trap. A kernel that says nothing has no instruction for it.

/// A value that a kernel can say: an integer, bool, char, f32, f64, or an array of them.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot say a `{Self}`",
    label = "not a value that a kernel can say",
    note = "kernels say integers, bool, char, f32, f64 and arrays of them: say the fields of a struct one by one"
)]
pub trait Spoken {
    /// Calls `say` with each word of the value in a record.
    #[doc(hidden)]
    fn say(&self, say: &mut impl FnMut(u32));

    /// The number of these words.
    #[doc(hidden)]
    fn words(&self) -> u32;
}

macro_rules! spoken {
    ($($value:ty: $code:literal, $words:literal, |$from:ident| $bits:expr;)*) => {$(
        impl Spoken for $value {
            #[inline(always)]
            fn say(&self, say: &mut impl FnMut(u32)) {
                let $from = *self;
                let bits: u128 = $bits;
                say($code as u32);
                let mut word = 0;
                while word < $words {
                    say((bits >> (32 * word)) as u32);
                    word += 1;
                }
            }

            #[inline(always)]
            fn words(&self) -> u32 {
                1 + $words
            }
        }
    )*};
}

spoken! {
    bool: b'B', 1, |value| u128::from(value);
    char: b'k', 1, |value| u128::from(value as u32);
    u8: b'b', 1, |value| u128::from(value);
    u16: b'h', 1, |value| u128::from(value);
    u32: b'u', 1, |value| u128::from(value);
    u64: b'U', 2, |value| u128::from(value);
    usize: b'U', 2, |value| value as u128;
    u128: b'w', 4, |value| value;
    i8: b'c', 1, |value| value as u128;
    i16: b'j', 1, |value| value as u128;
    i32: b'i', 1, |value| value as u128;
    i64: b'I', 2, |value| value as u128;
    isize: b'I', 2, |value| value as u128;
    i128: b'W', 4, |value| value as u128;
    f32: b'f', 1, |value| u128::from(value.to_bits());
    f64: b'd', 2, |value| u128::from(value.to_bits());
}

impl<T: Spoken, const N: usize> Spoken for [T; N] {
    #[inline(always)]
    fn say(&self, say: &mut impl FnMut(u32)) {
        say((N as u32) << 8 | b'a' as u32);
        self.iter().for_each(|value| value.say(say));
    }

    #[inline(always)]
    fn words(&self) -> u32 {
        self.iter().fold(1, |words, value| words + value.words())
    }
}

impl<T: Spoken + ?Sized> Spoken for &T {
    #[inline(always)]
    fn say(&self, say: &mut impl FnMut(u32)) {
        (**self).say(say);
    }

    #[inline(always)]
    fn words(&self) -> u32 {
        (**self).words()
    }
}

/// What `unwrap` and `expect` open in a kernel.
#[doc(hidden)]
pub trait Opened {
    type Value;
    const IS_OPTION: bool;

    fn opened(self) -> Option<Self::Value>;
}

impl<T> Opened for Option<T> {
    type Value = T;
    const IS_OPTION: bool = true;

    #[inline(always)]
    fn opened(self) -> Self {
        self
    }
}

impl<T, E> Opened for Result<T, E> {
    type Value = T;
    const IS_OPTION: bool = false;

    #[inline(always)]
    fn opened(self) -> Option<T> {
        self.ok()
    }
}

/// Whether the value is an `Option`.
#[doc(hidden)]
#[inline(always)]
pub fn is_option<T: Opened>(_: &T) -> bool {
    T::IS_OPTION
}

/// Prints a line from a kernel, by the grammar of `std::fmt`, with the thread that prints it:
/// `block (0, 0, 0), thread (3, 0, 0): x = 1.5`. Widths and precisions are constant.
///
/// Lines of different threads come in no order. Those beyond a megabyte of a launch are lost, which is said.
#[macro_export]
macro_rules! println {
    ($($argument:tt)*) => {{
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::simulator::print($crate::host_std::format_args!($($argument)*));
        $crate::__say!(says; $($argument)*);
    }};
}

/// Stops the thread with a message, which is the launch's error; by the grammar of [`println!`](crate::println).
#[macro_export]
macro_rules! panic {
    ($($argument:tt)*) => {{
        #[cfg(target_arch = "nvptx64")]
        $crate::__say!(panics; $($argument)*);
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::__say!(checks; $($argument)*);
        ::core::panic!($($argument)*)
    }};
}

/// Stops the thread with a message, unless the condition holds.
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => {{
        #[cfg(not(target_arch = "nvptx64"))]
        ::core::assert!($condition);
        #[cfg(target_arch = "nvptx64")]
        if !$condition {
            $crate::__say!(panics($condition););
            ::core::panic!()
        }
    }};
    ($condition:expr, $($argument:tt)+) => {
        if !$condition {
            $crate::panic!($($argument)+)
        }
    };
}

/// Stops the thread with a message, unless both values are equal.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => if !(*left == *right) {
                $crate::panic!("assertion `left == right` failed\n  left: {:?}\n right: {:?}", left, right)
            }
        }
    };
    ($left:expr, $right:expr, $($argument:tt)+) => {
        match (&$left, &$right) {
            (left, right) => if !(*left == *right) {
                $crate::panic!($($argument)+)
            }
        }
    };
}

/// Stops the thread with a message, if both values are equal.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => if *left == *right {
                $crate::panic!("assertion `left != right` failed\n  left: {:?}\n right: {:?}", left, right)
            }
        }
    };
    ($left:expr, $right:expr, $($argument:tt)+) => {
        match (&$left, &$right) {
            (left, right) => if *left == *right {
                $crate::panic!($($argument)+)
            }
        }
    };
}

#[doc(hidden)]
pub use cuda_std_macros::say as __say;

/// All macros that speak, from which `#[kernel]` takes those that a module does not import itself.
#[doc(hidden)]
pub mod macros {
    pub use crate::{assert, assert_eq, assert_ne, panic, println};
}
