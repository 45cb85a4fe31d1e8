//! Resources requested by a text or a launch are limited. A line that exceeds a limit is rejected
//! before memory is allocated.

use crate::support::kernel::Kernel;
use cuda_launch::LaunchConfig;
use ptx_interpreter::limits::{MAX_EXPANSION, MAX_REGISTERS, max_bytes};
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{LaunchError, LoadError, Machine, Options, Problem};

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

#[track_caller]
fn rejected(text: &str) -> LoadError {
    match Machine::new(&format!("{HEADER}{text}")) {
        Ok(machine) => {
            let refused = machine.refused().next().map(|(_, error)| error.clone());
            refused.unwrap_or_else(|| panic!("accepted: {}", &text[..text.len().min(500)]))
        }
        Err(error) => error,
    }
}

/// A kernel with this line in its body.
fn body(line: &str) -> String {
    format!(".entry k() {{\n{line}\nret;\n}}\n")
}

#[test]
fn a_size_beyond_its_limit_is_rejected_with_its_line() {
    for (text, line, limit) in [
        (".global .b8 x[99999999999];\n".to_owned(), 4, "268435456"),
        (".global .b8 a[200000000];\n.global .b8 b[200000000];\n".to_owned(), 5, "268435456"),
        (".const .b8 x[65537];\n".to_owned(), 4, "65536"),
        (".const .b8 x[65536];\n.const .b8 y;\n".to_owned(), 5, "65536"),
        (body(".shared .b8 x[99999999999];"), 5, "49152"),
        (format!(".shared .b8 x[300000];\n{}", body(".reg .b32 r; mov.u32 r, x;")), 6, "49152"),
        (body(".local .b8 x[524289];"), 5, "524288"),
        (body(".param .b8 x[99999999999];"), 5, "524288"),
        (".entry k(.param .b64 p,\n.param .b8 x[99999999999]) { ret; }\n".to_owned(), 5, "32764"),
        (body(".reg .b32 %r<4000000000>;"), 5, "1048576"),
        (body(".shared .align 4611686018427387904 .b8 x[4];"), 5, "65536"),
        (".global .b8 x[2][16777216] = {\n{1},\n{2}};\n".to_owned(), 6, "1048576"),
        (".global .b8 x[][1048578] = {{1}, {2}};\n".to_owned(), 4, "1048576"),
        (".global .b8 x[][1099511627776] = {{1}, {2}};\n".to_owned(), 4, "1048576"),
        (format!(".global .b8 x{} = 1;\n", "[1]".repeat(100_000)), 4, "16 dimensions"),
    ] {
        let error = rejected(&text).to_string();
        let shown = &text[..text.len().min(100)];
        assert!(error.contains(&format!("line {line}: ")) && error.contains(limit), "{shown}: {error}");
        assert!(error.len() < 500 && !error.contains('\n'), "{shown}: {error}");
    }
}

#[test]
fn an_error_of_many_registers_is_short() {
    let error = rejected(&body(".reg .v4 .b32 v<1000000>;")).to_string();
    assert!(error.contains("line 5: ") && error.len() < 200, "{}", &error[..error.len().min(500)]);
}

#[test]
fn sizes_at_the_limit_are_accepted() {
    for text in [
        format!(".const .b8 x[{}];\n", max_bytes(Space::Const)),
        body(&format!(".local .b8 x[{}];", max_bytes(Space::Local))),
        body(&format!(".shared .b8 x[{}];", max_bytes(Space::Shared))),
        format!(".entry k(.param .b8 x[{}]) {{ ret; }}\n", max_bytes(Space::Param)),
        body(&format!(".reg .b32 %r<{MAX_REGISTERS}>;")),
        body(".shared .align 65536 .b8 x[4];"),
        ".global .b8 x[3][1048575] = {{1}, {2}};\n".to_owned(),
    ] {
        let machine = Machine::new(&format!("{HEADER}{text}")).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(machine.refused().next(), None, "{text}");
    }
}

