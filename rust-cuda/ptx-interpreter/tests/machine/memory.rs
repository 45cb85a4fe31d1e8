//! Loads and stores of every type in every space, and their faults.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::memory::{AccessError, first_address};
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, FaultKind};

const TYPES: [(&str, usize); 15] = [
    ("b8", 1),
    ("u8", 1),
    ("s8", 1),
    ("b16", 2),
    ("u16", 2),
    ("s16", 2),
    ("b32", 4),
    ("u32", 4),
    ("s32", 4),
    ("f32", 4),
    ("b64", 8),
    ("u64", 8),
    ("s64", 8),
    ("f64", 8),
    ("f16x2", 4),
];

const ROOMS: &str = ".shared .align 16 .b8 room[4096];\n.global .align 16 .b8 cells[4096];\n";

/// Prefix of the registers that hold a value of this size in bytes.
fn registers(bytes: usize) -> &'static str {
    match bytes {
        1 | 2 => "h",
        4 => "r",
        _ => "d",
    }
}

#[test]
fn every_type_and_vector_is_stored_and_loaded_in_every_space() {
    // Each vector goes through each space, within 32 bytes per lane. The bytes around it must not
    // change.
    let spaces = [
        (".shared", "mov.u32 r50, room; mad.lo.u32 r50, tid, 32, r50;", "r50"),
        (".shared", "mov.u64 d30, room; mad.wide.u32 d30, tid, 32, d30;", "d30"),
        (".global", "mov.u64 d30, cells; mad.wide.u32 d30, tid, 32, d30;", "d30"),
        (".local", "mov.u64 d30, own;", "d30"),
        (".local", "", "own"),
        ("", "cvta.shared.u64 d30, room; mad.wide.u32 d30, tid, 32, d30;", "d30"),
        ("", "cvta.local.u64 d30, own;", "d30"),
        ("", "mov.u64 d30, cells; mad.wide.u32 d30, tid, 32, d30;", "d30"),
    ];
    let input: Vec<u32> = (0..32 * 8).map(|i: u32| i.wrapping_mul(0x9e37_79b9) ^ 0x8080_8080).collect();
    let input_bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (space, begin, base) in spaces {
        for (scalar_type, bytes) in TYPES.iter().filter(|(name, _)| *name != "f16x2") {
            for parts in [1, 2, 4].into_iter().filter(|parts| parts * bytes <= 16) {
                let names: Vec<String> = (0..parts).map(|part| format!("{}{part}", registers(*bytes))).collect();
                let (vector, names) = match parts {
                    1 => (String::new(), names[0].clone()),
                    _ => (format!(".v{parts}"), format!("{{{}}}", names.join(", "))),
                };
                let body = format!(
                    ".local .align 16 .b8 own[32]; {begin}
                     mov.u64 d20, 0x1111111111111111; mad.wide.u32 d21, tid, 32, input; mad.wide.u32 d22, tid, 32, output;
                     st{space}.v2.u64 [{base}], {{d20, d20}}; st{space}.v2.u64 [{base}+16], {{d20, d20}};
                     ld.global{vector}.{scalar_type} {names}, [d21+16];
                     st{space}{vector}.{scalar_type} [{base}+16], {names};
                     ld{space}{vector}.{scalar_type} {names}, [{base}+16];
                     st.global{vector}.{scalar_type} [d22], {names};
                     ld{space}.v2.u64 {{d1, d2}}, [{base}+16]; st.global.v2.u64 [d22+16], {{d1, d2}}; ret;"
                );
                let found = Kernel::new(body).declare(ROOMS).input(&input).output_bytes(32 * 32).bytes();
                for (lane, found) in found.chunks(32).enumerate() {
                    let count = parts * bytes;
                    let value = &input_bytes[lane * 32 + 16..][..count];
                    let expected = [value, &[0; 16][count..], value, &[0x11; 16][count..]].concat();
                    assert_eq!(found, expected, "{space} {base} {vector} {scalar_type}");
                }
            }
        }
    }
}

#[test]
fn narrow_values_are_extended_to_wider_registers() {
    let value = 0x8182_8384_8586_8788_u64;
    for (scalar_type, bytes) in TYPES {
        for (register, width) in [("h", 2), ("r", 4), ("d", 8)].into_iter().filter(|(_, width)| *width >= bytes) {
            // An f32 needs a register of exactly its size.
            if scalar_type.starts_with('f') && width != bytes {
                continue;
            }
            let body = format!(
                "mov.u64 d0, -1; mov.u32 r0, -1; mov.u16 h0, -1; ld.global.{scalar_type} {register}0, [input];
                 st.global.b{} [output], {register}0; ret;",
                width * 8
            );
            let found = Kernel::new(body).input8(&[value]).shape(1, 1).output_bytes(8).words8(1)[0];
            let shift = 64 - 8 * bytes as u32;
            let kept = 64 - 8 * width;
            let extended = match scalar_type.starts_with('s') {
                true => ((value << shift) as i64 >> shift) as u64,
                false => value << shift >> shift,
            };
            assert_eq!(found, extended << kept >> kept, "{scalar_type} in {register}");
        }
    }
}

