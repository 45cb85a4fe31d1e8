//! Modules, variables and function headers parse to the expected tree.

use ptx_interpreter::syntax::{
    Function, Immediate, Initializer, Linkage, Module, Performance, ScalarType, SourceFile, Space, Variable, parse,
};

fn module(text: &str) -> Module {
    let text = format!(".version 8.0\n.target sm_75\n.address_size 64\n{text}");
    parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn variable(text: &str) -> Variable {
    let [variable] = <[Variable; 1]>::try_from(module(text).variables).unwrap();
    variable
}

fn function(text: &str) -> Function {
    let [function] = <[Function; 1]>::try_from(module(text).functions).unwrap();
    function
}

fn integers(values: &[i64]) -> Vec<Initializer> {
    values.iter().map(|&value| Initializer::Value(Immediate::Integer(value))).collect()
}

fn address(name: &str, offset: i64, generic: bool) -> Initializer {
    Initializer::Address { name: name.to_owned(), offset, generic }
}

#[test]
fn a_module_begins_with_version_target_and_size_of_addresses() {
    let text =
        "// comment\n/* .version 1.0 */ .version 6.3 .target sm_90a, texmode_independent,\n debug .address_size 64";
    let module = parse(text).unwrap();
    assert_eq!((module.version, module.target.as_str(), module.address_size), ((6, 3), "sm_90a", 64));
    assert_eq!((module.variables, module.functions, module.files), (vec![], vec![], vec![]));
}

#[test]
fn a_variable_has_all_parts_of_its_text() {
    let expected = Variable {
        space: Space::Shared,
        linkage: Linkage::Extern,
        align: 16,
        element: ScalarType::B8,
        vector: 1,
        name: "__dynamic".to_owned(),
        count: None,
        is_array: true,
        is_managed: false,
        is_pointer: false,
        initial: vec![],
        line: 5,
    };
    assert_eq!(variable("\n.extern .shared .align 16 .b8 __dynamic[];"), expected);

    let variables = module(".visible .global .align 64 .v4 .f32 _x$1[2][3], y;").variables;
    let seen: Vec<_> =
        variables.iter().map(|of| (of.space, of.linkage, of.align, of.vector, &of.name[..], of.count)).collect();
    let expected = |name, count| (Space::Global, Linkage::Visible, 64, 4, name, Some(count));
    assert_eq!(seen, [expected("_x$1", 6), expected("y", 1)]);
    assert_eq!(variables[0].bytes(), Some(96));
}

#[test]
fn a_managed_variable_has_its_attribute() {
    for (attribute, is_managed) in [
        ("", false),
        (".attribute(.managed) ", true),
        (".attribute(.unified(19, 95)) ", false),
        (".attribute(.unified(19, 95), .managed) ", true),
    ] {
        assert_eq!(variable(&format!(".global {attribute}.align 4 .b32 x;")).is_managed, is_managed, "{attribute}");
    }
    for wrong in [".attribute(.global)", ".attribute()", ".attribute(.unified(1))", ".attribute(.managed"] {
        let text = format!(".version 8.0\n.target sm_75\n.address_size 64\n.global {wrong} .b32 x;");
        assert!(parse(&text).is_err(), "{wrong}");
    }
}

#[test]
fn linkage_follows_the_directive() {
    for (text, linkage) in [
        ("", Linkage::Internal),
        (".visible ", Linkage::Visible),
        (".extern ", Linkage::Extern),
        (".weak ", Linkage::Weak),
        (".common ", Linkage::Common),
    ] {
        assert_eq!(variable(&format!("{text}.global .b32 x;")).linkage, linkage);
    }
    assert_eq!(function(".weak .entry k() { ret; }").linkage, Linkage::Weak);
    assert_eq!(function(".extern .func f();").linkage, Linkage::Extern);
}

#[test]
fn a_missing_alignment_is_natural() {
    for (text, align) in [
        (".const .b8 x;", 1),
        (".const .f16 x;", 2),
        (".const .b64 x[3];", 8),
        (".const .v2 .b8 x;", 2),
        (".const .v4 .f32 x;", 16),
        (".const .align 1 .b32 x;", 1),
    ] {
        assert_eq!(variable(text).align, align, "{text}");
    }
}

#[test]
fn initial_values_are_in_the_order_of_memory() {
    assert_eq!(variable(".global .b32 x = -5;").initial, integers(&[-5]));
    assert_eq!(variable(".const .b32 x[4] = {1, 0x10, 3};").initial, integers(&[1, 16, 3]));
    assert_eq!(variable(".global .b32 x[4] = {};").initial, []);
    // A short row is padded with zeros if another row follows.
    let rows = variable(".global .b32 x[3][2] = {{1}, {}, {5, 6}};");
    assert_eq!((rows.count, rows.initial), (Some(6), integers(&[1, 0, 0, 0, 5, 6])));
    let deep = variable(".global .b32 x[2][2][2] = {{{1, 2}, {3}}, {{5}}};");
    assert_eq!(deep.initial, integers(&[1, 2, 3, 0, 5]));
    let vectors = variable(".global .v2 .b32 x[2] = {{1}, {3, 4}};");
    assert_eq!((vectors.count, vectors.initial), (Some(2), integers(&[1, 0, 3, 4])));
    assert_eq!(variable(".global .v2 .b32 x = {1, 2};").initial, integers(&[1, 2]));
    let floats = variable(".global .f32 x[3] = {0f3F800000, 1.5, -2.};").initial;
    let expected = [Immediate::F32(0x3f80_0000), Immediate::F64(1.5f64.to_bits()), Immediate::F64((-2f64).to_bits())];
    assert_eq!(floats, expected.map(Initializer::Value));
}

#[test]
fn initial_values_give_a_missing_size() {
    for (text, count) in [
        (".global .b32 x[] = {1, 2, 3};", 3),
        (".global .b32 x[][2] = {{1, 2}, {3}, {}};", 6),
        (".global .v2 .b32 x[] = {{1, 2}, {3, 4}, {}};", 3),
        (".global .v2 .b32 x[][2] = {{{1, 2}}, {}};", 4),
    ] {
        assert_eq!(variable(text).count, Some(count), "{text}");
    }
}

#[test]
fn initial_values_may_be_addresses() {
    let text = ".global .u64 x[5] = {y, y+8, y+-8, generic(y), generic(y)+4};";
    let expected = [
        address("y", 0, false),
        address("y", 8, false),
        address("y", -8, false),
        address("y", 0, true),
        address("y", 4, true),
    ];
    assert_eq!(variable(text).initial, expected);
    assert_eq!(variable(".global .u64 x = generic;").initial, [address("generic", 0, false)]);
}

#[test]
fn an_entry_has_parameters_and_bounds() {
    let text = "\n.visible .entry\nk(\n.param .u64 .ptr .global .align 4 a, .param .u64 .ptr b,\n.param .align 8 .b8 c[24]\n)\n\
                .maxntid 16, 8 .reqntid 4\n.minnctapersm 2 .reqnctapercluster 2 .maxnreg 32 .pragma \"x\", \"y\";\n{ ret; }";
    let function = function(text);
    assert_eq!((function.name.as_str(), function.is_entry, function.line), ("k", true, 6));
    assert_eq!(function.linkage, Linkage::Visible);
    let expected = [
        ("a", ScalarType::U64, 8, Some(1), 7),
        ("b", ScalarType::U64, 8, Some(1), 7),
        ("c", ScalarType::B8, 8, Some(24), 8),
    ];
    let found: Vec<_> =
        function.parameters.iter().map(|of| (&of.name[..], of.element, of.align, of.count, of.line)).collect();
    assert_eq!(found, expected);
    assert!(function.parameters.iter().all(|parameter| parameter.space == Space::Param));
    let expected = Performance {
        max_threads: Some([16, 8, 1]),
        required_threads: Some([4, 1, 1]),
        required_cluster: Some([2, 1, 1]),
        max_cluster_rank: None,
        min_blocks: Some(2),
        max_registers: Some(32),
    };
    assert_eq!(function.performance, expected);
    assert_eq!(function.body.unwrap().len(), 1);
}

#[test]
fn an_entry_may_lack_parameters_and_a_body() {
    assert_eq!(function(".entry k { ret; }").parameters, []);
    assert_eq!(function(".entry k(.param .u64 a);").body, None);
    assert_eq!(function(".entry k() { }").body, Some(vec![]));
}

#[test]
fn a_function_has_parameters_and_returns() {
    let declared = function(".func (.param .align 16 .b8 r[16]) f(.param .b32 a, .param .b8 rest[]) .noreturn;");
    assert_eq!((declared.is_entry, declared.body, declared.name.as_str()), (false, None, "f"));
    assert_eq!((declared.returns[0].count, declared.returns[0].align), (Some(16), 16));
    assert_eq!((declared.parameters[0].count, declared.parameters[1].count), (Some(1), None));
    let defined = function(".visible .func f { ret; }");
    assert_eq!((defined.returns.len(), defined.parameters.len(), defined.body.unwrap().len()), (0, 0, 1));
}

#[test]
fn files_have_a_number_and_a_name() {
    let text = ".file 1 \"src/lib.rs\"\n.file 7 \"a \\\"b\\\" \\303\\274.rs\", 1283, 99\n";
    let file = |number, name: &str| SourceFile { number, name: name.to_owned() };
    assert_eq!(module(text).files, [file(1, "src/lib.rs"), file(7, "a \"b\" ü.rs")]);
}

#[test]
fn debug_sections_and_pragmas_are_ignored() {
    let text = ".section .debug_info\n{\n.b8 1 // {\n.b32 .debug_abbrev+4\n{ .b64 $L__a-$L__b }\n}\n$L:\n.section .debug_loc { }\n\
                .pragma \"nounroll\";\n.global .b32 x;";
    let module = module(text);
    assert_eq!((module.variables.len(), module.variables[0].line), (1, 13));
}
