//! Operators, methods and conversions give the same results as Rust on the host, for values at the
//! limits of their types.

// The expressions have the same text on both sides.
#![allow(clippy::all, unused_parens, unused_variables, unused_assignments, unused_comparisons)]

mod support;

use support::run;

const THREADS: usize = 256;

trait Number: Copy + PartialEq + std::fmt::Debug {
    const NAME: &str;
    fn le_bytes(self) -> Vec<u8>;
    fn of_le_bytes(bytes: &[u8]) -> Self;
    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Number for $number {
            const NAME: &str = stringify!($number);
            fn le_bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of_le_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
            #[allow(clippy::eq_op)]
            fn is_same(self, other: Self) -> bool {
                (self != self && other != other) || self.to_le_bytes() == other.to_le_bytes()
            }
        }
    )*};
}

numbers! { u8 i8 u16 i16 u32 i32 u64 i64 usize f32 f64 }

/// Compares an expression in a and b with the host's result, for all pairs.
fn check<T: Number, R: Number>(text: &str, pairs: &[(T, T)], expected: impl Fn(T, T) -> R) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let source = format!(
        "#[kernel]\npub fn kernel(a: &[{0}], b: &[{0}], out: GlobalMut<{1}>) {{\n    let i = thread::index_1d() as usize;\n    \
         let (a, b) = (a[i], b[i]);\n    out[i] = {text};\n}}\n",
        T::NAME,
        R::NAME
    );
    for pairs in pairs.chunks(THREADS) {
        let of = |part: fn(&(T, T)) -> T| pairs.iter().flat_map(|pair| part(pair).le_bytes()).collect::<Vec<u8>>();
        let (a, b) = (of(|pair| pair.0), of(|pair| pair.1));
        let size = std::mem::size_of::<R>();
        let found = run(&source, &[&a, &b], pairs.len() * size, pairs.len() as u32)
            .unwrap_or_else(|error| panic!("{text} of {}: {error}", T::NAME));
        for (&(a, b), found) in pairs.iter().zip(found.chunks(size)) {
            let (found, expected) = (R::of_le_bytes(found), expected(a, b));
            assert!(found.is_same(expected), "{text} for {a:?} and {b:?}: {found:?}, not {expected:?}");
        }
    }
}

fn pairs<T: Number>(values: &[T]) -> Vec<(T, T)> {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect()
}

/// `agree!(PAIRS, TYPE => RESULT: closures with two numbers, which become the kernel's expressions)`
macro_rules! agree {
    ($pairs:expr, $of:ident => $result:ident: $($closure:expr),* $(,)?) => {$(
        let text = stringify!($closure);
        let text = text.trim().strip_prefix("|a, b|").expect("a closure");
        check::<$of, $result>(text, $pairs, $closure);
    )*};
}

const I32S: [i32; 12] = [0, 1, -1, 2, 7, -8, 31, 32, 65_537, -123_456_789, i32::MAX, i32::MIN];
const U32S: [u32; 10] = [0, 1, 2, 31, 32, 33, 1000, 0x8000_0000, 0x7fff_ffff, u32::MAX];
const I64S: [i64; 10] = [0, 1, -1, 63, 64, -1000, 1 << 33, i64::MAX, i64::MIN, i64::MIN + 1];
const U64S: [u64; 8] = [0, 1, 63, 64, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
const I8S: [i8; 8] = [0, 1, -1, 7, 100, -100, i8::MAX, i8::MIN];
const U16S: [u16; 7] = [0, 1, 15, 16, 300, 0x8000, u16::MAX];
const F32S: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    1.0e-40,
    -3.3e38,
    3.0e9,
    -3.0e9,
    127.5,
    255.9,
    -128.9,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];
