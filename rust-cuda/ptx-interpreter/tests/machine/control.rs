//! Control flow of each lane: branches, loops, calls and exits.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::{FaultKind, LoadError, Problem};

/// Number of times that warps issued the only instruction with this text.
#[track_caller]
pub(crate) fn issued(kernel: &Kernel, text: &str) -> u64 {
    let report = kernel.report();
    let mut found = report.instructions.iter().filter(|instruction| instruction.place.text.contains(text));
    let issued = found.next().expect("an instruction has this text").counts.issued;
    assert!(found.next().is_none(), "two instructions have {text}");
    issued
}

#[test]
fn lanes_take_both_paths_of_a_branch_and_reconverge() {
    let kernel = Kernel::new(
        "setp.lt.u32 p0, tid, 10; @p0 bra THEN; mul.lo.u32 r0, tid, 2; bra.uni DONE;
         THEN: add.u32 r0, tid, 100; DONE: st.global.u32 [cell], r0; ret;",
    );
    assert_eq!(kernel.words(32), each(32, |thread| if thread < 10 { thread + 100 } else { thread * 2 }));
    assert_eq!(issued(&kernel, "st.global.u32"), 1, "lanes reconverge before the store");
    assert_eq!(kernel.report().branches().1, 1);
}

/// A launch begins only after the previous one has ended.
#[test]
fn a_dependent_launch_waits_for_nothing() {
    let kernel = Kernel::new("griddepcontrol.launch_dependents; griddepcontrol.wait; st.global.u32 [cell], tid; ret;");
    assert_eq!(kernel.words(32), each(32, |thread| thread));
}

#[test]
fn a_branch_that_all_lanes_take_does_not_diverge() {
    let kernel = Kernel::new(
        "setp.lt.u32 p0, tid, 32; @p0 bra DONE; trap; DONE: setp.gt.u32 p1, tid, 64; @p1 bra DONE; st.global.u32 [cell], 1; ret;",
    );
    assert_eq!(kernel.words(32), [1; 32]);
    assert_eq!(kernel.report().branches().1, 0);
}

#[test]
fn each_lane_has_its_own_trip_count() {
    let kernel = Kernel::new(
        "mov.u32 r0, 0; mov.u32 r1, 0;
         LOOP: setp.ge.u32 p0, r1, tid; @p0 bra DONE; add.u32 r0, r0, r1; add.u32 r1, r1, 1; bra LOOP;
         DONE: st.global.u32 [cell], r0; ret;",
    );
    assert_eq!(kernel.words(32), each(32, |thread| (0..thread).sum::<u32>()));
    assert_eq!(issued(&kernel, "st.global.u32"), 1, "lanes reconverge after the loop");
    // One lane leaves in each iteration, and the branch of the last iteration is uniform.
    assert_eq!(kernel.report().branches().1, 31);
}

#[test]
fn loops_within_loops_may_be_continued_and_left() {
    // for i in 0..=tid { for j in 0.. { if j == i { break } if (i + j) % 3 == 0 { continue } sum += i * j } }
    let kernel = Kernel::new(
        "mov.u32 r0, 0; mov.u32 r1, 0;
         OUTER: mov.u32 r2, 0;
         INNER: setp.eq.u32 p0, r2, r1; @p0 bra AFTER;
         add.u32 r3, r1, r2; rem.u32 r3, r3, 3; setp.eq.u32 p1, r3, 0; @p1 bra NEXT;
         mad.lo.u32 r0, r1, r2, r0;
         NEXT: add.u32 r2, r2, 1; bra INNER;
         AFTER: add.u32 r1, r1, 1; setp.le.u32 p2, r1, tid; @p2 bra OUTER;
         st.global.u32 [cell], r0; ret;",
    );
    let expected = each(32, |thread| {
        let pairs = (0..=thread).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.filter(|(i, j)| (i + j) % 3 != 0).map(|(i, j)| i * j).sum::<u32>()
    });
    assert_eq!(kernel.words(32), expected);
    assert_eq!(issued(&kernel, "st.global.u32"), 1);
}

