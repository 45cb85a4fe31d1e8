//! Overflow of an f16 exponential in a GELU: by IEEE 754 and the PTX ISA the quotient of two infinities makes it NaN,
//! unless tanh is an instruction.

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
    // Through f32, as NVRTC compiles `hexp`: 2^17 is finite there, and rounds to infinity in f16.
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
    // `hdiv` as NVRTC compiles it: by the reciprocal in f32.
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
