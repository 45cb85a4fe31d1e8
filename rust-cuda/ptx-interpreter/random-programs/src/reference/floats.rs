//! Results of floating-point instructions and comparisons, computed on exact fractions and rounded
//! once.

use super::exact::{
    Fraction, Layout, Rounding, Value, decode, encode, is_negative, negated, product, quotient, root, sum,
};
use super::form::Form;
use super::integers::IntegerType;

/// The form's rounding, by default to nearest.
fn rounding(form: &Form) -> Rounding {
    form.modifiers.iter().find_map(|modifier| Rounding::of(modifier)).unwrap_or(Rounding::Nearest)
}

/// Applies `.ftz`, `.relu` and `.sat` to a result's bits.
fn finish(form: &Form, layout: Layout, bits: u64, flush: bool) -> u64 {
    let bits = if flush { layout.flush(bits) } else { bits };
    let negative = bits & layout.sign() != 0;
    if form.has("relu") && negative && !layout.is_nan(bits) {
        return 0;
    }
    if form.has("sat") {
        return if layout.is_nan(bits) || negative { 0 } else { bits.min(layout.one()) };
    }
    bits
}

/// The result of an instruction. `None` if this module has no reference for it.
pub(crate) fn evaluate(form: &Form, s: [u64; 4]) -> Option<u64> {
    if let Some(packed) = form.name("f16x2").or(form.name("bf16x2")) {
        let half = form.with_type(packed.strip_suffix("x2")?);
        let parts = [0, 16].map(|shift| evaluate(&half, s.map(|source| source >> shift & 0xffff)));
        return Some(parts[0]? | parts[1]? << 16);
    }
    let layout = Layout::of(form.last())?;
    let mask = layout.sign() | (layout.sign() - 1);
    let flush = |bits| if form.has("ftz") { layout.flush(bits) } else { bits };
    let [a, b, c, _] = s.map(|source| flush(source & mask));
    let [x, y, z] = [a, b, c].map(|bits| decode(layout, bits));
    let rounding = rounding(form);
    let exact = match form.opcode {
        "add" => sum(&x, &y, rounding),
        "sub" => sum(&x, &negated(y), rounding),
        "mul" => product(&x, &y),
        "fma" | "mad" => sum(&product(&x, &y), &z, rounding),
        "div" if form.has("approx") && divisor_is_huge(layout, b) => {
            let zero = Value::Finite(Fraction { negative: is_negative(&y), ..Fraction::integer(0) });
            product(&x, &zero)
        }
        "div" => quotient(&x, &y),
        "rcp" if layout.bits == 32 || !form.has("approx") => quotient(&Value::Finite(Fraction::integer(1)), &x),
        "sqrt" => root(&x),
        "neg" => return Some(a ^ layout.sign()),
        "abs" => return Some(a & !layout.sign()),
        "copysign" => return Some(b & !layout.sign() | a & layout.sign()),
        "min" | "max" => return Some(extreme(form, layout, a, b)),
        _ => return None,
    };
    Some(finish(form, layout, encode(layout, &exact, rounding), form.has("ftz")))
}

/// Whether an f32 divisor is finite and has a magnitude above 2^126. Then `div.approx` returns
/// zero, or NaN for an infinite dividend.
fn divisor_is_huge(layout: Layout, bits: u64) -> bool {
    let magnitude = bits & !layout.sign();
    magnitude > (126 + 127) << 23 && magnitude < layout.infinity()
}

fn extreme(form: &Form, layout: Layout, a: u64, b: u64) -> u64 {
    let sign = if form.has("xorsign") { (a ^ b) & layout.sign() } else { 0 };
    let [a, b] = [a, b].map(|bits| if form.has("xorsign") { bits & !layout.sign() } else { bits });
    let chosen = match (layout.is_nan(a), layout.is_nan(b)) {
        (true, true) => return layout.nan(),
        (false, false) => {
            let a_is_less = layout.key(a) < layout.key(b);
            if a_is_less == (form.opcode == "min") { a } else { b }
        }
        _ if form.has("NaN") => return layout.nan(),
        (true, false) => b,
        (false, true) => a,
    };
    chosen | sign
}

/// Whether a comparison holds. The form's first modifier is the operator.
pub(crate) fn holds(form: &Form, s: [u64; 4]) -> Option<bool> {
    let name = form.modifiers[0];
    let (ordering, unordered) = if let Some(layout) = Layout::of(form.last()) {
        let mask = layout.sign() | (layout.sign() - 1);
        let [a, b] = [s[0], s[1]].map(|bits| if form.has("ftz") { layout.flush(bits & mask) } else { bits & mask });
        // Both zeros are equal.
        let key = |bits: u64| if bits == layout.sign() { 0 } else { layout.key(bits) };
        (key(a).cmp(&key(b)), layout.is_nan(a) || layout.is_nan(b))
    } else {
        let t = IntegerType::of(form.last())?;
        (t.value(s[0]).cmp(&t.value(s[1])), false)
    };
    if unordered {
        return Some(matches!(name, "nan" | "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu"));
    }
    Some(match name {
        "eq" | "equ" => ordering.is_eq(),
        "ne" | "neu" => ordering.is_ne(),
        "lt" | "ltu" | "lo" => ordering.is_lt(),
        "le" | "leu" | "ls" => ordering.is_le(),
        "gt" | "gtu" | "hi" => ordering.is_gt(),
        "ge" | "geu" | "hs" => ordering.is_ge(),
        "num" => true,
        "nan" => false,
        _ => return None,
    })
}

