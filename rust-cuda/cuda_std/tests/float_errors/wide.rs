//! Real numbers with some 104 significant bits and exponents without limits, and the functions of floats of them.
//!
//! They share nothing with the functions under test but a first approximation, which a step of Newton's method replaces.

use std::cmp::Ordering;
use std::f64::consts::FRAC_PI_2;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// (`high` + `low`) · 2^`exponent`, where 1 ≤ |`high`| < 2 or the number is zero, and `low` is at most half a unit in the last place
/// of `high`. The arithmetic is that of double-doubles: Li et al., "Design, implementation and testing of extended and mixed precision
/// BLAS", 2002.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide {
    high: f64,
    low: f64,
    exponent: i32,
}

/// A format of floats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Number of significand bits, including the leading one.
    pub(crate) precision: i32,
    /// Binary exponent of the smallest subnormal number.
    pub(crate) smallest: i32,
    /// Binary exponent of the largest finite number.
    pub(crate) largest: i32,
}

/// 2ⁿ for −1022 ≤ n ≤ 1023.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// The sum rounded, and the rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let other = sum - a;
    (sum, (a - (sum - other)) + (b - other))
}

const ZERO: Wide = Wide { high: 0.0, low: 0.0, exponent: 0 };
pub(crate) const ONE: Wide = Wide { high: 1.0, low: 0.0, exponent: 0 };
/// ln 2, by mpmath.
const LN_2: Wide = Wide { high: 1.386_294_361_119_890_6, low: 4.638_093_627_692_599e-17, exponent: -1 };
/// π, by mpmath.
const PI: Wide = Wide { high: FRAC_PI_2, low: 6.123_233_995_736_766e-17, exponent: 1 };

impl From<f64> for Wide {
    fn from(x: f64) -> Self {
        Self::normal(x, 0.0, 0)
    }
}

impl Add for Wide {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (large, small) =
            if self.exponent_of_order() < other.exponent_of_order() { (other, self) } else { (self, other) };
        let shift = small.exponent - large.exponent;
        if small.high == 0.0 || shift < -300 {
            return large;
        }
        let factor = power_of_two(shift);
        let (sum, error) = two_sum(large.high, small.high * factor);
        let (sum_of_low, error_of_low) = two_sum(large.low, small.low * factor);
        let (sum, error) = two_sum(sum, error + sum_of_low);
        Self::normal(sum, error + error_of_low, large.exponent)
    }
}

impl Neg for Wide {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low, ..self }
    }
}

impl Sub for Wide {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = self.high * other.high;
        let error = self.high.mul_add(other.high, -product);
        let error = error + (self.high * other.low + self.low * other.high);
        Self::normal(product, error, self.exponent + other.exponent)
    }
}

impl Div for Wide {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let mut quotient = ZERO;
        let mut rest = self;
        // Each step adds some 50 bits.
        for _ in 0..3 {
            let digit = Self::normal(rest.high / other.high, 0.0, rest.exponent - other.exponent);
            quotient = quotient + digit;
            rest = rest - digit * other;
        }
        quotient
    }
}

