//! Atomic operations: the returned value, the stored value, and the combined effect of many threads.

use crate::support::kernel::{Kernel, each};
use rand::{RngExt, SeedableRng, rngs::SmallRng};

type Combine = fn(u64, u64) -> u64;

/// Each operation and type as defined in the PTX ISA (9.7.13.5, `atom`).
const OPERATIONS: [(&str, &str, Combine); 23] = [
    ("and", "b32", |old, a| old & a),
    ("or", "b32", |old, a| old | a),
    ("xor", "b32", |old, a| old ^ a),
    ("exch", "b32", |_, a| a),
    ("add", "u32", |old, a| (old as u32).wrapping_add(a as u32).into()),
    ("add", "s32", |old, a| (old as u32).wrapping_add(a as u32).into()),
    ("inc", "u32", |old, a| if old >= a { 0 } else { old + 1 }),
    ("dec", "u32", |old, a| if old == 0 || old > a { a } else { old - 1 }),
    ("min", "u32", |old, a| old.min(a)),
    ("max", "u32", |old, a| old.max(a)),
    ("min", "s32", |old, a| (old as i32).min(a as i32) as u32 as u64),
    ("max", "s32", |old, a| (old as i32).max(a as i32) as u32 as u64),
    ("and", "b64", |old, a| old & a),
    ("or", "b64", |old, a| old | a),
    ("xor", "b64", |old, a| old ^ a),
    ("exch", "b64", |_, a| a),
    ("add", "u64", u64::wrapping_add),
    ("min", "u64", |old, a| old.min(a)),
    ("max", "u64", |old, a| old.max(a)),
    ("min", "s64", |old, a| (old as i64).min(a as i64) as u64),
    ("max", "s64", |old, a| (old as i64).max(a as i64) as u64),
    ("add", "f64", |old, a| (f64::from_bits(old) + f64::from_bits(a)).to_bits()),
    ("add", "f32", |old, a| (f32::from_bits(old as u32) + f32::from_bits(a as u32)).to_bits().into()),
];

/// Locations of the cell: code that loads its address, the operations' order and scope, and the
/// instruction's space.
const LOCATIONS: [(&str, &str, &str); 6] = [
    ("add.u64 d0, input, 64;", "", ".global"),
    ("add.u64 d0, input, 64;", ".relaxed.gpu", ".global"),
    ("add.u64 d0, input, 64;", ".acq_rel.sys", ""),
    ("mov.u64 d0, room;", "", ".shared"),
    ("mov.u64 d0, room;", ".acquire.cta", ".shared"),
    ("cvta.shared.u64 d0, room;", ".release.gpu", ""),
];

/// The old value returned by an `atom`, the value it stores, and the value that the same operation
/// stores as `red`.
fn run(location: (&str, &str, &str), name: &str, scalar_type: &str, old: u64, operands: &[u64]) -> (u64, u64, u64) {
    let (find, order, space) = location;
    let wide = scalar_type.ends_with("64");
    let (register, bits) = if wide { ("d", 64) } else { ("r", 32) };
    let operand = |index: usize| if wide { format!("d{}", index + 10) } else { format!("r{}", index + 10) };
    let list: Vec<String> = (0..operands.len()).map(operand).collect();
    let red = match name {
        "exch" | "cas" => format!("atom{order}{space}.{name}.{scalar_type} {register}2, [d0], {};", list.join(", ")),
        _ => format!(
            "red{}{space}.{name}.{scalar_type} [d0], {};",
            order.replace("acq_rel", "relaxed").replace("acquire", "relaxed"),
            list.join(", ")
        ),
    };
    let body = format!(
        "{find} ld.global.u64 d20, [input]; st.b64 [input+64], d20; st.shared.b64 [room], d20;
         ld.global.u64 d10, [input+8]; ld.global.u64 d11, [input+16]; cvt.u32.u64 r10, d10; cvt.u32.u64 r11, d11;
         atom{order}{space}.{name}.{scalar_type} {register}1, [d0], {}; st.global.b{bits} [output], {register}1;
         ld{space}.b{bits} {register}3, [d0]; st.global.b{bits} [output+8], {register}3;
         st{space}.b64 [d0], d20; {red} ld{space}.b{bits} {register}3, [d0]; st.global.b{bits} [output+16], {register}3; ret;",
        list.join(", ")
    );
    let mut input = vec![old];
    input.extend(operands.iter().chain(&[0; 8]).take(8));
    let kernel = Kernel::new(body).declare(".shared .align 8 .b8 room[8];\n").input8(&[input, vec![0]].concat());
    let found = kernel.shape(1, 1).output_bytes(24).words8(3);
    (found[0], found[1], found[2])
}

#[test]
fn each_operation_returns_the_old_value_and_stores_the_new_one() {
    let mut rng = SmallRng::seed_from_u64(test_support::seed(8));
    for (name, scalar_type, combine) in OPERATIONS {
        for location in LOCATIONS {
            for _ in 0..6 {
                let edges =
                    [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, i64::MAX as u64, i64::MIN as u64, u64::MAX];
                let mut value = || match scalar_type {
                    "f32" => u64::from(rng.random_range(-1e3_f32..1e3).to_bits()),
                    "f64" => rng.random_range(-1e3_f64..1e3).to_bits(),
                    _ if rng.random() => edges[rng.random_range(0..edges.len())],
                    _ => rng.random(),
                };
                let (old, a) = (value(), value());
                let narrow = |value: u64| if scalar_type.ends_with("64") { value } else { value & 0xffff_ffff };
                let new = combine(narrow(old), narrow(a));
                let found = run(location, name, scalar_type, narrow(old), &[narrow(a)]);
                assert_eq!(found, (narrow(old), new, new), "{location:?} {name}.{scalar_type} {old:#x} {a:#x}");
            }
        }
    }
}