#[test]
fn a_branch_table_sends_each_lane_to_its_case() {
    let body = "
        rem.u32 r0, tid, 5; mov.u32 r1, 0; setp.eq.u32 p0, tid, 31;
        TABLE: .branchtargets ZERO, ONE, TWO, ONE, FOUR;
        @!p0 brx.idx r0, TABLE;
        mov.u32 r1, 999; bra DONE;
        ZERO: mov.u32 r1, 100; bra DONE; ONE: mov.u32 r1, 101; bra DONE; TWO: mov.u32 r1, 102;
        FOUR: add.u32 r1, r1, 1000;
        DONE: st.global.u32 [cell], r1; ret;";
    let kernel = Kernel::new(body);
    let expected = each(32, |thread| match (thread, thread % 5) {
        (31, _) => 999,
        (_, 0) => 100,
        (_, 1 | 3) => 101,
        (_, 2) => 1102,
        _ => 1000,
    });
    assert_eq!(kernel.words(32), expected);
    assert_eq!(issued(&kernel, "st.global.u32"), 1);
}

#[test]
fn an_index_beyond_the_table_is_a_fault() {
    let body = "sub.u32 r0, tid, 9;\nTABLE: .branchtargets A, B;\n
        setp.ge.u32 p0, tid, 10; @p0 bra A;
        brx.idx r0, TABLE;\nA: B: ret;";
    let FaultKind::BranchTable { index, length } = Kernel::new(body).fault("brx.idx r0, TABLE;", 0, 0) else {
        panic!()
    };
    assert_eq!((index, length), (u64::from(0_u32.wrapping_sub(9)), 2));
}

#[test]
fn reconvergence_does_not_wait_for_exited_lanes() {
    for leave in ["@p0 ret;", "@p0 exit;", "@p0 bra OUT;"] {
        let kernel = Kernel::new(format!(
            "setp.ge.u32 p0, tid, 20; and.b32 r0, tid, 1; setp.eq.u32 p1, r0, 0;
             @p1 bra EVEN; {leave} mov.u32 r0, 1; bra BOTH; EVEN: mov.u32 r0, 2;
             BOTH: st.global.u32 [cell], r0; ret; OUT: ret;"
        ));
        let expected = each(32, |thread| match thread {
            _ if thread % 2 == 0 => 2,
            0..20 => 1,
            _ => 0,
        });
        assert_eq!(kernel.words(32), expected, "{leave}");
    }
}

#[test]
fn paths_that_trap_do_not_prevent_reconvergence() {
    // The shape of Rust's bounds checks.
    let kernel = Kernel::new(
        "and.b32 r0, tid, 1; setp.eq.u32 p0, r0, 0; mov.u32 r1, 5; @p0 bra BOTH;
         setp.gt.u32 p1, tid, 99; @p1 bra PANIC; mov.u32 r1, 6;
         BOTH: st.global.u32 [cell], r1; ret; PANIC: trap;",
    );
    assert_eq!(kernel.words(32), each(32, |thread| 5 + thread % 2));
    assert_eq!(issued(&kernel, "st.global.u32"), 1);
}

/// A kernel with a buffer of `length` elements and an index that is checked by a comparison as in
/// rustc's code. Returns the fault's text for thread 5.
fn checked(check: &str, length: u64) -> (Option<u32>, String) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 x, .param .u64 x_length)\n{{
         .reg .pred p; .reg .b32 t; .reg .b64 i, length, address;
         ld.param.u64 address, [x]; ld.param.u64 length, [x_length]; mov.u32 t, %tid.x; cvt.u64.u32 i, t; {check}\nret;\nPANIC: trap;\n}}"
    );
    let mut machine = ptx_interpreter::Machine::new(&text).unwrap();
    let address = machine.allocate(4 * length).unwrap().to_le_bytes();
    let config = cuda_launch::LaunchConfig::new(1, 8);
    let result =
        machine.launch(ptx_interpreter::Options::default(), "kernel", config, &[&address, &length.to_le_bytes()]);
    let Err(error) = result else { return (None, String::new()) };
    let fault = error.fault().expect("a fault");
    (Some(fault.thread.x), fault.kind.to_string())
}

#[test]
fn a_trap_behind_a_bounds_check_says_the_index_and_the_length() {
    let expected = (Some(5), "index 5 is outside of a buffer, which has 5 elements".to_owned());
    for check in [
        "setp.ge.u64 p, i, length; @p bra PANIC;",
        "setp.le.u64 p, length, i; @p bra PANIC;",
        "setp.lt.u64 p, i, length; @!p bra PANIC;",
        "setp.gt.u64 p, length, i; @p bra OK; bra.uni PANIC; OK:",
        "setp.gt.u64 p, length, i; @p bra OK; trap; OK:",
    ] {
        assert_eq!(checked(check, 5), expected, "{check}");
        assert_eq!(checked(check, 8).0, None, "{check}");
    }
    let one = checked("setp.ge.u64 p, i, length; @p bra PANIC;", 1);
    assert_eq!(one, (Some(1), "index 1 is outside of a buffer, which has 1 element".to_owned()));
}

