// The code that a GPU and the simulator share; both `warp` modules include this file.

/// A value that lanes exchange: numbers of 32 and 64 bits, and arrays of them. It is exchanged in words of 32 bits.
pub trait Shuffled: Copy + sealed::Sealed {
    /// The value of which `exchange` has replaced each word.
    #[doc(hidden)]
    fn exchanged(self, exchange: impl FnMut(u32) -> u32) -> Self;
}

/// A number that lanes exchange and combine.
pub trait WarpValue: Shuffled {
    /// The maximum of the two.
    #[doc(hidden)]
    fn larger(self, other: Self) -> Self;

    /// The minimum of the two.
    #[doc(hidden)]
    fn smaller(self, other: Self) -> Self;

    /// The sum; integers wrap around.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
}

/// An integer that lanes exchange and combine, also bit by bit.
pub trait WarpInteger:
    WarpValue
    + core::ops::BitAnd<Output = Self>
    + core::ops::BitOr<Output = Self>
    + core::ops::BitXor<Output = Self>
    + PartialEq
{
}

mod sealed {
    pub trait Sealed {}
    impl<T: Sealed, const N: usize> Sealed for [T; N] {}
}

impl<T: Shuffled, const N: usize> Shuffled for [T; N] {
    #[inline(always)]
    fn exchanged(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
        self.map(|value| value.exchanged(&mut exchange))
    }
}

macro_rules! warp_values {
    ($($value:ident: |$exchange:ident, $from:ident| $exchanged:expr, $plus:expr, $extremes:path;)*) => {$(
        impl sealed::Sealed for $value {}

        impl Shuffled for $value {
            #[inline(always)]
            fn exchanged(self, exchange: impl FnMut(u32) -> u32) -> Self {
                let ($from, mut $exchange) = (self, exchange);
                $exchanged
            }
        }

        impl WarpValue for $value {
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                <Self as $extremes>::max(self, other)
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                <Self as $extremes>::min(self, other)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
        }
    )*};
}

warp_values! {
    u32: |exchange, value| exchange(value), u32::wrapping_add, Ord;
    i32: |exchange, value| exchange(value.cast_unsigned()).cast_signed(), i32::wrapping_add, Ord;
    f32: |exchange, value| f32::from_bits(exchange(value.to_bits())), core::ops::Add::add, crate::math::GpuFloat;
    u64: |exchange, value| halves(value, &mut exchange), u64::wrapping_add, Ord;
    i64: |exchange, value| halves(value.cast_unsigned(), &mut exchange).cast_signed(), i64::wrapping_add, Ord;
    f64: |exchange, value| f64::from_bits(halves(value.to_bits(), &mut exchange)), core::ops::Add::add, crate::math::GpuFloat;
}

impl WarpInteger for u32 {}
impl WarpInteger for i32 {}
impl WarpInteger for u64 {}
impl WarpInteger for i64 {}

/// The value of which `exchange` has replaced both halves, the low one first.
#[inline(always)]
fn halves(value: u64, mut exchange: impl FnMut(u32) -> u32) -> u64 {
    let low = exchange(value as u32);
    u64::from(exchange((value >> 32) as u32)) << 32 | u64::from(low)
}

/// What `combine` makes of all 32 lanes' values, in every lane, by a butterfly of five exchanges, with lane masks 16, 8, 4, 2 and 1.
#[inline(always)]
#[track_caller]
fn reduce<T: Shuffled>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut all = value;
    let mut distance = 16;
    while distance > 0 {
        all = combine(all, shuffle_xor(all, distance));
        distance /= 2;
    }
    all
}

/// The sum of all 32 lanes' values, in every lane; needs a whole warp.
///
/// A butterfly of five exchanges, with lane masks 16, 8, 4, 2 and 1.
#[inline(always)]
#[track_caller]
pub fn reduce_add<T: WarpValue>(value: T) -> T {
    reduce(value, T::plus)
}

/// The maximum of all 32 lanes' values, in every lane, of floats as by [`GpuFloat::max`](crate::math::GpuFloat::max); needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn reduce_max<T: WarpValue>(value: T) -> T {
    reduce(value, T::larger)
}

/// The minimum of all 32 lanes' values, in every lane, of floats as by [`GpuFloat::min`](crate::math::GpuFloat::min); needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn reduce_min<T: WarpValue>(value: T) -> T {
    reduce(value, T::smaller)
}

/// The bits that all 32 lanes' values have, in every lane; needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn reduce_and<T: WarpInteger>(value: T) -> T {
    reduce(value, core::ops::BitAnd::bitand)
}

/// The bits that any of the 32 lanes' values has, in every lane; needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn reduce_or<T: WarpInteger>(value: T) -> T {
    reduce(value, core::ops::BitOr::bitor)
}

/// The bits that an odd number of the 32 lanes' values have, in every lane; needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn reduce_xor<T: WarpInteger>(value: T) -> T {
    reduce(value, core::ops::BitXor::bitxor)
}

/// The sum of the values of this lane and those below; needs a whole warp.
///
/// Five exchanges, with the lanes 1, 2, 4, 8 and 16 below.
#[inline(always)]
#[track_caller]
pub fn inclusive_scan_add<T: WarpValue>(value: T) -> T {
    let mut sum = value;
    let mut distance = 1;
    while distance < 32 {
        let below = shuffle_up(sum, distance);
        if lane_id() >= distance {
            sum = below.plus(sum);
        }
        distance *= 2;
    }
    sum
}

/// The sum of the values of the lanes below this one, `zero` in lane 0; needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn exclusive_scan_add<T: WarpValue>(value: T, zero: T) -> T {
    let below = shuffle_up(inclusive_scan_add(value), 1);
    if lane_id() == 0 { zero } else { below }
}

/// Whether all lanes' values are equal; needs a whole warp.
#[inline(always)]
#[track_caller]
pub fn match_all<T: WarpInteger>(value: T) -> bool {
    let first = shuffle_idx(value, 0);
    all(value == first)
}