#[test]
fn narrow_stores_take_the_low_bits() {
    let body = "
        ld.global.u64 d0, [input]; cvt.u32.u64 r0, d0; cvt.u16.u64 h0, d0;
        st.global.u8 [output], d0; st.global.s8 [output+1], r0; st.global.b8 [output+2], h0; st.global.u16 [output+4], d0;
        st.global.s16 [output+6], r0; st.global.u32 [output+8], d0; st.global.u8 [output+12], 0x1ff; st.global.s16 [output+14], -2;
        ret;";
    let found = Kernel::new(body).input8(&[0x8182_8384_8586_8788]).shape(1, 1).output_bytes(16).words8(2);
    assert_eq!(found, [0x8788_8788_0088_8888, 0xfffe_00ff_8586_8788]);
}

#[test]
fn every_form_of_load_and_store_that_caches_or_orders_does_the_same() {
    let loads = [
        "ld.global.nc.u32",
        "ld.global.ca.u32",
        "ld.global.cg.u32",
        "ld.global.cs.u32",
        "ld.global.lu.u32",
        "ld.global.cv.u32",
        "ld.volatile.global.u32",
        "ld.weak.global.u32",
        "ld.relaxed.gpu.global.u32",
        "ld.relaxed.cta.global.u32",
        "ld.acquire.sys.global.u32",
        "ld.volatile.u32",
        "ld.relaxed.sys.u32",
        "ld.acquire.gpu.u32",
        "ldu.global.u32",
        "ld.global.L1::evict_last.u32",
        "ld.global.L2::128B.u32",
        "ld.global.L1::no_allocate.L2::256B.u32",
        "ld.global.nc.L1::no_allocate.u32",
    ];
    for load in loads {
        let body = format!("mad.wide.u32 d0, tid, 4, input; {load} r0, [d0]; st.global.u32 [cell], r0; ret;");
        assert_eq!(Kernel::new(body).input(&each(32, |i| i * 3)).words(32), each(32, |i| i * 3), "{load}");
    }
    let stores = [
        "st.global.wb.u32",
        "st.global.cg.u32",
        "st.global.cs.u32",
        "st.global.wt.u32",
        "st.volatile.global.u32",
        "st.weak.global.u32",
        "st.relaxed.gpu.global.u32",
        "st.release.gpu.global.u32",
        "st.release.sys.u32",
        "st.volatile.u32",
        "st.global.L1::no_allocate.u32",
    ];
    for store in stores {
        assert_eq!(Kernel::new(format!("{store} [cell], tid; ret;")).words(32), each(32, |i| i), "{store}");
    }
    let vector = "mad.wide.u32 d0, tid, 16, input; ld.volatile.global.v4.u32 {r0, _, r2, r3}, [d0]; ld.global.nc.v2.u64 {d1, _}, [d0];
        mov.b64 {_, r1}, d1; mad.wide.u32 d0, tid, 16, output; st.volatile.global.v4.u32 [d0], {r0, r1, r2, r3}; ret;";
    assert_eq!(Kernel::new(vector).input(&each(128, |i| i + 5)).words(128), each(128, |i| i + 5));
}

#[test]
fn addresses_have_offsets_of_both_signs() {
    let body = "
        mov.u32 r0, room; add.u32 r0, r0, 64; mov.u64 d0, room+64; add.u64 d1, input, 128;
        st.shared.u32 [r0+-64], 1; st.shared.u32 [r0+-60], 2; st.shared.u32 [d0+-56], 3; st.shared.u32 [room+12], 4;
        ld.shared.v4.u32 {r1, r2, r3, r4}, [room]; ld.global.u32 r5, [d1+-124]; ld.global.u32 r6, [d1+0];
        st.global.v4.u32 [output], {r1, r2, r3, r4}; st.global.v2.u32 [output+16], {r5, r6}; ret;";
    let found = Kernel::new(body).declare(ROOMS).input(&each(64, |i| i)).shape(1, 1).output_bytes(32).words(6);
    assert_eq!(found, [1, 2, 3, 4, 1, 32]);
}