#[test]
fn a_trap_behind_another_check_says_no_index() {
    for check in [
        // No length, a different comparison, and two ways.
        "setp.ge.u64 p, i, 5; @p bra PANIC;",
        "setp.eq.u64 p, i, length; @p bra PANIC;",
        "setp.ge.u64 p, i, length; @p bra PANIC; setp.eq.u64 p, i, 9; @p bra PANIC;",
    ] {
        assert_eq!(checked(check, 5), (Some(5), "trap: the kernel panics".to_owned()), "{check}");
    }
}

#[test]
fn a_trap_is_a_fault_of_the_lane_that_reaches_it() {
    let kernel = Kernel::new("setp.ne.u32 p0, tid, 7; @p0 bra DONE;\ntrap;\nDONE: ret;").shape(3, 32);
    assert_eq!(kernel.fault("trap;", 0, 7), FaultKind::Trap);
    let guarded = Kernel::new("setp.eq.u32 p0, index, 70;\n@p0 trap;\nret;").shape(3, 32);
    assert_eq!(guarded.fault("@p0 trap;", 2, 6), FaultKind::Trap);
}

const SQUARE: &str = ".func (.param .b32 result) square(.param .b32 x)
    { .reg .b32 r<2>; ld.param.b32 r0, [x]; mul.lo.u32 r1, r0, r0; st.param.b32 [result], r1; ret; }\n";

pub(crate) fn call(function: &str, from: &str, to: &str) -> String {
    format!(
        "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {from}; call.uni (b), {function}, (a); ld.param.b32 {to}, [b]; }}\n"
    )
}

#[test]
fn functions_take_and_return_values() {
    let body = call("square", "tid", "r1")
        + "add.u32 r1, r1, 1;"
        + &call("square", "r1", "r2")
        + "st.global.u32 [cell], r2; ret;";
    let kernel = Kernel::new(body).declare(SQUARE);
    assert_eq!(kernel.words(32), each(32, |thread| (thread * thread + 1).pow(2)));
}

#[test]
fn called_functions_have_their_own_registers() {
    let fourth = format!(
        "{SQUARE} .func (.param .b32 result) fourth(.param .b32 x) {{ .reg .b32 r<3>; ld.param.b32 r0, [x];\n{}{}
         add.u32 r2, r2, r0; st.param.b32 [result], r2; ret; }}\n",
        call("square", "r0", "r1"),
        call("square", "r1", "r2")
    );
    let kernel = Kernel::new(
        "mov.u32 r0, 1000;".to_owned()
            + &call("fourth", "tid", "r2")
            + "add.u32 r2, r2, r0; st.global.u32 [cell], r2; ret;",
    );
    assert_eq!(kernel.declare(&fourth).words(32), each(32, |thread| thread.pow(4) + thread + 1000));
}

#[test]
fn a_function_returns_early_in_some_lanes() {
    let halve = ".func (.param .b32 result) halve(.param .b32 x)
        { .reg .b32 r<2>; .reg .pred p; ld.param.b32 r0, [x]; st.param.b32 [result], r0;
          and.b32 r1, r0, 1; setp.ne.u32 p, r1, 0; @p ret; shr.u32 r0, r0, 1; st.param.b32 [result], r0; ret; }\n";
    let kernel = Kernel::new(call("halve", "tid", "r1") + "st.global.u32 [cell], r1; ret;").declare(halve);
    assert_eq!(kernel.words(32), each(32, |thread| if thread % 2 == 0 { thread / 2 } else { thread }));
    assert_eq!(issued(&kernel, "st.global.u32"), 1);
}

#[test]
fn a_guarded_call_runs_in_the_lanes_of_its_guard() {
    let store = ".func store(.param .b64 to) { .reg .b64 d; ld.param.b64 d, [to]; st.global.u32 [d], 5; ret; }\n";
    let kernel = Kernel::new(
        "setp.lt.u32 p0, tid, 9; { .param .b64 a; st.param.b64 [a], cell; @p0 call store, (a); }\n@!p0 st.global.u32 [cell], 6; ret;",
    );
    assert_eq!(kernel.declare(store).words(32), each(32, |thread| if thread < 9 { 5 } else { 6 }));
}

