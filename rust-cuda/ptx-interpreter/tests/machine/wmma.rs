//! Matrix products with `wmma`.

use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{FaultKind, LoadError};
use rand::{RngExt, SeedableRng, rngs::SmallRng};

use super::matrix::{f16_bits, f16_value};
use crate::support::kernel::Kernel;

/// The bits of small integers, and their values.
#[derive(Clone, Copy)]
struct Element {
    name: &'static str,
    bytes: usize,
    bits: fn(i32) -> u64,
    value: fn(u64) -> f64,
}

const F16: Element = Element {
    name: "f16",
    bytes: 2,
    bits: |value| f16_bits(value as f32).into(),
    value: |bits| f16_value(bits as u32).into(),
};
const F32: Element = Element {
    name: "f32",
    bytes: 4,
    bits: |value| (value as f32).to_bits().into(),
    value: |bits| f32::from_bits(bits as u32).into(),
};
const BF16: Element =
    Element { name: "bf16", bytes: 2, bits: |value| u64::from((value as f32).to_bits() >> 16), value: |_| 0.0 };
const TF32: Element = Element { name: "tf32", ..F32 };
const F64: Element = Element { name: "f64", bytes: 8, bits: |value| f64::from(value).to_bits(), value: f64::from_bits };
const S8: Element = Element { name: "s8", bytes: 1, bits: |value| u64::from(value as u8), value: |_| 0.0 };
const U8: Element = Element { name: "u8", bits: |value| u64::from(value.unsigned_abs()), ..S8 };
const S32: Element =
    Element { name: "s32", bytes: 4, bits: |value| u64::from(value as u32), value: |bits| f64::from(bits as i32) };

/// A shape, the types of A and B, of C and of D, and the number of registers of each fragment.
type Form = (&'static str, [usize; 3], [Element; 3], [usize; 4]);

const FORMS: [Form; 17] = [
    ("m16n16k16", [16, 16, 16], [F16, F32, F32], [8, 8, 8, 8]),
    ("m32n8k16", [32, 8, 16], [F16, F32, F32], [8, 8, 8, 8]),
    ("m8n32k16", [8, 32, 16], [F16, F32, F32], [8, 8, 8, 8]),
    ("m16n16k16", [16, 16, 16], [F16, F16, F16], [8, 8, 4, 4]),
    ("m8n32k16", [8, 32, 16], [F16, F16, F16], [8, 8, 4, 4]),
    ("m16n16k16", [16, 16, 16], [F16, F16, F32], [8, 8, 4, 8]),
    ("m32n8k16", [32, 8, 16], [F16, F32, F16], [8, 8, 8, 4]),
    ("m16n16k16", [16, 16, 16], [BF16, F32, F32], [4, 4, 8, 8]),
    ("m32n8k16", [32, 8, 16], [BF16, F32, F32], [8, 2, 8, 8]),
    ("m8n32k16", [8, 32, 16], [BF16, F32, F32], [2, 8, 8, 8]),
    ("m16n16k8", [16, 16, 8], [TF32, F32, F32], [4, 4, 8, 8]),
    ("m8n8k4", [8, 8, 4], [F64, F64, F64], [1, 1, 2, 2]),
    ("m16n16k16", [16, 16, 16], [S8, S32, S32], [2, 2, 8, 8]),
    ("m32n8k16", [32, 8, 16], [S8, S32, S32], [4, 1, 8, 8]),
    ("m8n32k16", [8, 32, 16], [U8, S32, S32], [1, 4, 8, 8]),
    ("m16n16k16", [16, 16, 16], [U8, S32, S32], [2, 2, 8, 8]),
    ("m32n8k16", [32, 8, 16], [U8, S32, S32], [4, 1, 8, 8]),
];

/// Registers starting at `first`, in braces.
fn registers(element: Element, first: usize, count: usize) -> String {
    let kind = if element.bytes == 8 { "d" } else { "r" };
    let names: Vec<String> = (first..first + count).map(|number| format!("{kind}{number}")).collect();
    if count == 1 { names.concat() } else { format!("{{{}}}", names.join(", ")) }
}

/// A matrix in memory, by rows or by columns: its length and the position of an element.
#[derive(Clone, Copy)]
struct Layout {
    rows: usize,
    columns: usize,
    by_columns: bool,
    stride: usize,
}

impl Layout {
    fn length(self) -> usize {
        self.stride * if self.by_columns { self.columns } else { self.rows }
    }

    fn place(self, row: usize, column: usize) -> usize {
        if self.by_columns { column * self.stride + row } else { row * self.stride + column }
    }

    fn name(self) -> &'static str {
        if self.by_columns { "col" } else { "row" }
    }
}

