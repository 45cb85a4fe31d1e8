//! Warp-level matrix products, and the loads of their fragments.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{FaultKind, LoadError};
use rand::{RngExt, SeedableRng, rngs::SmallRng};

/// Element type of A and B: its name, the number of elements per register, and the conversion to bits.
struct Element {
    name: &'static str,
    per_register: usize,
    bits: fn(f32) -> u32,
}

/// The f16 bits of a small integer. It is exact in every element type.
pub(crate) fn f16_bits(value: f32) -> u32 {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return 0;
    }
    let exponent = magnitude.log2().floor();
    let significand = (magnitude / exponent.exp2() * 1024.0) as u32 - 1024;
    u32::from(value < 0.0) << 15 | ((exponent as i32 + 15) as u32) << 10 | significand
}

pub(crate) fn f16_value(bits: u32) -> f32 {
    let magnitude = match (bits >> 10 & 31, bits & 1023) {
        (0, significand) => significand as f32 / 1024.0 * (-14_f32).exp2(),
        (exponent, significand) => (1.0 + significand as f32 / 1024.0) * (exponent as f32 - 15.0).exp2(),
    };
    if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
}

const F16: Element = Element { name: "f16", per_register: 2, bits: f16_bits };
const BF16: Element = Element { name: "bf16", per_register: 2, bits: |value| value.to_bits() >> 16 };
/// For small integers, the value is the f16's without the low bits; e4m3 has a different bias.
const E4M3: Element = Element {
    name: "e4m3",
    per_register: 4,
    bits: |value| match f16_bits(value) {
        0 => 0,
        half => half >> 15 << 7 | ((half >> 10 & 31) - 8) << 3 | half >> 7 & 7,
    },
};
const E5M2: Element = Element { name: "e5m2", per_register: 4, bits: |value| f16_bits(value) >> 8 };
const TF32: Element = Element { name: "tf32", per_register: 1, bits: f32::to_bits };

/// Row and column of element `i` of a lane's fragment of A (PTX ISA 9.7.15.5, "Matrix Fragments for mma").
fn position_in_a(element: &Element, depth: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    match (element.name, depth) {
        ("tf32", 4) => (if i == 0 { group } else { group + 8 }, thread),
        ("tf32", _) => (if i == 0 || i == 2 { group } else { group + 8 }, if i < 2 { thread } else { thread + 4 }),
        (_, 8) => (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1)),
        (_, 32) => (
            if i < 4 || (8..12).contains(&i) { group } else { group + 8 },
            thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 },
        ),
        _ => (
            if i < 2 || (4..6).contains(&i) { group } else { group + 8 },
            thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 },
        ),
    }
}

fn position_in_b(element: &Element, depth: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    let row = match (element.name, depth) {
        ("tf32", 4) => thread,
        ("tf32", _) => {
            if i == 0 {
                thread
            } else {
                thread + 4
            }
        }
        (_, 8) => thread * 2 + i,
        (_, 32) => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        _ => thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
    };
    (row, group)
}

fn position_in_c(lane: usize, i: usize) -> (usize, usize) {
    (if i < 2 { lane / 4 } else { lane / 4 + 8 }, lane % 4 * 2 + (i & 1))
}

