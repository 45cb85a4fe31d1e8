//! Results stated in the PTX ISA, and instruction names that it does not define.

use ptx_interpreter::semantics::{self, ApproximationError, Class, Compute, LANES};
use ptx_interpreter::syntax::ScalarType;

/// The result of an instruction on the same operands in all lanes.
#[track_caller]
fn run(name: &str, sources: &[u64]) -> u64 {
    let parts: Vec<&str> = name.split('.').collect();
    let operation = semantics::operation(parts[0], &parts[1..]).expect("a known form");
    assert_eq!(operation.sources.len(), sources.len(), "{name} has other sources");
    let warp: [_; 4] = std::array::from_fn(|source| [sources.get(source).copied().unwrap_or(0); LANES]);
    let warp = [&warp[0], &warp[1], &warp[2], &warp[3]];
    let mut lanes = [0; LANES];
    match operation.compute {
        Compute::Value(compute) => compute.compute(&mut lanes, warp),
        Compute::Predicate(compute) => {
            let mask = compute.compute(warp);
            lanes = std::array::from_fn(|lane| u64::from(mask >> lane & 1));
        }
        Compute::Carry(_) => panic!("{name} has the carry flag as another source"),
    }
    assert!(lanes.iter().all(|&lane| lane == lanes[0]), "the lanes of {name} differ");
    lanes[0]
}

fn single(value: f32) -> u64 {
    u64::from(value.to_bits())
}

const NAN: u64 = 0x7fff_ffff;
const INFINITY: u64 = 0x7f80_0000;
const MINUS_INFINITY: u64 = 0xff80_0000;
const MINUS_ZERO: u64 = 0x8000_0000;
const SUBNORMAL: u64 = 0x0040_0000;
const MINUS_SUBNORMAL: u64 = 0x8040_0000;

#[test]
fn shifts_past_the_width_are_clamped() {
    assert_eq!(run("shl.b32", &[1, 31]), 1 << 31);
    assert_eq!(run("shl.b32", &[1, 32]), 0);
    assert_eq!(run("shl.b16", &[0xffff, 0xffff_ffff]), 0);
    assert_eq!(run("shl.b64", &[1, 64]), 0);
    assert_eq!(run("shr.u32", &[0x8000_0000, 32]), 0);
    assert_eq!(run("shr.s32", &[0x8000_0000, 32]), 0xffff_ffff);
    assert_eq!(run("shr.s64", &[1 << 63, 1000]), u64::MAX);
    assert_eq!(run("shf.l.clamp.b32", &[0x1234, 0x5678, 40]), 0x1234);
    assert_eq!(run("shf.l.wrap.b32", &[0x1234, 0x5678, 32]), 0x5678);
}

#[test]
fn undefined_quotients_have_fixed_results() {
    for name in ["div.u32", "div.s32", "rem.u32", "rem.s32"] {
        assert_eq!(run(name, &[7, 0]), 0xffff_ffff, "{name}");
    }
    assert_eq!(run("div.u64", &[7, 0]), u64::MAX);
    assert_eq!(run("div.s32", &[0x8000_0000, 0xffff_ffff]), 0x8000_0000);
    assert_eq!(run("rem.s32", &[0x8000_0000, 0xffff_ffff]), 0);
    assert_eq!(run("div.s64", &[1 << 63, u64::MAX]), 1 << 63);
    assert_eq!(run("abs.s32", &[0x8000_0000]), 0x8000_0000);
    assert_eq!(run("rem.s32", &[(-7i32 as u32).into(), 3]), (-1i32 as u32).into());
}