#[test]
fn variables_have_their_initial_values() {
    let declarations = "
        .global .align 4 .u32 one = 0x12345678;\n.global .align 1 .b8 bytes[5] = {1, 2, 255, -1};\n
        .global .align 16 .f64 numbers[2] = {1.5, 0d4000000000000000};\n.global .align 4 .f32 small = 0.5;\n
        .global .align 2 .s16 table[2][3] = {{-1, 2, 3}, {4, 5}};\n.global .align 8 .u64 pointer = one;\n
        .global .align 16 .u64 further[2] = {generic(bytes)+2, bytes+1};\n
        .const .align 8 .u32 constants[4] = {5, 6, 7};\n.const .align 8 .u64 big = 0x8000000000000001;\n.global .align 4 .u32 zero;\n";
    let body = "
        ld.global.u32 r0, [one]; ld.global.u8 r1, [bytes+2]; ld.global.s8 r2, [bytes+3]; ld.global.u8 r3, [bytes+4];
        st.global.v4.u32 [output], {r0, r1, r2, r3};
        ld.global.v2.f64 {d0, d1}, [numbers]; st.global.v2.f64 [output+16], {d0, d1};
        ld.global.f32 r0, [small]; ld.global.s16 r1, [table]; ld.global.s16 r2, [table+8]; ld.global.s16 r3, [table+10];
        st.global.v4.u32 [output+32], {r0, r1, r2, r3};
        ld.global.u64 d0, [pointer]; ld.u32 r0, [d0]; ld.global.v2.u64 {d1, d2}, [further]; ld.u8 r1, [d1]; ld.u8 r2, [d2];
        ld.global.u32 r3, [zero]; st.global.v4.u32 [output+48], {r0, r1, r2, r3};
        ld.const.v2.u32 {r0, r1}, [constants+8]; ld.const.u64 d0, [big]; st.global.v2.u32 [output+64], {r0, r1};
        st.global.u64 [output+72], d0; ret;";
    let found = Kernel::new(body).declare(declarations).shape(1, 1).output_bytes(80).words(20);
    let minus_one = u32::MAX;
    let (three_halves, two) = (1.5_f64.to_bits(), 2_f64.to_bits());
    let halves = |bits: u64| [bits as u32, (bits >> 32) as u32];
    let expected = [
        &[0x1234_5678, 255, minus_one, 0][..],
        &halves(three_halves),
        &halves(two),
        &[0.5_f32.to_bits(), minus_one, 5, 0],
        &[0x1234_5678, 255, 2, 0],
        &[7, 0],
        &halves(0x8000_0000_0000_0001),
    ];
    assert_eq!(found, expected.concat());
}

#[test]
fn global_variables_keep_their_values_from_launch_to_launch() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 count = 3;\n.entry step(.param .u64 to) {
        .reg .u32 r; .reg .u64 d; atom.global.add.u32 r, [count], 1; ld.param.u64 d, [to]; st.global.u32 [d], r; ret; }";
    let mut machine = ptx_interpreter::Machine::new(text).unwrap();
    let cell = machine.allocate(4).unwrap();
    for expected in 3..6_u32 {
        machine
            .launch(Default::default(), "step", cuda_launch::LaunchConfig::new(1, 1), &[&cell.to_le_bytes()])
            .unwrap();
        let mut bytes = [0; 4];
        machine.memory().read(cell, &mut bytes).unwrap();
        assert_eq!(u32::from_le_bytes(bytes), expected);
    }
}

#[test]
fn kernel_parameters_are_values_and_aggregates() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry take(.param .u8 a, .param .align 8 .b8 pair[24], .param .s16 b,
            .param .f64 c, .param .u64 .ptr .global .align 4 to, .param .u32 d) {
        .reg .b32 r<5>; .reg .b64 d<6>; .reg .pred p;
        ld.param.u64 d0, [to]; ld.param.u8 r0, [a]; ld.param.u32 r1, [pair+4]; ld.param.s16 r2, [b]; ld.param.u32 r3, [d];
        st.global.v4.u32 [d0], {r0, r1, r2, r3};
        ld.param.v2.u32 {r0, r1}, [pair+8]; ld.param.f64 d1, [c]; mov.b64 d2, pair; ld.param.u64 d3, [d2+16];
        st.global.v2.u32 [d0+16], {r0, r1}; st.global.u64 [d0+24], d1; st.global.u64 [d0+32], d3;
        cvta.param.u64 d4, pair; ld.u64 d5, [d4]; st.global.u64 [d0+40], d5; ret; }";
    let mut machine = ptx_interpreter::Machine::new(text).unwrap();
    let cells = machine.allocate(48).unwrap();
    let pair: Vec<u8> = (1..=24).collect();
    let parameters: [&[u8]; 6] =
        [&[200], &pair, &(-5_i16).to_le_bytes(), &2.5_f64.to_le_bytes(), &cells.to_le_bytes(), &7_u32.to_le_bytes()];
    machine.launch(Default::default(), "take", cuda_launch::LaunchConfig::new(1, 1), &parameters).unwrap();
    let mut bytes = [0; 48];
    machine.memory().read(cells, &mut bytes).unwrap();
    let words = |range: std::ops::Range<usize>| pair[range].to_vec();
    let expected = [
        200_u32.to_le_bytes().to_vec(),
        words(4..8),
        (-5_i32).to_le_bytes().to_vec(),
        7_u32.to_le_bytes().to_vec(),
        words(8..16),
        2.5_f64.to_le_bytes().to_vec(),
        words(16..24),
        words(0..8),
    ];
    assert_eq!(bytes.to_vec(), expected.concat());
}