#[test]
fn products_match_the_reference() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(9));
    for (element, element_b, depth, accumulator) in [
        (&TF32, &TF32, 4, "f32"),
        (&TF32, &TF32, 8, "f32"),
        (&F16, &F16, 8, "f32"),
        (&F16, &F16, 16, "f32"),
        (&BF16, &BF16, 8, "f32"),
        (&BF16, &BF16, 16, "f32"),
        (&F16, &F16, 8, "f16"),
        (&F16, &F16, 16, "f16"),
        (&E4M3, &E4M3, 32, "f32"),
        (&E5M2, &E5M2, 32, "f32"),
        (&E4M3, &E5M2, 32, "f32"),
    ] {
        for _ in 0..4 {
            let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<f32>> {
                (0..rows).map(|_| (0..columns).map(|_| rng.random_range(-8..=8) as f32).collect()).collect()
            };
            let (a, b, c) = (matrix(16, depth), matrix(depth, 8), matrix(16, 8));
            // The registers of each lane: A, B, C.
            let (of_a, of_b) = (16 * depth / 32, 8 * depth / 32);
            let mut input = Vec::new();
            let mut pack = |elements: Vec<f32>, per_register: usize, bits: fn(f32) -> u32| {
                for part in elements.chunks(per_register) {
                    input.push(
                        part.iter().rev().fold(0, |word, value| word << (32 / per_register).min(16) | bits(*value)),
                    );
                }
            };
            let half = accumulator == "f16";
            for lane in 0..32 {
                let at = |matrix: &[Vec<f32>], (row, column): (usize, usize)| matrix[row][column];
                pack(
                    (0..of_a).map(|i| at(&a, position_in_a(element, depth, lane, i))).collect(),
                    element.per_register,
                    element.bits,
                );
                pack(
                    (0..of_b).map(|i| at(&b, position_in_b(element, depth, lane, i))).collect(),
                    element.per_register,
                    element_b.bits,
                );
                let c = (0..4).map(|i| at(&c, position_in_c(lane, i))).collect();
                if half { pack(c, 2, f16_bits) } else { pack(c, 1, f32::to_bits) }
            }
            let counts = [of_a / element.per_register, of_b / element.per_register, if half { 2 } else { 4 }];
            let (mut body, mut next) =
                (format!("mad.wide.u32 d0, tid, {}, input;\n", counts.iter().sum::<usize>() * 4), 0);
            let mut vectors = Vec::new();
            for count in counts {
                let names: Vec<String> = (next..next + count).map(|register| format!("r{register}")).collect();
                for (index, name) in names.iter().enumerate() {
                    body += &format!("ld.global.u32 {name}, [d0+{}];\n", (next + index) * 4);
                }
                vectors.push(if count == 1 && element.name != "f16" {
                    names[0].clone()
                } else {
                    format!("{{{}}}", names.join(", "))
                });
                next += count;
            }
            let (name, name_b, d) =
                (element.name, element_b.name, if half { "{r30, r31}" } else { "{r30, r31, r32, r33}" });
            body += &format!(
                "mma.sync.aligned.m16n8k{depth}.row.col.{accumulator}.{name}.{name_b}.{accumulator} {d}, {}, {}, {};
                 mad.wide.u32 d1, tid, 16, output; st.global.v2.u32 [d1], {{r30, r31}};\n",
                vectors[0], vectors[1], vectors[2]
            );
            body += if half { "ret;" } else { "st.global.v2.u32 [d1+8], {r32, r33}; ret;" };
            let found = Kernel::new(body).input(&input).words(128);
            for lane in 0..32 {
                for i in 0..4 {
                    let (row, column) = position_in_c(lane, i);
                    let expected = (0..depth).map(|k| a[row][k] * b[k][column]).sum::<f32>() + c[row][column];
                    let value = match half {
                        true => f16_value(found[lane * 4 + i / 2] >> (i % 2 * 16) & 0xffff),
                        false => f32::from_bits(found[lane * 4 + i]),
                    };
                    assert_eq!(value, expected, "{name} {depth} {accumulator}: row {row}, column {column}");
                }
            }
        }
    }
}

