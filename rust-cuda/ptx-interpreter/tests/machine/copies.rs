//! Asynchronous copies from global to shared memory, visible after a wait.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{Access, FaultKind, RaceReason};

const ROOM: &str = ".shared .align 16 .b8 room[2048];\n";
const BEGIN: &str =
    "mov.u32 r0, room; mad.lo.u32 r0, tid, 16, r0; mad.wide.u32 d0, tid, 16, input; mad.wide.u32 d9, tid, 16, output;";

const IN_FLIGHT: Option<RaceReason> = Some(RaceReason::InFlight);

fn input() -> Vec<u32> {
    each(1024, |i| i * 17 + 3)
}

#[test]
fn copies_of_every_size_are_visible_after_a_wait() {
    for (instruction, bytes) in [
        ("cp.async.ca.shared.global", 4),
        ("cp.async.ca.shared.global", 8),
        ("cp.async.ca.shared.global", 16),
        ("cp.async.cg.shared.global", 16),
        ("cp.async.cg.shared::cta.global.L2::128B", 16),
    ] {
        for wait in ["cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;"] {
            let body = format!(
                "{BEGIN} st.shared.v4.u32 [r0], {{5, 5, 5, 5}}; {instruction} [r0], [d0], {bytes}; {wait}
                 ld.shared.v4.u32 {{r1, r2, r3, r4}}, [r0]; st.global.v4.u32 [d9], {{r1, r2, r3, r4}}; ret;"
            );
            let found = Kernel::new(body).declare(ROOM).input(&input()).words(128);
            let expected = each(128, |i| if i as usize % 4 < bytes / 4 { i * 17 + 3 } else { 5 });
            assert_eq!(found, expected, "{instruction} {bytes} {wait}");
        }
    }
}

#[test]
fn another_thread_reads_a_copy_after_a_wait_and_a_barrier() {
    let body = format!(
        "{BEGIN} cp.async.cg.shared.global [r0], [d0], 16; cp.async.wait_all; bar.sync 0;
         xor.b32 r9, tid, 63; mov.u32 r0, room; mad.lo.u32 r0, r9, 16, r0; ld.shared.u32 r1, [r0]; st.global.u32 [cell], r1; ret;"
    );
    let kernel = Kernel::new(body).declare(ROOM).input(&input()).shape(1, 64);
    assert_eq!(kernel.words(64), each(64, |thread| (thread ^ 63) * 4 * 17 + 3));
}

#[test]
fn a_copy_is_not_visible_before_the_wait() {
    // The read finds uninitialized memory, or the previous value.
    let read = "ld.shared.u32 r1, [r0];";
    for before in
        ["", "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.commit_group; cp.async.wait_group 1;"]
    {
        let body = format!("{BEGIN} cp.async.ca.shared.global [r0], [d0], 4; {before}\n{read}\nret;");
        let kind = Kernel::new(body).declare(ROOM).input(&input()).fault(read, 0, 0);
        let uninitialised =
            matches!(kind, FaultKind::Access { access: Access::Read, error: AccessError::Uninitialised { .. } });
        assert!(uninitialised, "{before} {kind}");
        let body = format!(
            "{BEGIN} st.shared.u32 [r0], 99; cp.async.ca.shared.global [r0], [d0], 4; {before}\n{read}\nst.global.u32 [cell], r1;
             cp.async.wait_all; ret;"
        );
        let kernel = Kernel::new(body).declare(ROOM).input(&input());
        let kind = kernel.fault(read, 0, 0);
        assert!(matches!(kind, FaultKind::Race { reason: IN_FLIGHT, .. }), "{before} {kind}");
        assert_eq!(kernel.without_race_checks().words(32), [99; 32], "{before}");
    }
}

