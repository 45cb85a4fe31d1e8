//! Operands that NVIDIA's assembler rejects are rejected by the interpreter too.

use ptx_interpreter::Machine;

fn loads(instruction: &str) -> bool {
    let registers = ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;";
    let module = format!(
        ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{registers}\n{instruction}\nret;\n}}\n"
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
