//! Matrix products of a warpgroup, compared with one that multiplies rows by columns.

use cuda_launch::LaunchConfig;
use proptest::prelude::*;
use ptx_interpreter::{
    FaultKind, Fidelity, LaunchError, LaunchReport, LoadError, Machine, Options, RaceReason, WgmmaError,
};

/// Bytes of shared memory for A and for B.
const ROOM: usize = 48 << 10;
const B_AT: usize = 8 << 10;

/// The type of a factor: its name, its number of bits, and a float's numbers of exponent and
/// fraction bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Element {
    name: &'static str,
    bytes: usize,
    float: Option<(i32, i32)>,
}

const fn element(name: &'static str, bytes: usize, float: Option<(i32, i32)>) -> Element {
    Element { name, bytes, float }
}

const F16: Element = element("f16", 2, Some((5, 10)));
const BF16: Element = element("bf16", 2, Some((8, 7)));
const TF32: Element = element("tf32", 4, Some((8, 23)));
const E4M3: Element = element("e4m3", 1, Some((4, 3)));
const E5M2: Element = element("e5m2", 1, Some((5, 2)));
const S8: Element = element("s8", 1, None);
const U8: Element = element("u8", 1, None);
const F32: Element = element("f32", 4, Some((8, 23)));
const S32: Element = element("s32", 4, None);

impl Element {
    /// The bits of a small integer.
    fn encode(self, value: i32) -> u32 {
        let Some((exponent_bits, fraction_bits)) = self.float else {
            return value as u32 & (u32::MAX >> (32 - 8 * self.bytes));
        };
        let magnitude = value.unsigned_abs();
        let sign = u32::from(value < 0) << (exponent_bits + fraction_bits);
        let Some(exponent) = magnitude.checked_ilog2() else { return sign };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let fraction = u64::from(magnitude) << fraction_bits >> exponent & ((1 << fraction_bits) - 1);
        sign | (exponent + bias) << fraction_bits | fraction as u32
    }
}

/// A product, with the layouts of its factors.
#[derive(Clone, Debug)]
struct Case {
    elements: [Element; 2],
    sum: Element,
    columns: usize,
    /// 0 for none, or 32, 64 or 128 bytes.
    swizzles: [usize; 2],
    transposed: [bool; 2],
    /// Position along the depth at which a swizzled tile is read, in steps of 32 bytes.
    steps: [usize; 2],
    /// Without a swizzle, whether the chunks along the depth are closer together than the others.
    near: [bool; 2],
    of_registers: bool,
    adds: bool,
    negates: [bool; 2],
    dynamic: bool,
    seed: u64,
}

/// The place of a factor's element in shared memory, and the parts of its descriptor.
struct Layout {
    width: usize,
    transposed: bool,
    start: usize,
    leading: usize,
    stride: usize,
}

impl Layout {
    /// The layout of a factor with `outer` rows or columns.
    fn new(case: &Case, factor: usize, outer: usize) -> Self {
        let width = [16, 32, 64, 128][case.swizzles[factor]];
        let transposed = case.transposed[factor];
        let (leading, stride) = match (width, transposed) {
            (16, false) if case.near[factor] => (128, 256),
            (16, false) => (16 * outer, 128),
            (16, true) if case.near[factor] => (128, 256),
            (16, true) => (16 * outer, 128),
            (_, false) => (16, 8 * width),
            (_, true) => (16 * width, 8 * width),
        };
        let start = if width > 16 && !transposed { case.steps[factor] % (width / 32) * 32 } else { 0 };
        Self { width, transposed, start, leading, stride }
    }