#[test]
fn examples_of_the_isa_have_its_results() {
    assert_eq!(run("fns.b32", &[0xaaaa_aaaa, 3, 1]), 3);
    assert_eq!(run("fns.b32", &[0xaaaa_aaaa, 3, 0xffff_ffff]), 3);
    assert_eq!(run("fns.b32", &[0xaaaa_aaaa, 2, 1]), 3);
    assert_eq!(run("fns.b32", &[0xaaaa_aaaa, 2, 0xffff_ffff]), 1);
    assert_eq!(run("bmsk.wrap.b32", &[1, 2]), 6);
    // immLut of (a & b & c), (a | b | c), (a & b & !c) and ((a & b | c) ^ a).
    let [a, b, c] = [0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc];
    assert_eq!(run("lop3.b32", &[a, b, c, 0x80]), a & b & c);
    assert_eq!(run("lop3.b32", &[a, b, c, 0xfe]), a | b | c);
    assert_eq!(run("lop3.b32", &[a, b, c, 0x40]), a & b & !c);
    assert_eq!(run("lop3.b32", &[a, b, c, 0x1a]), (a & b | c) ^ a);
    assert_eq!(run("prmt.b32", &[0x4433_2211, 0x8877_6655, 0x7610]), 0x8877_2211);
    assert_eq!(run("prmt.b32", &[0x4433_2211, 0x8877_6655, 0x000f]), 0x1111_11ff);
}

#[test]
fn min_and_max_ignore_nan_without_the_nan_modifier() {
    assert_eq!(run("min.f32", &[NAN, single(2.0)]), single(2.0));
    assert_eq!(run("max.f32", &[single(2.0), 0xffc0_0001]), single(2.0));
    assert_eq!(run("max.f32", &[0xffc0_0001, 0x7f80_0001]), NAN);
    assert_eq!(run("min.NaN.f32", &[0xffc0_0001, single(2.0)]), NAN);
    assert_eq!(run("min.f32", &[0, MINUS_ZERO]), MINUS_ZERO);
    assert_eq!(run("max.f32", &[MINUS_ZERO, 0]), 0);
    assert_eq!(run("max.xorsign.abs.f32", &[single(-3.0), single(2.0)]), single(-3.0));
    assert_eq!(run("max.xorsign.abs.f32", &[single(-3.0), single(-2.0)]), single(3.0));
}

#[test]
fn nan_of_arithmetic_is_canonical() {
    assert_eq!(run("add.f32", &[0xffc1_2345, single(1.0)]), NAN);
    assert_eq!(run("sub.f32", &[INFINITY, INFINITY]), NAN);
    assert_eq!(run("sqrt.rn.f32", &[single(-1.0)]), NAN);
    assert_eq!(run("fma.rn.f32", &[0, INFINITY, single(1.0)]), NAN);
    assert_eq!(run("mul.f64", &[0, 0xfff0 << 48]), 0x7ff8 << 48);
    assert_eq!(run("add.f16", &[0x7c00, 0xfc00]), 0x7fff);
    assert_eq!(run("cvt.f64.f32", &[0xffc1_2345]), 0x7ff8 << 48);
    assert_eq!(run("rcp.approx.ftz.f64", &[0x7ff8 << 48]), 0x7fff_ffff_0000_0000);
}

#[test]
fn roundings_differ_in_the_last_bit() {
    // 1 + 2^−25 is between 1 and the next f32.
    let (one, little) = (single(1.0), single(2f32.powi(-25)));
    assert_eq!(run("add.rn.f32", &[one, little]), one);
    assert_eq!(run("add.rz.f32", &[one, little]), one);
    assert_eq!(run("add.rm.f32", &[one, little]), one);
    assert_eq!(run("add.rp.f32", &[one, little]), one + 1);
    assert_eq!(run("add.rm.f32", &[one | MINUS_ZERO, little | MINUS_ZERO]), (one | MINUS_ZERO) + 1);
    assert_eq!(run("add.rm.f32", &[one, one | MINUS_ZERO]), MINUS_ZERO);
    assert_eq!(run("add.rn.f32", &[one, one | MINUS_ZERO]), 0);
    assert_eq!(run("mul.rz.f32", &[INFINITY - 1, single(2.0)]), INFINITY - 1);
    assert_eq!(run("mul.rm.f32", &[INFINITY - 1, single(-2.0)]), MINUS_INFINITY);
    assert_eq!(run("div.rp.f64", &[1f64.to_bits(), 3f64.to_bits()]), (1.0f64 / 3.0).to_bits() + 1);
    assert_eq!(run("sqrt.rp.f64", &[2f64.to_bits()]), 2f64.sqrt().to_bits());
    assert_eq!(run("sqrt.rm.f64", &[2f64.to_bits()]), 2f64.sqrt().to_bits() - 1);
    // (1 + 2^−12)² = 1 + 2^−11 + 2^−24: only a fused operation keeps the last term.
    let a = single(1.0 + 2f32.powi(-12));
    assert_eq!(run("fma.rn.f32", &[a, a, single(-1.0 - 2f32.powi(-11))]), single(2f32.powi(-24)));
}