#[test]
fn the_last_groups_may_still_be_in_flight() {
    for left in 0..=4 {
        let mut body = BEGIN.to_owned();
        for group in 0..3 {
            let at = group * 512;
            body += &format!(
                "st.shared.u32 [r0+{at}], 1; cp.async.ca.shared.global [r0+{at}], [d0+{at}], 4; cp.async.commit_group;\n"
            );
        }
        body += &format!(
            "cp.async.wait_group {left};\nld.shared.u32 r1, [r0]; ld.shared.u32 r2, [r0+512]; ld.shared.u32 r3, [r0+1024];
             st.global.v4.u32 [d9], {{r1, r2, r3, 0}}; cp.async.wait_all; ret;"
        );
        let kernel = Kernel::new(body).declare(ROOM).input(&input());
        if left > 0 {
            let line = "ld.shared.u32 r1, [r0]; ld.shared.u32 r2, [r0+512]; ld.shared.u32 r3, [r0+1024];";
            let kind = kernel.fault(line, 0, 0);
            assert!(matches!(kind, FaultKind::Race { reason: IN_FLIGHT, .. }), "{kind}");
        }
        let found = kernel.without_race_checks().words(128);
        let expected = each(32, |thread| {
            let value = |group: u32| if group + left < 3 { (group * 128 + thread * 4) * 17 + 3 } else { 1 };
            [value(0), value(1), value(2), 0]
        });
        assert_eq!(found, expected.concat(), "{left}");
    }
}

#[test]
fn empty_groups_count_too() {
    let body = format!(
        "{BEGIN} cp.async.ca.shared.global [r0], [d0], 4; cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;
         ld.shared.u32 r1, [r0]; st.global.u32 [cell], r1; ret;"
    );
    assert_eq!(Kernel::new(body).declare(ROOM).input(&input()).words(32), each(32, |thread| thread * 4 * 17 + 3));
}

#[test]
fn bytes_beyond_the_source_size_become_zero() {
    for size in [0, 1, 4, 7, 8, 16] {
        let body = format!(
            "{BEGIN} mov.u32 r9, {size}; cp.async.cg.shared.global [r0], [d0], 16, r9; cp.async.wait_all;
             ld.shared.v4.u32 {{r1, r2, r3, r4}}, [r0]; st.global.v4.u32 [d9], {{r1, r2, r3, r4}}; ret;"
        );
        let found = Kernel::new(body).declare(ROOM).input(&input()).output_bytes(512).bytes();
        let bytes: Vec<u8> = input().iter().flat_map(|word| word.to_le_bytes()).collect();
        let expected: Vec<u8> = (0..512).map(|i| if i % 16 < size { bytes[i] } else { 0 }).collect();
        assert_eq!(found, expected, "{size}");
    }
}

#[test]
fn an_ignored_source_becomes_zero_and_is_not_read() {
    let body = format!(
        "{BEGIN} setp.ge.u32 p0, tid, 10; @p0 mov.u64 d0, 16;
         cp.async.ca.shared.global [r0], [d0], 8, p0; cp.async.wait_all;
         ld.shared.v2.u32 {{r1, r2}}, [r0]; st.global.v2.u32 [cell8], {{r1, r2}}; ret;"
    );
    let expected = each(64, |i| if i < 20 { (i / 2 * 4 + i % 2) * 17 + 3 } else { 0 });
    assert_eq!(Kernel::new(body).declare(ROOM).input(&input()).words(64), expected);
}

#[test]
fn only_the_bytes_that_are_read_must_be_allocated() {
    // The last 4 bytes of an allocation, and 0 bytes of a null pointer.
    let partial = format!(
        "{BEGIN} mov.u32 r9, 4; cp.async.cg.shared.global [r0], [input], 16, r9; mov.u64 d1, 0; cp.async.cg.shared.global [r0+512], [d1], 16, 0;
         cp.async.wait_all; ld.shared.v2.u32 {{r1, r2}}, [r0]; st.global.v2.u32 [cell8], {{r1, r2}}; ret;"
    );
    assert_eq!(Kernel::new(partial).declare(ROOM).input(&[42]).words(64), [42, 0].repeat(32));
    let text = "cp.async.cg.shared.global [r0], [input], 16, r9;";
    let beyond = Kernel::new(format!("{BEGIN} mov.u32 r9, 8;\n{text}\nret;")).declare(ROOM).input(&[42]);
    let kind = beyond.fault(text, 0, 0);
    assert!(
        matches!(kind, FaultKind::Access { access: Access::Read, error: AccessError::OutOfBounds { bytes: 8, .. } }),
        "{kind}"
    );
}