#[test]
fn products_of_bytes_and_of_f64_match_the_reference() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(10));
    let bytes = [(8, 16), (16, 16), (16, 32)].map(|shape| (shape, ["s8", "u8"]));
    let doubles = [(8, 4), (16, 4), (16, 8), (16, 16)].map(|shape| (shape, ["f64", "f64"]));
    for ((rows, depth), [one, other]) in bytes.into_iter().chain(doubles) {
        for (of_a, of_b, modifier) in [(one, other, ""), (other, one, ""), (one, one, "s"), (other, other, "r")] {
            let is_f64 = one == "f64";
            let modifier = match (modifier, is_f64) {
                ("s", false) => ".satfinite",
                ("r", true) => ".rn",
                _ => "",
            };
            // For bytes, C reaches the ends of its range, where sums wrap around or saturate.
            let limit = if is_f64 { 1000.0 } else { f64::from(i32::MAX) };
            let mut matrix = |rows: usize, columns: usize, low: f64, high: f64| -> Vec<Vec<f64>> {
                let element =
                    |rng: &mut SmallRng| rng.random_range(low..=high).round() / if is_f64 { 8.0 } else { 1.0 };
                (0..rows).map(|_| (0..columns).map(|_| element(&mut rng)).collect()).collect()
            };
            let range = |name: &str| if name == "u8" { (0.0, 255.0) } else { (-128.0, 127.0) };
            let a = matrix(rows, depth, range(of_a).0, range(of_a).1);
            let b = matrix(depth, 8, range(of_b).0, range(of_b).1);
            let mut c = matrix(rows, 8, -limit, limit);
            if !is_f64 {
                (c[0][0], c[1][1], c[2][2]) = (f64::from(i32::MAX), f64::from(i32::MIN), 0.0);
            }
            // The elements of each lane's registers, from the tables of the PTX ISA.
            let per_register = if is_f64 { 1 } else { 4 };
            let (in_a, in_b, in_c) = (rows * depth / 32, depth * 8 / 32, rows * 8 / 32);
            let at_a = |lane: usize, i: usize| {
                let (register, part) = (i / per_register, i % per_register);
                let (upper, column) = if rows == 16 { (register % 2, register / 2) } else { (0, register) };
                a[lane / 4 + 8 * upper][column * 4 * per_register + lane % 4 * per_register + part]
            };
            let at_b = |lane: usize, i: usize| {
                let (register, part) = (i / per_register, i % per_register);
                b[register * 4 * per_register + lane % 4 * per_register + part][lane / 4]
            };
            let mut words: Vec<u64> = Vec::new();
            let mut pack = |elements: Vec<f64>| {
                let byte = |value: f64| u64::from(value as i64 as u8);
                words.extend(elements.chunks(per_register).map(|part| match part {
                    [value] => value.to_bits(),
                    bytes => bytes.iter().rev().fold(0, |word, value| word << 8 | byte(*value)),
                }));
            };
            for lane in 0..32 {
                pack((0..in_a).map(|i| at_a(lane, i)).collect());
                pack((0..in_b).map(|i| at_b(lane, i)).collect());
            }
            for lane in 0..32 {
                for i in 0..in_c {
                    let (row, column) = position_in_c(lane, i);
                    words.push(if is_f64 { c[row][column].to_bits() } else { u64::from(c[row][column] as i32 as u32) });
                }
            }
            let (of_lane, sum, register) =
                ((in_a + in_b) / per_register, if is_f64 { "f64" } else { "s32" }, if is_f64 { "d" } else { "r" });
            let mut body =
                format!("mad.wide.u32 d0, tid, {}, input; mad.wide.u32 d1, tid, {}, input;\n", of_lane * 8, in_c * 8);
            let load = |index: usize, base: &str, offset: usize| match is_f64 {
                true => format!("ld.global.u64 d{index}, [{base}+{offset}];\n"),
                false => format!("ld.global.u32 r{index}, [{base}+{offset}];\n"),
            };
            let vector = |from: usize, count: usize| {
                let names: Vec<String> = (from..from + count).map(|index| format!("{register}{index}")).collect();
                format!("{{{}}}", names.join(", "))
            };
            (0..of_lane).for_each(|index| body += &load(10 + index, "d0", index * 8));
            (0..in_c).for_each(|index| body += &load(4 + index, "d1", of_lane * 8 * 32 + index * 8));
            let (a_registers, b_registers) = (in_a / per_register, in_b / per_register);
            body += &format!(
                "mma.sync.aligned.m{rows}n8k{depth}.row.col{modifier}.{sum}.{of_a}.{of_b}.{sum} {}, {}, {}, {};
                 mad.wide.u32 d0, tid, {}, output;\n",
                vector(4, in_c),
                vector(10, a_registers),
                vector(10 + a_registers, b_registers),
                vector(4, in_c),
                in_c * 8
            );
            for index in 0..in_c {
                if !is_f64 {
                    body += &format!("cvt.s64.s32 d{}, r{};\n", 4 + index, 4 + index);
                }
                body += &format!("st.global.u64 [d0+{}], d{};\n", index * 8, 4 + index);
            }
            let found = Kernel::new(body + "ret;").input8(&words).output_bytes(256 * in_c).words8(32 * in_c);
            for lane in 0..32 {
                for i in 0..in_c {
                    let (row, column) = position_in_c(lane, i);
                    let expected = (0..depth).map(|k| a[row][k] * b[k][column]).sum::<f64>() + c[row][column];
                    let word = found[lane * in_c + i];
                    let context = format!("m{rows}k{depth} {of_a} {of_b}{modifier}: row {row}, column {column}");
                    match (is_f64, modifier) {
                        (true, _) => assert_eq!(f64::from_bits(word), expected, "{context}"),
                        (_, ".satfinite") => assert_eq!(word as i64, i64::from(expected as i32), "{context}"),
                        _ => assert_eq!(word as i64, i64::from(expected as i64 as i32), "{context}"),
                    }
                }
            }
        }
    }
}