/// `depth` functions. Each calls the previous one `calls` times.
fn chain(depth: usize, calls: usize, innermost: &str) -> String {
    let mut text = format!(".func f0() {{ {innermost} ret; }}\n");
    for function in 1..depth {
        text += &format!(".func f{function}() {{ {} ret; }}\n", format!("call f{};", function - 1).repeat(calls));
    }
    text + &body(&format!("call f{};", depth - 1))
}

#[test]
fn calls_that_multiply_are_rejected() {
    let many_targets = format!("T: .branchtargets {};", ["L"; 20_000].join(", "));
    for text in [
        chain(40, 2, ""),
        chain(40, 2, ".reg .b32 r<1000>;"),
        chain(7, 10, &format!(".reg .b32 r; mov.u32 r, 0; {many_targets} brx.idx r, T; L:")),
        body(&format!(".reg .b32 r; mov.u32 r, 0; {many_targets} {} L:", "brx.idx r, T;".repeat(1000))),
    ] {
        let LoadError::Statement { problem, line, .. } = rejected(&text) else { panic!("not a statement's error") };
        assert_eq!(problem, Problem::TooMuchExpanded);
        assert!(line > 3);
        assert!(problem.to_string().contains(&MAX_EXPANSION.to_string()));
    }
    let LoadError::Statement { problem, .. } = rejected(&chain(2000, 1, "")) else { panic!("not a statement's error") };
    assert_eq!(problem, Problem::TooDeep);
    Machine::new(&format!("{HEADER}{}", chain(8, 4, ".reg .b32 r; mov.u32 r, 0;"))).unwrap();
}

#[test]
fn a_name_declares_one_variable() {
    for text in [
        ".global .b32 x = 1;\n.global .b8 x[100];\n",
        ".const .b32 x = 1;\n.const .b8 x[100] = {1, 2};\n",
        ".global .b32 x;\n.const .b32 x;\n",
    ] {
        let LoadError::Statement { line: 5, problem, .. } = rejected(text) else { panic!("{text}") };
        assert_eq!(problem, Problem::DeclaredTwice("x".to_owned()));
    }
}

#[test]
fn a_block_fits_the_host() {
    let launch = |text: &str, config: LaunchConfig| {
        Machine::new(&format!("{HEADER}{text}")).unwrap().launch(Options::default(), "k", config, &[])
    };
    let registers = body(".reg .b32 %r<200000>;");
    launch(&registers, LaunchConfig::new(1, 32)).unwrap();
    let error = launch(&registers, LaunchConfig::new(1, 1024)).unwrap_err();
    assert!(matches!(error, LaunchError::HostMemory { blocks: 1, .. }), "{error}");
    let error = launch(&body(".local .b8 x[500000];"), LaunchConfig::new(1, 1024)).unwrap_err();
    assert!(matches!(error, LaunchError::HostMemory { blocks: 1, .. }), "{error}");
    let error = launch(&body(""), LaunchConfig::new(2_147_483_647, 1024).cooperative()).unwrap_err();
    assert!(matches!(error, LaunchError::HostMemory { blocks: 2_147_483_647, .. }), "{error}");
    assert!(error.to_string().starts_with("kernel k: "), "{error}");
}

#[test]
fn messages_have_no_control_characters() {
    let escape = "\u{1b}[31m\u{7}\u{202e}";
    for text in [
        escape.to_owned(),
        body(&format!("add.u32 r0, {escape} r1;")),
        body(&format!("// {escape}\nfrobnicate {escape};")),
        format!(".file 1 \"{escape}\" nonsense\n"),
        format!(".visible {escape}\n"),
    ] {
        let error = rejected(&text).to_string();
        assert!(!error.contains(|character: char| character.is_control() || character == '\u{202e}'), "{error:?}");
        assert!(error.contains(r"\u{1b}[31m\u{7}\u{202e}"), "{error}");
    }
    // A source file's name may contain control characters as escapes.
    let trap = Kernel::new(".loc 1 5 1\ntrap;\nret;").declare(".file 1 \"evil\\033[2J.cu\"\n");
    let message = trap.launch_error().to_string();
    assert!(message.contains(r"evil\u{1b}[2J.cu:5:1") && !message.contains('\u{1b}'), "{message:?}");
}