impl Wide {
    fn normal(high: f64, low: f64, exponent: i32) -> Self {
        let (high, low) = two_sum(high, low);
        if high == 0.0 {
            return ZERO;
        }
        if high.is_subnormal() {
            let scale = power_of_two(200);
            return Self::normal(high * scale, low * scale, exponent - 200);
        }
        let shift = (high.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        // In two steps, because 2^(−shift) may be subnormal.
        let (first, second) = (power_of_two(-shift / 2), power_of_two(-shift - -shift / 2));
        Self { high: high * first * second, low: low * first * second, exponent: exponent + shift }
    }

    /// The quotient by an integer.
    fn over(self, n: f64) -> Self {
        let quotient = self.high / n;
        let rest = (-quotient).mul_add(n, self.high) + self.low;
        Self::normal(quotient, rest / n, self.exponent)
    }

    fn exponent_of_order(self) -> i32 {
        if self.high == 0.0 { i32::MIN } else { self.exponent }
    }

    fn scaled(self, exponent: i32) -> Self {
        Self { exponent: self.exponent + exponent, ..self }
    }

    fn is_negative(self) -> bool {
        self.high < 0.0
    }

    pub(crate) fn abs(self) -> Self {
        if self.is_negative() { -self } else { self }
    }

    fn order(self, other: Self) -> Ordering {
        (self - other).high.total_cmp(&0.0)
    }

    fn is_less(self, other: Self) -> bool {
        self.order(other) == Ordering::Less
    }

    /// The nearest f64, or nearly so.
    pub(crate) fn approximated(self) -> f64 {
        let halves = self.exponent.clamp(-2200, 2200);
        let (first, second) = (halves / 3, halves - 2 * (halves / 3));
        (self.high + self.low) * power_of_two(first) * power_of_two(first) * power_of_two(second)
    }

    pub(crate) fn is_finite(self) -> bool {
        self.high.is_finite()
    }

    /// The distance to `found` in units in the last place of a format. Beyond its numbers, both count as the next power of two.
    pub(crate) fn error_of(self, found: f64, format: Format) -> f64 {
        let unit =
            (self.exponent - (format.precision - 1)).clamp(format.smallest, format.largest - (format.precision - 1));
        let beyond = ONE.scaled(format.largest + 1);
        let limited = |value: Self| match (beyond.is_less(value.abs()), value.is_negative()) {
            (false, _) => value,
            (true, false) => beyond,
            (true, true) => -beyond,
        };
        let found = match found.is_infinite() {
            true => Self::from(found.signum()).scaled(format.largest + 1),
            false => Self::from(found),
        };
        (found - limited(self)).abs().scaled(-unit).approximated()
    }

    pub(crate) fn sqrt(self) -> Self {
        if self.high == 0.0 {
            return self;
        }
        let even = self.exponent & !1;
        let own = self.scaled(-even);
        let mut root = Self::from(own.approximated().sqrt());
        for _ in 0..2 {
            root = (root + own / root).scaled(-1);
        }
        root.scaled(even / 2)
    }

    pub(crate) fn cbrt(self) -> Self {
        if self.high == 0.0 {
            return self;
        }
        let whole = self.exponent.div_euclid(3);
        let own = self.scaled(-3 * whole);
        let mut root = Self::from(libm::cbrt(own.approximated()));
        for _ in 0..2 {
            let square = root * root;
            root = root - (square * root - own) / (Self::from(3.0) * square);
        }
        root.scaled(whole)
    }

    /// x + x²/2 + x³/6 + … for |x| < 0.36
    fn series_of_exp_m1(self) -> Self {
        let mut sum = ONE;
        for n in (2..30).rev() {
            sum = ONE + (self * sum).over(f64::from(n));
        }
        self * sum
    }

    pub(crate) fn exp(self) -> Self {
        if self.exponent > 13 {
            return ONE.scaled(if self.is_negative() { -100_000 } else { 100_000 });
        }
        let n = (self / LN_2).approximated().round();
        let rest = self - Self::from(n) * LN_2;
        (rest.series_of_exp_m1() + ONE).scaled(n as i32)
    }

    pub(crate) fn exp2(self) -> Self {
        if self.exponent > 13 {
            return ONE.scaled(if self.is_negative() { -100_000 } else { 100_000 });
        }
        let n = self.approximated().round();
        let rest = self - Self::from(n);
        (rest * LN_2).exp().scaled(n as i32)
    }

    pub(crate) fn exp_m1(self) -> Self {
        if self.exponent < -2 { self.series_of_exp_m1() } else { self.exp() - ONE }
    }

    pub(crate) fn ln(self) -> Self {
        let mut exponent = self.exponent;
        let mut own = self.scaled(-exponent);
        if own.high > std::f64::consts::SQRT_2 {
            own = own.scaled(-1);
            exponent += 1;
        }
        // By Halley's method: y + 2 (m − eʸ) / (m + eʸ)
        let first = Self::from(libm::log(own.approximated()));
        let power = first.series_of_exp_m1();
        let step = ((own - ONE) - power).scaled(1) / (own + ONE + power);
        Self::from(f64::from(exponent)) * LN_2 + (first + step)
    }

    pub(crate) fn ln_1p(self) -> Self {
        if self.exponent >= -20 {
            return (ONE + self).ln();
        }
        // x − x²/2 + x³/3 − …
        let mut sum = ZERO;
        for n in (1..8).rev() {
            sum = ONE.over(f64::from(n)) - self * sum;
        }
        self * sum
    }

    pub(crate) fn log2(self) -> Self {
        self.ln() / LN_2
    }

    pub(crate) fn log10(self) -> Self {
        self.ln() / Self::from(10.0).ln()
    }

    /// xʸ for x > 0
    pub(crate) fn pow(self, y: Self) -> Self {
        (y * self.ln()).exp()
    }

    /// The sine and cosine of |x| < 0.8, by their series.
    fn series_of_sin_cos(self) -> (Self, Self) {
        let square = self * self;
        let (mut sine, mut cosine) = (ONE, ONE);
        for n in (1..16).rev() {
            let n = 2.0 * f64::from(n);
            cosine = ONE - (square * cosine).over(n * (n - 1.0));
            sine = ONE - (square * sine).over(n * (n + 1.0));
        }
        (self * sine, cosine)
    }

    /// The sine and cosine of an f64.
    pub(crate) fn sin_cos(self) -> (Self, Self) {
        if self.exponent < -1 {
            return self.series_of_sin_cos();
        }
        let x = self.approximated();
        let (quarter, rest) = reduced(x.abs());
        let (sine, cosine) = rest.series_of_sin_cos();
        let (sine, cosine) = match quarter {
            0 => (sine, cosine),
            1 => (cosine, -sine),
            2 => (-sine, -cosine),
            _ => (-cosine, sine),
        };
        (if x < 0.0 { -sine } else { sine }, cosine)
    }

    pub(crate) fn atan(self) -> Self {
        if self.is_negative() {
            return -(-self).atan();
        }
        if ONE.is_less(self) {
            return PI.scaled(-1) - (ONE / self).atan();
        }
        if self.exponent < -60 {
            return self;
        }
        let first = libm::atan(self.approximated());
        let (sine, cosine) = Self::from(first).series_of_sin_cos();
        // The tangent of what is left, which is its own arctangent to 2^(−150).
        Self::from(first) + (self * cosine - sine) / (cosine + self * sine)
    }

    /// The angle of the point (x, `self`), neither 0.
    pub(crate) fn atan2(self, x: Self) -> Self {
        let angle = (self / x).atan();
        match (x.is_negative(), self.is_negative()) {
            (false, _) => angle,
            (true, false) => angle + PI,
            (true, true) => angle - PI,
        }
    }

    pub(crate) fn asin(self) -> Self {
        if self.abs().order(ONE) == Ordering::Equal {
            return if self.is_negative() { -PI.scaled(-1) } else { PI.scaled(-1) };
        }
        (self / ((ONE - self) * (ONE + self)).sqrt()).atan()
    }

    pub(crate) fn acos(self) -> Self {
        if self.order(-ONE) == Ordering::Equal {
            return PI;
        }
        ((ONE - self) / (ONE + self)).sqrt().atan().scaled(1)
    }

    pub(crate) fn sinh(self) -> Self {
        let power = self.exp_m1();
        if self.exponent > 8 {
            return if self.is_negative() { -(-self).exp() } else { self.exp() }.scaled(-1);
        }
        (power + power / (power + ONE)).scaled(-1)
    }

    pub(crate) fn cosh(self) -> Self {
        let power = self.abs().exp();
        (power + ONE / power).scaled(-1)
    }

    pub(crate) fn tanh(self) -> Self {
        if self.exponent > 6 {
            return if self.is_negative() { -ONE } else { ONE };
        }
        let power = self.scaled(1).exp_m1();
        power / (power + ONE.scaled(1))
    }

    pub(crate) fn asinh(self) -> Self {
        let (own, square) = (self.abs(), self * self);
        let result = (own + square / (ONE + (ONE + square).sqrt())).ln_1p();
        if self.is_negative() { -result } else { result }
    }

    pub(crate) fn acosh(self) -> Self {
        let beyond = self - ONE;
        (beyond + (beyond * (self + ONE)).sqrt()).ln_1p()
    }

    pub(crate) fn atanh(self) -> Self {
        (self.scaled(1) / (ONE - self)).ln_1p().scaled(-1)
    }
}

/// The bits of 2/π behind the binary point, by mpmath.
const TWO_OVER_PI: [u64; 21] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
    0xa9e3_9161_5ee6_1b08,
];