#[test]
fn each_thread_has_local_memory_of_its_own() {
    let body = "
        .local .align 4 .u32 own[8]; .local .align 4 .u32 other[8];
        mov.u32 r0, 0; mov.u64 d1, own;
        FILL: mul.lo.u32 r1, r0, 100; add.u32 r1, r1, index; mad.wide.u32 d0, r0, 4, d1; st.local.u32 [d0], r1;
        mad.wide.u32 d0, r0, 4, d1; mov.u64 d2, other; sub.u64 d2, d2, d1; add.u64 d0, d0, d2; st.local.u32 [d0], 7;
        add.u32 r0, r0, 1; setp.lt.u32 p0, r0, 8; @p0 bra FILL;
        rem.u32 r0, index, 8; mad.wide.u32 d0, r0, 4, d1; ld.local.u32 r2, [d0]; ld.local.u32 r3, [other+28]; add.u32 r2, r2, r3;
        st.global.u32 [cell], r2; ret;";
    let found = Kernel::new(body).shape(3, 50).words(150);
    assert_eq!(found, each(150, |index| index % 8 * 100 + index + 7));
}

#[test]
fn shared_memory_is_static_and_dynamic() {
    let declarations = ".shared .align 4 .u32 room[32];\n.extern .shared .align 16 .b8 dynamic[];\n";
    let body = "
        mov.u32 r0, dynamic; mad.lo.u32 r1, tid, 16, r0; st.shared.v4.u32 [r1], {tid, tid, index, 5};
        mov.u32 r2, room; mad.lo.u32 r2, tid, 4, r2; st.shared.u32 [r2], 1000; bar.sync 0;
        xor.b32 r3, tid, 31; mad.lo.u32 r1, r3, 16, r0; ld.shared.u32 r4, [r1+8]; ld.shared.u32 r5, [r2]; add.u32 r4, r4, r5;
        st.global.u32 [cell], r4; ret;";
    let kernel = Kernel::new(body).declare(declarations).shape(4, 32).dynamic_shared(512);
    assert_eq!(kernel.words(128), each(128, |index| (index ^ 31) + 1000));
}

fn access(kernel: &Kernel, text: &str, thread: u32) -> (Access, AccessError) {
    match kernel.fault(text, 0, thread) {
        FaultKind::Access { access, error } => (access, error),
        kind => panic!("{kind}"),
    }
}

#[test]
fn an_address_is_a_multiple_of_the_size_of_its_access() {
    let spaces = [
        (".global", "mov.u64 d0, cells;", Space::Global),
        (".shared", "mov.u64 d0, room;", Space::Shared),
        (".local", "mov.u64 d0, own;", Space::Local),
        ("", "cvta.shared.u64 d0, room;", Space::Shared),
        ("", "cvta.local.u64 d0, own;", Space::Local),
    ];
    for (space, begin, found_space) in spaces {
        for (form, bytes) in [
            ("u16", 2),
            ("f32", 4),
            ("u64", 8),
            ("v2.u16", 4),
            ("v2.u32", 8),
            ("v4.u32", 16),
            ("v2.f64", 16),
            ("v4.u8", 4),
        ] {
            let register = match form {
                "u16" => "h0",
                "f32" => "r0",
                "u64" => "d1",
                "v2.u16" => "{h0, h1}",
                "v2.u32" => "{r0, r1}",
                "v4.u32" => "{r0, r1, r2, r3}",
                "v4.u8" => "{h0, h1, h2, h3}",
                _ => "{d1, d2}",
            };
            for (text, kind) in [
                (format!("st{space}.{form} [d0+{}], {register};", 16 + bytes / 2), Access::Write),
                (format!("ld{space}.{form} {register}, [d0+{}];", 16 + bytes / 2), Access::Read),
            ] {
                // Only lane 3 has the misaligned address.
                let other = text.replace(&format!("[d0+{}]", 16 + bytes / 2), "[d0+16]").replace("ld", "st");
                let other = if kind == Access::Read { other_store(space, form, register) } else { other };
                let body = format!(
                    ".local .align 16 .b8 own[64]; {begin} setp.eq.u32 p0, tid, 3; @!p0 {other}\n@p0 {text}\nret;"
                );
                let kernel = Kernel::new(body).declare(ROOMS).without_race_checks();
                let (access, error) = access(&kernel, &format!("@p0 {text}"), 3);
                assert_eq!(access, kind);
                let AccessError::Misaligned { alignment, space, address } = error else { panic!("{text}: {error}") };
                assert_eq!((alignment, space, address % bytes), (bytes as usize, found_space, bytes / 2), "{text}");
            }
        }
    }
}