/// Whether a comparison holds for the lower and for the upper halves. `None` if the form does not
/// compare halves.
pub(crate) fn of_halves(form: &Form, s: [u64; 4]) -> Option<[bool; 2]> {
    let half = form.with_type(form.last().strip_suffix("x2")?);
    let [low, high] = [0, 16].map(|shift| holds(&half, s.map(|source| source >> shift & 0xffff)));
    Some([low?, high?])
}

/// The result of `set` or `slct`.
pub(crate) fn select(form: &Form, s: [u64; 4]) -> Option<u64> {
    if form.opcode == "set"
        && let Some(halves) = of_halves(form, s)
    {
        let truth = Layout::of(form.destination().trim_end_matches("x2")).map_or(0xffff, |layout| layout.one());
        let [low, high] = halves.map(|holds| if holds { truth } else { 0 });
        return Some(low | high << 16);
    }
    if form.opcode == "set" {
        let truth = holds(form, s)?;
        let destination = form.destination();
        return Some(match (truth, Layout::of(destination)) {
            (false, _) => 0,
            (true, Some(layout)) => layout.one(),
            (true, None) => {
                let t = IntegerType::of(destination)?;
                t.bits_of(-1)
            }
        });
    }
    let first = match form.last() {
        "s32" => (s[2] as u32 as i32) >= 0,
        _ => {
            let c = f32::from_bits(s[2] as u32);
            let flushed = form.has("ftz") && c.is_subnormal();
            flushed || c >= 0.0
        }
    };
    let bits = match form.destination() {
        "f32" => 32,
        "f64" => 64,
        name => IntegerType::of(name)?.bits,
    };
    let value = if first { s[0] } else { s[1] };
    Some(value & (u64::MAX >> (64 - bits)))
}

/// The result of `testp`.
pub(crate) fn test(form: &Form, s: [u64; 4]) -> Option<bool> {
    let layout = Layout::of(form.last())?;
    let bits = s[0] & (layout.sign() | (layout.sign() - 1));
    let value = decode(layout, bits);
    let finite = matches!(value, Value::Finite(_));
    Some(match form.modifiers[0] {
        "finite" => finite,
        "infinite" => matches!(value, Value::Infinite { .. }),
        "number" => !matches!(value, Value::Nan),
        "notanumber" => matches!(value, Value::Nan),
        "normal" => finite && !layout.is_subnormal(bits),
        "subnormal" => layout.is_subnormal(bits),
        _ => return None,
    })
}

/// The result of `cvt`.
pub(crate) fn convert(form: &Form, s: [u64; 4]) -> Option<u64> {
    let (d, source) = (form.destination(), form.last());
    if let Some(one) = d.strip_suffix("x2") {
        let mut single = form.clone();
        let at = single.modifiers.len() - 2;
        single.modifiers[at] = one;
        return Some(convert(&single, s)? << 16 | convert(&single, [s[1], 0, 0, 0])?);
    }
    let rounding = rounding(form);
    let integral = form.modifiers.iter().any(|modifier| matches!(*modifier, "rni" | "rzi" | "rmi" | "rpi"));
    let value = match Layout::of(source) {
        None => {
            let value = IntegerType::of(source)?.value(s[0]);
            if let Some(t) = IntegerType::of(d) {
                return Some(if form.has("sat") { t.saturated(value) } else { t.bits_of(value) });
            }
            Value::Finite(Fraction::integer(value))
        }
        Some(layout) => {
            let bits = s[0] & (layout.sign() | (layout.sign() - 1));
            decode(layout, if form.has("ftz") && source == "f32" { layout.flush(bits) } else { bits })
        }
    };
    if let Some(t) = IntegerType::of(d) {
        return Some(match &value {
            Value::Nan if source == "f64" || t.bits == 64 => 1 << (t.bits - 1),
            Value::Nan => 0,
            Value::Infinite { negative: true } => t.bits_of(t.minimum()),
            Value::Infinite { negative: false } => t.bits_of(t.maximum()),
            Value::Finite(fraction) => {
                let magnitude = i128::try_from(fraction.rounded(0, rounding)).unwrap_or(i128::MAX);
                t.saturated(if fraction.negative { -magnitude } else { magnitude })
            }
        });
    }
    let layout = Layout::of(d)?;
    let value = match value {
        Value::Finite(fraction) if integral => Value::Finite(Fraction {
            numerator: fraction.rounded(0, rounding),
            denominator: 1u32.into(),
            exponent: 0,
            ..fraction
        }),
        value => value,
    };
    let mut bits = encode(layout, &value, rounding);
    if form.has("satfinite") && bits & !layout.sign() == layout.infinity() {
        bits -= 1;
    }
    let bits = finish(form, layout, bits, form.has("ftz") && d == "f32");
    // tf32 is stored in the upper bits of an f32.
    Some(match d {
        "tf32" if layout.is_nan(bits) => 0x7fff_ffff,
        "tf32" => bits << 13,
        _ => bits,
    })
}
