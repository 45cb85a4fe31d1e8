//! Overflow of an f16 exponential in a GELU. By IEEE 754 and the PTX ISA, the quotient of two
//! infinities makes it NaN, unless tanh is a single instruction.

use crate::support::kernel::Kernel;

const INFINITY: u16 = 0x7c00;
const NAN: u16 = 0x7fff;

/// The values of `h1`, `h2`, … after the instructions, with the 16-bit input in `h0`.
fn halves(instructions: &str, input: u16, count: usize) -> Vec<u16> {
    let stores: String = (1..=count).map(|k| format!("st.global.b16 [output+{}], h{k};", 2 * k - 2)).collect();
    let kernel = Kernel::new(format!("ld.global.b16 h0, [input]; {instructions} {stores} ret;"));
    let words = kernel.shape(1, 1).input(&[input.into()]).bytes();
    words.as_chunks().0[..count].iter().map(|bytes| u16::from_le_bytes(*bytes)).collect()
}

#[test]
fn exponentials_overflow_to_infinity() {
    // The largest finite f16 is 65504: 2^15 = 32768 is finite, 2^16 is not (PTX ISA, `ex2`, +overflow is +Inf).
    assert_eq!(halves("ex2.approx.f16 h1, h0;", 0x4b80, 1), [0x7800]);
    assert_eq!(halves("ex2.approx.f16 h1, h0;", 0x4c00, 1), [INFINITY]);
    assert_eq!(halves("ex2.approx.f16 h1, h0;", 0xfc00, 1), [0]);
    // Through f32, like NVRTC compiles `hexp`: 2^17 is finite in f32 and rounds to infinity in f16.
    let through_f32 = "mov.f32 r0, 0f41880000; ex2.approx.ftz.f32 r1, r0; cvt.rn.f16.f32 h1, r1;";
    assert_eq!(halves(through_f32, 0, 1), [INFINITY]);
    assert_eq!(halves("mov.f32 r1, 0f477fefff; cvt.rn.f16.f32 h1, r1;", 0, 1), [0x7bff]);
    assert_eq!(halves("mov.f32 r1, 0f477ff000; cvt.rn.f16.f32 h1, r1;", 0, 1), [INFINITY]);
}

#[test]
fn infinities_stay_and_their_quotient_is_nan() {
    // ∞ ± 1 = ∞; 1/∞ = 0; ∞ × 0 is NaN, and so is ∞ − ∞ (IEEE 754-2019, 6.1 and 7.2). A NaN of f16 is 0x7fff.
    let sums = "mov.b16 h9, 0x3c00; sub.f16 h1, h0, h9; add.f16 h2, h0, h9; sub.f16 h3, h0, h0;";
    assert_eq!(halves(sums, INFINITY, 3), [INFINITY, INFINITY, NAN]);
    // `hdiv` as compiled by NVRTC: with the reciprocal in f32.
    let quotient = "cvt.f32.f16 r0, h0; rcp.approx.ftz.f32 r1, r0; mul.f32 r2, r0, r1; cvt.rn.f16.f32 h1, r2;";
    assert_eq!(halves(quotient, INFINITY, 1), [NAN]);
}

#[test]
fn a_gelu_by_exponentials_is_nan_where_they_overflow_and_by_tanh_it_is_not() {
    // tanh z = (e^2z − 1) / (e^2z + 1) with z = x = 8: e^16 > 65504.
    let by_exponentials =
        "cvt.f32.f16 r0, h0; mul.f32 r0, r0, 0f4038AA3B; ex2.approx.ftz.f32 r1, r0; cvt.rn.f16.f32 h5, r1;
        mov.b16 h9, 0x3c00; sub.f16 h6, h5, h9; add.f16 h7, h5, h9; cvt.f32.f16 r2, h6; cvt.f32.f16 r3, h7;
        rcp.approx.ftz.f32 r4, r3; mul.f32 r5, r2, r4; cvt.rn.f16.f32 h1, r5; fma.rn.f16 h2, h0, h1, h0;";
    assert_eq!(halves(by_exponentials, 0x4800, 2), [NAN, NAN]);
    // x = 1: e² = 7.39, tanh 1 = 0.7616, 1 + tanh 1 = 1.7616, each within two units of the last place.
    let [tanh, sum] = halves(by_exponentials, 0x3c00, 2)[..] else { panic!("two values") };
    assert!(tanh.abs_diff(0x3a18) <= 2 && sum.abs_diff(0x3f0c) <= 2, "{tanh:#x}, {sum:#x}");
    let by_tanh = "tanh.approx.f16 h1, h0; fma.rn.f16 h2, h0, h1, h0;";
    assert_eq!(halves(by_tanh, 0x4800, 2), [0x3c00, 0x4c00]);
    assert_eq!(halves(by_tanh, INFINITY, 1), [0x3c00]);
}

