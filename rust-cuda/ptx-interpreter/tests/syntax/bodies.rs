//! Statements, instructions and operands parse to the expected tree.

use ptx_interpreter::syntax::{
    Address, AddressBase, Element, Guard, Immediate, Instruction, Location, Operand, ScalarType, Space, Statement,
    Texel, Variable, parse,
};

/// The statements of a kernel; their first line is line 5.
fn body(text: &str) -> Vec<Statement> {
    let text = format!(".version 8.0\n.target sm_75\n.address_size 64\n.entry k() {{\n{text}\n}}");
    let mut module = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    module.functions.remove(0).body.unwrap()
}

fn instruction(text: &str) -> Instruction {
    match <[Statement; 1]>::try_from(body(text)) {
        Ok([Statement::Instruction(instruction)]) => instruction,
        other => panic!("{text} is {other:?}"),
    }
}

fn operands(text: &str) -> Vec<Operand> {
    instruction(text).operands
}

fn name(name: &str) -> Operand {
    Operand::Name(name.to_owned())
}

fn integer(value: i64) -> Operand {
    Operand::Immediate(Immediate::Integer(value))
}

fn address(name: &str, offset: i64) -> Operand {
    Operand::Address(Address { base: AddressBase::Name(name.to_owned()), offset })
}

#[test]
fn an_instruction_has_guard_opcode_modifiers_operands_line_and_text() {
    let found = instruction("\n  @!%p1\tld.shared::cta.v2.b32  {%r1,\n _}, /* here */ [ %rd1 + 8 ] ; // there");
    let expected = Instruction {
        guard: Some(Guard { register: "%p1".to_owned(), negated: true }),
        opcode: "ld".to_owned(),
        modifiers: ["shared::cta", "v2", "b32"].map(str::to_owned).to_vec(),
        operands: vec![Operand::Vector(vec![name("%r1"), name("_")]), address("%rd1", 8)],
        line: 6,
        text: "ld.shared::cta.v2.b32 {%r1, _}, [ %rd1 + 8 ]".to_owned(),
        reason: None,
    };
    assert_eq!(found, expected);
    let plain = instruction("ret;");
    assert_eq!((plain.guard, plain.modifiers.len(), plain.operands.len(), &plain.text[..]), (None, 0, 0, "ret"));
    let guard = Guard { register: "p".to_owned(), negated: false };
    assert_eq!(instruction("@p bra.uni L;").guard, Some(guard));
    // Whitespace is allowed before a modifier.
    assert_eq!(
        instruction("cp.async .ca\n.shared.global [a], [b], 16;").modifiers,
        ["async", "ca", "shared", "global"]
    );
}

#[test]
fn names_are_registers_special_registers_variables_and_sinks() {
    let expected = ["%r1", "%tid.x", "%clock64", "__shared_1", "_", "$x", "v.w", "%SP"].map(name);
    assert_eq!(operands("mov.b32 %r1, %tid.x, %clock64, __shared_1, _, $x, v.w, %SP;"), expected);
}

#[test]
fn numbers_have_any_radix_and_a_sign() {
    let expected = [10, -10, 31, -31, 15, 5, 7, -1, i64::MIN].map(integer);
    let text = "x 10, -10, 0x1F, - 0x1f, 017, 0b101, 7U, 18446744073709551615, -9223372036854775808;";
    assert_eq!(operands(text), expected);
    let expected = [
        Immediate::F32(0xbf80_0000),
        Immediate::F64(0x3ff0_0000_0000_0000),
        Immediate::F64(1.5f64.to_bits()),
        Immediate::F64((-0.25f64).to_bits()),
        Immediate::F64(1e5f64.to_bits()),
    ];
    let text = "x 0fbF800000, 0d3FF0000000000000, 1.5, -.25, 1e5;";
    assert_eq!(operands(text), expected.map(Operand::Immediate));
}