    /// Offset of a byte: in row or column `outer`, at byte `depth * bytes` of its 32; if
    /// transposed, in the elements at a position along the depth.
    fn place(&self, outer: usize, depth: usize, bytes: usize) -> usize {
        let byte = depth * bytes;
        if self.width == 16 {
            return match self.transposed {
                false => outer / 8 * self.stride + byte / 16 * self.leading + outer % 8 * 16 + byte % 16,
                true => outer / 8 * self.stride + depth / 8 * self.leading + depth % 8 * 16 + outer % 8 * bytes,
            };
        }
        // Rows as written by a tensor copy, with an address-based swizzle.
        let place = match self.transposed {
            false => outer * self.width + self.start + byte,
            true => {
                let in_row = self.width / bytes;
                outer / in_row * self.leading + depth * self.width + outer % in_row * bytes
            }
        };
        place ^ (place / 128 % (self.width / 16)) << 4
    }

    fn descriptor(&self, swizzle: usize) -> u64 {
        let mode = [0_u64, 3, 2, 1][swizzle];
        (self.leading as u64 >> 4) << 16 | (self.stride as u64 >> 4) << 32 | mode << 62
    }
}

impl Case {
    fn depth(&self) -> usize {
        32 / self.elements[0].bytes
    }

    fn registers(&self) -> usize {
        self.columns * self.sum.bytes / 8
    }

    fn instruction(&self) -> String {
        let Self { elements: [a, b], sum, columns, .. } = self;
        let d: Vec<String> = (0..self.registers()).map(|register| format!("f{register}")).collect();
        let factor = if self.of_registers { "{a0, a1, a2, a3}" } else { "d1" };
        let mut rest = String::new();
        if sum.float.is_some() {
            self.negates.iter().for_each(|negates| rest += if *negates { ", -1" } else { ", 1" });
        }
        if a.bytes == 2 {
            let transposed = &self.transposed[usize::from(self.of_registers)..];
            transposed.iter().for_each(|transposed| rest += if *transposed { ", 1" } else { ", 0" });
        }
        format!(
            "wgmma.mma_async.sync.aligned.m64n{columns}k{}.{}.{}.{} {{{}}}, {factor}, d2, p1{rest};",
            self.depth(),
            sum.name,
            a.name,
            b.name,
            d.join(", ")
        )
    }

