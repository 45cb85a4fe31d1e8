//! Results of integer and bit instructions, computed in i128 and bit by bit from the PTX ISA's
//! definitions.

use super::form::Form;

/// An integer type of PTX.
#[derive(Clone, Copy)]
pub(crate) struct IntegerType {
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

impl IntegerType {
    pub(crate) fn of(name: &str) -> Option<Self> {
        let bits = name.get(1..)?.parse().ok()?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(())?;
        Some(Self {
            bits,
            signed: match name.as_bytes()[0] {
                b's' => true,
                b'u' | b'b' => false,
                _ => return None,
            },
        })
    }

    pub(crate) fn minimum(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    pub(crate) fn maximum(self) -> i128 {
        if self.signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }

    pub(crate) fn value(self, bits: u64) -> i128 {
        let value = i128::from(bits) & ((1 << self.bits) - 1);
        if value > self.maximum() { value - (1 << self.bits) } else { value }
    }

    pub(crate) fn bits_of(self, value: i128) -> u64 {
        (value & ((1 << self.bits) - 1)) as u64
    }

    pub(crate) fn saturated(self, value: i128) -> u64 {
        self.bits_of(value.clamp(self.minimum(), self.maximum()))
    }
}

const U32: IntegerType = IntegerType { bits: 32, signed: false };

/// The result of an instruction. `None` if this module has no reference for it.
pub(crate) fn evaluate(form: &Form, s: [u64; 4]) -> Option<u64> {
    if let Some(packed) = form.name("u16x2").or(form.name("s16x2")) {
        let half = form.with_type(&packed[..3]);
        let parts = [0, 16].map(|shift| evaluate(&half, s.map(|source| source >> shift & 0xffff)));
        return Some(parts[0]? | parts[1]? << 16);
    }
    if form.opcode == "prmt" {
        return Some(permute(form, s));
    }
    let t = IntegerType::of(form.last())?;
    let [a, b, c, _] = s.map(|source| t.value(source));
    let amount = (s[1] & 0xffff_ffff) as u32;
    let clamp_or_wrap = if form.has("wrap") { amount % 32 } else { amount };
    let relu = |value: i128| t.bits_of(if form.has("relu") { value.max(0) } else { value });
    let sum = |value: i128| if form.has("sat") { t.saturated(value) } else { t.bits_of(value) };
    Some(match form.opcode {
        "add" => sum(a + b),
        "sub" => sum(a - b),
        "mul" if form.has("wide") => IntegerType { bits: 2 * t.bits, ..t }.bits_of(a * b),
        "mad" if form.has("wide") => {
            let wide = IntegerType { bits: 2 * t.bits, ..t };
            wide.bits_of(a * b + wide.value(s[2]))
        }
        "mul" if form.has("hi") => t.bits_of(a.wrapping_mul(b) >> t.bits),
        "mul" => t.bits_of(a.wrapping_mul(b)),
        "mad" if form.has("hi") => sum(t.value((high(a, b, t.bits)) as u64) + c),
        "mad" => sum(a.wrapping_mul(b).wrapping_add(c)),
        "mul24" | "mad24" => {
            let low24 = IntegerType { bits: 24, ..t };
            let product = low24.value(s[0] & 0xff_ffff) * low24.value(s[1] & 0xff_ffff);
            let part = if form.has("hi") { product >> 16 } else { product };
            let added = if form.opcode == "mad24" { c } else { 0 };
            sum(t.value(part as u64) + added)
        }
        "sad" => t.bits_of(c + (a - b).abs()),
        "div" | "rem" if b == 0 => t.bits_of(-1),
        "div" => t.bits_of(a / b),
        "rem" => t.bits_of(a % b),
        "abs" => t.bits_of(a.abs()),
        "neg" => t.bits_of(-a),
        "min" => relu(a.min(b)),
        "max" => relu(a.max(b)),
        "and" => t.bits_of(a & b),
        "or" => t.bits_of(a | b),
        "xor" => t.bits_of(a ^ b),
        "not" => t.bits_of(!a),
        "cnot" => u64::from(a == 0),
        "shl" => t.bits_of(a << amount.min(t.bits)),
        "shr" => t.bits_of(a >> amount.min(t.bits)),
        "popc" => (0..t.bits).filter(|&bit| a >> bit & 1 == 1).count() as u64,
        "clz" => (0..t.bits).rev().take_while(|&bit| a >> bit & 1 == 0).count() as u64,
        "brev" => (0..t.bits).map(|bit| ((a >> bit & 1) as u64) << (t.bits - 1 - bit)).sum(),
        "bfind" => {
            let searched = if a < 0 { !a } else { a };
            let found = (0..t.bits).rev().find(|&bit| searched >> bit & 1 == 1);
            let distance = |bit| if form.has("shiftamt") { t.bits - 1 - bit } else { bit };
            u64::from(found.map_or(u32::MAX, distance))
        }
        "bfe" => {
            let (position, length) = (s[1] as i128 & 0xff, s[2] as i128 & 0xff);
            let top = i128::from(t.bits) - 1;
            let sign = t.signed && length != 0 && a >> (position + length - 1).min(top) & 1 == 1;
            let bit = |i: i128| if i < length && position + i <= top { a >> (position + i) & 1 == 1 } else { sign };
            (0..=top).map(|i| u64::from(bit(i)) << i).sum()
        }
        "bfi" => {
            let (position, length) = (s[2] as i128 & 0xff, s[3] as i128 & 0xff);
            let top = i128::from(t.bits) - 1;
            let inserted = |i: i128| i >= position && i < position + length;
            let bit = |i: i128| if inserted(i) { a >> (i - position) & 1 } else { b >> i & 1 };
            (0..=top).map(|i| (bit(i) as u64) << i).sum()
        }
        "lop3" => (0..32)
            .map(|bit| {
                let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
                (s[3] >> index & 1) << bit
            })
            .sum(),
        "shf" => {
            let n = s[2] as u32;
            let n = if form.has("clamp") { n.min(32) } else { n & 31 };
            let joined = b << 32 | a;
            let shifted = if form.has("l") { joined << n >> 32 } else { joined >> n };
            t.bits_of(shifted)
        }
        "fns" => find_nth_set(s[0] as u32, s[1] as u32 as i32, s[2] as u32 as i32),
        "bmsk" => {
            let position = (s[0] & 0xffff_ffff) as u32;
            let position = if form.has("wrap") { position % 32 } else { position };
            (0..32u32)
                .filter(|&bit| bit >= position && u64::from(bit) < u64::from(position) + u64::from(clamp_or_wrap))
                .map(|bit| 1 << bit)
                .sum()
        }
        "szext" => {
            let width = clamp_or_wrap.min(32);
            let low = (s[0] & 0xffff_ffff) & ((1 << width) - 1);
            let negative = t.signed && width > 0 && low >> (width - 1) & 1 == 1;
            if negative { U32.bits_of(i128::from(low) - (1 << width)) } else { low }
        }
        "dp4a" | "dp2a" => {
            let [.., first, second] = form.modifiers[..] else { return None };
            let dp4a = form.opcode == "dp4a";
            let (count, width) = if dp4a { (4, 8) } else { (2, 16) };
            let from = if form.has("hi") { 2 } else { 0 };
            let part = |source: u64, name: &str, bits: u32, index: u32| {
                let t = IntegerType { bits, signed: name == "s32" };
                t.value(source >> (bits * index) & ((1 << bits) - 1))
            };
            let product = |i| part(s[0], first, width, i) * part(s[1], second, 8, from + i);
            U32.bits_of(U32.value(s[2]) + (0..count).map(product).sum::<i128>())
        }
        _ => return None,
    })
}

/// The product's bits from bit `bits` up. In two's complement, the low 128 bits of the product
/// suffice.
fn high(a: i128, b: i128, bits: u32) -> i128 {
    a.wrapping_mul(b) >> bits
}

fn permute(form: &Form, s: [u64; 4]) -> u64 {
    let bytes: Vec<u64> = [s[0], s[1]].iter().flat_map(|word| (0..4).map(move |i| word >> (8 * i) & 0xff)).collect();
    // The ISA's tables: for each selector, the source bytes of d.b3, d.b2, d.b1, d.b0.
    let table = match form.last() {
        "f4e" => ["3210", "4321", "5432", "6543"],
        "b4e" => ["5670", "6701", "7012", "0123"],
        "rc8" => ["0000", "1111", "2222", "3333"],
        "ecl" => ["3210", "3211", "3222", "3333"],
        "ecr" => ["0000", "1110", "2210", "3210"],
        "rc16" => ["1010", "3232", "1010", "3232"],
        _ => {
            return (0..4)
                .map(|i| {
                    let nibble = s[2] >> (4 * i) & 0xf;
                    let byte = bytes[nibble as usize & 7];
                    let byte = if nibble < 8 { byte } else { if byte & 0x80 != 0 { 0xff } else { 0 } };
                    byte << (8 * i)
                })
                .sum();
        }
    };
    let chosen = table[s[2] as usize & 3].bytes().rev().enumerate();
    chosen.map(|(i, digit)| bytes[usize::from(digit - b'0')] << (8 * i)).sum()
}

/// The ISA's loop. The ISA does not define a base above 31; here no bit is found.
fn find_nth_set(mask: u32, base: i32, offset: i32) -> u64 {
    let not_found = u64::from(u32::MAX);
    if !(0..32).contains(&base) {
        return not_found;
    }
    if offset == 0 {
        return if mask >> base & 1 == 1 { base as u64 } else { not_found };
    }
    let mut position = i64::from(base);
    let mut count = i64::from(offset).abs() - 1;
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            if count == 0 {
                return position as u64;
            }
            count -= 1;
        }
        position += if offset > 0 { 1 } else { -1 };
    }
    not_found
}

/// The result and carry flag of an instruction with a carry. `None` if there is no reference for
/// it.
pub fn evaluate_carry(form: &Form<'_>, s: [u64; 4], carry_in: bool) -> Option<(u64, bool)> {
    let t = IntegerType::of(form.last())?;
    let unsigned = IntegerType { signed: false, ..t };
    let [a, b, c, _] = s.map(|source| unsigned.value(source));
    let carry = i128::from(carry_in && form.opcode.ends_with('c'));
    let result = match form.opcode {
        "add" | "addc" => a + b + carry,
        "sub" | "subc" => a - (b + carry),
        "mad" | "madc" => {
            let product = t.value(s[0]).wrapping_mul(t.value(s[1]));
            let half = if form.has("hi") { product >> t.bits } else { product };
            unsigned.value(unsigned.bits_of(half)) + c + carry
        }
        _ => return None,
    };
    let flag = if form.has("cc") { result < 0 || result > unsigned.maximum() } else { carry_in };
    Some((unsigned.bits_of(result), flag))
}
