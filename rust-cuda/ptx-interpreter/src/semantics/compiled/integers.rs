//! Loops of integer arithmetic, logic and shifts.

use super::lane_loop::each_lane;
use crate::semantics::table::Table;
use crate::semantics::{logic, permute};

/// Adds the loops to the table.
pub(super) fn loops(table: &mut Table) {
    every_width!(table, u16, u32, u64);
    wide!(table, u32 i32, u64 i64);
    extremes_and_quotients!(table, u32 u64 i32 i64);
    products!(table, u32 u64, i32 i64);

    table.compile("mul.wide.u16", each_lane!(|a: u16, b: u16| u32::from(a) * u32::from(b)));
    table.compile("mul.hi.u64", each_lane!(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64));
    table.compile("bfe.u32", each_lane!(|a: u32, position: u8, length: u8| field(a.into(), position, length) as u32));
    table.compile("bfe.u64", each_lane!(|a: u64, position: u8, length: u8| field(a, position, length)));
    table.compile("popc.b32", each_lane!(|a: u32| a.count_ones()));
    table.compile("clz.b32", each_lane!(|a: u32| a.leading_zeros()));
    table.compile("brev.b32", each_lane!(|a: u32| a.reverse_bits()));
    table.compile("prmt.b32", each_lane!(|a: u32, b: u32, selector: u32| permute::permute([a, b, selector, 0])));
    table.compile("lop3.b32", each_lane!(|a: u32, b: u32, c: u32, table: u32| logic::logic_of_three([a, b, c, table])));
    table.compile("shf.l.wrap.b32", each_lane!(|a: u32, b: u32, amount: u32| logic::funnel_left(a, b, amount & 31)));
    table.compile("shf.r.wrap.b32", each_lane!(|a: u32, b: u32, amount: u32| logic::funnel_right(a, b, amount & 31)));
}

/// The names of the unsigned and the signed form.
fn integers(opcode: &str, bits: u32) -> String {
    format!("{opcode}.u{bits} {opcode}.s{bits}")
}

/// The name of the form of a Rust type.
fn of_type(opcode: &str, name: &str) -> String {
    format!("{opcode}.{}", name.replace('i', "s"))
}

/// The forms that compute the same on signed and unsigned integers, or on bits.
macro_rules! every_width {
    ($table:ident, $($unsigned:ident),*) => {$({
        let bits = <$unsigned>::BITS;
        $table.compile(integers("add", bits), each_lane!(|a: $unsigned, b: $unsigned| a.wrapping_add(b)));
        $table.compile(integers("sub", bits), each_lane!(|a: $unsigned, b: $unsigned| a.wrapping_sub(b)));
        $table.compile(integers("mul.lo", bits), each_lane!(|a: $unsigned, b: $unsigned| a.wrapping_mul(b)));
        $table.compile(format!("and.b{bits}"), each_lane!(|a: $unsigned, b: $unsigned| a & b));
        $table.compile(format!("or.b{bits}"), each_lane!(|a: $unsigned, b: $unsigned| a | b));
        // PTX allows shifts by the width or more.
        let shl = each_lane!(|a: $unsigned, n: u32| if n < <$unsigned>::BITS { a << n } else { 0 });
        let shr = each_lane!(|a: $unsigned, n: u32| if n < <$unsigned>::BITS { a >> n } else { 0 });
        $table.compile(format!("shl.b{bits}"), shl);
        $table.compile(format!("shr.b{bits} shr.u{bits}"), shr);
    })*};
}
use every_width;

/// The same, for forms that compilers emit for 32 and 64 bits only.
macro_rules! wide {
    ($table:ident, $($unsigned:ident $signed:ident),*) => {$({
        let bits = <$unsigned>::BITS;
        let mad = each_lane!(|a: $unsigned, b: $unsigned, c: $unsigned| a.wrapping_mul(b).wrapping_add(c));
        $table.compile(integers("mad.lo", bits), mad);
        $table.compile(format!("neg.s{bits}"), each_lane!(|a: $signed| a.wrapping_neg()));
        $table.compile(format!("abs.s{bits}"), each_lane!(|a: $signed| a.wrapping_abs()));
        $table.compile(format!("xor.b{bits}"), each_lane!(|a: $unsigned, b: $unsigned| a ^ b));
        $table.compile(format!("not.b{bits}"), each_lane!(|a: $unsigned| !a));
        $table.compile(format!("shr.s{bits}"), each_lane!(|a: $signed, n: u32| a >> n.min(<$signed>::BITS - 1)));
    })*};
}
use wide;

macro_rules! extremes_and_quotients {
    ($table:ident, $($type:ident)*) => {$({
        let name = stringify!($type);
        $table.compile(of_type("min", name), each_lane!(|a: $type, b: $type| a.min(b)));
        $table.compile(of_type("max", name), each_lane!(|a: $type, b: $type| a.max(b)));
        let div = each_lane!(|a: $type, b: $type| if b == 0 { !0 } else { a.wrapping_div(b) });
        let rem = each_lane!(|a: $type, b: $type| if b == 0 { !0 } else { a.wrapping_rem(b) });
        $table.compile(of_type("div", name), div);
        $table.compile(of_type("rem", name), rem);
    })*};
}
use extremes_and_quotients;

macro_rules! products {
    ($table:ident, $($type:ident $wide:ident),*) => {$({
        let name = stringify!($type);
        let mul = each_lane!(|a: $type, b: $type| <$wide>::from(a).wrapping_mul(b.into()));
        let mad = each_lane!(|a: $type, b: $type, c: $wide| <$wide>::from(a).wrapping_mul(b.into()).wrapping_add(c));
        let high = each_lane!(|a: $type, b: $type| ((<$wide>::from(a) * <$wide>::from(b)) >> <$type>::BITS) as $type);
        $table.compile(of_type("mul.wide", name), mul);
        $table.compile(of_type("mad.wide", name), mad);
        $table.compile(of_type("mul.hi", name), high);
    })*};
}
use products;

/// The field of `length` bits starting at `position`.
#[inline(always)]
fn field(a: u64, position: u8, length: u8) -> u64 {
    let shifted = if position < 64 { a >> position } else { 0 };
    if length < 64 { shifted & ((1 << length) - 1) } else { shifted }
}