/// Three functions, the third with a different signature, and a table of all three.
const FUNCTIONS: &str = ".func (.param .b32 y) twice(.param .b32 x) { .reg .b32 r; ld.param.b32 r, [x]; shl.b32 r, r, 1; st.param.b32 [y], r; ret; }
    .func (.param .b32 y) plus7(.param .b32 x) { .reg .b32 r; ld.param.b32 r, [x]; add.u32 r, r, 7; st.param.b32 [y], r; ret; }
    .func (.param .b64 y) wide(.param .b64 x) { .reg .b64 r; ld.param.b64 r, [x]; st.param.b64 [y], r; ret; }
    .global .align 8 .u64 table[3] = {twice, plus7, wide};\n";

/// Calls `f` with the thread's index, and stores the returned value.
fn call_through(pointer: &str, targets: &str) -> String {
    format!(
        ".reg .b64 f; .reg .b64 t; {pointer}
         {{ .param .b32 a; .param .b32 b; st.param.b32 [a], tid;
         TARGETS: {targets}
         call (b), f, (a), TARGETS;\nld.param.b32 r1, [b]; }} st.global.u32 [cell], r1; ret;"
    )
}

#[test]
fn a_call_through_a_pointer_runs_each_lanes_function() {
    let of_table =
        "mov.u64 t, table; and.b32 r0, tid, 1; mul.wide.u32 f, r0, 8; add.u64 f, f, t; ld.global.u64 f, [f];";
    let selected =
        "mov.u64 f, twice; mov.u64 t, plus7; and.b32 r0, tid, 1; setp.eq.u32 p0, r0, 0; selp.b64 f, f, t, p0;";
    for pointer in [of_table, selected] {
        for targets in [".callprototype (.param .b32 _) _ (.param .b32 _);", ".calltargets plus7, twice;"] {
            let kernel = Kernel::new(call_through(pointer, targets)).declare(FUNCTIONS);
            assert_eq!(kernel.words(32), each(32, |thread| if thread % 2 == 0 { thread * 2 } else { thread + 7 }));
            assert_eq!(issued(&kernel, "st.global.u32"), 1, "lanes reconverge after the call");
        }
    }
}

#[test]
fn a_call_through_a_pointer_to_another_function_is_a_fault() {
    let fault = |pointer: &str, targets: &str| {
        let kernel = Kernel::new(call_through(pointer, targets)).declare(FUNCTIONS);
        match kernel.fault("call (b), f, (a), TARGETS;", 0, 0) {
            FaultKind::NoFunction { address } => address,
            other => panic!("{other}"),
        }
    };
    let prototype = ".callprototype (.param .b32 _) _ (.param .b32 _);";
    assert_eq!(fault("mov.u64 f, 0;", prototype), 0);
    assert_eq!(fault("mov.u64 f, table;", prototype), fault("mov.u64 f, table;", ".calltargets twice;"));
    // A different signature, not in the list, and no function with the signature at all.
    assert_ne!(fault("mov.u64 f, wide;", prototype), 0);
    assert_ne!(fault("mov.u64 f, twice;", ".calltargets plus7;"), 0);
    assert_ne!(fault("mov.u64 f, twice;", ".callprototype _ ();"), 0);
}

#[test]
fn a_function_may_call_another_through_a_pointer() {
    let apply = ".func (.param .b32 y) apply(.param .b64 g, .param .b32 x) { .reg .b64 f; .reg .b32 r; ld.param.b64 f, [g]; ld.param.b32 r, [x];
         { .param .b32 a; .param .b32 b; st.param.b32 [a], r; P: .callprototype (.param .b32 _) _ (.param .b32 _); call.uni (b), f, (a), P; ld.param.b32 r, [b]; }
         st.param.b32 [y], r; ret; }\n";
    let body = ".reg .b64 f; mov.u64 f, plus7; { .param .b64 g; .param .b32 x; .param .b32 y; st.param.b64 [g], f; st.param.b32 [x], tid;
         call (y), apply, (g, x); ld.param.b32 r0, [y]; } st.global.u32 [cell], r0; ret;";
    let kernel = Kernel::new(body).declare(&format!("{FUNCTIONS}{apply}"));
    assert_eq!(kernel.words(32), each(32, |thread| thread + 7));
}

