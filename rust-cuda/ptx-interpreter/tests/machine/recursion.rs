//! Recursive functions.

use crate::control::{call, issued};
use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;
use ptx_interpreter::limits::STACK_BYTES;
use ptx_interpreter::memory::AccessError;

/// A function of one value. It has registers r0, which holds the value, to r9, and p0 and p1. The
/// result must be in r0 at the end.
fn function(name: &str, body: &str) -> String {
    format!(
        ".func (.param .b32 result) {name}(.param .b32 x) {{ .reg .b32 r<10>; .reg .pred p<2>; ld.param.b32 r0, [x];\n{body}\n\
         END: st.param.b32 [result], r0; ret; }}\n"
    )
}

/// Stores a function's result for the thread's index modulo `count`.
fn of_threads(name: &str, count: u32) -> Kernel {
    let body = format!(
        "mov.u32 r5, 77; rem.u32 r0, tid, {count};\n{} sub.u32 r5, r5, 77; add.u32 r1, r1, r5; st.global.u32 [cell], r1; ret;",
        call(name, "r0", "r1")
    );
    Kernel::new(body)
}

fn fibonacci() -> String {
    let twice = "sub.u32 r1, r0, 1;\n".to_owned()
        + &call("fib", "r1", "r2")
        + "sub.u32 r1, r0, 2;\n"
        + &call("fib", "r1", "r3")
        + "add.u32 r0, r2, r3;";
    function("fib", &format!("setp.lt.u32 p0, r0, 2; @p0 bra END;\n{twice}"))
}

#[test]
fn each_lane_calls_as_often_as_it_needs() {
    fn fib(n: u32) -> u32 {
        if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
    }
    let kernel = of_threads("fib", 13).declare(&fibonacci());
    assert_eq!(kernel.words(32), each(32, |thread| fib(thread % 13)));
    assert_eq!(issued(&kernel, "st.global.u32"), 1, "lanes reconverge after the call");
    let kernel = of_threads("fib", 7).declare(&fibonacci()).shape(3, 70);
    let expected = each(70, |thread| fib(thread % 7));
    assert_eq!(kernel.words(210), [&expected[..], &expected, &expected].concat());
}

#[test]
fn functions_may_call_each_other() {
    let of = |name, other, at_zero| {
        let rest = "sub.u32 r1, r0, 1;\n".to_owned() + &call(other, "r1", "r0");
        function(name, &format!("setp.ne.u32 p0, r0, 0; @p0 bra REST; mov.u32 r0, {at_zero}; bra END;\nREST: {rest}"))
    };
    let declared =
        ".func (.param .b32 result) odd(.param .b32 x);\n".to_owned() + &of("even", "odd", 1) + &of("odd", "even", 0);
    let kernel = of_threads("even", 32).declare(&declared);
    assert_eq!(kernel.words(32), each(32, |thread| 1 - thread % 2));
}

/// Ackermann's function of (m, n), passed as 16 · m + n. A call's argument is another call's
/// result.
#[test]
fn a_calls_argument_may_be_another_ones_result() {
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    let body = "shr.u32 r1, r0, 4; and.b32 r2, r0, 15; sub.u32 r3, r1, 1; shl.b32 r3, r3, 4;
        setp.eq.u32 p0, r1, 0; @p0 add.u32 r0, r2, 1; @p0 bra END; setp.eq.u32 p1, r2, 0; mov.u32 r4, 1; @p1 bra OUTER; sub.u32 r5, r0, 1;\n"
        .to_owned()
        + &call("ack", "r5", "r4")
        + "OUTER: add.u32 r3, r3, r4;\n"
        + &call("ack", "r3", "r0");
    let index = "rem.u32 r0, tid, 3; shl.b32 r0, r0, 4; and.b32 r1, tid, 3; or.b32 r0, r0, r1;\n";
    let kernel = Kernel::new(index.to_owned() + &call("ack", "r0", "r2") + "st.global.u32 [cell], r2; ret;");
    let kernel = kernel.declare(&function("ack", &body));
    assert_eq!(kernel.words(32), each(32, |thread| ackermann(thread % 3, thread % 4)));
}

