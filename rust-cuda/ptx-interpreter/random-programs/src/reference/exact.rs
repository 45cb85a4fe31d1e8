//! Floating-point values as exact fractions, and rounding by definition. Slow and simple.

use num_bigint::BigUint;

/// A binary format: sign, exponent, fraction.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Total number of bits.
    pub bits: u32,
    /// Number of significand bits, including the leading one.
    pub precision: u32,
}

impl Layout {
    /// The format of this name in PTX, without the dot.
    pub fn of(name: &str) -> Option<Self> {
        let (bits, precision) = match name {
            "f16" => (16, 11),
            "bf16" => (16, 8),
            "tf32" => (19, 11),
            "f32" => (32, 24),
            "f64" => (64, 53),
            _ => return None,
        };
        Some(Self { bits, precision })
    }

    fn fraction_bits(self) -> u32 {
        self.precision - 1
    }

    fn bias(self) -> i32 {
        (1 << (self.bits - self.precision - 1)) - 1
    }

    /// The sign bit.
    pub fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    /// +∞
    pub fn infinity(self) -> u64 {
        (self.sign() - 1) >> self.fraction_bits() << self.fraction_bits()
    }

    /// The canonical NaN: all ones except the sign. In f64, only the quiet bit of the fraction is
    /// set.
    pub fn nan(self) -> u64 {
        if self.bits == 64 { 0x7ff8_0000_0000_0000 } else { self.sign() - 1 }
    }

    /// 1
    pub fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction_bits()
    }

    /// Whether the bits are a NaN, with any payload.
    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub(crate) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & !self.sign();
        magnitude != 0 && magnitude >> self.fraction_bits() == 0
    }

    /// The bits, with a subnormal number replaced by zero of the same sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// An integer that orders the values, with −0 just below +0.
    pub fn key(self, bits: u64) -> i128 {
        let magnitude = i128::from(bits & !self.sign());
        if bits & self.sign() == 0 { magnitude } else { -magnitude - 1 }
    }
}

/// The value of a format's bits.
#[derive(Clone)]
pub enum Value {
    /// Not a number.
    Nan,
    /// ±∞
    Infinite {
        /// Whether it is −∞.
        negative: bool,
    },
    /// A finite number.
    Finite(Fraction),
}

/// ± numerator ÷ denominator × 2^exponent
#[derive(Clone)]
pub struct Fraction {
    pub(crate) negative: bool,
    pub(crate) numerator: BigUint,
    pub(crate) denominator: BigUint,
    pub(crate) exponent: i32,
}

/// A rounding mode.
#[derive(Clone, Copy, PartialEq)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Toward zero.
    Zero,
    /// Toward −∞.
    Down,
    /// Toward +∞.
    Up,
}

impl Rounding {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "rn" | "rni" => Self::Nearest,
            "rna" => Self::NearestAway,
            "rz" | "rzi" => Self::Zero,
            "rm" | "rmi" => Self::Down,
            "rp" | "rpi" => Self::Up,
            _ => return None,
        })
    }
}

impl Fraction {
    pub(crate) fn integer(value: i128) -> Self {
        Self { negative: value < 0, numerator: value.unsigned_abs().into(), denominator: 1u32.into(), exponent: 0 }
    }

    /// The fraction in units of 2^unit, rounded to an integer.
    pub(crate) fn rounded(&self, unit: i32, rounding: Rounding) -> BigUint {
        let shift = self.exponent - unit;
        let numerator = &self.numerator << shift.max(0) as u32;
        let denominator = &self.denominator << (-shift).max(0) as u32;
        let floor = &numerator / &denominator;
        let twice_rest = (&numerator % &denominator) * 2u32;
        let zero = BigUint::ZERO;
        let up = match rounding {
            Rounding::Nearest => twice_rest > denominator || (twice_rest == denominator && floor.bit(0)),
            Rounding::NearestAway => twice_rest >= denominator,
            Rounding::Zero => false,
            Rounding::Down => self.negative && twice_rest > zero,
            Rounding::Up => !self.negative && twice_rest > zero,
        };
        floor + u32::from(up)
    }
}

/// The value of a format's bits. Higher bits are ignored.
pub fn decode(layout: Layout, bits: u64) -> Value {
    let bits = bits & (layout.sign() | (layout.sign() - 1));
    let negative = bits & layout.sign() != 0;
    let magnitude = bits & !layout.sign();
    if layout.is_nan(bits) {
        return Value::Nan;
    }
    if magnitude == layout.infinity() {
        return Value::Infinite { negative };
    }
    let field = (magnitude >> layout.fraction_bits()) as i32;
    let fraction = magnitude & ((1 << layout.fraction_bits()) - 1);
    let (significand, field) = if field == 0 { (fraction, 1) } else { (fraction | 1 << layout.fraction_bits(), field) };
    Value::Finite(Fraction {
        negative,
        numerator: significand.into(),
        denominator: 1u32.into(),
        exponent: field - layout.bias() - layout.fraction_bits() as i32,
    })
}

