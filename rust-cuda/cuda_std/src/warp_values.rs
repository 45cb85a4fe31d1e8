// Included by both `warp` modules: what is the same on a GPU and in the simulator.

/// A number that lanes exchange: 32 bits wide.
pub trait WarpValue: Copy + sealed::Sealed {
    /// The number's bits.
    #[doc(hidden)]
    fn to_bits(self) -> u32;

    /// The number of these bits.
    #[doc(hidden)]
    fn from_bits(bits: u32) -> Self;

    /// The larger of two numbers.
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
    ($($number:ident: $to:expr, $from:expr, $plus:expr;)*) => {$(
        impl WarpValue for $number {
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
/// Five exchanges, with the lane 16, 8, 4, 2 and 1 away.
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

/// The largest of all 32 lanes' values, in every lane; needs a whole warp.
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
