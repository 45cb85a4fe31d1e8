//! Malformed or unknown syntax is an error with its line; nothing is skipped.

use ptx_interpreter::syntax::{SyntaxError, parse};

const HEADER: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

fn error(text: &str) -> SyntaxError {
    match parse(text) {
        Ok(module) => panic!("{text} parses to {module:?}"),
        Err(error) => error,
    }
}

/// Checks each text's error line, counted from `first`, and the token found there.
fn check(first: u32, wrap: impl Fn(&str) -> String, cases: &[(&str, u32, &str)]) {
    for &(text, line, found) in cases {
        let text = wrap(text);
        let error = error(&text);
        assert_eq!((error.line, error.found.as_str()), (first + line, found), "{error}\n{text}");
        assert_eq!(error.text, text.lines().nth(error.line as usize - 1).unwrap_or("").trim(), "{text}");
        assert!(!error.expected.is_empty());
    }
}

#[test]
fn in_the_header_of_a_module() {
    let cases = [
        ("", 1, "the end of the text"),
        ("\n\n", 2, "the end of the text"),
        ("hello", 1, "`hello`"),
        (".target sm_75\n.version 7.0", 1, "`.target`"),
        (".version 7\n", 1, "`7`"),
        (".version 7.x\n", 1, "`7.x`"),
        (".version 7.0.1\n.target sm_75", 1, "`.1`"),
        (".version 7.0\n.address_size 64", 2, "`.address_size`"),
        (".version 7.0\n.target 75\n", 2, "`75`"),
        (".version 7.0\n.target compute_75\n", 2, "`compute_75`"),
        (".version 7.0\n.target sm_75, map_f64_to_f32\n", 2, "`map_f64_to_f32`"),
        (".version 7.0\n.target sm_75\n.entry k() { ret; }", 3, "`.entry`"),
        (".version 7.0\n.target sm_75\n.address_size 32\n", 3, "`32`"),
        (".version 7.0\n.target sm_75\n.address_size 64\n.address_size 64", 4, "`.address_size`"),
    ];
    check(0, str::to_owned, &cases);
}

#[test]
fn at_module_scope() {
    let cases = [
        ("ret;", 1, "`ret`"),
        (";", 1, "`;`"),
        ("\n.local .b32 x;", 2, "`.local`"),
        (".reg .b32 x;", 1, "`.reg`"),
        (".alias f, g;", 1, "`.alias`"),
        (".visible .local .b32 x;", 1, "`.local`"),
        (".visible .extern .global .b32 x;", 1, "`.extern`"),
        (".common .shared .b32 x;", 1, "`.shared`"),
        (".global x;", 1, "`x`"),
        (".global .b32;", 1, "`;`"),
        (".global .b33 x;", 1, "`.b33`"),
        (".global .pred x;", 1, "`.pred`"),
        (".global .v3 .b32 x;", 1, "`.v3`"),
        (".global .v4 .b64 x;", 1, "`.b64`"),
        (".global .b32 .align 4 x;", 1, "`.align`"),
        (".global .align 3 .b32 x;", 1, "`3`"),
        (".global .align 0 .b32 x;", 1, "`0`"),
        (".global .align x .b32 x;", 1, "`x`"),
        (".global .b32 x[0];", 1, "`0`"),
        (".global .b32 x[-1];", 1, "`-`"),
        (".global .b32 x[2][];", 1, "`]`"),
        (".global .b32 x[];", 1, "`;`"),
        (".global .b32 x[1099511627777];", 1, "`;`"),
        (".global .b32 x[4294967296][4294967296];", 1, "`;`"),
        (".global .b32 x\n.global .b32 y;", 1, "the end of the line"),
        (".shared .b32 x = 1;", 1, "`=`"),
        (".extern .global .b32 x = 1;", 1, "`=`"),
        (".global .b32 x = {1};", 1, "`{`"),
        (".global .b32 x[2] = 1;", 1, "`1`"),
        (".global .b32 x[2] = {1,\n2, 3};", 2, "`3`"),
        (".global .b32 x[2] = {1,};", 1, "`}`"),
        (".global .b32 x[2] = {1 2};", 1, "`2`"),
        (".global .b32 x[2][2] = {1, 2, 3, 4};", 1, "`1`"),
        (".global .b32 x[2] = {{1}, {2}};", 1, "`{`"),
        (".global .v2 .b32 x[2] = {1, 2, 3, 4};", 1, "`1`"),
        (".global .u64 x = generic(y+4);", 1, "`+`"),
        (".global .u64 x = generic(4);", 1, "`4`"),
        (".global .b8 x[8] = {0xFF(y)};", 1, "`(`"),
        (".global .b32 x = 18446744073709551616;", 1, "`18446744073709551616`"),
        (".file \"a.rs\"", 1, "`\"a.rs\"`"),
        (".file 1 a.rs", 1, "`a`"),
        (".file 1 \"a.rs\", 5\n.file 2 \"b.rs\"", 2, "`.file`"),
        (".file 1 \"a.rs", 1, "a quotation without its second `\"`"),
        (".pragma nounroll;", 1, "`nounroll`"),
        (".pragma \"nounroll\"\n", 1, "the end of the text"),
        (".section .text { }", 1, "`.text`"),
        (".section .debug_info {\n.b8 1\n", 2, "the end of the text"),
        ("LABEL:\n.global .b32 x;", 2, "`.global`"),
        ("#define x", 1, "`#`"),
        ("/* never\nclosed", 1, "a comment without its `*/`"),
        ("@@DWARF .byte 0", 1, "`@`"),
    ];
    check(3, |text| format!("{HEADER}{text}"), &cases);
}

