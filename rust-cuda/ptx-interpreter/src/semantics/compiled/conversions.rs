//! Loops of `cvt`.

use super::floats::Native;
use super::lane_loop::each_lane;
use crate::semantics::float::Format;
use crate::semantics::table::Table;

/// Adds the loops to the table.
pub(super) fn loops(table: &mut Table) {
    // For a type that is no wider, and from an unsigned type, the result is the low bits.
    keeping_bits(table, 8, each_lane!(|a: u8| a));
    keeping_bits(table, 16, each_lane!(|a: u16| a));
    keeping_bits(table, 32, each_lane!(|a: u32| a));
    keeping_bits(table, 64, each_lane!(|a: u64| a));
    table.compile("cvt.u16.s8 cvt.s16.s8", each_lane!(|a: i8| i16::from(a)));
    table.compile("cvt.u32.s8 cvt.s32.s8", each_lane!(|a: i8| i32::from(a)));
    table.compile("cvt.u64.s8 cvt.s64.s8", each_lane!(|a: i8| i64::from(a)));
    table.compile("cvt.u32.s16 cvt.s32.s16", each_lane!(|a: i16| i32::from(a)));
    table.compile("cvt.u64.s16 cvt.s64.s16", each_lane!(|a: i16| i64::from(a)));
    table.compile("cvt.u64.s32 cvt.s64.s32", each_lane!(|a: i32| i64::from(a)));

    table.compile("cvt.rn.f32.u16", each_lane!(|a: u16| f32::from(a)));
    table.compile("cvt.rn.f32.u32", each_lane!(|a: u32| a as f32));
    table.compile("cvt.rn.f32.u64", each_lane!(|a: u64| a as f32));
    table.compile("cvt.rn.f32.s32", each_lane!(|a: i32| a as f32));
    table.compile("cvt.rn.f32.s64", each_lane!(|a: i64| a as f32));
    table.compile("cvt.rn.f64.u32", each_lane!(|a: u32| f64::from(a)));
    table.compile("cvt.rn.f64.u64", each_lane!(|a: u64| a as f64));
    table.compile("cvt.rn.f64.s32", each_lane!(|a: i32| f64::from(a)));
    table.compile("cvt.rn.f64.s64", each_lane!(|a: i64| a as f64));
    // Rust's conversion truncates and saturates, and converts NaN to 0.
    table.compile("cvt.rzi.s32.f32 cvt.rzi.sat.s32.f32", each_lane!(|a: f32| a as i32));
    table.compile("cvt.rzi.u32.f32 cvt.rzi.sat.u32.f32", each_lane!(|a: f32| a as u32));

    table.compile("cvt.f64.f32", each_lane!(|a: f32| f64::from(a).canonical()));
    table.compile("cvt.rn.f32.f64", each_lane!(|a: f64| (a as f32).canonical()));
    table.compile("cvt.f32.f16", each_lane!(|a: u64| (Format::F16.decode(a) as f32).canonical()));
    table.compile("cvt.rn.f16.f32", each_lane!(|a: f32| Format::F16.encode(a.into())));
    table.compile("cvt.f32.bf16", each_lane!(|a: u64| (Format::BF16.decode(a) as f32).canonical()));
    table.compile("cvt.rn.bf16.f32", each_lane!(|a: f32| Format::BF16.encode(a.into())));
}

/// Adds a loop for integer conversions that just keep the low bits.
fn keeping_bits(table: &mut Table, bits: u32, compiled: super::lane_loop::Compiled) {
    for to in [8, 16, 32, 64] {
        for from in [8, 16, 32, 64] {
            for (to_kind, from_kind) in [("u", "u"), ("s", "u"), ("u", "s"), ("s", "s")] {
                if bits == to.min(from) && (from_kind == "u" || to <= from) {
                    table.compile(format!("cvt.{to_kind}{to}.{from_kind}{from}"), compiled);
                }
            }
        }
    }
}