    /// The kernel copies `image` to shared memory. Each thread loads its registers of A and D from
    /// `parts`, and stores its registers of D there.
    fn text(&self, change: impl Fn(String) -> String) -> String {
        let registers = self.registers();
        let each = |what: &dyn Fn(usize) -> String| (0..registers).map(what).collect::<String>();
        let loads = each(&|register| format!("ld.global.b32 f{register}, [d5+{}];\n", 16 + 4 * register));
        let stores = each(&|register| format!("st.global.b32 [d5+{}], f{register};\n", 16 + 4 * register));
        let stride = 16 + (4 * registers).next_multiple_of(16);
        let room = if self.dynamic {
            ".extern .shared .align 1024 .b8 room[];\n.shared .align 16 .b8 other[64];".to_owned()
        } else {
            format!(".shared .align 1024 .b8 room[{ROOM}];")
        };
        let other = if self.dynamic { "mov.u32 r3, other; st.shared.u32 [r3], 1;" } else { "" };
        change(format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n{room}\n\
             .visible .entry kernel(.param .u64 image, .param .u64 parts, .param .u64 a, .param .u64 b, .param .u32 adds)\n{{\n\
             .reg .b32 r<20>; .reg .b64 d<20>; .reg .pred p<5>; .reg .b32 a<4>; .reg .b32 f<128>;\n\
             ld.param.u64 d3, [image]; ld.param.u64 d4, [parts]; ld.param.u32 r1, [adds]; setp.ne.u32 p1, r1, 0;\n\
             mov.u32 r2, %tid.x; mov.u32 r4, %ntid.x; mov.u32 r5, room; {other}\n\
             mov.u32 r6, r2;\n\
             COPY: mad.lo.u32 r7, r6, 4, r5; mad.wide.u32 d5, r6, 4, d3; ld.global.u32 r8, [d5]; st.shared.u32 [r7], r8;\n\
             add.u32 r6, r6, r4; setp.lt.u32 p2, r6, {}; @p2 bra COPY;\n\
             mad.wide.u32 d5, r2, {stride}, d4; ld.global.v4.b32 {{a0, a1, a2, a3}}, [d5];\n{loads}\
             fence.proxy.async; bar.sync 0;\n\
             ld.param.u64 d1, [a]; ld.param.u64 d2, [b]; cvt.u64.u32 d6, r5;\n\
             // The lowest 16 bits are the offset in `room`.\n\
             and.b64 d7, d1, 0xffff; add.u64 d7, d7, d6; and.b64 d7, d7, 0x3ffff; shr.u64 d7, d7, 4;\n\
             and.b64 d1, d1, 0xffffffffffff0000; or.b64 d1, d1, d7;\n\
             and.b64 d7, d2, 0xffff; add.u64 d7, d7, d6; and.b64 d7, d7, 0x3ffff; shr.u64 d7, d7, 4;\n\
             and.b64 d2, d2, 0xffffffffffff0000; or.b64 d2, d2, d7;\n\
             wgmma.fence.sync.aligned;\n{}\n\
             wgmma.commit_group.sync.aligned;\n\
             wgmma.wait_group.sync.aligned 0;\n{stores}END: ret;\n}}\n",
            ROOM / 4,
            self.instruction(),
        ))
    }

    fn run(&self, text: &str, threads: u32) -> Outcome {
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |low: i32, high: i32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            low + ((state >> 33) % (high - low + 1) as u64) as i32
        };
        let (depth, bytes) = (self.depth(), self.elements[0].bytes);
        let mut image = vec![0x7b; ROOM];
        let mut factors = [vec![vec![0; depth]; 64], vec![vec![0; depth]; self.columns]];
        let mut descriptors = [0; 2];
        for (index, factor) in factors.iter_mut().enumerate() {
            let element = self.elements[index];
            let layout = Layout::new(self, index, factor.len());
            let begin = if index == 0 { 0 } else { B_AT };
            descriptors[index] = layout.descriptor(self.swizzles[index]) & !0xffff | (begin + layout.start) as u64;
            for (outer, row) in factor.iter_mut().enumerate() {
                for (place, value) in row.iter_mut().enumerate() {
                    *value = if element == U8 { next(0, 9) } else { next(-5, 5) };
                    let mut bits = element.encode(*value);
                    if element == TF32 {
                        // The low bits are ignored.
                        bits |= next(0, 0xfff) as u32;
                    }
                    let at = begin + layout.place(outer, place, bytes);
                    image[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
                }
            }
        }
        let registers = self.registers();
        let (stride, parts) = (4 + registers.next_multiple_of(4), 4 / self.sum.bytes);
        let mut words = vec![0_u32; threads as usize * stride];
        let mut before = vec![vec![0; self.columns]; 64];
        let place = |thread: usize, element: usize| {
            let (warp, lane) = (thread / 32, thread % 32);
            let row = 16 * warp + lane / 4 + element % 4 / 2 * 8;
            (row, element / 4 * 8 + lane % 4 * 2 + element % 2)
        };
        for thread in 0..threads.min(128) as usize {
            for register in 0..4 {
                for part in 0..4 / bytes {
                    let (warp, lane) = (thread / 32, thread % 32);
                    let row = 16 * warp + lane / 4 + register % 2 * 8;
                    let at = register / 2 * (16 / bytes) + lane % 4 * (4 / bytes) + part;
                    let bits = self.elements[0].encode(factors[0][row][at]);
                    words[thread * stride + register] |= bits << (8 * bytes * part);
                }
            }
            for element in 0..registers * parts {
                let (row, column) = place(thread, element);
                before[row][column] = next(-60, 60);
                let bits = self.sum.encode(before[row][column]);
                words[thread * stride + 4 + element / parts] |= bits << (8 * self.sum.bytes * (element % parts));
            }
        }
        let mut expected = words.clone();
        for thread in 0..threads.min(128) as usize {
            for register in 0..registers {
                let mut word = 0;
                for part in 0..parts {
                    let (row, column) = place(thread, register * parts + part);
                    let product: i32 = factors[0][row].iter().zip(&factors[1][column]).map(|(a, b)| a * b).sum();
                    let sign = if self.negates[0] == self.negates[1] { 1 } else { -1 };
                    let sum = sign * product + if self.adds { before[row][column] } else { 0 };
                    word |= self.sum.encode(sum) << (8 * self.sum.bytes * part);
                }
                expected[thread * stride + 4 + register] = word;
            }
        }
        let mut machine = Machine::new(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(machine.refused().next(), None, "{text}");
        let bytes_of = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let of_parts = bytes_of(&words);
        let mut place = |bytes: &[u8]| {
            let address = machine.allocate(bytes.len() as u64).unwrap();
            machine.memory().write(address, bytes).unwrap();
            address
        };
        let (image, parts) = (place(&image), place(&of_parts));
        let parameters: [&[u8]; 5] = [
            &image.to_le_bytes(),
            &parts.to_le_bytes(),
            &descriptors[0].to_le_bytes(),
            &descriptors[1].to_le_bytes(),
            &u32::from(self.adds).to_le_bytes(),
        ];
        let mut config = LaunchConfig::new(1, threads);
        config.dynamic_shared_bytes = if self.dynamic { ROOM as u32 } else { 0 };
        let result = machine.launch(Options::default(), "kernel", config, &parameters);
        let mut found = of_parts;
        machine.memory().read(parts, &mut found).unwrap();
        Outcome { result, found, expected: bytes_of(&expected) }
    }
}