/// The four matrices of a form in random layouts.
fn layouts([m, n, k]: [usize; 3], elements: [Element; 4], random: &mut SmallRng) -> [Layout; 4] {
    let shapes = [(m, k), (k, n), (m, n), (m, n)];
    std::array::from_fn(|matrix| {
        let (rows, columns) = shapes[matrix];
        let by_columns = random.random();
        let least: usize = if by_columns { rows } else { columns };
        let step = 16 / elements[matrix].bytes;
        Layout { rows, columns, by_columns, stride: least.next_multiple_of(step) + step * random.random_range(0..3) }
    })
}

const PLACES: [usize; 3] = [0, 4096, 8192];

fn body(form: &Form, layouts: [Layout; 4], space: &str) -> String {
    let (shape, _, [factor, c, d], counts) = *form;
    let elements = [factor, factor, c, d];
    let names = [0, 1, 2, 3].map(|matrix| registers(elements[matrix], 10 + 8 * matrix, counts[matrix]));
    let mut body = String::new();
    for (matrix, place) in PLACES.iter().enumerate() {
        let (layout, element) = (layouts[matrix], elements[matrix]);
        body += &format!(
            "add.u64 d1, input, {place}; wmma.load.{}.sync.aligned.{}.{shape}{space}.{} {}, [d1], {};\n",
            ["a", "b", "c"][matrix],
            layout.name(),
            element.name,
            names[matrix],
            layout.stride
        );
    }
    let types = match (factor.name, d.name) {
        ("f16", _) => format!("{}.{}", d.name, c.name),
        // The rounding modifier may come before or after the types.
        ("f64", _) if space.is_empty() => "f64.f64.f64.f64.rn".to_owned(),
        ("f64", _) => "rn.f64.f64.f64.f64".to_owned(),
        (factor, sum) => format!("{sum}.{factor}.{factor}.{sum}"),
    };
    let [a, b, c, sums] = names;
    let of_factors = format!("{}.{}", layouts[0].name(), layouts[1].name());
    body += &format!("wmma.mma.sync.aligned.{of_factors}.{shape}.{types} {sums}, {a}, {b}, {c};\n");
    let (layout, stride) = (layouts[3].name(), layouts[3].stride);
    body + &format!("wmma.store.d.sync.aligned.{layout}.{shape}{space}.{} [output], {sums}, {stride}; ret;", d.name)
}

#[test]
fn products_are_those_of_three_loops() {
    let mut random = SmallRng::seed_from_u64(test_support::seed(0));
    for form in &FORMS {
        let (shape, [m, n, k], [factor, c, d], _) = *form;
        for space in ["", ".global"] {
            let layouts = layouts([m, n, k], [factor, factor, c, d], &mut random);
            let mut memory = vec![0_u8; 16384];
            let mut values: [Vec<i32>; 3] = std::array::from_fn(|matrix| vec![0; layouts[matrix].length()]);
            for (matrix, values) in values.iter_mut().enumerate() {
                let element = [factor, factor, c][matrix];
                for (index, value) in values.iter_mut().enumerate() {
                    *value = random.random_range(-4..=4);
                    if element.name == "u8" {
                        *value = value.abs();
                    }
                    let bytes = (element.bits)(*value).to_le_bytes();
                    memory[PLACES[matrix] + index * element.bytes..][..element.bytes]
                        .copy_from_slice(&bytes[..element.bytes]);
                }
            }
            let words: Vec<u32> = memory.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            let kernel = Kernel::new(body(form, layouts, space)).input(&words).output_bytes(16384);
            let output = kernel.bytes();
            assert_eq!(kernel.without_race_checks().bytes(), output);
            let at = |matrix: usize, row, column| values[matrix][layouts[matrix].place(row, column)];
            for row in 0..m {
                for column in 0..n {
                    let products = (0..k).map(|depth| at(0, row, depth) * at(1, depth, column));
                    let expected = products.sum::<i32>() + at(2, row, column);
                    let mut bits = [0; 8];
                    let place = layouts[3].place(row, column) * d.bytes;
                    bits[..d.bytes].copy_from_slice(&output[place..][..d.bytes]);
                    let found = (d.value)(u64::from_le_bytes(bits));
                    assert_eq!(found, f64::from(expected), "{shape} of {}, row {row}, column {column}", factor.name);
                }
            }
        }
    }
}

