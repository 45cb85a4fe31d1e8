//! Calls of functions that a GPU's driver provides: `vprintf` and `__assertfail`.

use crate::support::kernel::Kernel;
use cuda_launch::LaunchConfig;
use ptx_interpreter::{Fault, FaultKind, LaunchError, Machine, Options};

/// A module with a kernel `k` that prints `format` with 8-byte arguments. `arguments` lists their
/// types, and their values in lane order.
fn prints(format: &str, arguments: &[(&str, &str)]) -> String {
    let bytes: Vec<String> = format.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    let mut stores = String::new();
    let mut offset = 0_usize;
    for (t, value) in arguments {
        let size = if t.ends_with("64") { 8 } else { 4 };
        offset = offset.next_multiple_of(size);
        stores += &format!("st.local.{t} [buffer+{offset}], {value};\n");
        offset += size;
    }
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);\n\
         .global .align 1 .b8 text[{}] = {{{}}};\n\
         .global .align 1 .b8 word[6] = {{104, 101, 108, 108, 111, 0}};\n\
         .visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 r<9>; .reg .b64 d<9>; .reg .pred p; .local .align 8 .b8 buffer[256];\n\
         mov.u32 r1, %tid.x; mov.u64 d5, word; cvta.global.u64 d6, d5;\n{stores}\
         mov.u64 d1, text; cvta.global.u64 d1, d1; mov.u64 d2, buffer; cvta.local.u64 d2, d2;\n\
         {{ .param .b64 a; .param .b64 b; .param .b32 count; st.param.b64 [a], d1; st.param.b64 [b], d2;\n\
         setp.ne.u32 p, r1, 2;\n\
         @p call.uni (count), vprintf, (a, b);\n @p ld.param.b32 r3, [count]; }}\n\
         ld.param.u64 d3, [out]; cvta.to.global.u64 d3, d3; @p st.global.u32 [d3], r3;\n\
         ret;\n}}\n",
        bytes.len(),
        bytes.join(", ")
    )
}

/// The texts printed by the threads of `blocks` blocks of 4 threads, and the count that vprintf
/// returns.
fn printed(text: &str, blocks: u32) -> (Vec<String>, u32) {
    let mut machine = Machine::new(text).unwrap();
    assert_eq!(machine.refused().next(), None, "{text}");
    let out = machine.allocate(4).unwrap();
    machine.memory().write(out, &[0; 4]).unwrap();
    let options = Options { check_races: false, ..Options::default() };
    machine.launch(options, "k", LaunchConfig::new(blocks, 4), &[&out.to_le_bytes()]).unwrap();
    let mut count = [0; 4];
    machine.memory().read(out, &mut count).unwrap();
    let texts = machine.take_printed().iter().map(ToString::to_string).collect();
    assert_eq!(machine.take_printed(), []);
    (texts, u32::from_le_bytes(count))
}

#[test]
fn texts_have_their_block_and_thread_in_order() {
    let (texts, count) = printed(&prints("thread %d\n", &[("b32", "r1")]), 2);
    let expected = [(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 3)];
    let expected =
        expected.map(|(block, thread)| format!("block ({block}, 0, 0), thread ({thread}, 0, 0): thread {thread}"));
    assert_eq!((texts, count), (expected.to_vec(), 1));
}

#[test]
fn arguments_are_formatted_as_c_formats_them() {
    let double = |value: f64| format!("0d{:016X}", value.to_bits());
    let (pi, third, huge) = (double(3.25), double(1.0 / 3.0), double(-1.5e300));
    type Arguments<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(&str, Arguments<'_>, &str)] = &[
        ("hi", &[], "hi"),
        ("100 %% of %d%%", &[("b32", "-7")], "100 % of -7%"),
        (
            "%i %u %x %X %o %c",
            &[("b32", "-1"), ("b32", "-1"), ("b32", "255"), ("b32", "255"), ("b32", "8"), ("b32", "65")],
            "-1 4294967295 ff FF 10 A",
        ),
        ("%5d|%-5d|%05d|%+d", &[("b32", "42"), ("b32", "42"), ("b32", "42"), ("b32", "42")], "   42|42   |00042|+42"),
        ("%hhd %hhu %hd %hu", &[("b32", "-1"), ("b32", "-1"), ("b32", "-2"), ("b32", "-2")], "-1 255 -2 65534"),
        (
            "%ld %lld %lu %zu %#lx",
            &[("b64", "-3"), ("b64", "-4"), ("b64", "-1"), ("b64", "7"), ("b64", "4096")],
            "-3 -4 18446744073709551615 7 0x1000",
        ),
        // A double is aligned to a multiple of 8.
        (
            "%d %f %.3f %e %g",
            &[("b32", "1"), ("f64", &pi), ("f64", &third), ("f64", &huge), ("f64", &pi)],
            "1 3.250000 0.333 -1.500000e+300 3.25",
        ),
        ("%*d|%.*f", &[("b32", "4"), ("b32", "9"), ("b32", "1"), ("f64", &pi)], "   9|3.2"),
        ("%s, %8s, %-8s.", &[("b64", "d6"), ("b64", "d6"), ("b64", "d6")], "hello,    hello, hello   ."),
        ("%p %s", &[("b64", "4096"), ("b64", "0")], "0x1000 (null)"),
        ("50%: done, %k, %", &[], "50%: done, %k, %"),
    ];
    for (format, arguments, expected) in cases {
        let (texts, count) = printed(&prints(format, arguments), 1);
        assert_eq!(texts[0], format!("block (0, 0, 0), thread (0, 0, 0): {expected}"), "{format}");
        assert_eq!(count as usize, arguments.len(), "{format}");
    }
}

