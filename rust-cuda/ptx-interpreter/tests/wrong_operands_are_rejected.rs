//! Operands that NVIDIA's assembler rejects are also rejected by the interpreter.

use ptx_interpreter::Machine;

fn loads(instruction: &str) -> bool {
    loads_with("", instruction)
}

fn loads_with(declarations: &str, instruction: &str) -> bool {
    let registers = ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;";
    let module = format!(
        ".version 8.1\n.target sm_90\n.address_size 64\n{declarations}\n.visible .entry k(.param .u64 out)\n{{\n{registers}\n\
         {instruction}\nret;\n}}\n"
    );
    Machine::new(&module).is_ok_and(|machine| machine.refused().next().is_none())
}

#[test]
fn a_comparison_of_f16_or_bf16_has_one_predicate() {
    assert!(loads("setp.lt.f16 %p1, %rs1, %rs2;"));
    assert!(loads("setp.lt.u16 %p1|%p2, %rs1, %rs2;"));
    assert!(!loads("setp.lt.f16 %p1|%p2, %rs1, %rs2;"));
    assert!(!loads("setp.lt.and.bf16 %p1|%p2, %rs1, %rs2, %p3;"));
}

#[test]
fn the_sync_of_a_match_comes_second() {
    assert!(loads("match.any.sync.b32 %r1, %r2, 0xffffffff;"));
    assert!(loads("match.all.sync.b64 %r1|%p1, %rd2, 0xffffffff;"));
    assert!(!loads("match.sync.any.b32 %r1, %r2, 0xffffffff;"));
    assert!(!loads("match.any.sync.b32 %r1|%p1, %r2, 0xffffffff;"));
}

#[test]
fn an_element_of_an_array_is_an_operand_of_ld_st_mov_cvta_and_mapa() {
    const ARRAYS: &str = ".global .u32 a[4]; .global .u32 one; .global .u32 rows[4][3]; .shared .u32 s[4];";
    for accepted in [
        "mov.u64 %rd1, a[1];",
        "mov.u64 %rd1, a[%r1+1];",
        "mov.u64 %rd1, a[5];",
        "mov.u64 %rd1, a[-1];",
        "mov.u64 %rd1, rows[1];",
        "mov.u32 %r1, s[1];",
        "cvta.global.u64 %rd1, a[1];",
        "mapa.shared::cluster.u32 %r1, s[1], 0;",
        "ld.global.u32 %r1, a[1];",
        "ld.volatile.global.u32 %r1, a[%rd1];",
        "ldu.global.u32 %r1, a[1];",
        "ld.u32 %r1, a[1];",
        "ld.global.v2.u32 {%r1, %r2}, a[0];",
        "st.shared.u32 s[1], 5;",
    ] {
        assert!(loads_with(ARRAYS, accepted), "{accepted}");
    }
    for refused in [
        "mov.u64 %rd1, one[0];",
        "mov.u64 %rd1, none[0];",
        "mov.u64 %rd1, k[0];",
        "mov.u64 %rd1, %rd2[0];",
        "mov.u64 %rd1, a[%p1];",
        "mov.u64 %rd1, a[%r9];",
        "mov.u64 %rd1, a[1.5];",
        "mov.u64 %rd1, a[];",
        "mov.u64 %rd1, a[1]+4;",
        "mov.u64 %rd1, rows[1][2];",
        "mov.u32 %r1, a[1];",
        "mov.u16 %rs1, s[1];",
        "ld.param.u64 %rd1, out[0];",
        "ld.global.u32 %r1, [a[1]];",
        "ld.global.u32 %r1, s[1];",
        "ld.global.u32 %r1, a;",
        "ld.global.u32 %r1, %rd1[1];",
        "atom.global.add.u32 %r1, a[1], 5;",
        "red.global.add.u32 a[1], 5;",
        "prefetch.global.L2 a[1];",
        "cvta.shared.u64 %rd1, a[1];",
        "cvta.to.global.u64 %rd1, a[1];",
        "isspacep.global %p1, a[1];",
        "add.u64 %rd1, %rd2, a[1];",
        "cp.async.ca.shared.global s[1], [%rd1], 4;",
    ] {
        assert!(!loads_with(ARRAYS, refused), "{refused}");
    }
}

#[test]
fn conversions_of_8_bit_floats_saturate_and_round_to_nearest() {
    for format in ["e4m3x2", "e5m2x2"] {
        for accepted in
            ["rn.satfinite.#.f32 %rs1, %r1, %r2", "rn.satfinite.relu.#.f16x2 %rs1, %r1", "rn.relu.f16x2.# %r1, %rs1"]
        {
            assert!(loads(&format!("cvt.{};", accepted.replace('#', format))), "{accepted}");
        }
        for refused in [
            "rn.#.f32 %rs1, %r1, %r2",
            "rz.satfinite.#.f32 %rs1, %r1, %r2",
            "satfinite.#.f16x2 %rs1, %r1",
            "rn.satfinite.#.f32 %r3, %r1, %r2",
            "rn.satfinite.#.bf16x2 %rs1, %r1",
            "rn.satfinite.f16x2.# %r1, %rs1",
            "f16x2.# %r1, %rs1",
            "rn.f16x2.# %r1, %r2",
            "rn.bf16x2.# %r1, %rs1",
        ] {
            assert!(!loads(&format!("cvt.{};", refused.replace('#', format))), "{refused}");
        }
    }
}

#[test]
fn bf16_is_converted_from_and_to_bytes() {
    let bytes = "{ .reg .b8 b; cvt.rzi.s8.bf16 b, %rs1; mov.b16 %rs2, {b, 0}; cvt.rn.bf16.u8 %rs1, b; }";
    assert!(loads(bytes));
    assert!(!loads("cvt.s8.bf16 %rs1, %rs2;"));
    assert!(!loads("cvt.rzi.sat.s8.bf16 %rs1, %rs2;"));
    assert!(!loads("cvt.rn.relu.bf16.u8 %rs1, %rs2;"));
}

#[test]
fn products_of_8_bit_floats_have_a_depth_of_32_and_add_in_f32() {
    let [d, a, b] = ["{%r1, %r1, %r1, %r1}", "{%r0, %r0, %r0, %r0}", "{%r0, %r0}"];
    for (form, is_known) in [
        ("m16n8k32.row.col.f32.e4m3.e4m3.f32", true),
        ("m16n8k32.row.col.f32.e5m2.e4m3.f32", true),
        ("m16n8k32.row.col.f32.e4m3.f16.f32", false),
        ("m16n8k32.row.col.f32.f16.f16.f32", false),
        ("m16n8k16.row.col.f32.e4m3.e4m3.f32", false),
        ("m16n8k32.row.col.f16.e4m3.e4m3.f16", false),
    ] {
        assert_eq!(loads(&format!("mma.sync.aligned.{form} {d}, {a}, {b}, {d};")), is_known, "{form}");
    }
}