#[test]
fn subnormal_numbers_count_unless_flushed() {
    assert_eq!(run("add.f32", &[SUBNORMAL, 0]), SUBNORMAL);
    assert_eq!(run("add.ftz.f32", &[SUBNORMAL, 0]), 0);
    assert_eq!(run("mul.ftz.f32", &[MINUS_SUBNORMAL, single(4.0)]), MINUS_ZERO);
    assert_eq!(run("mul.ftz.f32", &[0x0080_0000, single(-0.5)]), MINUS_ZERO);
    assert_eq!(run("setp.eq.f32", &[SUBNORMAL, 0]), 0);
    assert_eq!(run("setp.eq.ftz.f32", &[SUBNORMAL, 0]), 1);
    assert_eq!(run("abs.ftz.f32", &[MINUS_SUBNORMAL]), 0);
    assert_eq!(run("cvt.rpi.s32.f32", &[SUBNORMAL]), 1);
    assert_eq!(run("cvt.rpi.ftz.s32.f32", &[SUBNORMAL]), 0);
    assert_eq!(run("mul.f16", &[0x0400, 0x3800]), 0x0200);
    assert_eq!(run("testp.subnormal.f32", &[SUBNORMAL]), 1);
    assert_eq!(run("testp.normal.f32", &[MINUS_ZERO]), 1);
}

#[test]
fn saturation_clamps_to_zero_and_one() {
    assert_eq!(run("add.sat.f32", &[single(3.0), single(4.0)]), single(1.0));
    assert_eq!(run("add.sat.f32", &[single(3.0), single(-4.0)]), 0);
    assert_eq!(run("mul.sat.f32", &[NAN, single(1.0)]), 0);
    assert_eq!(run("mul.sat.f32", &[MINUS_ZERO, single(1.0)]), 0);
    assert_eq!(run("add.sat.s32", &[0x7fff_ffff, 1]), 0x7fff_ffff);
    assert_eq!(run("sub.sat.s32", &[0x8000_0000, 1]), 0x8000_0000);
    assert_eq!(run("fma.rn.relu.f16", &[0x3c00, 0xbc00, 0]), 0);
}

#[test]
fn comparisons_with_nan_hold_only_in_unordered_forms() {
    for name in ["eq", "ne", "lt", "le", "gt", "ge", "num"] {
        assert_eq!(run(&format!("setp.{name}.f32"), &[NAN, single(1.0)]), 0, "{name}");
    }
    for name in ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"] {
        assert_eq!(run(&format!("setp.{name}.f64"), &[1f64.to_bits(), f64::NAN.to_bits()]), 1, "{name}");
    }
    assert_eq!(run("setp.eq.f32", &[0, MINUS_ZERO]), 1);
    assert_eq!(run("setp.lt.s32", &[0xffff_ffff, 0]), 1);
    assert_eq!(run("setp.lo.u32", &[0xffff_ffff, 0]), 0);
    assert_eq!(run("set.lt.u32.s32", &[0xffff_ffff, 0]), 0xffff_ffff);
    assert_eq!(run("set.lt.f32.s32", &[0xffff_ffff, 0]), single(1.0));
    assert_eq!(run("slct.b32.f32", &[5, 6, MINUS_ZERO]), 5);
    assert_eq!(run("slct.b32.f32", &[5, 6, NAN]), 6);
}