#[test]
fn both_ends_of_a_copy_are_checked() {
    for (text, access) in [
        ("cp.async.cg.shared.global [r0+8], [d0], 16;", Access::Write),
        ("cp.async.cg.shared.global [r0], [d0+8], 16;", Access::Read),
        ("cp.async.ca.shared.global [r0+2], [d0], 4;", Access::Write),
        ("cp.async.ca.shared.global [r0+2048], [d0], 4;", Access::Write),
        ("cp.async.ca.shared.global [r0], [d0+4096], 4;", Access::Read),
    ] {
        let kind = Kernel::new(format!("{BEGIN}\n{text}\nret;")).declare(ROOM).input(&input()).fault(text, 0, 0);
        let FaultKind::Access { access: found, .. } = kind else { panic!("{kind}") };
        assert_eq!(found, access, "{text}");
    }
}

#[test]
fn a_copy_races_with_a_thread_that_passes_no_barrier_after_the_wait() {
    let body = format!(
        "{BEGIN} cp.async.ca.shared.global [r0], [d0], 4; cp.async.wait_all;
         xor.b32 r9, tid, 1; mov.u32 r0, room; mad.lo.u32 r0, r9, 16, r0;\nld.shared.u32 r1, [r0];\nret;"
    );
    let kind = Kernel::new(body).declare(ROOM).input(&input()).fault("ld.shared.u32 r1, [r0];", 0, 0);
    assert!(matches!(kind, FaultKind::Race { access: Access::Read, other_access: Access::Write, .. }), "{kind}");
}

#[test]
fn sizes_and_forms_outside_of_ptx_are_rejected() {
    for text in [
        "cp.async.ca.shared.global [r0], [d0], 3;",
        "cp.async.cg.shared.global [r0], [d0], 4;",
        "cp.async.ca.shared.global [r0], [d0], 32;",
        "cp.async.ca.global.shared [d0], [r0], 4;",
        "cp.async.wait_group r0;",
        "cp.async.ca.shared.global [r0], [d0];",
        "cp.bulk.commit_group;",
    ] {
        let error = Kernel::new(format!("{text} ret;")).load_error().to_string();
        assert!(error.contains(text.trim_end_matches(';')), "{error}");
    }
}

#[test]
fn memory_of_a_copy_in_flight_belongs_to_it() {
    let kernel = |while_in_flight: &str| {
        let body = format!(
            "{BEGIN} st.shared.u32 [r0], 1;
             cp.async.ca.shared.global [r0], [d0], 4;\n{while_in_flight}\ncp.async.wait_all; ret;"
        );
        Kernel::new(body).declare(ROOM).input(&input())
    };
    for (access, is_fault) in [
        ("ld.shared.u32 r1, [r0];", true),
        ("st.shared.u32 [r0], 2;", true),
        ("st.shared.u8 [r0+3], r1;", true),
        ("cp.async.ca.shared.global [r0], [d0+4], 4;", true),
        // The source is read until the wait, and others may also read it.
        ("st.global.u32 [d0], 2;", true),
        ("ld.global.u32 r1, [d0];", false),
        ("st.global.u32 [d0+4], 2;", false),
        ("cp.async.ca.shared.global [r0+4], [d0], 4;", false),
        ("st.shared.u32 [r0+4], 2;", false),
    ] {
        if is_fault {
            let kind = kernel(access).fault(access, 0, 0);
            assert!(matches!(kind, FaultKind::Race { reason: IN_FLIGHT, .. }), "{access} {kind}");
        } else {
            kernel(access).report();
        }
        // After the wait, nothing is in flight.
        kernel(&format!("cp.async.wait_all; {access}")).report();
    }
}

#[test]
fn a_copy_that_begins_writes_at_once() {
    // A thread reads its cell. Another thread's copy to it begins before the barrier but ends after
    // it.
    let kernel = |barrier: &str| {
        Kernel::new(format!(
            "{BEGIN} st.shared.u32 [r0], 1; bar.sync 0; ld.shared.u32 r1, [r0]; {barrier}
             xor.b32 r9, tid, 63; mov.u32 r2, room; mad.lo.u32 r2, r9, 16, r2;
             setp.ge.u32 p0, tid, 32;
             @p0 cp.async.ca.shared.global [r2], [d0], 4;\nbar.sync 0; cp.async.wait_all; ret;"
        ))
        .declare(ROOM)
        .input(&input())
        .shape(1, 64)
    };
    kernel("bar.sync 0;").report();
    let kind = kernel("").fault("cp.async.ca.shared.global [r2], [d0], 4;", 0, 32);
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
}