/// Each call has its own variables, even while its callees hold their addresses.
#[test]
fn each_call_has_its_own_local_memory() {
    fn f(n: u32, outer: &mut [u32; 2]) {
        let mut own = [n, 10 * n];
        if n > 0 {
            f(n - 1, &mut own);
            f(n / 2, &mut own);
        }
        outer[0] += own[0];
        outer[1] += own[1] + 1;
    }
    let again = |n: &str| {
        format!(
            "{{ .param .b32 a; .param .b64 b; st.param.b32 [a], {n}; st.param.b64 [b], d1; call.uni f, (a, b); }}\n"
        )
    };
    let body = format!(
        ".func f(.param .b32 n, .param .b64 outer) {{ .reg .b32 r<9>; .reg .b64 d<3>; .reg .pred p; .local .align 4 .b32 own[2];
         ld.param.b32 r0, [n]; ld.param.b64 d0, [outer]; mul.lo.u32 r1, r0, 10; st.local.u32 [own], r0; st.local.u32 [own+4], r1;
         mov.u64 d1, own; cvta.local.u64 d1, d1; setp.eq.u32 p, r0, 0; @p bra ADD; sub.u32 r2, r0, 1; shr.u32 r3, r0, 1;\n{}{}
         ADD: ld.local.u32 r4, [own]; ld.u32 r5, [d0]; add.u32 r5, r5, r4; st.u32 [d0], r5;
         mov.u64 d2, own; ld.local.u32 r4, [d2+4]; ld.u32 r5, [d0+4]; add.u32 r5, r5, r4; add.u32 r5, r5, 1; st.u32 [d0+4], r5; ret; }}\n",
        again("r2"),
        again("r3")
    );
    let kernel = Kernel::new(
        ".local .align 4 .b32 all[2]; st.local.u32 [all], 0; st.local.u32 [all+4], 0; mov.u64 d1, all; cvta.local.u64 d1, d1; rem.u32 r0, tid, 9;\n"
            .to_owned()
            + &again("r0")
            + "ld.local.u32 r1, [all]; ld.local.u32 r2, [all+4]; shl.b32 r2, r2, 16; or.b32 r1, r1, r2; st.global.u32 [cell], r1; ret;",
    );
    let expected = each(32, |thread| {
        let mut all = [0; 2];
        f(thread % 9, &mut all);
        all[0] | all[1] << 16
    });
    assert_eq!(kernel.declare(&body).words(32), expected);
}

/// A call's parameters are separate from an earlier call's, and its variables are uninitialized at
/// first.
#[test]
fn a_calls_variables_are_new() {
    let calls = "{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], r1; st.param.b32 [c], r2;
        call.uni (b), f, (c); ld.param.b32 r3, [b]; call.uni (b), f, (a); ld.param.b32 r4, [b]; }";
    let body = format!(
        "setp.lt.u32 p0, r0, 2; @p0 bra END; sub.u32 r1, r0, 1; sub.u32 r2, r0, 2;\n{calls} mad.lo.u32 r0, r4, 3, r3;"
    );
    fn f(n: u32) -> u32 {
        if n < 2 { n } else { 3 * f(n - 1) + f(n - 2) }
    }
    let kernel = of_threads("f", 9).declare(&function("f", &body));
    assert_eq!(kernel.words(32), each(32, |thread| f(thread % 9)));

    let body = "@p0 bra END;\n .local .align 4 .b32 own; setp.ne.u32 p1, r0, 5; @p1 st.local.u32 [own], r0;\nld.local.u32 r2, [own];\n setp.eq.u32 p1, r2, 77;\
        setp.eq.u32 p1, r0, 0; @p1 bra END; sub.u32 r1, r0, 1;\n"
        .to_owned()
        + &call("f", "r1", "r2");
    let body = body.replace("@p0 bra END;\n", "");
    let twice =
        "mov.u32 r0, 4;\n".to_owned() + &call("f", "r0", "r1") + "mov.u32 r0, 5;\n" + &call("f", "r0", "r1") + "ret;";
    match Kernel::new(twice).declare(&function("f", &body)).fault("ld.local.u32 r2, [own];", 0, 0) {
        FaultKind::Access { error: AccessError::Uninitialised { .. }, .. } => {}
        other => panic!("{other}"),
    }
}

/// Padding copied by a call is uninitialized in its own registers, but not in its caller's.
#[test]
fn a_calls_uninitialised_bytes_are_its_own() {
    let body =
        ".local .align 4 .b32 own; .local .align 4 .b32 copy; setp.eq.u32 p0, r0, 0; mov.u32 r3, r0; @!p0 bra CALL;
        ld.local.u32 r3, [own]; st.local.u32 [copy], r3; mov.u32 r0, 1; bra END;
        CALL: sub.u32 r1, r0, 1;\n"
            .to_owned()
            + &call("f", "r1", "r2")
            + "setp.gt.u32 p1, r3, 100; @p1 trap; add.u32 r0, r2, r3;";
    let kernel = of_threads("f", 5).declare(&function("f", &body));
    assert_eq!(kernel.words(32), each(32, |thread| 1 + (thread % 5) * (thread % 5 + 1) / 2));
}