fn other_store(space: &str, form: &str, register: &str) -> String {
    format!("st{space}.{form} [d0+16], {register};")
}

#[test]
fn a_vector_access_of_a_variable_without_align_is_a_fault() {
    // PTX aligns it to its element size.
    for (declared, form, fits) in [
        (".shared .f32 few[8];", "v4.f32 {r0, r1, r2, r3}", false),
        (".shared .align 4 .b8 few[32];", "v2.f32 {r0, r1}", false),
        (".shared .b8 few[32];", "u16 h0", false),
        (".shared .align 8 .b8 few[32];", "v4.f32 {r0, r1, r2, r3}", false),
        (".shared .align 16 .b8 few[32];", "v4.f32 {r0, r1, r2, r3}", true),
        (".shared .v4 .f32 few[2];", "v4.f32 {r0, r1, r2, r3}", true),
        (".shared .f64 few[2];", "v2.f32 {r0, r1}", true),
        (".const .f32 few[8] = {1.0, 2.0, 3.0, 4.0};", "v4.f32 {r0, r1, r2, r3}", false),
        (".const .align 16 .f32 few[8] = {1.0, 2.0, 3.0, 4.0};", "v4.f32 {r0, r1, r2, r3}", true),
    ] {
        let (form, registers) = form.split_once(' ').unwrap();
        let text = match declared.starts_with(".const") {
            true => format!("ld.const.{form} {registers}, [few];"),
            false => format!("st.shared.{form} [few], {registers};"),
        };
        let before = ".shared .align 1 .b8 before[3];\n";
        let body = format!("st.shared.u8 [before], 1;\n{text}\nret;");
        for (declarations, body) in
            [(declared.to_owned(), format!("\n{text}\nret;")), (format!("{before}{declared}"), body)]
        {
            let kernel = Kernel::new(body).declare(&format!("{declarations}\n")).shape(1, 1);
            if fits {
                kernel.report();
            } else {
                assert!(matches!(access(&kernel, &text, 0).1, AccessError::Misaligned { .. }), "{declared}");
            }
        }
    }
}

#[test]
fn an_access_outside_of_an_allocation_is_a_fault() {
    for (text, by) in [
        ("ld.global.u32 r0, [d0+256];", "starts 0 bytes past"),
        ("ld.global.u32 r0, [d0+-4];", "starts 4 bytes before"),
        ("ld.global.v4.u32 {r0, r1, r2, r3}, [d0+240];", ""),
    ] {
        let kernel = Kernel::new(format!("mov.u64 d0, input; setp.eq.u32 p0, tid, 17;\n@p0 {text}\nret;"));
        if by.is_empty() {
            kernel.report();
            continue;
        }
        let (kind, error) = access(&kernel, text, 17);
        assert_eq!(kind, Access::Read);
        assert!(matches!(error, AccessError::OutOfBounds { .. }) && error.to_string().contains(by), "{error}");
    }
    let short = Kernel::new("ld.global.v2.u64 {d0, d1}, [input];\nret;").input(&[1, 2, 3]);
    let error = access(&short, "ld.global.v2.u64 {d0, d1}, [input];", 0).1;
    assert!(error.to_string().contains("ends 4 bytes past the end"), "{error}");
    let atomic = Kernel::new("atom.global.add.u32 r0, [input+256], 1;\nret;");
    assert_eq!(access(&atomic, "atom.global.add.u32 r0, [input+256], 1;", 0).0, Access::Atomic);
}

#[test]
fn an_access_past_a_variable_is_a_fault() {
    let declarations = ".shared .align 4 .u32 first[4];\n.shared .align 4 .u32 second[4];\n.const .align 4 .u32 numbers[2] = {1, 2};\n.global .u32 few[3];\n.extern .shared .align 4 .b8 dynamic[];\n";
    for text in [
        "st.shared.u32 [first+16], r0;",
        "st.shared.u32 [first+-4], r0;",
        "st.shared.u32 [second+16], r0;",
        "ld.const.u32 r0, [numbers+8];",
        "st.global.u32 [few+12], r0;",
        "st.local.u32 [own+8], r0;",
        "ld.param.u32 r0, [kernel_output+8];",
        "st.shared.u32 [dynamic+8], r0;",
    ] {
        let body = format!(
            ".local .align 4 .u32 own[2]; st.shared.u32 [first], 1; st.shared.u32 [second], 1; st.shared.u32 [dynamic+4], 1;\n{text}\nret;"
        );
        let kernel = Kernel::new(body).declare(declarations).shape(1, 1).dynamic_shared(8);
        let error = access(&kernel, text, 0).1;
        assert!(matches!(error, AccessError::OutOfBounds { .. }), "{text} {error}");
    }
}

