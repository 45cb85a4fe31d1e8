// The code that a GPU and the simulator share; both `warp` modules include this file.

/// A 32-bit value that lanes exchange.
pub trait WarpValue: Copy + sealed::Sealed {
    /// The value's bits.
    #[doc(hidden)]
    fn to_bits(self) -> u32;

    /// The value with these bits.
    #[doc(hidden)]
    fn from_bits(bits: u32) -> Self;

    /// The maximum of the two.
    #[doc(hidden)]
    fn larger(self, other: Self) -> Self;

    /// The sum; integers wrap around.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
    impl Sealed for f32 {}
}

macro_rules! warp_values {
    ($($value:ident: $to:expr, $from:expr, $plus:expr;)*) => {$(
        impl WarpValue for $value {
            #[inline(always)]
            fn to_bits(self) -> u32 {
                $to(self)
            }

            #[inline(always)]
            fn from_bits(bits: u32) -> Self {
                $from(bits)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
        }
    )*};
}

warp_values! {
    u32: core::convert::identity, core::convert::identity, u32::wrapping_add;
    i32: i32::cast_unsigned, u32::cast_signed, i32::wrapping_add;
    f32: f32::to_bits, f32::from_bits, core::ops::Add::add;
}

/// The sum of all 32 lanes' values, in every lane; needs a whole warp.
///
/// A butterfly of five exchanges, with lane masks 16, 8, 4, 2 and 1.
#[inline(always)]
#[track_caller]
pub fn reduce_add<T: WarpValue>(value: T) -> T {
    let mut sum = value;
    let mut distance = 16;
    while distance > 0 {
        sum = sum.plus(shuffle_xor(sum, distance));
        distance /= 2;
    }
    sum
}

/// The maximum of all 32 lanes' values, in every lane; needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn reduce_max<T: WarpValue>(value: T) -> T {
    let mut largest = value;
    let mut distance = 16;
    while distance > 0 {
        largest = largest.larger(shuffle_xor(largest, distance));
        distance /= 2;
    }
    largest
}