#[test]
fn conversions_clamp_and_round() {
    assert_eq!(run("cvt.rzi.s32.f32", &[single(3e9)]), 0x7fff_ffff);
    assert_eq!(run("cvt.rzi.u32.f32", &[single(-1.0)]), 0);
    assert_eq!(run("cvt.rzi.u8.f32", &[single(300.0)]), 255);
    assert_eq!(run("cvt.rzi.s32.f32", &[NAN]), 0);
    assert_eq!(run("cvt.rzi.s64.f32", &[NAN]), 1 << 63);
    assert_eq!(run("cvt.rzi.u32.f64", &[f64::NAN.to_bits()]), 1 << 31);
    assert_eq!(run("cvt.rni.s32.f32", &[single(2.5)]), 2);
    assert_eq!(run("cvt.rni.f32.f32", &[single(-0.5)]), MINUS_ZERO);
    assert_eq!(run("cvt.rmi.s32.f32", &[single(-2.5)]), 0xffff_fffd);
    assert_eq!(run("cvt.rn.f32.u32", &[0xffff_ffff]), single(4294967296.0));
    assert_eq!(run("cvt.rz.f32.u32", &[0xffff_ffff]), single(4294967040.0));
    assert_eq!(run("cvt.s8.s32", &[0x1ff]), 0xff);
    assert_eq!(run("cvt.sat.s8.s32", &[0x1ff]), 0x7f);
    assert_eq!(run("cvt.sat.u8.s32", &[0xffff_ffff]), 0);
    assert_eq!(run("cvt.s64.s32", &[0xffff_ffff]), u64::MAX);
    assert_eq!(run("cvt.u64.s32", &[0xffff_ffff]), u64::MAX);
    // 65520 is halfway between 65504 and the unrepresentable 65536.
    assert_eq!(run("cvt.rn.f16.f32", &[single(65519.0)]), 0x7bff);
    assert_eq!(run("cvt.rn.f16.f32", &[single(65520.0)]), 0x7c00);
    assert_eq!(run("cvt.rn.satfinite.f16.f32", &[single(65520.0)]), 0x7bff);
    assert_eq!(run("cvt.rn.f16.f32", &[single(2f32.powi(-25))]), 0);
    assert_eq!(run("cvt.rn.f16.f32", &[single(2f32.powi(-25) * 1.5)]), 1);
    assert_eq!(run("cvt.rn.bf16.f32", &[0x3f80_8000]), 0x3f80);
    assert_eq!(run("cvt.rn.bf16.f32", &[0x3f81_8000]), 0x3f82);
    assert_eq!(run("cvt.rn.f16x2.f32", &[single(1.0), single(2.0)]), 0x3c00_4000);
    assert_eq!(run("cvt.rna.tf32.f32", &[0x3f80_1000]), 0x3f80_2000);
}

#[test]
fn approximations_match_the_tables_of_special_values() {
    assert_eq!(run("ex2.approx.f32", &[MINUS_INFINITY]), 0);
    assert_eq!(run("ex2.approx.f32", &[MINUS_ZERO]), single(1.0));
    assert_eq!(run("ex2.approx.f32", &[INFINITY]), INFINITY);
    assert_eq!(run("ex2.approx.f32", &[single(-140.0)]), 1 << 9);
    assert_eq!(run("ex2.approx.ftz.f32", &[single(-140.0)]), 0);
    assert_eq!(run("lg2.approx.f32", &[0]), MINUS_INFINITY);
    assert_eq!(run("lg2.approx.f32", &[MINUS_ZERO]), MINUS_INFINITY);
    assert_eq!(run("lg2.approx.f32", &[single(-1.0)]), NAN);
    assert_eq!(run("lg2.approx.f32", &[1]), single(-149.0));
    assert_eq!(run("lg2.approx.ftz.f32", &[1]), MINUS_INFINITY);
    assert_eq!(run("rcp.approx.f32", &[MINUS_ZERO]), MINUS_INFINITY);
    assert_eq!(run("rcp.approx.ftz.f32", &[MINUS_SUBNORMAL]), MINUS_INFINITY);
    assert_eq!(run("rcp.approx.f32", &[MINUS_INFINITY]), MINUS_ZERO);
    assert_eq!(run("rsqrt.approx.f32", &[MINUS_ZERO]), MINUS_INFINITY);
    assert_eq!(run("rsqrt.approx.f32", &[INFINITY]), 0);
    assert_eq!(run("rsqrt.approx.f32", &[single(-1.0)]), NAN);
    assert_eq!(run("sqrt.approx.f32", &[MINUS_ZERO]), MINUS_ZERO);
    assert_eq!(run("sin.approx.f32", &[MINUS_ZERO]), MINUS_ZERO);
    assert_eq!(run("sin.approx.f32", &[INFINITY]), NAN);
    assert_eq!(run("cos.approx.f32", &[MINUS_ZERO]), single(1.0));
    assert_eq!(run("tanh.approx.f32", &[MINUS_INFINITY]), single(-1.0));
    assert_eq!(run("tanh.approx.f32", &[SUBNORMAL]), SUBNORMAL);
    // A reciprocal below the smallest normal number is treated as zero.
    assert_eq!(run("div.approx.f32", &[single(1e30), single(2f32.powi(127))]), 0);
    assert_eq!(run("div.approx.f32", &[INFINITY, single(2f32.powi(127))]), NAN);
    assert_eq!(run("div.full.f32", &[single(6.0), single(3.0)]), single(2.0));
}