#[test]
fn what_a_kernel_prints_is_limited_and_without_control_characters() {
    let (texts, _) = printed(&prints("\u{1b}[31m\u{7}red", &[]), 1);
    assert_eq!(texts[0], r"block (0, 0, 0), thread (0, 0, 0): \u{1b}[31m\u{7}red");
    let (texts, _) = printed(&prints(&"x".repeat(4000), &[]), 4096);
    assert!((200..400).contains(&texts.len()), "{}", texts.len());
}

#[test]
fn a_format_outside_of_memory_is_a_fault() {
    let text = prints("%s", &[("b64", "16")]);
    let mut machine = Machine::new(&text).unwrap();
    let out = machine.allocate(4).unwrap();
    let error = machine.launch(Options::default(), "k", LaunchConfig::new(1, 1), &[&out.to_le_bytes()]).unwrap_err();
    assert!(matches!(error.fault(), Some(Fault { kind: FaultKind::Access { .. }, .. })), "{error}");
}

const ASSERT: &str = ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
    .global .align 1 .b8 condition[6] = {110, 32, 62, 32, 48, 0};\n\
    .global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n";

fn asserts(message: &str, file: &str) -> Kernel {
    let pointer = |name: &str| {
        if name == "0" { "mov.u64 d1, 0;".to_owned() } else { format!("mov.u64 d1, {name}; cvta.global.u64 d1, d1;") }
    };
    Kernel::new(format!(
        "setp.ne.u32 p1, tid, 5; @p1 bra OK;
         {{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
         {} st.param.b64 [a], d1; {} st.param.b64 [b], d1; st.param.b32 [c], 12; st.param.b64 [d], 0; st.param.b64 [e], 1;
         call.uni __assertfail, (a, b, c, d, e); }}
         OK: st.global.u32 [cell], 7; ret;",
        pointer(message),
        pointer(file),
    ))
    .declare(ASSERT)
}

#[test]
fn a_failed_assertion_is_a_fault_with_its_text() {
    for (message, file, shown) in [
        ("condition", "file", "assertion failed: n > 0, a.cu:12"),
        ("condition", "0", "assertion failed: n > 0"),
        ("0", "file", "assertion failed, a.cu:12"),
        ("0", "0", "assertion failed"),
    ] {
        let kind = asserts(message, file).fault("call.uni __assertfail", 0, 5);
        assert_eq!(kind.to_string(), shown);
    }
}