#[test]
fn addresses_have_a_base_and_an_offset() {
    for (text, base, offset) in [
        ("[%rd1]", "%rd1", 0),
        ("[%rd1+0]", "%rd1", 0),
        ("[%rd1+8]", "%rd1", 8),
        ("[%rd1+-8]", "%rd1", -8),
        ("[%rd1-8]", "%rd1", -8),
        ("[name+0x10]", "name", 16),
    ] {
        assert_eq!(operands(&format!("ld.param.b32 {text};")), [address(base, offset)], "{text}");
    }
    let absolute = Operand::Address(Address { base: AddressBase::Immediate(u64::MAX), offset: 4 });
    assert_eq!(operands("ld.local.b32 [0xFFFFFFFFFFFFFFFF+4];"), [absolute]);
}

#[test]
fn the_other_operands_are_distinguished() {
    let pair = |first: &str, second: &str| Operand::Pair(first.to_owned(), second.to_owned());
    assert_eq!(
        operands("setp.eq.and.s32 p|q, %p1|_, %r1, -5, !r;"),
        [pair("p", "q"), pair("%p1", "_"), name("%r1"), integer(-5), Operand::Not("r".to_owned())]
    );
    assert_eq!(operands("mov.u64 %rd1, NAME+8;"), [name("%rd1"), Operand::Offset("NAME".to_owned(), 8)]);
    assert_eq!(operands("mov.u64 %rd1, NAME+-8;")[1], Operand::Offset("NAME".to_owned(), -8));
    for (text, register, index) in [
        ("NAME[3]", None, 3),
        ("NAME [ 0x10 ]", None, 16),
        ("NAME[-1]", None, -1),
        ("NAME[%r1]", Some("%r1".to_owned()), 0),
        ("NAME[%r1+2]", Some("%r1".to_owned()), 2),
        ("NAME[%r1-2]", Some("%r1".to_owned()), -2),
    ] {
        let element = Operand::Element(Element { array: "NAME".to_owned(), register, index });
        assert_eq!(operands(&format!("ld.u32 %r0, {text};")), [name("%r0"), element], "{text}");
    }
    let vector = Operand::Vector(vec![name("%r1"), integer(0), name("%tid.y")]);
    assert_eq!(operands("mov.b64 {%r1,0,%tid.y}, %rd1;"), [vector, name("%rd1")]);
}

#[test]
fn a_place_of_a_texture_has_coordinates() {
    let texel = |coordinates| Operand::Texel(Texel { object: "%rd1".to_owned(), coordinates });
    let places = [
        ("[%rd1, {%f1}]", vec![name("%f1")]),
        ("[%rd1, %r1]", vec![name("%r1")]),
        ("[ %rd1 , { 1, %f1 } ]", vec![integer(1), name("%f1")]),
    ];
    for (text, coordinates) in places {
        assert_eq!(operands(&format!("sust.b.1d.b32.trap {text}, {{%r2}};"))[0], texel(coordinates), "{text}");
    }
}

#[test]
fn a_call_has_groups() {
    let group = |names: &[&str]| Operand::Group(names.iter().map(|text| name(text)).collect());
    assert_eq!(
        operands("call.uni (retval0), f, (param0, param1);"),
        [group(&["retval0"]), name("f"), group(&["param0", "param1"])]
    );
    assert_eq!(operands("call f, (5);"), [name("f"), Operand::Group(vec![integer(5)])]);
    assert_eq!(operands("call (), f, ();"), [group(&[]), name("f"), group(&[])]);
    assert_eq!(operands("call f;"), [name("f")]);
}

#[test]
fn registers_are_declared_by_name_or_number() {
    let registers = |element, vector, names: &[&str], line| Statement::Registers {
        element,
        vector,
        names: names.iter().map(|&name| name.to_owned()).collect(),
        line,
    };
    let expected = [
        registers(ScalarType::B32, 1, &["%r0", "%r1", "%r2"], 5),
        registers(ScalarType::Pred, 1, &["p", "q0", "q1", "_r"], 6),
        registers(ScalarType::F32, 2, &["v"], 7),
        registers(ScalarType::B64, 1, &[], 7),
    ];
    assert_eq!(body(".reg .b32 \t%r<3>;\n.reg .pred p, q<2>, _r;\n.reg .v2 .f32 v; .reg .b64 %x<0>;"), expected);
}