/// A kernel with threads that each load four words, at `[d0]`, from an input of seven.
fn loads_of_four(begin: &str, load: &str, rest: &str) -> Kernel {
    Kernel::new(format!(
        "{begin}\n{load}\nst.global.v2.u32 [cell8], {{r1, r2}}; st.global.u32 [cell8+256], r3; {rest} ret;"
    ))
    .declare(ROOMS)
    .input(&[10, 11, 12, 13, 14, 15, 16])
    .output_bytes(512)
}

#[test]
fn the_fourth_element_of_a_vector_is_read_only_if_its_register_is() {
    // NVIDIA's compilers load four elements where the program loads three.
    for load in ["ld.global.v4.u32 {r1, r2, r3, r4}, [d0];", "ld.global.nc.v4.u32 {r1, r2, r3, _}, [d0];"] {
        let words = loads_of_four("add.u64 d0, input, 16;", load, "").words(65);
        assert_eq!((&words[..2], words[64]), (&[14, 15][..], 16), "{load}");
        // Each lane at its own address.
        let begin = "and.b32 r0, tid, 1; mad.wide.u32 d0, r0, 16, input;";
        let words = loads_of_four(begin, load, "").words(67);
        assert_eq!((&words[..4], &words[64..]), (&[10, 11, 14, 15][..], &[12, 0, 16][..]), "{load}");
        let misaligned = access(&loads_of_four("add.u64 d0, input, 12;", load, ""), load, 0).1;
        assert!(matches!(misaligned, AccessError::Misaligned { alignment: 16, .. }), "{misaligned}");
        let outside = access(&loads_of_four("add.u64 d0, input, 32;", load, ""), load, 0).1;
        assert!(matches!(outside, AccessError::OutOfBounds { .. }), "{outside}");
    }
    let load = "ld.global.v4.u32 {r1, r2, r3, r4}, [d0];";
    for (reading, load) in [
        ("st.global.u32 [cell8+256], r4;", load),
        ("add.u32 r3, r3, r4;", load),
        ("{ .reg .b32 r3; mov.b32 r3, r4; }", load),
        ("", "ld.volatile.global.v4.u32 {r1, r2, r3, r4}, [d0];"),
        ("mov.b32 r1, r2;", "ld.global.v2.u64 {d1, d2}, [d0];"),
    ] {
        let outside = access(&loads_of_four("add.u64 d0, input, 16;", load, reading), load, 0).1;
        assert!(matches!(outside, AccessError::OutOfBounds { .. }), "{reading} {outside}");
    }
}

#[test]
fn a_fourth_element_that_nothing_reads_is_no_race() {
    let begin = "setp.eq.u32 p0, tid, 31; mov.u64 d0, cells; @p0 st.global.u32 [cells+12], 1;";
    let load = "ld.global.v4.u32 {r1, r2, r3, r4}, [d0];";
    loads_of_four(begin, load, "").report();
    let kind = loads_of_four(begin, load, "st.global.u32 [cell8+256], r4;").fault(load, 0, 0);
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
}

#[test]
fn null_and_freed_memory_are_faults() {
    let null = Kernel::new("mov.u64 d0, 0;\nst.global.u32 [d0+8], tid;\nret;");
    let error = access(&null, "st.global.u32 [d0+8], tid;", 0).1;
    assert_eq!(error, AccessError::NoAllocation { address: 8, bytes: 4, space: Space::Global });
    let text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry read(.param .u64 from) {\n.reg .u32 r; .reg .u64 d;
        ld.param.u64 d, [from];\nld.global.u32 r, [d+4];\nret; }";
    let mut machine = ptx_interpreter::Machine::new(text).unwrap();
    let freed = machine.allocate(64).unwrap();
    machine.memory().fill_zero(freed, 64).unwrap();
    let launch = |machine: &ptx_interpreter::Machine| {
        machine.launch(Default::default(), "read", cuda_launch::LaunchConfig::new(1, 1), &[&freed.to_le_bytes()])
    };
    launch(&machine).unwrap();
    machine.free(freed).unwrap();
    let error = launch(&machine).unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!((fault.place.line, &*fault.place.text), (7, "ld.global.u32 r, [d+4]"));
    assert!(
        matches!(&fault.kind, FaultKind::Access { error: AccessError::Freed { address, .. }, .. } if *address == freed + 4)
    );
}

