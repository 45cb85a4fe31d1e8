use super::*;

const PTX: &str = "\
.version 6.3
.visible .entry wrap(
\t.param .u64 p
)
{
\t.loc\t1 5 1
\tld.global.b32 \t%r5, [%rd1];
\t.loc\t1 6 9
\tdiv.rn.f32 \t%r7, %r5, %r6;
\tcvt.rzi.f32.f32 \t%r8, %r7;
\tneg.f32 \t%r9, %r8;
\tadd.s64 \t%rd14, %rd3, %rd11;
\tfma.rn.f32 \t%r10, %r9, %r6, %r5;
\ttestp.infinite.f32 \t%p4, %r6;
\tselp.f32 \t%r11, %r5, %r10, %p4;
\tst.global.b32 \t[%rd14], %r11;
\tret;
}
\t// .globl\t__cuda_std_fmodf
.visible .func  (.param .b32 func_retval0) __cuda_std_fmodf(
\t.param .b32 a,
\t.param .b32 b
)
{
\tret;
}
";

const IR: &str = "\
define ptx_kernel void @wrap(ptr %p) !dbg !2 {
  %4 = frem float %2, %3, !dbg !5
}
!2 = distinct !DISubprogram(name: \"wrap\", scope: !3, file: !3, line: 5)
!3 = !DIFile(filename: \"src/lib.rs\", directory: \"/checkout/kernels\")
!5 = !DILocation(line: 6, column: 9, scope: !2)
";

fn exact(ptx: &str, ir: &str) -> String {
    with_exact_remainders(ptx, ir, &str::to_owned).unwrap()
}

#[test]
fn a_remainder_becomes_a_call() {
    let text = exact(PTX, IR);
    assert!(text.contains("call.uni (retval0), __cuda_std_fmodf, (param0, param1);"), "{text}");
    assert!(text.contains("st.param.f32 \t[param0], %r5;") && text.contains("[param1], %r6;"), "{text}");
    assert!(text.contains("ld.param.f32 \t%r10, [retval0];") && text.contains("mov.b32 \t%r11, %r10;"), "{text}");
    for gone in ["div.rn", "cvt.rzi", "neg.f32", "fma.rn", "testp", "selp"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    // It is declared before the kernel and defined after it.
    assert!(text.find("__cuda_std_fmodf\n(") < text.find("call.uni"), "{text}");
}

#[test]
fn parts_may_be_shared_in_other_lines_copied_and_negated() {
    for (from, to) in [
        ("\tcvt.rzi", "\t.loc\t1 9 9\n\tcvt.rzi"),
        ("div.rn.f32 \t%r7, %r5, %r6;", "div.rn.f32 \t%r7, %r5, %r6;\n\tst.global.b32 \t[%rd2], %r7;"),
        ("div.rn.f32 \t%r7, %r5", "mov.b32 \t%r4, %r5;\n\tdiv.rn.f32 \t%r7, %r4"),
        // By −y, with the sign factored out of the quotient.
        (
            "%r7, %r5, %r6;\n\tcvt.rzi.f32.f32 \t%r8, %r7;\n\tneg.f32 \t%r9, %r8;",
            "%r7, %r5, %r3;\n\tneg.f32 \t%r3, %r6;\n\tcvt.rzi.f32.f32 \t%r9, %r7;",
        ),
        ("fma.rn.f32 \t%r10, %r9, %r6, %r5", "fma.rn.f32 \t%r10, %r6, %r9, %r5"),
        // A register that gets another value later.
        ("\tst.global", "$L__BB1_2:\n\tadd.rn.f32 \t%r8, %r8, %r8;\n\tst.global"),
    ] {
        assert!(PTX.contains(from), "{from}");
        let text = exact(&PTX.replace(from, to), IR);
        assert!(text.contains("[param1], %r6;") && !text.contains("fma.rn"), "{to}: {text}");
    }
    // A value of the approximation that is also used elsewhere is still computed.
    let text = exact(&PTX.replace("[%rd14], %r11", "[%rd14], %r8"), IR);
    assert!(text.contains("cvt.rzi.f32.f32 \t%r8, %r7") && text.contains("div.rn"), "{text}");
    // Another remainder shares the test.
    let text = exact(&PTX.replace("\tst.global", "\tselp.b32 \t%r12, %r1, %r2, %p4;\n\tst.global"), IR);
    assert!(text.contains("testp.infinite.f32"), "{text}");
}

#[test]
fn the_remainder_of_a_constant_becomes_a_call() {
    let constant = PTX
        .replace("\tdiv.rn.f32 \t%r7, %r5, %r6", "\tmov.b32 \t%r4, 0f40A00000;\n\tdiv.rn.f32 \t%r7, %r4, %r6")
        .replace("%r10, %r9, %r6, %r5", "%r10, %r9, %r6, 0f40A00000")
        .replace("%r11, %r5, %r10, %p4", "%r11, 0f40A00000, %r10, %p4");
    let text = exact(&constant, &IR.replace("%2", "5.000000e+00"));
    assert!(text.contains("[param0], 0f40A00000;") && !text.contains("div.rn"), "{text}");
}

#[test]
fn the_remainders_of_one_and_of_minus_zero_become_calls() {
    let of =
        |x: &str| PTX.replace("%r9, %r6, %r5", &format!("%r9, %r6, {x}")).replace("%r11, %r5", &format!("%r11, {x}"));
    let one = of("0f3F800000").replace("div.rn.f32 \t%r7, %r5, %r6", "rcp.rn.f32 \t%r7, %r6");
    let text = exact(&one, &IR.replace("%2", "1.000000e+00"));
    assert!(text.contains("[param0], 0f3F800000;") && !text.contains("rcp"), "{text}");
    let zero = of("0f80000000")
        .replace("div.rn.f32 \t%r7, %r5", "div.rn.f32 \t%r7, 0f80000000")
        .replace("fma.rn.f32 \t%r10, %r9, %r6, 0f80000000", "mul.rn.f32 \t%r10, %r9, %r6");
    let text = exact(&zero, &IR.replace("%2", "-0.000000e+00"));
    assert!(text.contains("[param0], 0f80000000;") && !text.contains("mul"), "{text}");
    let negated = zero
        .replace("\tneg.f32 \t%r9, %r8;\n", "")
        .replace("mul.rn.f32 \t%r10, %r9, %r6;", "mul.f32 \t%r9, %r8, %r6;\n\tneg.f32 \t%r10, %r9;");
    let text = exact(&negated, &IR.replace("%2", "-0.000000e+00"));
    assert!(text.contains("[param0], 0f80000000;") && !text.contains("mul") && !text.contains("neg"), "{text}");
}

/// x % 7, or another divisor.
fn by_constant(quotient: &str, factor: &str) -> String {
    PTX.replace("div.rn.f32 \t%r7, %r5, %r6", quotient)
        .replace("\tneg.f32 \t%r9, %r8;\n", "")
        .replace("fma.rn.f32 \t%r10, %r9, %r6, %r5", &format!("fma.rn.f32 \t%r11, %r8, {factor}, %r5"))
        .replace("\ttestp.infinite.f32 \t%p4, %r6;\n\tselp.f32 \t%r11, %r5, %r10, %p4;\n", "")
}

#[test]
fn a_remainder_by_a_constant_becomes_a_call_where_the_source_has_one() {
    let ptx = by_constant("div.rn.f32 \t%r7, %r5, 0f40E00000", "0fC0E00000");
    let ir = IR.replace("%3", "7.000000e+00");
    let text = exact(&ptx, &ir);
    assert!(text.contains("[param1], 0f40E00000;") && !text.contains("div.rn"), "{text}");
    // The same operands elsewhere belong to the kernel itself.
    let own = format!("{}\tfma.rn.f32 \t%r20, %r8, 0fC0E00000, %r5;\n\tret;\n}}\n", &ptx[..ptx.find("\tst.").unwrap()])
        .replace("\tfma.rn.f32 \t%r20", "\t.loc\t1 8 2\n\tfma.rn.f32 \t%r20");
    let text = exact(&own, &ir);
    assert_eq!(text.matches("call.uni").count(), 1);
    assert!(text.contains("fma.rn.f32 \t%r20, %r8, 0fC0E00000, %r5"), "{text}");
    // If the compiler has lost a line, the constant decides.
    assert_eq!(exact(&own.replace(".loc\t1 8 2", ".loc\t1 0 0"), &ir).matches("call.uni").count(), 2);
    for lost in [ir.replace(", !dbg !5", ""), ir.replace("line: 6, column: 9", "line: 0")] {
        assert_eq!(exact(&own, &lost).matches("call.uni").count(), 2);
        let error = with_exact_remainders(&own, &lost.replace("7.0", "6.0"), &str::to_owned);
        assert!(matches!(error, Err(BuilderError::Remainder { .. })), "{error:?}");
    }
}

#[test]
fn a_remainder_by_a_power_of_two_is_exact_from_one_on() {
    let product = |factor, y| by_constant(&format!("mul.rn.f32 \t%r7, %r5, {factor}"), y);
    let ir = |y| IR.replace("%3", y);
    for (factor, minus_y, y) in [("0f3E800000", "0fC0800000", "4.0e+00"), ("0fBE800000", "0f40800000", "-4.0e+00")] {
        assert_eq!(exact(&product(factor, minus_y), &ir(y)), product(factor, minus_y));
    }
    // The quotient by a number less than one may be infinite.
    let text = exact(&product("0f41000000", "0fBE000000"), &ir("1.250000e-01"));
    assert!(text.contains("[param1], 0f3E000000;") && !text.contains("mul.rn"), "{text}");
    let half = by_constant("add.rn.f32 \t%r7, %r5, %r5", "0fBF000000");
    assert!(exact(&half, &ir("5.000000e-01")).contains("[param1], 0f3F000000;"));
    // x % 1 and x % -1.
    let one = PTX
        .replace("\tdiv.rn.f32 \t%r7, %r5, %r6;\n", "")
        .replace("%r8, %r7;\n\tneg.f32 \t%r9, %r8;", "%r8, %r5;")
        .replace("fma.rn.f32 \t%r10, %r9, %r6, %r5", "sub.rn.f32 \t%r11, %r5, %r8")
        .replace("\ttestp.infinite.f32 \t%p4, %r6;\n\tselp.f32 \t%r11, %r5, %r10, %p4;\n", "");
    assert_eq!(exact(&one, &ir("1.000000e+00")), one);
    let minus_one = one
        .replace("cvt.rzi.f32.f32 \t%r8, %r5", "neg.f32 \t%r7, %r5;\n\tcvt.rzi.f32.f32 \t%r8, %r7")
        .replace("sub.rn.f32 \t%r11, %r5, %r8", "add.rn.f32 \t%r11, %r8, %r5");
    assert_eq!(exact(&minus_one, &ir("-1.000000e+00")), minus_one);
    let negated = one.replace("sub.rn.f32 \t%r11, %r5, %r8", "sub.rn.f32 \t%r11, %r8, %r5");
    assert_eq!(exact(&negated, &ir("-1.000000e+00")), negated);
}

#[test]
fn what_a_kernel_computes_itself_stays() {
    let without = IR.replace("frem", "fdiv");
    assert_eq!(exact(PTX, &without), PTX);
    // A kernel that allows an approximation.
    assert_eq!(exact(PTX, &IR.replace("frem", "frem reassoc nsz arcp contract afn")), PTX);
}

#[test]
fn a_remainder_that_is_not_found_is_an_error_with_its_line() {
    for (from, to) in [
        ("fma.rn.f32 \t%r10, %r9, %r6, %r5", "fma.rn.f32 \t%r10, %r9, %r6, %r4"),
        ("fma.rn.f32 \t%r10, %r9, %r6, %r5", "fma.rn.f32 \t%r10, %r9, %r3, %r5"),
        ("\tneg.f32 \t%r9, %r8;\n", "\tmov.b32 \t%r9, %r8;\n"),
        ("cvt.rzi", "cvt.rmi"),
        ("div.rn", "div.approx"),
        ("testp.infinite.f32 \t%p4, %r6", "testp.infinite.f32 \t%p4, %r5"),
        // Another value may be in the register.
        ("\tcvt.rzi.f32.f32", "\tadd.rn.f32 \t%r7, %r1, %r2;\n\tcvt.rzi.f32.f32"),
    ] {
        assert!(PTX.contains(from), "{from}");
        let error = with_exact_remainders(&PTX.replace(from, to), IR, &str::to_owned).unwrap_err();
        assert!(
            error.to_string().contains("the `%` of floats at /checkout/kernels/src/lib.rs:6 in a form"),
            "{to}: {error}"
        );
    }
    // One of two is missing.
    let two = IR.replace("}\n!2", "  %9 = frem float %8, %3, !dbg !5\n}\n!2");
    assert!(with_exact_remainders(PTX, &two, &str::to_owned).is_err());
}

#[test]
fn a_sum_that_a_kernel_has_too_stays_beside_the_remainder() {
    let text = exact(&PTX.replace("\tret;\n}\n\t//", "\tst.global.b32 \t[%rd15], %r10;\n\tret;\n}\n\t//"), IR);
    assert!(
        text.contains("fma.rn.f32 \t%r10, %r9, %r6, %r5;") && text.contains("ld.param.f32 \t%r11, [retval0];"),
        "{text}"
    );
    assert!(!text.contains("selp") && text.find("fma.rn") < text.find("call.uni"), "{text}");
    // For a constant divisor, the two cannot be distinguished.
    let ptx = by_constant("div.rn.f32 \t%r7, %r5, 0f40E00000", "0fC0E00000");
    let own = "  %8 = tail call float @llvm.trunc.f32(float %7), !dbg !5\n  %9 = tail call noundef float @llvm.fma.f32(float %8, float \
               -7.000000e+00, float %2), !dbg !6\n}\n!2";
    let ir = IR.replace("%3", "7.000000e+00").replace("}\n!2", own);
    assert!(with_exact_remainders(&ptx, &ir, &str::to_owned).is_err());
    for other in [ir.replace("float -7.0", "float -8.0"), ir.replace("float %2), !dbg", "float %1), !dbg")] {
        assert!(exact(&ptx, &other).contains("call.uni"));
    }
}

#[test]
fn registers_that_are_copies_of_each_other_are_followed_to_an_end() {
    let copies = "$L__BB1_1:\n\tmov.b32 \t%r21, %r20;\n\tfma.rn.f32 \t%r22, %r21, %r6, %r5;\n\tmov.b32 \t%r20, %r21;\n\tst.global";
    let text = exact(&PTX.replace("\tst.global", copies), IR);
    assert!(text.contains("fma.rn.f32 \t%r22, %r21, %r6, %r5;") && text.contains("call.uni"), "{text}");
}

#[test]
fn inline_assembly_is_part_of_the_body() {
    let assembly = "\t// begin inline asm\nmov.u64 %rd1, __shared_1;\n\t// end inline asm\n\tselp";
    assert!(exact(&PTX.replace("\tselp", assembly), IR).contains("mov.u64 %rd1, __shared_1;"));
}