#[test]
fn variables_and_labels_and_blocks_are_statements() {
    let body =
        body("L: M:\n.local .align 8 .b8 depot[16];\n{ // callseq\n.param .b32 param0;\n{ N: ret; }\n} ret;\n$L__end:");
    let label = |name: &str, line| Statement::Label { name: name.to_owned(), line };
    assert_eq!(body[..2], [label("L", 5), label("M", 5)]);
    let Statement::Variable(depot) = &body[2] else { panic!("{:?}", body[2]) };
    assert_eq!((depot.space, depot.align, depot.count, depot.line), (Space::Local, 8, Some(16), 6));
    let Statement::Block(block) = &body[3] else { panic!("{:?}", body[3]) };
    assert!(matches!(&block[0], Statement::Variable(param) if param.space == Space::Param && param.line == 8));
    assert!(matches!(&block[1], Statement::Block(inner) if inner[0] == label("N", 9) && inner.len() == 2));
    assert_eq!((block.len(), body.len(), &body[5]), (2, 6, &label("$L__end", 11)));
}

#[test]
fn a_table_of_branches_has_its_labels() {
    let targets = ["A", "B", "A"].map(str::to_owned).to_vec();
    let expected = Statement::BranchTargets { name: "$T".to_owned(), targets, line: 5 };
    assert_eq!(body("$T: .branchtargets\n\tA,\n\tB, A;"), [expected]);
}

#[test]
fn the_targets_of_a_call_through_a_pointer_are_names_or_a_signature() {
    let functions = ["f", "g"].map(str::to_owned).to_vec();
    assert_eq!(body("T: .calltargets f, g;"), [Statement::CallTargets { name: "T".to_owned(), functions, line: 5 }]);
    let sizes = |text: &str| match &body(text)[..] {
        [Statement::CallPrototype { name, returns, parameters, line: 5 }] => {
            assert_eq!(name, "P");
            [returns, parameters].map(|variables| variables.iter().map(Variable::bytes).collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    };
    let text = "P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[24]);";
    assert_eq!(sizes(text), [vec![Some(4)], vec![Some(8), Some(24)]]);
    assert_eq!(sizes("P: .callprototype ()_ (.param .b16 x) .noreturn;"), [vec![], vec![Some(2)]]);
    assert_eq!(sizes("P: .callprototype _;"), [vec![], vec![]]);
}

#[test]
fn a_location_has_its_own_position_and_that_of_the_inlined_call() {
    let text = ".loc 1 23 5\n.loc 2 0 0, function_name $L__info_string0, inlined_at 1 12 3\n\
                .loc 3 4 5, function_name $L__info+16, inlined_at 9 9 9 .pragma \"nounroll\"; ret;";
    let place = |file, line, column, inlined_at| Statement::Location(Location { file, line, column, inlined_at });
    let body = body(text);
    let expected = [place(1, 23, 5, None), place(2, 0, 0, Some([1, 12, 3])), place(3, 4, 5, Some([9, 9, 9]))];
    assert_eq!((&body[..3], body.len()), (&expected[..], 4));
}

#[test]
fn inline_assembly_may_have_several_instructions_in_a_line_or_one_in_several() {
    let statements = body(
        "trap; exit;\n{ .reg .b64 window; cvta.to.shared.u64 window, %rd1;\natom.shared.add.u32 %r1,\n[window], %r2; }",
    );
    let [Statement::Instruction(trap), Statement::Instruction(exit), Statement::Block(block)] = &statements[..] else {
        panic!("{statements:?}")
    };
    assert_eq!((&trap.opcode[..], trap.line, &exit.opcode[..], exit.line), ("trap", 5, "exit", 5));
    let Statement::Instruction(atom) = &block[2] else { panic!("{block:?}") };
    assert_eq!((atom.line, &atom.text[..]), (7, "atom.shared.add.u32 %r1, [window], %r2"));
}

#[test]
fn a_trap_has_the_reason_of_its_comment() {
    use cuda_launch::trap::{Bounded, TrapReason};
    let reason = |text: &str| instruction(text).reason.map(|reason| *reason);
    let buffer = Some(TrapReason::OutOfBounds(Bounded::Buffer));
    assert_eq!(reason("trap; // out of bounds: buffer\n"), buffer);
    assert_eq!(reason("@%p trap; // out of bounds: buffer"), buffer);
    for other in ["trap;\n// out of bounds: buffer", "trap; // of another kind", "exit; // out of bounds: buffer"] {
        assert_eq!(reason(other), None, "{other}");
    }
}