/// x ≥ 0.5 as quarters of a turn, modulo 4, and a rest from −π/4 to π/4: Payne and Hanek, "Radian reduction for trigonometric
/// functions", 1983.
fn reduced(x: f64) -> (u32, Wide) {
    // x = significand · 2^exponent
    let exponent = (x.to_bits() >> 52) as i32 - 1075;
    let significand = x.to_bits() << 12 >> 12 | 1 << 52;
    // Bits of 2/π with a weight of 4 or more, times the significand, are whole turns.
    let first = (exponent - 2).max(0) as usize;
    let word = |index: usize| match (TWO_OVER_PI[first / 64 + index], first % 64) {
        (word, 0) => word,
        (word, shift) => word << shift | TWO_OVER_PI[first / 64 + index + 1] >> (64 - shift),
    };
    // The product with four words of bits, lowest word first.
    let mut product = [0; 5];
    let mut carry = 0;
    for (place, digit) in product.iter_mut().enumerate() {
        let part = if place < 4 { u128::from(significand) * u128::from(word(3 - place)) } else { 0 } + carry;
        (*digit, carry) = (part as u64, part >> 64);
    }
    // The product's lowest bit has the weight 2^(−bits).
    let bits = 256 + first as i32 - exponent;
    let mut quarters = Wide::from(0.0);
    let mut whole = 0;
    for (place, digit) in product.into_iter().enumerate() {
        for half in 0..2 {
            let (value, weight) = (digit >> (32 * half) & 0xffff_ffff, 64 * place as i32 + 32 * half - bits);
            // What is whole is taken modulo 4, the rest is added.
            let (above, below) = match -weight {
                fraction if fraction >= 32 => (0, value),
                fraction if fraction > 0 => (value >> fraction, value & ((1 << fraction) - 1)),
                fraction => (if fraction > -2 { value << -fraction } else { 0 }, 0),
            };
            whole = (whole + above) % 4;
            quarters = quarters + Wide::from(below as f64).scaled(weight);
        }
    }
    if Wide::from(0.5).is_less(quarters) {
        (whole, quarters) = ((whole + 1) % 4, quarters - ONE);
    }
    (whole as u32, quarters * PI.scaled(-1))
}