#[test]
fn reading_uninitialised_memory_is_a_fault() {
    for (text, begin) in [
        ("ld.shared.u32 r0, [room+64];", ""),
        (
            "ld.shared.v4.u32 {r0, r1, r2, r3}, [room];",
            "st.shared.v2.u32 [room], {tid, tid}; st.shared.u32 [room+12], tid;",
        ),
        ("ld.shared.u32 r0, [room];", "st.shared.u16 [room], h0; st.shared.u8 [room+3], h0;"),
        ("ld.local.u32 r0, [own+4];", "st.local.u32 [own], 1;"),
        ("atom.shared.add.u32 r0, [room], 1;", ""),
        ("ld.u64 d1, [d0];", "cvta.shared.u64 d0, room;"),
        ("ld.shared.u32 r0, [dynamic];", ""),
    ] {
        let body =
            format!(".local .align 16 .b8 own[64]; {begin}\n{text}\nadd.u32 r0, r0, 1; st.global.u32 [cell], r0; ret;");
        let declarations = format!("{ROOMS}.extern .shared .align 16 .b8 dynamic[];\n");
        let kernel = Kernel::new(body).declare(&declarations).shape(1, 1).dynamic_shared(16);
        assert!(matches!(access(&kernel, text, 0).1, AccessError::Uninitialised { .. }), "{text}");
    }
    // Shared memory is uninitialized at the start of each block.
    let kernel = Kernel::new(
        "mov.u32 r1, %ctaid.x; setp.eq.u32 p0, r1, 0; @p0 st.shared.u32 [room], 1;\nld.shared.u32 r0, [room];\nret;",
    );
    let kind = kernel.declare(ROOMS).shape(3, 1).fault("ld.shared.u32 r0, [room];", 1, 0);
    assert!(matches!(kind, FaultKind::Access { error: AccessError::Uninitialised { first: 0, .. }, .. }));
}

#[test]
fn constants_and_parameters_are_only_read() {
    for (begin, space) in
        [("cvta.const.u64 d0, numbers;", Space::Const), ("cvta.param.u64 d0, kernel_input;", Space::Param)]
    {
        for text in ["st.u32 [d0], tid;", "atom.add.u32 r0, [d0], 1;"] {
            let kernel = Kernel::new(format!("{begin}\n{text}\nret;")).declare(".const .align 8 .u32 numbers[2];\n");
            let (kind, error) = access(&kernel, text, 0);
            assert_eq!(kind, if text.starts_with("st") { Access::Write } else { Access::Atomic });
            assert!(matches!(error, AccessError::ReadOnly { space: found, .. } if found == space), "{error}");
        }
    }
    for text in ["st.const.u32 [numbers], tid;", "st.param.u32 [kernel_input], tid;"] {
        let error =
            Kernel::new(format!("{text} ret;")).declare(".const .align 8 .u32 numbers[2];\n").load_error().to_string();
        assert!(error.contains("memory that can be written"), "{error}");
    }
}

#[test]
fn a_generic_access_with_an_offset_within_a_space_is_a_fault_that_names_the_space() {
    for (begin, space) in [
        ("mov.u64 d0, room;", Space::Shared),
        ("mov.u64 d0, own;", Space::Local),
        ("mov.u64 d0, numbers;", Space::Const),
        ("mov.u64 d0, kernel_input;", Space::Param),
        ("mov.u32 r5, room; cvt.u64.u32 d0, r5;", Space::Shared),
    ] {
        for text in ["st.u32 [d0], tid;", "ld.u32 r0, [d0+4];", "st.global.u32 [d0], tid;"] {
            let body = format!(".local .align 8 .b8 own[8]; {begin}\n{text}\nret;");
            let kernel = Kernel::new(body).declare(ROOMS).declare(".const .align 8 .u32 numbers[2];\n");
            let error = access(&kernel, text, 0).1;
            assert!(
                matches!(error, AccessError::WrongSpace { looks_like, .. } if looks_like == space),
                "{text}: {error}"
            );
            assert!(error.to_string().contains("cvta."), "{error}");
        }
    }
    // The reverse: a generic address where an offset is required.
    let kernel = Kernel::new("cvta.shared.u64 d0, room;\nst.shared.u32 [d0], tid;\nret;").declare(ROOMS);
    assert!(matches!(access(&kernel, "st.shared.u32 [d0], tid;", 0).1, AccessError::OutOfBounds { .. }));
    assert!(first_address(Space::Shared) > 0);
}

#[test]
fn semantics_scope_and_space_may_be_in_any_order() {
    for [load, store, add] in [
        ["ld.acquire.gpu.global", "st.release.gpu.global", "red.release.gpu.global"],
        ["ld.global.gpu.acquire", "st.global.gpu.release", "red.global.gpu.release"],
        ["ld.global.acquire.gpu", "st.global.release.gpu", "red.global.release.gpu"],
        ["ld.gpu.global.relaxed", "st.gpu.global.relaxed", "red.gpu.global.relaxed"],
        ["ld.global.volatile", "st.global.volatile", "red.global.gpu"],
        ["ld.global.weak", "st.global.weak", "red.global.cta.relaxed"],
        ["ld.acquire.gpu", "st.release.gpu", "red.relaxed.gpu"],
    ] {
        let kernel = Kernel::new(format!(
            "{load}.u32 r0, [input]; {store}.u32 [cell], r0; {add}.add.u32 [cell], 1; red.add.gpu.relaxed.global.u32 [cell], 1;
             atom.global.acq_rel.gpu.cas.b32 r1, [cell], 7, tid; atom.gpu.global.exch.b32 r2, [cell], r1;
             add.u32 r3, r1, r2; atom.global.gpu.exch.b32 r4, [cell], r3; ret;"
        ));
        assert_eq!(kernel.input(&[5]).words(32), each(32, |thread| 7 + thread), "{load} {store} {add}");
    }
}