#[test]
fn an_approximation_states_its_error() {
    let error = |name: &str| {
        let parts: Vec<&str> = name.split('.').collect();
        semantics::approximation_error(parts[0], &parts[1..])
    };
    assert_eq!(error("ex2.approx.ftz.f32"), Ok(Some(ApproximationError::Ulp(2.0))));
    assert_eq!(error("tanh.approx.f32"), Ok(Some(ApproximationError::Relative(2f64.powi(-11)))));
    assert_eq!(error("add.f32"), Ok(None));
    assert!(error("add.f33").is_err());
    // Every form of the special function unit has an error bound, except the coarse forms of f64.
    for name in semantics::forms() {
        let parts: Vec<&str> = name.split('.').collect();
        let Ok(operation) = semantics::operation(parts[0], &parts[1..]) else { continue };
        let promised = error(name).expect("a known form").is_some();
        assert_eq!(promised, operation.class == Class::Special && !name.ends_with("f64"), "{name}");
    }
}

#[test]
fn a_name_outside_of_the_isa_is_unknown() {
    for name in [
        "frobnicate.u32",
        "add",
        "add.u8",
        "add.sat.u32",
        "add.rn.s32",
        "add.f32.rn",
        "add.ftz.rn.f32",
        "add.ftz.f64",
        "mul.u32",
        "mul.wide.u64",
        "mad.lo.sat.s32",
        "mad.f32",
        "fma.f32",
        "fma.rn.relu.f32",
        "div.f32",
        "sqrt.f32",
        "min.relu.u32",
        "abs.u32",
        "and.u32",
        "shl.u32",
        "shr.b8",
        "lop3.b64",
        "prmt.b32.f5e",
        "setp.lt.b32",
        "setp.lo.s32",
        "setp.ltu.s32",
        "setp.lt.ftz.f64",
        "set.lt.u32",
        "testp.finite.f16",
        "cvt.f32.s32",
        "cvt.rzi.f32.s32",
        "cvt.rn.s32.f32",
        "cvt.s32.f32",
        "cvt.rn.f64.f32",
        "cvt.sat.u32.u8",
        "cvt.ftz.u32.f64",
        "cvt.rn.rn.f16.f32",
        "cvt.bf16.f16",
        "tanh.approx.ftz.f32",
        "sin.f32",
        "ex2.approx.bf16",
        "add.cc.u16",
        "addc.cc.u16",
        "setp.lt.and.u32",
        "add.rz.f16",
        "mul.sat.bf16",
    ] {
        let parts: Vec<&str> = name.split('.').collect();
        let error = semantics::operation(parts[0], &parts[1..]).expect_err(name);
        assert_eq!((error.opcode.as_str(), error.name.as_str()), (parts[0], name));
        // For an unknown opcode, the error names the opcode without its modifiers.
        let named = if error.has_others { name } else { parts[0] };
        assert!(error.to_string().contains(named), "{name}: {error}");
    }
}