const F64S: [f64; 12] = [
    0.0,
    -0.0,
    0.1,
    -2.5,
    1.0e300,
    1.0e-310,
    4294967295.5,
    -9.3e18,
    1.9e19,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

#[test]
fn integers_wrap_around() {
    agree!(&pairs(&I32S), i32 => i32:
        |a, b| a.wrapping_add(b), |a, b| a.wrapping_sub(b), |a, b| a.wrapping_mul(b), |a, b| a + b, |a, b| a - b * a,
        |a, b| a & b | a ^ b, |a, b| !a ^ b, |a, b| a << (b & 31), |a, b| a >> (b & 31), |a, b| a.wrapping_shl(b as u32),
        |a, b| a.min(b) - a.max(b), |a, b| a.wrapping_neg(),
        |a, b| a.reverse_bits(), |a, b| a.clamp(-8, 7),
    );
    agree!(&pairs(&U32S), u32 => u32:
        |a, b| a + b, |a, b| a - b, |a, b| a * b, |a, b| a >> (b & 31), |a, b| a.abs_diff(b), |a, b| a.saturating_add(b),
        |a, b| a.saturating_sub(b), |a, b| a.leading_zeros() + b.trailing_zeros(), |a, b| a.count_ones() - b.count_zeros(), |a, b| if a < b { a } else { b - a }, |a, b| 3 * a - 2,
    );
    agree!(&pairs(&I64S), i64 => i64:
        |a, b| a + b, |a, b| a - b, |a, b| a * b, |a, b| a << (b & 63), |a, b| a >> (b & 63), |a, b| !a & b,
        |a, b| a.min(b), |a, b| a.max(b),
    );
    agree!(&pairs(&U64S), u64 => u64:
        |a, b| a + b, |a, b| a - b, |a, b| a * b, |a, b| a >> (b & 63), |a, b| a.abs_diff(b), |a, b| a.saturating_add(b),
        |a, b| a | 18446744073709551615 - b, |a, b| u64::from(a.leading_zeros()) + u64::from(b.count_ones()),
    );
    agree!(&pairs(&I8S), i8 => i8:
        |a, b| a.wrapping_add(b), |a, b| a.wrapping_sub(b), |a, b| a.wrapping_mul(b), |a, b| a << (b & 7),
        |a, b| a >> (b & 7), |a, b| !a, |a, b| a.wrapping_neg(), |a, b| a.max(b), |a, b| a.reverse_bits(),
    );
    agree!(&pairs(&U16S), u16 => u16:
        |a, b| a.wrapping_add(b), |a, b| a.wrapping_mul(b), |a, b| a << (b & 15), |a, b| a >> (b & 15), |a, b| !a, |a, b| a.leading_zeros() as u16 + b.trailing_zeros() as u16,
    );
}

#[test]
fn quotients_and_remainders_are_rounded_toward_zero() {
    let i32s: Vec<_> = pairs(&I32S).into_iter().filter(|&(a, b)| a.checked_div(b).is_some()).collect();
    agree!(&i32s, i32 => i32: |a, b| a / b, |a, b| a % b);
    let u32s: Vec<_> = pairs(&U32S).into_iter().filter(|&(_, b)| b != 0).collect();
    agree!(&u32s, u32 => u32: |a, b| a / b, |a, b| a % b, |a, b| a.div_ceil(b));
    agree!(&u32s[..60], u32 => u32: |a, b| a / 2 * 2, |a, b| a % 7, |a, b| (a % b).wrapping_add(a / b));
    agree!(&pairs(&U32S), u32 => u8: |a, b| a.is_multiple_of(b) as u8, |a, b| (a.is_power_of_two() ^ (b == 0)) as u8);
    let i64s: Vec<_> = pairs(&I64S).into_iter().filter(|&(a, b)| a.checked_div(b).is_some()).collect();
    agree!(&i64s, i64 => i64: |a, b| a / b, |a, b| a % b);
    let i8s: Vec<_> = pairs(&I8S).into_iter().filter(|&(a, b)| a.checked_div(b).is_some()).collect();
    agree!(&i8s, i8 => i8: |a, b| a / b, |a, b| a % b);
}

#[test]
fn comparisons_know_signs_and_nan() {
    agree!(&pairs(&I32S), i32 => u8: |a, b| (a < b) as u8, |a, b| (a as u32 >= b as u32) as u8, |a, b| (a == b) as u8);
    agree!(&pairs(&U64S), u64 => u8: |a, b| (a < b) as u8, |a, b| ((a as i64) < b as i64) as u8, |a, b| (a != b) as u8);
    agree!(&pairs(&I8S), i8 => u8: |a, b| (a <= b) as u8, |a, b| (a as u8 > b as u8) as u8);
    agree!(&pairs(&F32S), f32 => u8:
        |a, b| (a < b) as u8, |a, b| (a <= b) as u8, |a, b| (a > b) as u8, |a, b| (a >= b) as u8, |a, b| (a == b) as u8,
        |a, b| (a != b) as u8, |a, b| !(a < b) as u8, |a, b| a.is_nan() as u8, |a, b| (a.is_finite() || b.is_infinite()) as u8,
        |a, b| (a.is_sign_negative() & b.is_sign_positive()) as u8, |a, b| ((a < b) == (b > a)) as u8,
        |a, b| ((a < b) < (a > b)) as u8,
    );
    agree!(&pairs(&F64S), f64 => u8: |a, b| (a < b) as u8, |a, b| (a != b) as u8, |a, b| (a >= b || a.is_nan()) as u8);
}

#[test]
fn floats_are_rounded_after_each_operation() {
    agree!(&pairs(&F32S), f32 => f32:
        |a, b| a + b, |a, b| a - b, |a, b| a * b, |a, b| a / b, |a, b| a * b + a, |a, b| -a * 0.1, |a, b| a.abs(),
        |a, b| a.sqrt(), |a, b| a.floor() + b.ceil(), |a, b| a.trunc(), |a, b| a.round_ties_even(), |a, b| a.mul_add(b, 0.1),
        |a, b| a.recip(), |a, b| a.copysign(b), |a, b| f32::from_bits(a.to_bits() ^ 1), |a, b| 1.0e-3 + a, |a, b| a.clamp(-1.0, 2.5),
    );
    // It is not specified which of the two zeros is larger.
    let not_zeros: Vec<_> = pairs(&F32S).into_iter().filter(|&(a, b)| a != 0.0 || b != 0.0).collect();
    agree!(&not_zeros, f32 => f32: |a, b| a.min(b), |a, b| a.max(b), |a, b| f32::max(a, b).min(1.0));
    agree!(&pairs(&F64S), f64 => f64:
        |a, b| a + b, |a, b| a - b, |a, b| a * b, |a, b| a / b, |a, b| a * b + a, |a, b| a.sqrt() - b, |a, b| a.mul_add(b, a),
        |a, b| -a, |a, b| a.abs() * 3.141592653589793,
    );
}

#[test]
fn a_remainder_of_floats_is_exact() {
    agree!(&pairs(&F32S), f32 => f32: |a, b| a % b, |a, b| { let mut x = a; x %= b * 3.0; x });
    agree!(&pairs(&F64S), f64 => f64: |a, b| a % b);
}

#[test]
fn conversions_saturate_and_truncate() {
    agree!(&pairs(&F32S), f32 => i32: |a, b| a as i32, |a, b| (a * b) as i32);
    agree!(&pairs(&F32S), f32 => u32: |a, b| a as u32);
    agree!(&pairs(&F32S), f32 => u8: |a, b| a as u8);
    agree!(&pairs(&F32S), f32 => i8: |a, b| a as i8);
    agree!(&pairs(&F32S), f32 => u16: |a, b| a as u16);
    agree!(&pairs(&F32S), f32 => i64: |a, b| a as i64);
    agree!(&pairs(&F32S), f32 => usize: |a, b| a as usize);
    agree!(&pairs(&F32S), f32 => f64: |a, b| a as f64 + b as f64);
    agree!(&pairs(&F64S), f64 => i32: |a, b| a as i32);
    agree!(&pairs(&F64S), f64 => u64: |a, b| a as u64);
    agree!(&pairs(&F64S), f64 => i16: |a, b| a as i16);
    agree!(&pairs(&F64S), f64 => f32: |a, b| a as f32);
    agree!(&pairs(&I32S), i32 => f32: |a, b| a as f32 + b as u32 as f32);
    agree!(&pairs(&I32S), i32 => i8: |a, b| a as i8, |a, b| a as u16 as i8);
    agree!(&pairs(&I32S), i32 => u64: |a, b| a as u64, |a, b| a as u32 as u64, |a, b| a as i64 as u64 + b as u8 as u64);
    agree!(&pairs(&I64S), i64 => f64: |a, b| a as f64, |a, b| a as u64 as f64);
    agree!(&pairs(&I64S), i64 => f32: |a, b| a as f32);
    agree!(&pairs(&I64S), i64 => i16: |a, b| a as i16, |a, b| a as i32 as i16);
    agree!(&pairs(&I8S), i8 => i64: |a, b| a as i64, |a, b| a as u8 as i64, |a, b| i64::from(a) - i64::from(b));
    agree!(&pairs(&I8S), i8 => f32: |a, b| a as f32, |a, b| f32::from(a));
    agree!(&pairs(&I32S), i32 => usize: |a, b| (a < b) as usize, |a, b| usize::from(a == b) + (a as usize >> 60));
}

#[test]
fn the_order_of_evaluation_is_rusts() {
    agree!(&pairs(&U32S), u32 => u32:
        |a, b| { let mut x = a; let y = x + { x += b; x } * 2; y ^ x },
        |a, b| { let mut x = a; x += { x = 5; b }; x },
        |a, b| { let mut calls = 0; if a < b && { calls += 1; a > 5 } || { calls += 10; b == 0 } { calls += 100; } calls },
        |a, b| { let (mut x, mut y) = (a, b); (x, y) = (y, x); x - 2 * y },
        |a, b| { let x = a; let x = x * 2; let y = { let x = x + b; x }; y - x },
        |a, b| { let mut n = 0; for i in 0..(a & 7) { if i == 2 { continue; } if i > b { break; } n += i; } n },
        |a, b| { let mut n = 0; for i in (0..=(a & 15)).rev() { n = n * 3 + i; } for i in (b & 3..20).step_by(7) { n ^= i; } n },
        |a, b| { let n = loop { if a > b { break 7; } break a; }; n },
        |a, b| { let mut n = 1; 'outer: while n < 100 { n *= 2; let mut k = 0; while k < 9 { k += 1; if k == (a & 15) { continue 'outer; } if n > (b & 63) { break 'outer; } } } n },
        |a, b| { let f = |x: u32, y: u32| { if x > y { return x - y; } y }; f(a, b) + f(b, 3) },
        |a, b| { let mut s = [a, b, 3]; s[(a & 1) as usize] += 5; s[2] = s[0] ^ s[1]; let t = s; s[0] = 9; t[0] + t[2] + s[0] },
        |a, b| match a { 0 => b, 1 | 2 => b + 1, _ if b > 5 => 6, _ => a },
        |a, b| { let r = &a; let mut m = b; let p = &mut m; *p += *r; *p *= 2; m },
        |a, b| { let mut s = [a, b]; let p = &mut s[1]; *p += 5; *p *= 2; s[0] ^ s[1] },
        |a, b| { let [x, mut y, _] = [a, b, 3]; y += x; x ^ y },
        |a, b| { let s = [a, b, 7]; let mut n = 0; for x in s { n = n * 3 + x; if n > b { break; } } n },
        |a, b| { let mut s = [[a; 3], [b; 3]]; for (i, row) in s.iter_mut().enumerate() { for (j, x) in row.iter_mut().enumerate() { *x = *x * 5 + (i * 3 + j) as u32; } } let mut n = 0; for row in &s { for &x in row { n = n * 31 + x; } } n },
        |a, b| { let s: [u32; 4] = core::array::from_fn(|k| a + b * k as u32); let t = [1, 2, 3, 4_u32]; let mut n = 0; for (x, y) in s.iter().zip(&t) { if *y == 3 { continue; } n += x * y; } n },
        |a, b| { let mut s = [1, 2, 3]; for x in &mut s { *x += a; let y = *x; *x = y ^ b; } let t = s; s[0] = 0; t[0] + 2 * t[1] + 3 * s[2] },
        |a, b| u32::from(a == 0) + if b > 1 { if a > 1 { 2 } else { 3 } } else { 4 },
    );
}

#[test]
fn checked_operations_have_a_value_where_it_fits() {
    agree!(&pairs(&I32S), i32 => i32:
        |a, b| a.checked_add(b).unwrap_or(77), |a, b| a.checked_sub(b).unwrap_or(77), |a, b| a.checked_mul(b).unwrap_or(77),
        |a, b| a.checked_div(b).unwrap_or(77), |a, b| a.checked_rem(b).unwrap_or(77),
        |a, b| if a.checked_mul(b).is_some() { 1 } else { 2 }, |a, b| if a.checked_sub(b).is_none() { 1 } else { 2 },
    );
    agree!(&pairs(&U32S), u32 => u32:
        |a, b| a.checked_add(b).unwrap_or(77), |a, b| a.checked_sub(b).unwrap_or(77), |a, b| a.checked_mul(b).unwrap_or(77),
        |a, b| a.checked_div(b).unwrap_or(77), |a, b| a.checked_rem(b).unwrap_or(77), |a, b| 5_u32.checked_sub(b).unwrap_or(a),
    );
    agree!(&pairs(&I64S), i64 => i64:
        |a, b| a.checked_add(b).unwrap_or(77), |a, b| a.checked_sub(b).unwrap_or(77), |a, b| a.checked_mul(b).unwrap_or(77),
        |a, b| a.checked_div(b).unwrap_or(77), |a, b| a.checked_rem(b).unwrap_or(77),
    );
    agree!(&pairs(&U64S), u64 => u64:
        |a, b| a.checked_add(b).unwrap_or(77), |a, b| a.checked_sub(b).unwrap_or(77), |a, b| a.checked_mul(b).unwrap_or(77),
        |a, b| a.checked_div(b).unwrap_or(77), |a, b| a.checked_rem(b).unwrap_or(77),
    );
    agree!(&pairs(&I8S), i8 => i8:
        |a, b| a.checked_add(b).unwrap_or(77), |a, b| a.checked_sub(b).unwrap_or(77), |a, b| a.checked_mul(b).unwrap_or(77),
        |a, b| a.checked_div(b).unwrap_or(77), |a, b| a.checked_rem(b).unwrap_or(77),
    );
    agree!(&pairs(&U16S), u16 => u16:
        |a, b| a.checked_add(b).unwrap_or(77), |a, b| a.checked_sub(b).unwrap_or(77), |a, b| a.checked_mul(b).unwrap_or(77),
        |a, b| a.checked_div(b).unwrap_or(77), |a, b| a.checked_rem(b).unwrap_or(77),
    );
}

#[test]
fn patterns_choose_as_rusts_do() {
    agree!(&pairs(&U32S), u32 => u32:
        |a, b| if let Some(d) = a.checked_sub(b) { d } else { b },
        |a, b| { let mut n = b; if let Some(d) = a.checked_add(1) { n ^= d; } n },
        |a, b| { let mut n = 1; if let None = a.checked_add(b) { n = 2; } n },
        |a, b| match a.checked_mul(b) { Some(0) => 1, Some(p) if p > 1000 => p, Some(p) => p + 1, None => 3 },
        |a, b| match a.checked_sub(b) { None => b - a, Some(d) => d * 2 },
        |a, b| { let mut best: Option<u32> = None; for k in [a, b, 7] { best = match best { Some(m) if m >= k => Some(m), _ => Some(k) }; } best.unwrap_or(0) },
        |a, b| { let o = if a > b { Some((a, b)) } else { None }; if let Some((x, y)) = o { x - y } else { 5 } },
        |a, b| { let mut n = 0; for k in 0..9_u32 { let Some(d) = a.checked_sub(k * b) else { break; }; n += d & 3; } n },
        |a, b| match (a > 5, b) { (true, 0..=31) => 1, (true, _) => 2, (false, k) => k },
        |a, b| match a { 0 => b, 1..=2 => b + 1, 3..32 => 9, k if k > b => k - b, k => k + 1 },
        |a, b| match (a & 1, b & 1) { (0, 0) => 4, (0, y) => y + 6, (x, y) => x + y * 8 },
        |a, b| match a < b { true => a, false => b },
        |a, b| match Some(a) { Some(2) => 1, Some(1000..) => 2, Some(_) => 3, None => 4 },
        |a, b| { let o = a.checked_add(b); let p = o; let mut q = p; if a > 3 { q = Some(4); } o.unwrap_or(1) ^ q.unwrap_or(2) },
    );
}

/// The power as `cuda_std::math::GpuFloat` computes it. Its last bits may differ from `std`'s.
macro_rules! power {
    ($x:expr, $n:expr) => {{
        let (n, mut power, mut factor): (i32, _, _) = ($n, 1.0, $x);
        let mut rest = n.unsigned_abs();
        while rest > 0 {
            if rest % 2 == 1 {
                power *= factor;
            }
            factor *= factor;
            rest /= 2;
        }
        if n < 0 { 1.0 / power } else { power }
    }};
}

#[test]
fn powers_have_the_bits_of_cuda_std() {
    check::<f32, f32>("a.powi(3) + b.powi(0)", &pairs(&F32S), |a, b| power!(a, 3) + power!(b, 0));
    check::<f32, f32>("cuda_std::math::GpuFloat::powi(a, -5)", &pairs(&F32S), |a, _| power!(a, -5));
    check::<f32, f32>("a.powi(b as i32)", &pairs(&F32S[..9]), |a, b| power!(a, b as i32));
    check::<f64, f64>("a.powi(-2) - b.powi(7)", &pairs(&F64S), |a, b| power!(a, -2) - power!(b, 7));
}

#[test]
fn divisions_without_a_result_and_bad_indices_panic() {
    let run = |of: &str, a: Vec<u8>, b: Vec<u8>, text: &str| {
        let source = format!(
            "#[kernel]\npub fn kernel(a: &[{of}], b: &[{of}], out: GlobalMut<{of}>) {{\n    let i = thread::index_1d() as \
             usize;\n    let (a, b) = (a[i], b[i]);\n    out[i] = {text};\n}}\n"
        );
        run(&source, &[&a, &b], a.len(), 1).expect_err(text).to_string()
    };
    let i32s = |text: &str, a: i32, b: i32| run("i32", a.le_bytes(), b.le_bytes(), text);
    let u64s = |text: &str, a: u64, b: u64| run("u64", a.le_bytes(), b.le_bytes(), text);
    let all = [
        i32s("a / b", 1, 0),
        i32s("a % b", 1, 0),
        i32s("a / b", i32::MIN, -1),
        i32s("a % b", i32::MIN, -1),
        i32s("a / -1", i32::MIN, 0),
        u64s("a / b", 1, 0),
        u64s("a % b", 1, 0),
        u64s("[a, b, 3][a as usize]", 3, 0),
        u64s("{ for i in (0..4).step_by(a as usize) { } b }", 0, 0),
        run("i8", (-128_i8).le_bytes(), (-1_i8).le_bytes(), "a / b"),
    ];
    let expected = [
        "attempt to divide by zero",
        "attempt to calculate the remainder with a divisor of zero",
        "attempt to divide with overflow",
        "attempt to calculate the remainder with overflow",
        "attempt to divide with overflow",
        "attempt to divide by zero",
        "attempt to calculate the remainder with a divisor of zero",
        "index out of bounds: the len is 3 but the index is 3",
        "assertion failed: step != 0",
        "attempt to divide with overflow",
    ];
    for (message, expected) in all.iter().zip(expected) {
        assert!(message.contains(&format!("panic: {expected}")) && message.contains("src/lib.rs:6:"), "{message}");
    }
}