#[test]
fn a_guarded_call_and_one_through_a_pointer_may_be_of_the_same_function() {
    let guarded = "mov.u32 r2, 0; setp.ne.u32 p0, r0, 0; sub.u32 r1, r0, 1;
        { .param .b32 a; .param .b32 b; st.param.b32 [a], r1; @p0 call (b), sum, (a); @p0 ld.param.b32 r2, [b]; } add.u32 r0, r0, r2;";
    let kernel = of_threads("sum", 20).declare(&function("sum", guarded));
    assert_eq!(kernel.words(32), each(32, |thread| (thread % 20) * (thread % 20 + 1) / 2));
    let through = "mov.u32 r2, 0; setp.eq.u32 p0, r0, 0; @p0 bra ADD; sub.u32 r1, r0, 1; .reg .b64 f; mov.u64 f, sum;
        { .param .b32 a; .param .b32 b; st.param.b32 [a], r1; P: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (b), f, (a), P; ld.param.b32 r2, [b]; } ADD: add.u32 r0, r0, r2;";
    let kernel = of_threads("sum", 20).declare(&function("sum", through));
    assert_eq!(kernel.words(32), each(32, |thread| (thread % 20) * (thread % 20 + 1) / 2));
}

/// A function called in the middle of a recursion also has its own registers in each call.
#[test]
fn a_function_between_two_calls_is_part_of_the_frame() {
    let add = function("add", "add.u32 r0, r0, 100;");
    let body = "setp.eq.u32 p0, r0, 0; @p0 bra END; sub.u32 r1, r0, 1;\n".to_owned()
        + &call("add", "r0", "r5")
        + &call("f", "r1", "r2")
        + &call("add", "r2", "r6")
        + "add.u32 r0, r5, r6;";
    fn f(n: u32) -> u32 {
        if n == 0 { 0 } else { n + 100 + f(n - 1) + 100 }
    }
    let kernel = of_threads("f", 6).declare(&format!("{add}{}", function("f", &body)));
    assert_eq!(kernel.words(32), each(32, |thread| f(thread % 6)));
}

#[test]
fn threads_of_a_block_meet_at_a_barrier_after_calls_of_other_depths() {
    let body = ".shared .align 4 .b32 all[64]; .reg .b64 s; mul.wide.u32 s, tid, 4; mov.u64 d1, all; add.u64 d1, d1, s; rem.u32 r0, tid, 11;\n"
        .to_owned()
        + &call("fib", "r0", "r1")
        + "st.shared.u32 [d1], r1; bar.sync 0; xor.b32 r2, tid, 63; mul.wide.u32 s, r2, 4; mov.u64 d1, all; add.u64 d1, d1, s;
           ld.shared.u32 r1, [d1]; st.global.u32 [cell], r1; ret;";
    const FIB: [u32; 11] = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55];
    let kernel = Kernel::new(body).declare(&fibonacci()).shape(1, 64);
    assert_eq!(kernel.words(64), each(64, |thread| FIB[(63 - thread as usize) % 11]));
}

#[test]
fn a_stack_without_room_is_a_fault() {
    let again = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], r1;\ncall (b), f, (a);\n}";
    let endless = function("f", &format!("setp.lt.u32 p0, r0, 5; @p0 bra END; mov.u32 r1, r0; {again}"));
    let of_threads = |count: u32| Kernel::new(call("f", "tid", "r1") + "ret;").shape(1, count).declare(&endless);
    of_threads(5).report();
    let fault = of_threads(8).fault("call (b), f, (a);", 0, 5);
    assert_eq!(fault, FaultKind::Recursion { function: "f".to_owned() });
    let text = "a call of `f` exceeds the 16 KiB of the thread's stack: do its calls of itself end?";
    assert_eq!(fault.to_string(), text);
    // A value, a result, and the same for its callees: 16 bytes per frame.
    let deep = |depth: u32| {
        let body = format!("setp.eq.u32 p0, r0, 0; @p0 bra END; sub.u32 r1, r0, 1; {again}");
        Kernel::new(format!("mov.u32 r0, {depth};\n") + &call("f", "r0", "r1") + "ret;").declare(&function("f", &body))
    };
    let most = STACK_BYTES as u32 / 16 - 1;
    deep(most).report();
    assert!(matches!(deep(most + 1).fault("call (b), f, (a);", 0, 0), FaultKind::Recursion { .. }));
}

/// The kernel's own instructions do not fall through into a function's.
#[test]
fn a_kernel_without_an_end_is_rejected() {
    let body = "mov.u32 r0, 3;\n".to_owned() + &call("fib", "r0", "r1");
    let error = Kernel::new(body).declare(&fibonacci()).load_error().to_string();
    assert!(error.contains("past the end"), "{error}");
}