/// Each sum begins with C and adds the products in the order of k, each by a fused multiply-add: no other order has these bits.
#[test]
fn products_of_f64_are_chains_of_multiply_adds() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(11));
    let mut matrix = |count: usize| -> Vec<f64> { (0..count).map(|_| rng.random_range(1.0..2.0)).collect() };
    let (a, b, c) = (matrix(8 * 4), matrix(4 * 8), matrix(8 * 8));
    let words: Vec<u64> = (0..32)
        .flat_map(|lane| {
            let (group, place) = (lane / 4, lane % 4);
            let [left, right] = [0, 1].map(|i| c[group * 8 + 2 * place + i]);
            [a[group * 4 + place], b[place * 8 + group], left, right].map(f64::to_bits)
        })
        .collect();
    let body = "
        mad.wide.u32 d0, tid, 32, input; ld.global.u64 d2, [d0]; ld.global.u64 d3, [d0+8];
        ld.global.u64 d4, [d0+16]; ld.global.u64 d5, [d0+24];
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d4, d5}, {d2}, {d3}, {d4, d5};
        mad.wide.u32 d1, tid, 16, output; st.global.u64 [d1], d4; st.global.u64 [d1+8], d5; ret;";
    let found = Kernel::new(body).input8(&words).output_bytes(512).words8(64);
    for (i, word) in found.into_iter().enumerate() {
        let (row, column) = (i / 8, i % 8);
        let chain = (0..4).fold(c[i], |sum, k| a[row * 4 + k].mul_add(b[k * 8 + column], sum));
        assert_eq!(f64::from_bits(word), chain, "row {row}, column {column}");
    }
}

#[test]
fn a_tf32_operand_is_truncated_to_ten_fraction_bits() {
    let body = "
        mov.f32 r0, 0f3f801fff; mov.f32 r1, 0f3f800000; mov.u32 r2, 0;
        mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {r4, r5, r6, r7}, {r0, r0}, {r1}, {r2, r2, r2, r2};
        st.global.u32 [cell], r4; ret;";
    assert_eq!(Kernel::new(body).words(32), [4_f32.to_bits(); 32]);
}

#[test]
fn infinities_and_nans_spread_along_their_row() {
    let body = "
        mov.u32 r0, 0; mov.f32 r1, 0f3f800000; mov.u32 r2, 0; setp.eq.u32 p0, tid, 4; @p0 mov.f32 r0, 0f7f800000;
        mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {r4, r5, r6, r7}, {r0, r2}, {r1}, {r2, r2, r2, r2};
        mad.wide.u32 d1, tid, 16, output; st.global.v4.u32 [d1], {r4, r5, r6, r7}; ret;";
    let infinity = f32::INFINITY.to_bits();
    let expected = each(32, |lane| if lane / 4 == 1 { [infinity, infinity, 0, 0] } else { [0; 4] });
    assert_eq!(Kernel::new(body).words(128), expected.concat());
    let nan = body.replace("mov.f32 r1, 0f3f800000;", "mov.u32 r1, 0;");
    for (index, word) in Kernel::new(nan).words(128).into_iter().enumerate() {
        assert_eq!(f32::from_bits(word).is_nan(), index / 16 == 1 && index % 4 < 2, "{index}");
    }
}

const ROOM: &str = ".shared .align 16 .b8 room[512];\n";