struct Outcome {
    result: Result<LaunchReport, LaunchError>,
    found: Vec<u8>,
    expected: Vec<u8>,
}

fn cases() -> impl Strategy<Value = Case> {
    let types = [
        ([F16, F16], F32),
        ([F16, F16], F16),
        ([BF16, BF16], F32),
        ([TF32, TF32], F32),
        ([E4M3, E5M2], F32),
        ([E5M2, E4M3], F16),
        ([E4M3, E4M3], F32),
        ([S8, U8], S32),
        ([U8, U8], S32),
        ([S8, S8], S32),
    ];
    let layout = (0_usize..4, any::<bool>(), 0_usize..4, any::<bool>(), any::<bool>());
    (prop::sample::select(types.to_vec()), 1_usize..=32, [layout.clone(), layout], any::<[bool; 3]>(), any::<u64>())
        .prop_map(|((elements, sum), columns, [a, b], [of_registers, adds, dynamic], seed)| {
            let columns = if sum == S32 && columns > 3 { columns.next_multiple_of(2) } else { columns };
            let is_short = elements[0].bytes == 2;
            Case {
                elements,
                sum,
                columns: 8 * columns,
                swizzles: [a.0, b.0],
                transposed: [a.1 && is_short && !of_registers, b.1 && is_short],
                steps: [a.2, b.2],
                near: [a.3, b.3],
                of_registers,
                adds,
                negates: [a.4 && sum != S32, b.4 && sum != S32],
                dynamic,
                seed,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn products_are_those_of_rows_and_columns(case in cases()) {
        let text = case.text(|text| text);
        let outcome = case.run(&text, 128);
        prop_assert!(outcome.result.is_ok(), "{}", outcome.result.unwrap_err());
        prop_assert!(outcome.found == outcome.expected, "{case:?}");
    }
}

fn plain() -> Case {
    Case {
        elements: [F16, F16],
        sum: F32,
        columns: 16,
        swizzles: [3, 3],
        transposed: [false, false],
        steps: [0, 0],
        near: [false, false],
        of_registers: false,
        adds: true,
        negates: [false, false],
        dynamic: false,
        seed: 3,
    }
}

#[test]
fn a_tile_may_begin_within_the_pattern_of_its_swizzle() {
    // Everything is 128 bytes further on, as the base offset says.
    let change = |text: String| {
        text.replace("mov.u32 r5, room;", "mov.u32 r5, room; add.u32 r5, r5, 128;")
            .replace(&format!("r6, {}; @p2", ROOM / 4), &format!("r6, {}; @p2", (ROOM - 1024) / 4))
            .replace("or.b64 d1, d1, d7;", "or.b64 d1, d1, d7; or.b64 d1, d1, 0x2000000000000;")
            .replace("or.b64 d2, d2, d7;", "or.b64 d2, d2, d7; or.b64 d2, d2, 0x2000000000000;")
    };
    let case = plain();
    let outcome = case.run(&case.text(change), 128);
    assert!(outcome.result.is_ok(), "{}", outcome.result.unwrap_err());
    assert_eq!(outcome.found, outcome.expected);
}

#[test]
fn several_products_may_be_in_flight() {
    let case = plain();
    let product = case.instruction();
    // The same product three times. Only the last group is waited for.
    let change = |text: String| {
        let group = format!("{product}\nwgmma.commit_group.sync.aligned;\n");
        text.replace(&group, &format!("{group}wgmma.wait_group.sync.aligned 1;\n{product}\n{group}"))
    };
    let outcome = case.run(&case.text(change), 128);
    let report = outcome.result.unwrap_or_else(|error| panic!("{error}"));
    let inexact = report.inexact();
    let of_products = inexact.iter().find(|inexact| inexact.instruction.starts_with("wgmma.mma_async"));
    assert!(of_products.is_some_and(|inexact| inexact.fidelity == Fidelity::Approximate), "{inexact:?}");
    // A second warpgroup does the same again. An incomplete one is an error.
    let of_two = case.run(&case.text(|text| text.replace("%tid.x;", "%tid.x; and.b32 r9, r2, 127;")), 256);
    assert!(of_two.result.is_ok(), "{}", of_two.result.unwrap_err());
    let error = case.run(&case.text(|text| text), 160).result.unwrap_err();
    let expected = FaultKind::Wgmma { error: WgmmaError::Incomplete { threads: 32 } };
    assert_eq!(error.fault().unwrap().kind, expected, "{error}");
}

#[test]
fn results_are_not_used_before_the_wait() {
    let case = plain();
    let kind = |from: &str, to: &str| {
        let text = case.text(|text| {
            assert!(text.contains(from), "{from}\n{text}");
            text.replace(from, to)
        });
        let error = case.run(&text, 128).result.expect_err(to);
        let fault = error.fault().unwrap_or_else(|| panic!("{error}")).clone();
        (fault.kind.clone(), fault)
    };
    let wait = "wgmma.wait_group.sync.aligned 0;";
    for to in [
        "",
        "wgmma.wait_group.sync.aligned 1;",
        "add.f32 f1, f1, f2; wgmma.wait_group.sync.aligned 0;",
        "mov.b32 f0, 0; st.shared.u32 [r5], f3; wgmma.wait_group.sync.aligned 0;",
    ] {
        let (kind, fault) = kind(wait, to);
        let FaultKind::Wgmma { error: WgmmaError::NotWaitedFor { place } } = kind else { panic!("{to}: {fault}") };
        assert!(place.text.starts_with("wgmma.mma_async"), "{to}: {fault}");
    }
    let commit = "wgmma.commit_group.sync.aligned;";
    assert!(matches!(kind(commit, "").0, FaultKind::Wgmma { error: WgmmaError::NotWaitedFor { .. } }));
    // Copying a result, even to local memory, is not a use of it.
    for to in ["mov.b32 r9, f0; mov.b32 f0, r9;", "mov.b64 d9, {f0, f1}; mov.b64 {f0, f1}, d9;"] {
        let text = case.text(|text| text.replace(wait, &format!("{to} {wait}")));
        let outcome = case.run(&text, 128);
        assert!(outcome.result.is_ok(), "{to}: {}", outcome.result.unwrap_err());
        assert_eq!(outcome.found, outcome.expected, "{to}");
    }
    // A factor is overwritten before the wait.
    let (kind, fault) = kind(wait, &format!("mad.lo.u32 r9, r2, 4, r5; st.shared.u32 [r9], 0; {wait}"));
    assert!(matches!(kind, FaultKind::Race { .. }), "{fault}");
    // Also by its own thread, and after a barrier in a block of one warpgroup.
    let text = case.text(|text| text.replace(wait, &format!("bar.sync 0; st.shared.u32 [r5], 0; {wait}")));
    let error = case.run(&text, 128).result.unwrap_err();
    let kind = &error.fault().unwrap().kind;
    assert!(matches!(kind, FaultKind::Race { reason: Some(RaceReason::InFlight), .. }), "{error}");
}

#[test]
fn wrong_descriptors_are_faults() {
    let case = plain();
    let error = |from: &str, to: &str| {
        let text = case.text(|text| text.replace(from, to));
        case.run(&text, 128).result.expect_err(to).fault().unwrap().kind.clone()
    };
    let fence = "wgmma.fence.sync.aligned;";
    let different = error(fence, "cvt.u64.u32 d9, r2; add.u64 d1, d1, d9; wgmma.fence.sync.aligned;");
    assert!(matches!(different, FaultKind::Wgmma { error: WgmmaError::DifferentDescriptors { .. } }), "{different}");
    let outside = error(fence, "add.u64 d2, d2, 3000;");
    assert!(matches!(outside, FaultKind::Access { .. }), "{outside}");
    let some = error(fence, "setp.lt.u32 p3, r2, 31; @!p3 bra END;");
    assert!(matches!(some, FaultKind::MissingLanes { .. }), "{some}");
}

#[test]
fn other_forms_are_rejected() {
    let d = "{f0, f1, f2, f3}";
    for (instruction, form) in [
        ("m64n8k16.f32.f16.f16", "d1, d2, p1, 1, 1, 0;"),
        ("m64n8k16.f32.f16.f16", "d1, d2, p1, 1, 2, 0, 0;"),
        ("m64n8k16.f32.f16.f16", "{a0, a1, a2, a3}, d2, p1, 1, 1, 0, 0;"),
        ("m64n8k16.f32.f16.f16", "{a0, a1}, d2, p1, 1, 1, 0;"),
        ("m64n8k16.f32.f16.f16", "d1, r1, p1, 1, 1, 0, 0;"),
        ("m64n8k8.f32.f16.f16", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n16k16.f32.f16.f16", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n12k16.f32.f16.f16", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n264k16.f32.f16.f16", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n8k16.f32.f16.bf16", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n8k16.f16.bf16.bf16", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n8k8.f32.tf32.tf32", "d1, d2, p1, 1, 1, 0, 0;"),
        ("m64n8k32.s32.s8.s8", "d1, d2, p1, 1, 1;"),
        ("m64n8k256.s32.b1.b1.and.popc", "d1, d2, p1;"),
        ("m64n8k16.satfinite.f32.f16.f16", "d1, d2, p1, 1, 1, 0, 0;"),
    ] {
        let instruction = format!("wgmma.mma_async.sync.aligned.{instruction} {d}, {form}");
        let case = plain();
        let text = case.text(|text| text.replace(&case.instruction(), &instruction));
        let machine = Machine::new(&text).unwrap();
        let refused = machine.refused().next().unwrap_or_else(|| panic!("{instruction}")).1.clone();
        assert!(matches!(refused, LoadError::Statement { .. }), "{instruction}: {refused}");
    }
}