#[test]
fn a_vector_of_one_register_is_that_register() {
    let kernel = Kernel::new(
        "ld.global.b32 { r0 }, [ input + 4 ]; st.global.b32 [ cell + 0 ], { r0 };
         ld.global.b64 {d0}, [ input + 8 ]; st.global.b64 [cell8+128], { d0 };
         setp.lt.u32 p0, tid, 4; @p0 ld.global.b32 { r1 }, [ input ]; @p0 st.global.b32 [cell], { r1 }; ret;",
    );
    let words = kernel.input(&[3, 5, 7, 9]).words(32 + 64);
    assert_eq!(words[..6], [3, 3, 3, 3, 5, 5]);
    assert_eq!(words[32..36], [7, 9, 7, 9]);
    for rejected in ["ld.global.b32 {r0, r1}, [input];", "ld.global.v2.b32 {r0}, [input];", "st.global.b32 [cell], {};"]
    {
        assert!(Kernel::new(format!("{rejected} ret;")).load_error().to_string().contains("line"), "{rejected}");
    }
}

#[test]
fn an_index_counts_the_elements_of_an_array_in_every_space() {
    let arrays = ".global .align 4 .u32 g[4] = {10, 11, 12, 13}; .const .align 4 .u32 c[4] = {20, 21, 22, 23};
        .global .align 8 .v2 .u32 pairs[2] = {{30, 31}, {32, 33}}; .global .u16 rows[2][2] = {{40, 41}, {42, 43}};
        .shared .align 16 .b8 s[16]; .func (.param .b32 sum) add(.param .align 4 .b8 both[8]) {
        .reg .b32 a, b; ld.param.b32 a, both[0]; ld.param.b32 b, both[4]; add.u32 a, a, b; st.param.b32 [sum], a; ret; }";
    let body = "
        .local .align 4 .f32 own[4]; .param .b32 of_call[2]; .param .b32 sum;
        st.shared.u32 s[4], 7; ld.shared.u32 r0, [s+4]; mov.u64 d0, s[4]; ld.shared.u32 r1, [d0]; add.u32 r0, r0, r1;
        st.global.u32 [output], r0;
        st.local.u32 own[3], 8; ld.local.u32 r0, [own+12]; st.global.u32 [output+4], r0;
        ld.global.u32 r0, g[2]; ld.const.u32 r1, c[3]; add.u32 r0, r0, r1; st.global.u32 [output+8], r0;
        mov.u64 d0, pairs[3]; ld.global.u32 r0, [d0]; ld.global.u16 r1, rows[3]; add.u32 r0, r0, r1; st.global.u32 [output+12], r0;
        mov.u32 r2, -3; mov.u64 d2, 0x500000001; ld.global.u32 r0, g[r2+4]; ld.u32 r1, g[d2]; add.u32 r0, r0, r1;
        st.global.u32 [output+16], r0;
        cvta.shared.u64 d0, s[4]; ld.u32 r0, [d0]; st.global.u32 [output+20], r0;
        st.param.b32 of_call[0], 50; st.param.b32 of_call[1], 60; call (sum), add, (of_call); ld.param.b32 r0, [sum];
        st.global.u32 [output+24], r0;
        mov.u64 d0, g[-1]; mov.u64 d1, g; sub.u64 d0, d1, d0; st.global.u32 [output+28], d0;
        ret;";
    let found = Kernel::new(body).declare(arrays).shape(1, 1).output_bytes(32).words(8);
    assert_eq!(found, [14, 8, 12 + 23, 33 + 43, 22, 7, 110, 4]);
}

#[test]
fn an_element_past_the_end_of_its_array_faults_when_it_is_accessed() {
    let kernel = |body: &str| Kernel::new(format!("{body} ret;")).declare(".global .u32 g[4];").shape(1, 1);
    kernel("mov.u64 d0, g[4];").report();
    for access in ["ld.global.u32 r0, g[4]", "ld.global.u32 r0, g[r1]", "st.global.u32 g[-1], 0"] {
        let fault = kernel(&format!("mov.u32 r1, 4; {access};")).fault(access, 0, 0);
        assert!(matches!(fault, FaultKind::Access { error: AccessError::OutOfBounds { .. }, .. }), "{fault:?}");
    }
}