/// The kernel doubles the elements of fragments and writes them to the output.
#[test]
fn elements_can_be_computed_with() {
    let form = &FORMS[0];
    let plain = [(16, 16); 4].map(|(rows, columns)| Layout { rows, columns, by_columns: false, stride: 16 });
    let ones: Vec<u32> = (0..4096).map(|word| if word < 2048 { 0x3c00_3c00 } else { 1.0_f32.to_bits() }).collect();
    let body = body(form, plain, ".global");
    let double = (34..42).map(|number| format!("add.f32 r{number}, r{number}, r{number};\n")).collect::<String>();
    let body = body.replace("wmma.store", &format!("{double}wmma.store"));
    let output = Kernel::new(body).input(&ones).output_bytes(1024).words(256);
    assert_eq!(output, vec![34.0_f32.to_bits(); 256]);
}

#[test]
fn sums_of_integers_wrap_around_or_saturate() {
    let form = &FORMS[12];
    let plain = [(16, 16); 4].map(|(rows, columns)| Layout { rows, columns, by_columns: false, stride: 16 });
    let words: Vec<u32> = (0..4096).map(|word| if word < 2048 { 0x0101_0101 } else { i32::MAX as u32 }).collect();
    let body = body(form, plain, ".global");
    let of = |body: &str| Kernel::new(body).input(&words).output_bytes(1024).words(256);
    assert_eq!(of(&body), vec![(i32::MIN + 15) as u32; 256]);
    assert_eq!(of(&body.replace("s8.s8.s32", "s8.s8.s32.satfinite")), vec![i32::MAX as u32; 256]);
}

#[test]
fn wrong_uses_are_faults() {
    let plain = [(16, 16); 4].map(|(rows, columns)| Layout { rows, columns, by_columns: false, stride: 16 });
    let body = body(&FORMS[0], plain, ".global");
    let kind = |body: String, blocks: u32, threads: u32| {
        let kernel = Kernel::new(body).input(&[0; 4096]).output_bytes(1024).shape(blocks, threads);
        kernel.launch_error().fault().unwrap().kind.clone()
    };
    // Outside the output; a row that does not begin at a multiple of 16 bytes; 31 lanes; two blocks
    // that store to the same place.
    let outside = kind(body.replace("[output]", "[output+16]"), 1, 32);
    assert!(matches!(outside, FaultKind::Access { .. }), "{outside}");
    let misaligned = kind(body.replace("[output], {r34", "[output+4], {r34"), 1, 32);
    assert!(matches!(misaligned, FaultKind::Access { error: AccessError::Misaligned { .. }, .. }), "{misaligned}");
    assert!(matches!(kind(body.clone(), 1, 31), FaultKind::MissingLanes { .. }));
    let divergent = format!("setp.eq.u32 p0, tid, 3; @p0 ret; {body}");
    assert!(matches!(kind(divergent, 1, 32), FaultKind::MissingLanes { .. }));
    assert!(matches!(kind(body, 2, 32), FaultKind::Race { .. }));
}

#[test]
fn other_forms_are_rejected() {
    for text in [
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f32 {r1, r2, r3, r4, r5, r6, r7, r8}, [output], 16;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {r1, r2, r3, r4}, [output], 16;",
        "wmma.load.a.sync.aligned.m16n16k16.global.f16 {r1, r2, r3, r4, r5, r6, r7, r8}, [output], 16;",
        "wmma.load.d.sync.aligned.row.m16n16k16.global.f16 {r1, r2, r3, r4}, [output], 16;",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 r1, [output], 32;",
        "wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {r1, r2, r3, r4}, [output], 8;",
        "wmma.store.d.sync.aligned.row.m16n16k16.const.f32 [output], {r1, r2, r3, r4, r5, r6, r7, r8}, 16;",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.f16.f32 r1, r2, r3, r4;",
    ] {
        let error = Kernel::new(format!("{text} ret;")).load_error();
        assert!(matches!(error, LoadError::Statement { .. }), "{text}: {error}");
    }
}