#[test]
fn unknown_functions_are_rejected() {
    let problem = |kernel: Kernel| match kernel.load_error() {
        LoadError::Statement { line, text, problem } => {
            assert!(kernel.text().lines().nth(line as usize - 1).unwrap().contains(&text), "{text}");
            problem
        }
        error => panic!("{error}"),
    };
    let calls_f = call("f", "tid", "r1") + "ret;";
    assert_eq!(problem(Kernel::new(&calls_f)), Problem::Undeclared("f".to_owned()));
    let declared = ".func (.param .b32 result) f(.param .b32 x);\n";
    assert_eq!(problem(Kernel::new(&calls_f).declare(declared)), Problem::NoBody("f".to_owned()));
    let too_few = "{ .param .b32 b; call (b), square; } ret;";
    assert!(matches!(problem(Kernel::new(too_few).declare(SQUARE)), Problem::OperandCount { found: 1, .. }));
}

#[test]
fn lanes_of_a_warp_pass_a_lock_on() {
    // Each lane tries, does its work, and unlocks within the loop.
    let within = Kernel::new(
        "mov.u32 r3, 0;
         LOOP: atom.acquire.gpu.global.cas.b32 r0, [input], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra AGAIN;
         ld.global.u32 r1, [input+4]; add.u32 r1, r1, 1; st.global.u32 [input+4], r1; st.global.u32 [cell], r1;
         mov.u32 r3, 1; atom.release.gpu.global.exch.b32 r0, [input], 0;
         AGAIN: setp.eq.u32 p1, r3, 0; @p1 bra LOOP; ret;",
    );
    let mut order = within.words(32);
    order.sort_unstable();
    assert_eq!(order, each(32, |thread| thread + 1));
}

#[test]
fn a_lock_acquired_in_a_loop_and_released_after_it_is_passed_on() {
    // The lane with the lock leaves the loop. If it waited there for reconvergence, the others
    // would spin forever.
    let after = Kernel::new(
        "LOOP: atom.acquire.gpu.global.cas.b32 r0, [input], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra LOOP;
         ld.global.u32 r1, [input+4]; add.u32 r1, r1, 1; st.global.u32 [input+4], r1; st.global.u32 [cell], r1;
         atom.release.gpu.global.exch.b32 r0, [input], 0; ret;",
    );
    let mut order = after.words(32);
    order.sort_unstable();
    assert_eq!(order, each(32, |thread| thread + 1));
}

#[test]
fn a_lane_waits_for_a_flag_that_another_lane_of_its_warp_sets_later() {
    for (waits, sets) in [("lt", 1), ("ge", 31)] {
        let kernel = Kernel::new(format!(
            "setp.{waits}.u32 p0, tid, 16; @!p0 bra SET;
             LOOP: ld.acquire.gpu.global.u32 r0, [input]; setp.eq.u32 p1, r0, 0; @p1 bra LOOP;
             ld.global.u32 r1, [input+4]; st.global.u32 [cell], r1; ret;
             SET: setp.ne.u32 p2, tid, {sets}; @p2 ret; st.global.u32 [input+4], 42; st.release.gpu.global.u32 [input], 1; ret;",
            sets = if waits == "lt" { 31 } else { sets.min(1) },
        ));
        let expected = each(32, |thread| if (thread < 16) == (waits == "lt") { 42 } else { 0 });
        assert_eq!(kernel.words(32), expected, "{waits}");
    }
}

#[test]
fn a_loop_that_never_ends_is_a_fault() {
    let kernel = Kernel::new("LOOP: add.u32 r0, r0, 1;\nbra.uni LOOP;").at_most(100_000);
    let FaultKind::Endless { instructions } = kernel.fault("bra.uni LOOP;", 0, 0) else { panic!() };
    assert!((100_001..200_000).contains(&instructions), "{instructions}");
    // If nothing changes, no instructions are counted.
    for checks in [true, false] {
        let kernel = Kernel::new("LOOP:\nbra.uni LOOP;");
        let kernel = if checks { kernel } else { kernel.without_race_checks() };
        assert_eq!(kernel.fault("bra.uni LOOP;", 0, 0), FaultKind::EndlessLoop);
    }
    let one_lane = Kernel::new("setp.ne.u32 p0, tid, 5; @p0 bra DONE; LOOP:\nbra.uni LOOP;\nDONE: ret;").shape(2, 64);
    assert_eq!(one_lane.fault("bra.uni LOOP;", 0, 5), FaultKind::EndlessLoop);
}