#[test]
fn compare_and_swap_stores_where_the_value_is_as_expected() {
    for location in LOCATIONS {
        for (scalar_type, mask) in [("b32", 0xffff_ffff), ("b64", u64::MAX)] {
            let (old, other) = (0x8765_4321_0fed_cba9 & mask, 0x1111_2222_3333_4444 & mask);
            assert_eq!(run(location, "cas", scalar_type, old, &[old, other]), (old, other, other), "{location:?}");
            assert_eq!(run(location, "cas", scalar_type, old, &[other, old ^ 1]), (old, old, old), "{location:?}");
        }
    }
    let body = "
        mov.u16 h0, 7; mov.u16 h1, 9; ld.global.u16 h2, [input+2];
        atom.global.cas.b16 h3, [input+2], h0, h1; atom.global.cas.b16 h4, [input+2], h2, h1; st.global.v2.u16 [output], {h3, h4};
        ld.global.u32 r0, [input]; st.global.u32 [output+4], r0; ret;";
    let found = Kernel::new(body).input(&[0x1234_5678]).shape(1, 1).output_bytes(8).words(2);
    assert_eq!(found, [0x1234_1234, 0x0009_5678]);
}

#[test]
fn additions_of_f32_flush_subnormal_numbers_in_global_memory_only() {
    let (small, smaller) = (f32::MIN_POSITIVE, f32::from_bits(1));
    let global = LOCATIONS[0];
    let shared = LOCATIONS[3];
    let run =
        |location, old: f32, a: f32| run(location, "add", "f32", old.to_bits().into(), &[a.to_bits().into()]).1 as u32;
    assert_eq!(run(shared, smaller, smaller), 2);
    assert_eq!(run(global, smaller, smaller), 0);
    assert_eq!(run(global, -smaller, -smaller), (-0.0_f32).to_bits());
    assert_eq!(run(global, small * 1.5, -small), 0, "the result");
    assert_eq!(run(shared, small * 1.5, -small), (small * 0.5).to_bits());
    assert_eq!(run(global, small * 1.5, -smaller), (small * 1.5).to_bits(), "the operand");
}

#[test]
fn lanes_of_one_instruction_are_serialised() {
    let body =
        "atom.global.add.u32 r0, [input], 1; st.global.u32 [cell], r0; atom.shared.exch.b32 r1, [room], tid; ret;";
    let body = format!("st.shared.u32 [room], 0; bar.sync 0; {body}")
        .replace("st.shared", "setp.eq.u32 p0, tid, 0; @p0 st.shared");
    let mut found = Kernel::new(body).declare(".shared .u32 room;\n").input(&[10]).words(32);
    found.sort_unstable();
    assert_eq!(found, each(32, |lane| lane + 10));
}

#[test]
fn threads_of_many_blocks_count_together() {
    for checked in [false, true] {
        let body = "
            atom.global.add.u32 r0, [output], 1; red.global.add.u64 [output+8], 1; rem.u32 r1, index, 7;
            red.global.max.u32 [output+16], index; red.relaxed.gpu.global.or.b32 [output+20], 64; red.add.f32 [output+24], 0f3f800000;
            mov.u32 r5, 0;
            LOOP: ld.relaxed.gpu.global.u32 r2, [output+28]; add.u32 r3, r2, 1; atom.global.cas.b32 r4, [output+28], r2, r3;
            setp.ne.u32 p0, r4, r2; @p0 bra LOOP; ret;";
        let kernel = Kernel::new(body).shape(50, 70).output_bytes(32);
        let kernel = if checked { kernel } else { kernel.without_race_checks() };
        assert_eq!(kernel.words(8), [3500, 0, 3500, 0, 3499, 64, 3500_f32.to_bits(), 3500]);
    }
}

#[test]
fn operations_on_unsupported_types_are_rejected() {
    for text in [
        "atom.global.and.u32 r0, [input], r1;",
        "atom.global.inc.s32 r0, [input], r1;",
        "atom.global.add.b32 r0, [input], r1;",
        "atom.global.min.f32 r0, [input], r1;",
        "atom.global.cas.u32 r0, [input], r1, r2;",
        "red.global.exch.b32 [input], r1;",
        "red.global.cas.b32 [input], r1, r2;",
        "atom.global.add.u32 r0, [input], r1, r2;",
        "atom.global.cas.b32 r0, [input], r1;",
        "atom.global.sub.u32 r0, [input], r1;",
        "atom.const.add.u32 r0, [input], r1;",
        "atom.global.add.u64 r0, [input], d1;",
    ] {
        let error = Kernel::new(format!("{text} ret;")).load_error().to_string();
        assert!(error.contains(text.trim_end_matches(';')), "{error}");
    }
}