#[test]
fn ldmatrix_loads_two_elements_of_each_matrix_per_lane() {
    for count in [1, 2, 4] {
        for (trans, transposed) in [("", false), (".trans", true)] {
            let registers: Vec<String> = (0..count).map(|i| format!("r{}", i + 10)).collect();
            let registers = registers.join(", ");
            // Lane 8 m + i supplies the address of row i of matrix m; here the rows are in reverse order.
            let mut body = format!(
                "mad.wide.u32 d0, tid, 16, input; mov.u32 r0, room; mad.lo.u32 r1, tid, 16, r0;
                 ld.global.v4.u32 {{r2, r3, r4, r5}}, [d0]; st.shared.v4.u32 [r1], {{r2, r3, r4, r5}}; bar.sync 0;
                 xor.b32 r1, tid, 31; mad.lo.u32 r1, r1, 16, r0;
                 ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [r1];
                 mad.wide.u32 d1, tid, 16, output;\n"
            );
            for i in 0..count {
                body += &format!("st.global.u32 [d1+{}], r{};\n", i * 4, i + 10);
            }
            let elements = each(256, |i| i * 3 + 1);
            let input: Vec<u32> = elements.chunks(2).map(|pair| pair[0] | pair[1] << 16).collect();
            let found = Kernel::new(body + "ret;").declare(ROOM).input(&input).words(128);
            for lane in 0..32 {
                for matrix in 0..4 {
                    let element = |row: usize, column: usize| elements[(31 - (matrix * 8 + row)) * 8 + column];
                    let (major, minor) = (lane / 4, lane % 4 * 2);
                    let expected = match (matrix < count, transposed) {
                        (false, _) => 0,
                        (_, false) => element(major, minor) | element(major, minor + 1) << 16,
                        (_, true) => element(minor, major) | element(minor + 1, major) << 16,
                    };
                    assert_eq!(found[lane * 4 + matrix], expected, "x{count}{trans} lane {lane} matrix {matrix}");
                }
            }
        }
    }
}

#[test]
fn a_product_of_loaded_fragments_matches_the_reference() {
    // Like in a kernel: A (16 × 16) is loaded with x4, and B (16 × 8, row-major) with x2.trans.
    let body = "
        mad.wide.u32 d0, tid, 16, input; mov.u32 r0, room; mad.lo.u32 r1, tid, 16, r0;
        ld.global.v4.u32 {r2, r3, r4, r5}, [d0]; st.shared.v4.u32 [r1], {r2, r3, r4, r5};
        setp.lt.u32 p0, tid, 16; @p0 ld.global.v4.u32 {r2, r3, r4, r5}, [d0+512]; @p0 st.shared.v4.u32 [r1+512], {r2, r3, r4, r5};
        bar.sync 0;
        and.b32 r1, tid, 15; mul.lo.u32 r1, r1, 32; shr.u32 r2, tid, 4; mad.lo.u32 r1, r2, 16, r1; add.u32 r1, r1, r0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r10, r11, r12, r13}, [r1];
        and.b32 r1, tid, 15; mad.lo.u32 r1, r1, 16, r0;
        ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {r14, r15}, [r1+512];
        mov.u32 r20, 0;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {r4, r5, r6, r7}, {r10, r11, r12, r13}, {r14, r15}, {r20, r20, r20, r20};
        mad.wide.u32 d1, tid, 16, output; st.global.v4.u32 [d1], {r4, r5, r6, r7}; ret;";
    let value = |i: usize| (i * 7 % 17) as f32 - 8.0;
    let bits: Vec<u32> = (0..384).map(|i| f16_bits(value(i))).collect();
    let input: Vec<u32> = bits.chunks(2).map(|pair| pair[0] | pair[1] << 16).collect();
    let found = Kernel::new(body).declare(".shared .align 16 .b8 room[768];\n").input(&input).words(128);
    for lane in 0..32 {
        for i in 0..4 {
            let (row, column) = position_in_c(lane, i);
            let expected: f32 = (0..16).map(|k| value(row * 16 + k) * value(256 + k * 8 + column)).sum();
            assert_eq!(f32::from_bits(found[lane * 4 + i]), expected);
        }
    }
}

