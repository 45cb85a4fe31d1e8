//! A fault names the source line, if the PTX has line information.

use crate::support::kernel::Kernel;

const FILES: &str = ".file 1 \"kernel.cu\"\n.file 2 \"header.h\"\n.file 3 \"inner.h\"\n";

#[track_caller]
fn place(before: &str) -> String {
    let error = Kernel::new(format!("{before}\ntrap;\nret;")).declare(FILES).launch_error();
    let message = error.to_string();
    let start = message.find("`trap` (").expect("a source location") + "`trap` (".len();
    message[start..].split(')').next().unwrap().to_owned()
}

#[test]
fn the_latest_location_applies() {
    assert_eq!(place(".loc 1 5 3\nmov.u32 r0, 0;\n.loc 1 7 9"), "kernel.cu:7:9");
    assert_eq!(place(".loc 1 5 0"), "kernel.cu:5");
}

#[test]
fn an_instruction_of_line_0_has_the_line_before() {
    // Compilers write line 0 for code merged from several lines.
    assert_eq!(place(".loc 1 5 3\nmov.u32 r0, 0;\n.loc 1 0 9"), "kernel.cu:5");
    let error = Kernel::new(".loc 1 0 9\ntrap;\nret;").declare(FILES).launch_error().to_string();
    assert!(!error.contains("kernel.cu"), "{error}");
}

#[test]
fn a_line_of_an_inlined_function_names_the_call() {
    assert_eq!(place(".loc 2 30 4, function_name $L, inlined_at 1 5 3"), "header.h:30:4, inlined at kernel.cu:5:3");
    // With nested inlining, the outermost call: the kernel's own line.
    let nested = ".loc 2 30 4, function_name $L, inlined_at 1 5 3\n.loc 3 8 1, function_name $L, inlined_at 2 30 4";
    assert_eq!(place(nested), "inner.h:8:1, inlined at kernel.cu:5:3");
    let circular = ".loc 2 3 4, function_name $L, inlined_at 3 1 1\n.loc 3 1 1, function_name $L, inlined_at 2 3 4";
    assert!(place(circular).starts_with("inner.h:1:1, inlined at "));
}