/// A packed comparison compares each half: `setp` writes both predicates, `set` both halves of its
/// result.
#[test]
fn packed_comparisons_compare_each_half() {
    // −∞, −1, −0, +0, the smallest subnormal, 1, 1.5, ∞, NaN, in f16 and bf16.
    let f16 = [0xfc00, 0xbc00, 0x8000, 0, 1, 0x3c00, 0x3e00, 0x7c00, 0x7e00_u16];
    let bf16 = [0xff80, 0xbf80, 0x8000, 0, 1, 0x3f80, 0x3fc0, 0x7f80, 0x7fc0_u16];
    let names = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
    for (t, flush, values, one) in [("f16", "", f16, 0x3c00), ("f16", ".ftz", f16, 0x3c00), ("bf16", "", bf16, 0x3f80)]
    {
        for name in names {
            // Lane i compares value i % 9 with all others in the lower halves, and in reverse in
            // the upper halves.
            for (other, b) in values.into_iter().enumerate() {
                let table: Vec<u32> = (0..32)
                    .map(|lane| {
                        let a = values[lane % 9];
                        u32::from(a) | u32::from(b) << 16
                    })
                    .collect();
                let swapped = "shl.b32 r2, r1, 16; shr.b32 r3, r1, 16; or.b32 r2, r2, r3;";
                let kernel = Kernel::new(format!(
                    "mad.wide.u32 d0, tid, 4, input; ld.global.u32 r1, [d0]; {swapped} mov.b32 {{h1, h2}}, r1;
                     setp.{name}{flush}.{t}x2 p0|p1, r1, r2; setp.{name}{flush}.{t} p2, h1, h2; setp.{name}{flush}.{t} p3, h2, h1;
                     selp.u32 r4, 1, 0, p0; selp.u32 r5, 2, 0, p1; or.b32 r4, r4, r5;
                     selp.u32 r6, 1, 0, p2; selp.u32 r7, 2, 0, p3; or.b32 r6, r6, r7;
                     set.{name}{flush}.{t}x2.{t}x2 r8, r1, r2; set.{name}{flush}.u32.{t}x2 r9, r1, r2; set.{name}{flush}.s32.{t}x2 r10, r1, r2;
                     setp.{name}.or{flush}.{t}x2 p4|p5, r1, r2, !p2; selp.u32 r11, 1, 0, p4; selp.u32 r12, 2, 0, p5; or.b32 r11, r11, r12;
                     mad.wide.u32 d1, tid, 24, output; st.global.u32 [d1], r4; st.global.u32 [d1+4], r6; st.global.u32 [d1+8], r8;
                     st.global.u32 [d1+12], r9; st.global.u32 [d1+16], r10; st.global.u32 [d1+20], r11; ret;"
                ));
                let words = kernel.input(&table).output_bytes(32 * 24).words(32 * 6);
                for (lane, found) in words.chunks(6).enumerate() {
                    let holds = found[1];
                    let halves = |each: u32| ((holds & 1) * each) | ((holds >> 1) * (each << 16));
                    let with_or = holds | if holds & 1 == 0 { 3 } else { 0 };
                    let expected = [holds, holds, halves(one), halves(0xffff), halves(0xffff), with_or];
                    assert_eq!(found, expected, "{name}{flush}.{t}x2 of values {} and {other}", lane % 9);
                }
            }
        }
    }
    let single = Kernel::new("setp.gt.f16x2 p0, r0, r1; ret;").load_error();
    assert!(single.to_string().contains("two predicates, one for each half"), "{single}");
}