#[test]
fn matrix_instructions_need_a_whole_warp() {
    let product =
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {r4, r5, r6, r7}, {r0, r0}, {r0}, {r0, r0, r0, r0};";
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r4}, [room];";
    for text in [product, load] {
        let branch = Kernel::new(format!(
            "st.shared.u32 [room], 1; mov.u32 r0, 0; setp.lt.u32 p0, tid, 3; @p0 bra DONE;\n{text}\nDONE: ret;"
        ));
        let kind = branch.without_race_checks().declare(ROOM).fault(text, 0, 3);
        assert_eq!(kind, FaultKind::MissingLanes { expected: u32::MAX, missing: 7 });
        let partial = Kernel::new(format!("mov.u32 r0, 0;\n{text}\nret;")).declare(ROOM).shape(1, 40);
        let kind = partial.clone().shape(1, 20).fault(text, 0, 0);
        assert_eq!(kind, FaultKind::MissingLanes { expected: u32::MAX, missing: 0xfff0_0000 });
    }
}

#[test]
fn row_addresses_are_checked_as_other_accesses() {
    let text = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r4}, [r1];";
    for (begin, fault) in [
        ("add.u32 r1, r1, 2;", "Misaligned"),
        ("setp.eq.u32 p0, tid, 5; @p0 add.u32 r1, r1, 4096;", "OutOfBounds"),
        ("", "Uninitialised"),
    ] {
        let kernel =
            Kernel::new(format!("mov.u32 r1, room; mad.lo.u32 r1, tid, 16, r1; {begin}\n{text}\nret;")).declare(ROOM);
        let thread = if fault == "OutOfBounds" { 5 } else { 0 };
        let body_before =
            if fault == "OutOfBounds" { "mov.u32 r9, 0; st.shared.v4.u32 [r1], {r9, r9, r9, r9};" } else { "" };
        let kernel = match body_before {
            "" => kernel,
            write => Kernel::new(format!(
                "mov.u32 r1, room; mad.lo.u32 r1, tid, 16, r1; {write} bar.sync 0; {begin}\n{text}\nret;"
            ))
            .declare(ROOM),
        };
        let FaultKind::Access { error, .. } = kernel.fault(text, 0, thread) else { panic!() };
        let found = match error {
            AccessError::Misaligned { alignment: 16, .. } => "Misaligned",
            AccessError::OutOfBounds { .. } => "OutOfBounds",
            AccessError::Uninitialised { .. } => "Uninitialised",
            other => panic!("{other}"),
        };
        assert_eq!(found, fault);
    }
}

#[test]
fn mismatched_shapes_and_types_are_rejected() {
    for text in [
        "mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {r0, r1, r2, r3}, {r0, r1, r2, r3}, {r0, r1}, {r0, r1, r2, r3};",
        "mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {r0, r1, r2, r3}, {r0, r1}, {r0}, {r0, r1, r2, r3};",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {r0, r1, r2, r3}, {r0, r1}, {r0}, {r0, r1, r2, r3};",
        "mma.sync.aligned.m16n8k8.row.col.f16.bf16.bf16.f16 {r0, r1}, {r0, r1}, {r0}, {r0, r1};",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {r0, r1, r2}, {r0, r1}, {r0}, {r0, r1, r2, r3};",
        "mma.sync.m16n8k8.row.col.f32.f16.f16.f32 {r0, r1, r2, r3}, {r0, r1}, {r0}, {r0, r1, r2, r3};",
        "mma.sync.aligned.m8n8k4.row.col.satfinite.f64.f64.f64.f64 {d0, d1}, {d2}, {d3}, {d0, d1};",
        "mma.sync.aligned.m8n8k8.row.col.f64.f64.f64.f64 {d0, d1}, {d2}, {d3}, {d0, d1};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0, d1}, {d2, d4}, {d3}, {d0, d1};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f32.f64 {d0, d1}, {d2}, {d3}, {d0, d1};",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {r0, r1}, {d2}, {d3}, {r0, r1};",
        "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {r0, r1, r2}, [r3];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r0}, [r3];",
        "ldmatrix.sync.aligned.m8n8.x1.global.b16 {r0}, [d3];",
    ] {
        let error = Kernel::new(format!("{text} ret;")).load_error();
        assert!(
            matches!(&error, LoadError::Statement { text: found, .. } if text.starts_with(found.as_str())),
            "{error}"
        );
    }
}