#[test]
fn a_module_loads_without_the_kernels_that_are_not_supported() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .extern .func elsewhere ();\n\
        .func again () { call again; ret; }\n\
        .func odd () { .reg .b32 r; frobnicate.u32 r, r; ret; }\n\
        .visible .entry good(.param .u64 out)\n{\n.reg .b64 d<2>; ld.param.u64 d0, [out]; st.global.u32 [d0], 7; ret;\n}\n\
        .visible .entry recursive(.param .u64 out) { call again; ret; }\n\
        .visible .entry unknown(.param .u64 out)\n{\n.reg .b32 r;\nfrobnicate.u32 r, r;\nret;\n}\n\
        .visible .entry calls_unknown(.param .u64 out) { call odd; ret; }\n\
        .visible .entry unresolved(.param .u64 out) { call elsewhere; ret; }\n\
        .visible .entry undeclared(.param .u64 out) { call nowhere; ret; }\n\
        .visible .entry last(.param .u64 out)\n{\n.reg .b64 d<2>; ld.param.u64 d0, [out]; st.global.u32 [d0], 9; ret;\n}\n";
    let mut machine = Machine::new(text).unwrap();
    assert_eq!(machine.kernels().collect::<Vec<_>>(), ["good", "recursive", "last"]);
    let out = machine.allocate(4).unwrap();
    let launch =
        |kernel: &str| machine.launch(Options::default(), kernel, LaunchConfig::new(1, 1), &[&out.to_le_bytes()]);
    for (kernel, value) in [("good", 7), ("last", 9)] {
        launch(kernel).unwrap();
        let mut found = [0; 4];
        machine.memory().read(out, &mut found).unwrap();
        assert_eq!(u32::from_le_bytes(found), value);
    }
    let error = launch("recursive").unwrap_err().to_string();
    assert!(error.contains("`call again`: a call of `again` exceeds the 16 KiB of the thread's stack"), "{error}");
    let refused = ["unknown", "calls_unknown", "unresolved", "undeclared"];
    assert_eq!(machine.refused().map(|(name, _)| name).collect::<Vec<_>>(), refused);
    for (kernel, expected) in refused.into_iter().zip([
        "PTX line 15: frobnicate is not a known instruction",
        "PTX line 6: frobnicate is not a known instruction",
        "`elsewhere` is declared but has no body in this module",
        "`nowhere` is not declared",
    ]) {
        let error = launch(kernel).unwrap_err();
        assert!(matches!(error, LaunchError::Refused { .. }));
        let error = error.to_string();
        assert!(error.starts_with(&format!("kernel {kernel}: ")) && error.contains(expected), "{error}");
    }
    // The error is not in a kernel's body, so the whole module is refused.
    for text in [text.replace(".visible .entry last", ".nonsense .entry last"), text.replacen("ret;\n}", "ret;\n", 1)] {
        assert!(Machine::new(&text).is_err());
    }
}

#[test]
fn a_table_of_functions_has_their_addresses() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func first () { ret; }\n\
        .global .align 8 .u64 table[4] = {5, first, second, first};\n\
        .func second () { ret; }\n\
        .visible .entry reads(.param .u64 out)\n{\n.reg .b64 d<6>; ld.param.u64 d0, [out]; ld.global.u64 d1, [table]; \
        ld.global.u64 d2, [table+8]; ld.global.u64 d3, [table+16]; ld.global.u64 d4, [table+24]; sub.u64 d5, d2, d4; \
        sub.u64 d3, d3, d2; st.global.v2.u64 [d0], {d1, d5}; st.global.u64 [d0+16], d3; ret;\n}\n\
        .visible .entry follows(.param .u64 out)\n{\n.reg .b64 d<2>; .reg .b32 r; ld.global.u64 d1, [table+8]; ld.u32 r, [d1]; ret;\n}\n\
        .visible .entry calls(.param .u64 out)\n{\n.reg .b64 f;\nld.global.u64 f, [table+8];\n\
        prototype: .callprototype _ ();\ncall f, prototype;\nret;\n}\n";
    let mut machine = Machine::new(text).unwrap();
    assert_eq!(machine.kernels().collect::<Vec<_>>(), ["reads", "follows", "calls"]);
    let out = machine.allocate(24).unwrap();
    let launch =
        |kernel: &str| machine.launch(Options::default(), kernel, LaunchConfig::new(1, 1), &[&out.to_le_bytes()]);
    launch("reads").unwrap();
    let error = launch("follows").unwrap_err().to_string();
    assert!(error.contains("starts 549755813888 bytes before table"), "{error}");
    launch("calls").unwrap();
    let mut found = [0; 24];
    machine.memory().read(out, &mut found).unwrap();
    let words: Vec<u64> = found.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    // One address for one function, another for another.
    assert_eq!((words[0], words[1]), (5, 0));
    assert_ne!(words[2], 0);
}

#[test]
fn counters_count_the_instructions_of_the_block() {
    let kernel = Kernel::new(
        "mov.u64 d1, %clock64; add.u32 r9, r9, 1; add.u32 r9, r9, 1; mov.u64 d2, %clock64; mov.u32 r1, %clock; mov.u32 r2, %clock_hi;
         mov.u64 d3, %globaltimer; mov.u32 r3, %globaltimer_lo; mov.u32 r4, %globaltimer_hi;
         sub.u64 d2, d2, d1; cvt.u32.u64 r5, d2; cvt.u32.u64 r6, d1; sub.u32 r1, r1, r6; cvt.u32.u64 r7, d3; sub.u32 r7, r7, r6;
         sub.u32 r3, r3, r6; shl.b32 r1, r1, 4; add.u32 r5, r5, r1; shl.b32 r7, r7, 8; add.u32 r5, r5, r7; shl.b32 r3, r3, 12; add.u32 r5, r5, r3;
         add.u32 r5, r5, r2; add.u32 r5, r5, r4; st.global.u32 [cell], r5; ret;",
    );
    let words = kernel.words(32);
    assert_eq!(words, [3 + (4 << 4) + (6 << 8) + (7 << 12); 32]);
    assert_eq!(words, kernel.words(32));
}