#[test]
fn in_the_head_of_a_function() {
    let cases = [
        (".entry (.param .u64 a) { ret; }", 1, "`(`"),
        (".entry k(.reg .u64 a) { ret; }", 1, "`.reg`"),
        (".entry k(.param .b8 a[]) { ret; }", 1, "`)`"),
        (".entry k(.param .u64 a .param .u64 b) { ret; }", 1, "`.param`"),
        (".entry k(.param .u64 a,) { ret; }", 1, "`)`"),
        (".entry k(.param .u64 .ptr .align 4 .global a) { ret; }", 1, "`.global`"),
        (".entry k(.param .u64 .ptr .param a) { ret; }", 1, "`.param`"),
        (".entry k()\n.maxntid\n{ ret; }", 3, "`{`"),
        (".entry k() .maxntid 0 { ret; }", 1, "`0`"),
        (".entry k() .maxntid 1, 1, 1, 1 { ret; }", 1, "`,`"),
        (".entry k() .maxntid 1 .maxntid 1 { ret; }", 1, "`.maxntid`"),
        (".entry k() .maxnreg 4294967296 { ret; }", 1, "`4294967296`"),
        (".entry k()\n.maxcluster 2\n{ ret; }", 2, "`.maxcluster`"),
        (".entry k() .blocksareclusters { ret; }", 1, "`.blocksareclusters`"),
        (".entry k() .noreturn { ret; }", 1, "`.noreturn`"),
        (".entry k() .maxclusterrank 0 { ret; }", 1, "`0`"),
        (".entry k() .maxclusterrank 4, 4 { ret; }", 1, "`,`"),
        (".entry k() .maxclusterrank 4 .maxclusterrank 4 { ret; }", 1, "`.maxclusterrank`"),
        (".entry k() .maxclusterrank 4 .reqnctapercluster 4 { ret; }", 1, "`.reqnctapercluster`"),
        (".entry k() .reqnctapercluster 4 .maxclusterrank 4 { ret; }", 1, "`.maxclusterrank`"),
        (".func f() .maxclusterrank 4 { ret; }", 1, "`.maxclusterrank`"),
        (".func f() .maxntid 1 { ret; }", 1, "`.maxntid`"),
        (".func (.reg .b32 r) f() { ret; }", 1, "`.reg`"),
        (".func f(.reg .b32 a) { ret; }", 1, "`.reg`"),
        (".func (.param .b32 r), f() { ret; }", 1, "`,`"),
        (".func .attribute(.unified(1, 2)) f() { ret; }", 1, "`.attribute`"),
        (".common .func f() { ret; }", 1, "`.func`"),
        (".entry k() ret;", 1, "`ret`"),
        (".entry k()", 1, "the end of the text"),
    ];
    check(3, |text| format!("{HEADER}{text}"), &cases);
}

#[test]
fn in_a_body() {
    let cases = [
        ("", 1, "the end of the text"),
        ("}\n}", 2, "`}`"),
        (";", 1, "`;`"),
        (".maxntid 5", 1, "`.maxntid`"),
        (".extern .shared .b32 x[];", 1, "`.extern`"),
        (".file 1 \"a.rs\"", 1, "`.file`"),
        (".section .debug_info { }", 1, "`.section`"),
        (".reg %r1;", 1, "`%r1`"),
        (".reg .b32 %r<5;", 1, "`;`"),
        (".reg .b32 %r<x>;", 1, "`x`"),
        (".reg .b32 %r<4000000000>;", 1, "`4000000000`"),
        (".reg .b32 %r<600000>;\n.reg .b32 %x<600000>;", 2, "`600000`"),
        (".reg .b32 %r<5>\n.reg .b32 %x;", 1, "the end of the line"),
        (".reg .v2 .pred %p;", 1, "`.pred`"),
        (".loc 1 2\nret;", 2, "`ret`"),
        (".loc 1 2 3, inlined_at 1 2 3", 1, "`inlined_at`"),
        (".loc 1 2 3, function_name $L, inlined_at 1 2\nret;", 2, "`ret`"),
        ("P: .callprototype (.param .b32 _);", 1, "`;`"),
        ("P: .callprototype _ (.reg .b32 _);", 1, "`.reg`"),
        ("P: .calltargets ;", 1, "`;`"),
        ("P: .branchtargets ;", 1, "`;`"),
        ("P: .branchtargets A, B\nret;", 1, "the end of the line"),
        (".branchtargets A;", 1, "`.branchtargets`"),
        ("5: ret;", 1, "`5`"),
    ];
    check(4, |text| format!("{HEADER}.entry k() {{\n{text}\n"), &cases);
}