/// The bits of the value rounded to the format.
pub fn encode(layout: Layout, value: &Value, rounding: Rounding) -> u64 {
    let fraction = match value {
        Value::Nan => return layout.nan(),
        Value::Infinite { negative } => return layout.infinity() | if *negative { layout.sign() } else { 0 },
        Value::Finite(fraction) => fraction,
    };
    let sign = if fraction.negative { layout.sign() } else { 0 };
    if fraction.numerator == BigUint::ZERO {
        return sign;
    }
    let fraction_bits = layout.fraction_bits() as i32;
    let smallest = 1 - layout.bias() - fraction_bits;
    // Search upward for the unit: too small a unit gives too long a significand.
    let mut unit = fraction.numerator.bits() as i32 - fraction.denominator.bits() as i32 + fraction.exponent;
    unit = (unit - fraction_bits - 2).max(smallest);
    while fraction.rounded(unit, Rounding::Zero).bits() > u64::from(layout.precision) {
        unit += 1;
    }
    let mut significand = fraction.rounded(unit, rounding);
    if significand.bits() > u64::from(layout.precision) {
        significand >>= 1;
        unit += 1;
    }
    let significand = u64::try_from(significand).expect("a significand of the format");
    let field = unit + layout.bias() + fraction_bits;
    if field >= (1 << (layout.bits - layout.precision)) - 1 {
        let away = match rounding {
            Rounding::Nearest | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => fraction.negative,
            Rounding::Up => !fraction.negative,
        };
        return sign | (layout.infinity() - u64::from(!away));
    }
    // A subnormal significand lacks the leading one, which otherwise adds one to the exponent
    // field.
    sign | ((((field - 1) as u64) << fraction_bits) + significand)
}

pub(crate) fn negated(value: Value) -> Value {
    match value {
        Value::Nan => Value::Nan,
        Value::Infinite { negative } => Value::Infinite { negative: !negative },
        Value::Finite(fraction) => Value::Finite(Fraction { negative: !fraction.negative, ..fraction }),
    }
}

/// The sum of two values with denominator 1.
pub(crate) fn sum(a: &Value, b: &Value, rounding: Rounding) -> Value {
    let (a, b) = match (a, b) {
        (Value::Finite(a), Value::Finite(b)) => (a, b),
        (Value::Infinite { negative: a }, Value::Infinite { negative: b }) if a != b => return Value::Nan,
        (Value::Nan, _) | (_, Value::Nan) => return Value::Nan,
        (Value::Infinite { .. }, _) => return a.clone(),
        _ => return b.clone(),
    };
    let exponent = a.exponent.min(b.exponent);
    let x = &a.numerator << (a.exponent - exponent) as u32;
    let y = &b.numerator << (b.exponent - exponent) as u32;
    let (negative, numerator) = if a.negative == b.negative {
        (a.negative, x + y)
    } else if x == y {
        (rounding == Rounding::Down, BigUint::ZERO)
    } else if x > y {
        (a.negative, x - y)
    } else {
        (b.negative, y - x)
    };
    Value::Finite(Fraction { negative, numerator, denominator: 1u32.into(), exponent })
}

pub(crate) fn product(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Finite(a), Value::Finite(b)) => Value::Finite(Fraction {
            negative: a.negative != b.negative,
            numerator: &a.numerator * &b.numerator,
            denominator: 1u32.into(),
            exponent: a.exponent + b.exponent,
        }),
        _ if is_zero(a) || is_zero(b) => Value::Nan,
        _ => Value::Infinite { negative: is_negative(a) != is_negative(b) },
    }
}

pub(crate) fn quotient(a: &Value, b: &Value) -> Value {
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinite { .. }, Value::Infinite { .. }) => Value::Nan,
        (Value::Infinite { .. }, _) => Value::Infinite { negative },
        (_, Value::Infinite { .. }) => Value::Finite(Fraction { negative, ..Fraction::integer(0) }),
        (Value::Finite(x), Value::Finite(y)) => match (is_zero(a), is_zero(b)) {
            (true, true) => Value::Nan,
            (false, true) => Value::Infinite { negative },
            _ => Value::Finite(Fraction {
                negative,
                numerator: x.numerator.clone(),
                denominator: y.numerator.clone(),
                exponent: x.exponent - y.exponent,
            }),
        },
    }
}

/// The square root. If it is inexact, sets an extra lowest bit far below the rounding position.
pub(crate) fn root(a: &Value) -> Value {
    match a {
        _ if is_zero(a) => a.clone(),
        Value::Finite(a) if !a.negative => {
            // An even exponent, and a root of more than 100 bits.
            let shift = 220 + (a.exponent & 1) as u32;
            let square = &a.numerator << shift;
            let root = square.sqrt();
            let inexact = &root * &root != square;
            Value::Finite(Fraction {
                numerator: root * 2u32 + u32::from(inexact),
                exponent: (a.exponent - shift as i32) / 2 - 1,
                ..a.clone()
            })
        }
        Value::Infinite { negative: false } => a.clone(),
        _ => Value::Nan,
    }
}

pub(crate) fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Finite(fraction) if fraction.numerator == BigUint::ZERO)
}

pub(crate) fn is_negative(value: &Value) -> bool {
    match value {
        Value::Nan => false,
        Value::Infinite { negative } => *negative,
        Value::Finite(fraction) => fraction.negative,
    }
}