#[test]
fn an_operation_names_its_types() {
    let wide = semantics::operation("mad", &["wide", "u32"]).expect("a known form");
    assert_eq!(wide.destination, ScalarType::U64);
    assert_eq!(wide.sources, [ScalarType::U32, ScalarType::U32, ScalarType::U64]);
    assert_eq!(wide.class, Class::Integer);
    let comparison = semantics::operation("setp", &["lt", "ftz", "f32"]).expect("a known form");
    assert_eq!(comparison.destination, ScalarType::Pred);
    assert_eq!(comparison.sources, [ScalarType::F32; 2]);
    let shift = semantics::operation("shl", &["b64".to_owned()]).expect("a known form");
    assert_eq!(shift.sources, [ScalarType::B64, ScalarType::U32]);
    let pair = semantics::operation("fma", &["rn", "f16x2"]).expect("a known form");
    assert_eq!(pair.destination, ScalarType::F16x2);
    assert_eq!(pair.class, Class::Half);
}

#[test]
fn a_form_without_cc_preserves_the_carry_flag() {
    let carry =
        |opcode: &str, modifiers: &[&str]| match semantics::operation(opcode, modifiers).map(|form| form.compute) {
            Ok(Compute::Carry(compute)) => compute,
            other => panic!("{other:?} reads or writes no carry flag"),
        };
    let (plain, writing) = (carry("addc", &["u32"]), carry("sub", &["cc", "s64"]));
    let (ones, zeros) = ([u64::from(u32::MAX); LANES], [0; LANES]);
    let mut lanes = [7; LANES];
    assert_eq!(plain.compute(&mut lanes, 0x5555_5555, [&ones, &zeros, &zeros, &zeros]), 0x5555_5555);
    assert_eq!((lanes[0], lanes[1]), (0, u64::from(u32::MAX)));
    // 0 − (2^32 − 1) borrows for any previous flag.
    assert_eq!(writing.compute(&mut lanes, 0, [&zeros, &ones, &zeros, &zeros]), u32::MAX);
    assert_eq!(lanes[5], 0u64.wrapping_sub(u64::from(u32::MAX)));
}

#[test]
fn floats_of_8_bits_have_the_values_of_their_formats() {
    // 1, the largest finite number, the smallest subnormal one, the largest one and the smallest normal one.
    for (format, bits, halves) in [
        ("e4m3x2", 0x387e, 0x3c00_5f00),
        ("e4m3x2", 0x0107, 0x1800_2300),
        ("e4m3x2", 0x0880, 0x2400_8000),
        ("e4m3x2", 0x7fff, 0x7fff_7fff),
        ("e5m2x2", 0x3c7b, 0x3c00_7b00),
        ("e5m2x2", 0x0103, 0x0100_0300),
        ("e5m2x2", 0x7cfc, 0x7c00_fc00),
        ("e5m2x2", 0x7d80, 0x7fff_8000),
    ] {
        assert_eq!(run(&format!("cvt.rn.f16x2.{format}"), &[bits]), halves, "{format} {bits:x}");
    }
    assert_eq!(run("cvt.rn.relu.f16x2.e4m3x2", &[0xb880]), 0);
    // The first source is in the upper half. Ties go to even, and values that are too large to the
    // largest finite number.
    for (values, e4m3, e5m2) in [
        ([1.0, 2.0], 0x3840, 0x3c40),
        ([1.0625, -1.1875], 0x38ba, 0x3cbd),
        ([1.125, 1.375], 0x393b, 0x3c3e),
        ([448.0, 464.0], 0x7e7e, 0x5f5f),
        ([1e9, -1e9], 0x7efe, 0x7bfb),
        ([f32::INFINITY, f32::NEG_INFINITY], 0x7efe, 0x7bfb),
        ([f32::NAN, -f32::NAN], 0x7f7f, 0x7f7f),
        ([0.0, -0.0], 0x0080, 0x0080),
        ([0.0009765625, 0.0009765626], 0x0001, 0x1414),
        ([1e-40, -1e-40], 0x0080, 0x0080),
    ] {
        let sources = values.map(single);
        assert_eq!(run("cvt.rn.satfinite.e4m3x2.f32", &sources), e4m3, "{values:?}");
        assert_eq!(run("cvt.rn.satfinite.e5m2x2.f32", &sources), e5m2, "{values:?}");
    }
    assert_eq!(run("cvt.rn.satfinite.relu.e4m3x2.f32", &[single(-3.0), single(f32::NAN)]), 0x007f);
    assert_eq!(run("cvt.rn.satfinite.e5m2x2.f16x2", &[0x7c00_7e00]), 0x7b7f);
}