#[test]
fn in_an_instruction() {
    let cases = [
        ("ret\nmov.b32 %r1, %r2;", 1, "the end of the line"),
        ("ret\n}", 1, "the end of the line"),
        ("add.s32 %r1, %r2, %r3\nmov.b32 %r1, %r2;", 1, "the end of the line"),
        ("add.s32 %r1, %r2 %r3;", 1, "`%r3`"),
        ("add.s32 %r1, %r2,;", 1, "`;`"),
        ("add.s32 , %r1;", 1, "`,`"),
        ("add.s32 %r1,\n\n, %r2;", 3, "`,`"),
        ("%r1 = 5;", 1, "`%r1`"),
        ("$add %r1;", 1, "`$add`"),
        ("@ ret;", 1, "`;`"),
        ("@%p1;", 1, "`;`"),
        ("@%p1 { ret; }", 1, "`{`"),
        ("@!!%p1 ret;", 1, "`!`"),
        ("@5 ret;", 1, "`5`"),
        ("mov.b32 %r1, 1abc;", 1, "`1abc`"),
        ("mov.b32 %r1, 08;", 1, "`08`"),
        ("mov.b32 %r1, 5u;", 1, "`5u`"),
        ("mov.b32 %r1, --5;", 1, "`-`"),
        ("mov.b32 %r1, +5;", 1, "`+`"),
        ("mov.b32 %r1, -%r2;", 1, "`%r2`"),
        ("mov.b32 %r1, 1 + 2;", 1, "`+`"),
        ("mov.b32 %r1, (1);", 1, "`(`"),
        ("mov.b32 %r1, ~1;", 1, "`~`"),
        ("mov.f32 %f1, 0f3F8;", 1, "`0f3F8`"),
        ("mov.f32 %f1, -0f3F800000;", 1, "`0f3F800000`"),
        ("mov.u32 %r1, %tid .x;", 1, "`.x`"),
        ("mov.u32 %r1, %tid.q;", 1, "`.q`"),
        ("mov.u32 %r1, x[];", 1, "`]`"),
        ("mov.u32 %r1, x[1.5];", 1, "`1.5`"),
        ("mov.u32 %r1, x[1][2];", 1, "`[`"),
        ("mov.u32 %r1, x[1]+4;", 1, "`+`"),
        ("mov.u32 %r1, x[%r1+%r2];", 1, "`%r2`"),
        ("ld.global.b32 %r1, [x[1]];", 1, "`[`"),
        ("mov.u32 %r1, x+;", 1, "`;`"),
        ("mov.u32 %r1, x+%r2;", 1, "`%r2`"),
        ("mov.u32 %r1, x+1.5;", 1, "`1.5`"),
        ("mov.b64 {}, %rd1;", 1, "`}`"),
        ("mov.b64 {%r1,{%r2}}, %rd1;", 1, "`{`"),
        ("mov.b64 {%r1, %r2, %rd1;", 1, "`;`"),
        ("setp.eq.s32 %p1|!%p2, %r1, %r2;", 1, "`!`"),
        ("selp.b32 %r1, %r2, %r3, !5;", 1, "`5`"),
        ("ld.global.b32 %r1, [];", 1, "`]`"),
        ("ld.global.b32 %r1, [%rd1;", 1, "`;`"),
        ("ld.global.b32 %r1, [%rd1--8];", 1, "`-`"),
        ("ld.global.b32 %r1, [%rd1+%rd2];", 1, "`%rd2`"),
        ("ld.global.b32 %r1, [%rd1+8+8];", 1, "`+`"),
        ("ld.global.b32 %r1, [1.5];", 1, "`1.5`"),
        ("tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y};", 1, "`;`"),
        ("call (r, f;", 1, "`;`"),
        ("call (r), f, ((a));", 1, "`(`"),
        ("ld.shared:cta.b32 %r1, [x];", 1, "`:`"),
        ("mov.b32 %r1, ?;", 1, "`?`"),
        ("mov.b32 %r1, é;", 1, "`é`"),
        ("mov.b32 %r1, \"a\";", 1, "`\"a\"`"),
    ];
    check(4, |text| format!("{HEADER}.entry k() {{\n{text}\n}}\n"), &cases);
}

#[test]
fn the_nesting_of_blocks_is_limited() {
    let nested = |depth: usize| format!("{HEADER}.entry k() {}{}", "{".repeat(depth), "}".repeat(depth));
    assert!(parse(&nested(60)).is_ok());
    assert_eq!(error(&nested(100_000)).line, 4);
}

#[test]
fn an_error_names_line_text_and_expected_tokens() {
    let text = format!("{HEADER}.entry k() {{\n    mov.b32\t%r1, ?; // no\n}}\n");
    let expected = "line 5: expected an operand: a name, a number, `!name`, `[…]` or `{…}`, found `?`, in: \
                    mov.b32\t%r1, ?; // no";
    assert_eq!(error(&text).to_string(), expected);
    let long = format!("{HEADER}.pragma {}", "ü".repeat(10_000));
    assert!(error(&long).to_string().chars().count() < 1000);
}
