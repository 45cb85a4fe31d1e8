//! Linked modules have one definition of each name: the one that NVIDIA's nvlink keeps.

use ptx_interpreter::syntax::{LinkError, Linkage, link, parse};

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn linked(modules: [&str; 2]) -> Result<[String; 2], LinkError> {
    let texts = modules.map(|module| format!("{HEADER}{module}"));
    let linked = link(&[&texts[0], &texts[1]])?;
    let [a, b] = linked.try_into().expect("two texts");
    Ok([a, b].map(|text| text.strip_prefix(HEADER).expect("the header").trim().to_owned()))
}

#[test]
fn a_strong_definition_replaces_a_weak_one_and_that_a_common_one() {
    let by_rank = [
        ".visible .global .align 4 .u32 v = 6;",
        ".weak .global .align 4 .u32 v = 5;",
        ".common .global .align 4 .u32 v;",
    ];
    for (index, kept) in by_rank.iter().enumerate() {
        for replaced in &by_rank[index.max(1)..] {
            assert_eq!(linked([kept, replaced]).unwrap(), [*kept, ""]);
            if kept != replaced {
                assert_eq!(linked([replaced, kept]).unwrap(), ["", *kept]);
            }
        }
    }
    let [strong, weak] = [".visible .func f() { ret; }", ".weak .func f()\n{ ret; }"];
    assert_eq!(linked([strong, weak]).unwrap(), [strong, ""]);
    assert_eq!(linked([weak, strong]).unwrap(), ["", strong]);
    assert_eq!(linked([weak, weak]).unwrap(), [weak, ""]);
    let shared = ".weak .shared .align 4 .u32 v;";
    assert_eq!(linked([shared, shared]).unwrap(), [shared, ""]);
}

#[test]
fn the_largest_common_definition_stays() {
    let [one, two] = [".common .global .align 4 .u32 v;", ".common .global .align 8 .u32 v[2];"];
    assert_eq!(linked([one, two]).unwrap(), ["", two]);
    assert_eq!(linked([two, one]).unwrap(), [two, ""]);
}

#[test]
fn declarations_of_what_another_module_defines_stay() {
    for [declaration, definition] in [
        [".extern .global .align 4 .u32 v;", ".visible .global .align 4 .u32 v = 6;"],
        [".extern .global .align 4 .u32 v[];", ".weak .global .align 4 .u32 v[2] = {6, 7};"],
        [".extern .func f(.param .b32 x);", ".visible .func f(.param .b32 x) { ret; }"],
        [".extern .func (.param .b32 r) f(.param .b32 x);", ".visible .func f(.param .b32 x) { ret; }"],
        [".extern .func f();", ".visible .func (.param .b32 r) f() { ret; }"],
        [".extern .shared .b8 s[];", ".extern .shared .b8 s[];"],
    ] {
        assert_eq!(linked([declaration, definition]).unwrap(), [declaration, definition]);
    }
}

#[test]
fn names_that_only_their_module_sees_stay_apart() {
    let [first, second] = [".global .u32 v = 1;", ".global .u32 v = 2; .func f() { mov.u64 %rd1, v; // v\n ret; }"];
    let renamed = ".global .u32 v__1_0 = 2; .func f() { mov.u64 %rd1, v__1_0; // v\n ret; }";
    assert_eq!(linked([first, second]).unwrap(), [first, renamed]);
    let visible = ".visible .global .u32 v = 3;";
    assert_eq!(linked([first, visible]).unwrap(), [".global .u32 v__0_0 = 1;", visible]);
    assert_eq!(linked([visible, second]).unwrap(), [visible, renamed]);
    let [f, g] = [".func f() { ret; }", ".func f() { ret; } .visible .entry f__1_0() { call f; ret; }"];
    assert_eq!(linked([f, g]).unwrap(), [f, &g.replace("func f", "func f__1_1").replace("call f", "call f__1_1")]);
}

#[test]
fn one_of_several_variables_of_a_declaration_is_replaced() {
    let [first, second] = [".weak .global .u32 v = 1;", ".weak .global .u32 u, v = 2, w = v;"];
    assert_eq!(linked([first, second]).unwrap()[1], ".weak .global .u32 u, v__replaced = 2, w = v;");
}

#[test]
fn one_module_and_the_lines_of_others_stay_as_they_are() {
    let text = format!("{HEADER}.weak .global .u32 v = 1; // v\n");
    assert_eq!(link(&[&text]).unwrap(), std::slice::from_ref(&text));
    assert_eq!(link(&[]).unwrap(), Vec::<String>::new());
    let second = format!("{HEADER}.weak .global .u32 v =\n1;\n.visible .entry k() {{ ret; }}\n");
    let linked = link(&[&text, &second]).unwrap();
    assert_eq!(linked[1].lines().count(), second.lines().count());
    assert_eq!(parse(&linked[1]).unwrap().functions[0].linkage, Linkage::Visible);
}

#[test]
fn definitions_that_do_not_fit_are_an_error() {
    for ([a, b], message) in [
        ([".visible .global .u32 v;", ".visible .global .u32 v;"], "`v` is defined in several modules"),
        ([".visible .func v() { ret; }", ".visible .func v() { ret; }"], "`v` is defined in several modules"),
        ([".visible .entry v() { ret; }", ".visible .entry v() { ret; }"], "`v` is defined in several modules"),
        ([".weak .global .u32 v;", ".weak .global .u32 v[2];"], "`v` has another size in another module"),
        ([".visible .global .u32 v;", ".common .global .u32 v[2];"], "`v` has another size in another module"),
        ([".extern .global .u32 v;", ".visible .global .u32 v[2];"], "`v` has another size in another module"),
        ([".weak .const .u32 v;", ".weak .global .u32 v;"], "`v` has another state space in another module"),
        ([".weak .func v() { ret; }", ".weak .global .u32 v;"], "`v` has another state space in another module"),
        (
            [".extern .func v(.param .b32 x);", ".visible .func v() { ret; }"],
            "`v` has another prototype in another module",
        ),
        (
            [".weak .func v() { ret; }", ".weak .func (.param .b32 r) v() { ret; }"],
            "`v` has another prototype in another module",
        ),
    ] {
        for modules in [[a, b], [b, a]] {
            assert_eq!(linked(modules).unwrap_err().to_string(), message, "{a} {b}");
        }
    }
    assert!(matches!(linked([".global .u32 v;", ".global v;"]), Err(LinkError::Syntax(_))));
}