#[test]
fn a_loop_whose_paths_part_and_meet_in_each_round_is_ended_and_lets_other_warps_run() {
    let parts = "setp.lt.u32 p1, lane, 16; @p1 bra MEET; add.u32 r1, r1, 3; MEET: add.u32 r0, r0, 1;";
    let endless = format!("and.b32 lane, tid, 31; LOOP: {parts}\nbra.uni LOOP;");
    let kernel = Kernel::new(endless.replace("lane", "r2")).shape(1, 64).at_most(1_000_000);
    assert!(kernel.launch_error().to_string().contains("the kernel does not end"));
    // The first warp waits for the second one.
    let waits = format!(
        "and.b32 lane, tid, 31; setp.ge.u32 p0, tid, 32; @p0 bra SET;
         LOOP: {parts} ld.acquire.gpu.global.u32 r3, [input]; setp.eq.u32 p2, r3, 0; @p2 bra LOOP;
         st.global.u32 [cell], 7; ret;
         SET: setp.ne.u32 p3, tid, 32; @p3 ret; st.release.gpu.global.u32 [input], 1; ret;"
    );
    let kernel = Kernel::new(waits.replace("lane", "r2")).shape(1, 64);
    assert_eq!(kernel.words(64), each(64, |thread| if thread < 32 { 7 } else { 0 }));
}

#[test]
fn the_fault_of_an_endless_loop_is_that_of_the_thread_in_it_and_says_what_to_do() {
    // One thread of the second warp loops. The others wait for it, at a barrier and at the end.
    let kernel = Kernel::new(
        "setp.ne.u32 p0, tid, 37; @p0 bra WAIT; LOOP: st.global.u32 [cell], tid;\nbra.uni LOOP; WAIT: bar.sync 0; ret;",
    );
    let error = kernel.shape(1, 64).at_most(100_000).launch_error();
    let fault = error.fault().expect("a fault");
    // A time slice can end at any instruction of the loop.
    assert_eq!(fault.thread.x, 37, "{fault}");
    assert!(["bra.uni LOOP", "st.global.u32 [cell], tid"].contains(&&*fault.place.text), "{fault}");
    let FaultKind::Endless { instructions } = fault.kind else { panic!("{fault}") };
    let text = format!(
        "the kernel does not end: the warps of the block have issued {instructions} instructions. Correct the condition of the loop \
         around this line, or allow more by Options::block_instructions"
    );
    assert_eq!(fault.kind.to_string(), text);
    // A loop with a barrier makes progress, and is also counted.
    let with_barrier = Kernel::new("LOOP: bar.sync 0;\nbra.uni LOOP;").shape(1, 64).at_most(100_000);
    assert!(with_barrier.launch_error().to_string().contains("the kernel does not end"));
}

#[test]
fn a_loop_that_only_computes_or_waits_is_found_before_one_that_stores() {
    for waits in ["bra.uni LOOP;", "ld.volatile.global.u32 r0, [input]; setp.ne.u32 p0, r0, 77; @p0 bra.uni LOOP;"] {
        let kernel = Kernel::new(format!("st.global.u32 [cell], tid; LOOP: add.u32 r1, r1, 1;\n{waits} ret;"));
        let error = kernel.at_most_without_progress(50_000).launch_error().to_string();
        assert!(error.contains("instructions without a store that other threads see, a barrier or an end"), "{error}");
    }
    // A store to local memory is not progress; a store to global memory and a barrier are.
    let counts = |within: &str| {
        let body = format!(
            ".local .b32 own[1]; mov.u32 r1, 0; LOOP: add.u32 r1, r1, 1; {within} setp.lt.u32 p0, r1, 200000;\n@p0 bra.uni LOOP; ret;"
        );
        Kernel::new(body).at_most_without_progress(50_000)
    };
    for within in ["st.global.u32 [cell], r1;", "bar.sync 0;"] {
        counts(within).report();
    }
    let error = counts("st.local.u32 [own], r1;").launch_error().to_string();
    assert!(error.contains("without a store"), "{error}");
}
