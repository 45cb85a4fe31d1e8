//! Uninitialized bytes may be copied along with the bytes around them, but not used in a
//! computation.

use crate::support::kernel::Kernel;
use ptx_interpreter::FaultKind;
use ptx_interpreter::memory::AccessError;

/// A kernel with a structure on the stack (8 + 4 bytes and 4 bytes of padding), and space for a second one.
fn kernel(body: &str) -> Kernel {
    Kernel::new(format!(
        ".local .align 16 .b8 one[16]; .local .align 16 .b8 other[16];
         st.local.u64 [one], 5; st.local.u32 [one+8], 7; st.local.u64 [other], 1; st.local.u64 [other+8], 2;
         setp.lt.u32 p0, tid, 16; mov.u64 d20, one; cvta.local.u64 d21, d20;\n{body}\nret;"
    ))
}

#[track_caller]
fn uninitialised(body: &str, line: &str, byte: u64) {
    let kind = kernel(body).fault(line, 0, 0);
    let FaultKind::Access { error: AccessError::Uninitialised { first, .. }, .. } = kind else { panic!("{kind}") };
    assert_eq!(first, byte, "{body}");
}

#[test]
fn a_structure_is_copied_with_its_padding() {
    for copy in [
        "ld.local.u64 d1, [one+8]; st.local.u64 [other+8], d1;",
        "ld.u64 d1, [d21+8]; st.u64 [d21+8], d1; mov.b64 d2, d1; st.local.b64 [other+8], d2;",
        "ld.local.v2.u64 {d0, d1}, [one]; st.local.v2.u64 [other], {d0, d1};",
        "ld.local.v4.u8 {h1, h2, h3, h4}, [one+12]; ld.local.u32 r1, [one+8]; st.local.u32 [other+8], r1;
         st.local.v4.u8 [other+12], {h1, h2, h3, h4};",
        "ld.local.u64 d1, [one+8]; mov.b64 {r1, r2}, d1; mov.b64 d2, {r1, r2}; st.local.u64 [other+8], d2;",
        "ld.local.u64 d1, [other+8]; @p0 ld.local.u64 d1, [one+8]; ld.local.u64 d2, [one+8]; selp.b64 d3, d1, d2, p0;
         st.local.u64 [other+8], d3;",
        "call copy, (one, other);",
    ] {
        let function = ".func copy(.param .align 16 .b8 from[16], .param .align 16 .b8 to[16]) { .reg .b64 a;
             ld.param.b64 a, [from+8]; st.param.b64 [to+8], a; ret; }\n";
        let rest = "\nld.local.u32 r5, [other+8]; st.global.u32 [cell], r5;\nld.local.u32 r6, [other+12];\nadd.u32 r7, r6, 1; st.global.u32 [cell], r7;";
        // The members are copied, and the padding stays uninitialized.
        let kind = kernel(&format!("{copy}{rest}")).declare(function).fault("ld.local.u32 r6, [other+12];", 0, 0);
        assert!(
            matches!(kind, FaultKind::Access { error: AccessError::Uninitialised { first: 12, .. }, .. }),
            "{kind}"
        );
        let (copied, _) = rest.split_once("\nld.local.u32 r6").unwrap();
        assert_eq!(kernel(&format!("{copy}{copied}")).declare(function).words(32), [7; 32], "{copy}");
    }
}

#[test]
fn a_use_of_uninitialised_bytes_is_reported_at_their_load() {
    for using in [
        "add.u64 d2, d1, 1; st.global.u64 [cell8], d2;",
        "add.u64 d2, d1, 1; shl.b64 d3, d2, 3; mad.lo.u64 d2, d2, d2, d3; setp.eq.u64 p1, d2, 0;",
        "setp.eq.u64 p1, d1, 0;",
        "cvt.rn.f32.u64 r1, d1; st.global.f32 [cell], r1;",
        "ld.global.u32 r1, [d1];",
        "st.global.u32 [d1], 0;",
        "atom.global.add.u64 d2, [output], d1;",
        "mov.b64 d2, d1; add.u64 d3, d2, 1; st.global.u64 [cell8], d3;",
        "st.local.u64 [other+8], d1; ld.local.u64 d2, [other+8]; mov.b64 d3, d2; ld.local.u64 d4, [one]; add.u64 d4, d4, 1;
         ld.local.u32 r2, [other+12]; shfl.sync.bfly.b32 r3, r2, 1, 31, -1; st.global.u32 [cell], r3;",
    ] {
        let body = format!("\nld.local.u64 d1, [one+8];\n{using}");
        if using.contains("shfl") {
            // Lane 0 stores the value loaded by lane 1.
            let kind = kernel(&body).fault("ld.local.u32 r2, [other+12];", 0, 1);
            assert!(matches!(kind, FaultKind::Access { error: AccessError::Uninitialised { .. }, .. }), "{kind}");
        } else {
            uninitialised(&body, "ld.local.u64 d1, [one+8];", 12);
        }
    }
}

#[test]
fn uninitialised_bytes_that_are_overwritten_or_unused_are_no_fault() {
    kernel("ld.local.u64 d1, [one+8];").report();
    kernel("ld.local.u64 d1, [one+8]; mov.u64 d1, 5; add.u64 d2, d1, 1;").report();
    kernel("ld.local.u64 d1, [one+8]; ld.local.u64 d1, [one]; add.u64 d2, d1, 1;").report();
    // A compiler may compute a value before it knows whether the value is needed.
    let selected =
        "ld.local.u64 d1, [one+8]; shl.b64 d2, d1, 3; add.u64 d2, d2, 1; mov.u64 d3, 7; setp.lt.u32 p2, tid, 100;
         selp.b64 d3, d3, d2, p2; st.global.u64 [cell8], d3;";
    assert_eq!(kernel(selected).words8(32), [7; 32]);
    // In lanes without the overwrite it is a fault.
    let half = "\nld.local.u64 d1, [one+8];\n@p0 mov.u64 d1, 5; add.u64 d2, d1, 1; st.global.u64 [cell8], d2;";
    let kind = kernel(half).fault("ld.local.u64 d1, [one+8];", 0, 16);
    assert!(matches!(kind, FaultKind::Access { .. }), "{kind}");
}

#[test]
fn bit_fields_initialise_a_word() {
    // Unoptimized code sets two bit fields of an uninitialized word like this.
    let fields = "ld.local.u32 r1, [one+12]; and.b32 r2, r1, -65536; or.b32 r3, r2, 513; st.local.u32 [one+12], r3;";
    let low = format!("{fields} ld.local.u16 r4, [one+12]; add.u32 r4, r4, 1; st.global.u32 [cell], r4;");
    assert_eq!(kernel(&low).words(32), [514; 32]);
    let high = format!("{fields}\nld.local.u16 r4, [one+14];\nadd.u32 r4, r4, 1; st.global.u32 [cell], r4;");
    uninitialised(&high, "ld.local.u16 r4, [one+14];", 14);
}

#[test]
fn a_fully_uninitialised_value_is_not_stored_to_global_memory() {
    // A structure may be stored to global memory with its padding, but a fully uninitialized value
    // may not.
    let kernel_of = |store: &str| format!("\nld.local.v2.u32 {{r1, r2}}, [one+8];\nld.local.u64 d1, [one+8]; {store}");
    kernel(&kernel_of("st.global.u64 [cell8], d1;")).report();
    uninitialised(&kernel_of("st.global.u32 [cell], r2;"), "ld.local.v2.u32 {r1, r2}, [one+8];", 12);
}
