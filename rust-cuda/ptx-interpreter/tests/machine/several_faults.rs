//! Launches that go on after a fault, to find those of other lines.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;

/// The instructions at fault, and the kinds, of a launch that lists at most `max` of them.
#[track_caller]
fn faults(kernel: Kernel, max: usize) -> Vec<String> {
    let error = kernel.with_max_faults(max).launch_error();
    let first = error.fault().unwrap_or_else(|| panic!("{error}"));
    let all = [first].into_iter().chain(&first.others);
    all.map(|fault| format!("{}: {}", fault.place.text, fault.kind.to_string().split([' ', ':']).next().unwrap()))
        .collect()
}

const TWO_RACES: &str = "mov.u32 r0, room; st.shared.u32 [r0], tid;\nbar.sync 0;\nst.shared.u32 [r0+4], tid;\nret;";
const ROOM: &str = ".shared .align 4 .u32 room[4];\n";

#[test]
fn each_racing_line_is_listed_once() {
    let kernel = || Kernel::new(TWO_RACES).declare(ROOM).shape(1, 64);
    let both = ["st.shared.u32 [r0], tid: race", "st.shared.u32 [r0+4], tid: race"];
    assert_eq!(faults(kernel(), 20), both);
    assert_eq!(faults(kernel(), 2), both);
    assert_eq!(faults(kernel(), 1), both[..1]);
    assert_eq!(faults(kernel().in_order("descending"), 20), both);
}

#[test]
fn a_bad_access_does_not_hide_a_race() {
    // The last thread reads beyond the input, whose 64 words are for 64 threads.
    let kernel = Kernel::new(format!(
        "mad.wide.u32 d0, tid, 4, input;\nld.global.u32 r1, [d0+4];\nst.global.u32 [cell], r1;\n{TWO_RACES}"
    ));
    // In the order of execution: the first warp has no bad read.
    let all = ["st.shared.u32 [r0], tid: race", "ld.global.u32 r1, [d0+4]: reads", "st.shared.u32 [r0+4], tid: race"];
    assert_eq!(faults(kernel.clone().declare(ROOM).shape(1, 64), 20), all);
    // What is computed of a bad read is no other fault, wherever it goes.
    let used = "ld.global.u32 r1, [d0+4];\nadd.u32 r2, r1, 1; mad.wide.u32 d1, r2, 4, output; setp.gt.u32 p0, r1, 3;
        @p0 st.global.u32 [cell], r2;\nst.global.u32 [d1+4096], r2;\nld.global.u32 r3, [d1+4096];\nst.global.u32 [cell+8192], r3;\nret;";
    let kernel = Kernel::new(format!("mad.wide.u32 d0, tid, 4, input;\n{used}")).input(&each(64, |thread| thread));
    let all = faults(kernel.shape(1, 64).output_bytes(8192), 20);
    assert_eq!(all, ["st.global.u32 [cell+8192], r3: writes", "ld.global.u32 r1, [d0+4]: reads"]);
}

#[test]
fn a_bad_write_does_nothing_and_the_others_are_made() {
    let kernel =
        Kernel::new("st.global.u32 [cell], 7;\nst.global.u32 [cell+4], 8;\nret;").shape(1, 32).output_bytes(32 * 4);
    let (error, output) = kernel.clone().with_max_faults(20).error_and_output();
    let error = error.unwrap();
    let first = error.fault().unwrap();
    // Each thread races with the next, and the last has no next.
    assert_eq!(first.others.len(), 0, "{first}");
    assert!(matches!(first.kind, FaultKind::Access { .. } | FaultKind::Race { .. }), "{first}");
    let words: Vec<u32> = output.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    assert_eq!(words, [vec![7], vec![8; 31]].concat());
}

#[test]
fn at_most_so_many_lines_are_listed_and_what_cannot_go_on_is_the_last() {
    let lines: String = (0..30).map(|line| format!("st.global.u32 [output+{}], tid;\n", 4 * line)).collect();
    let kernel = Kernel::new(format!("{lines}ret;")).shape(1, 64).output_bytes(256);
    assert_eq!(faults(kernel.clone(), 20).len(), 20);
    assert_eq!(faults(kernel, 100).len(), 30);
    let deadlock = "mov.u32 r0, room; st.shared.u32 [r0], tid;\nsetp.lt.u32 p0, tid, 32; @p0 ret;\nbar.sync 0;\nret;";
    let all = faults(Kernel::new(deadlock).declare(ROOM).shape(1, 64), 20);
    assert_eq!(all, ["st.shared.u32 [r0], tid: race", "bar.sync 0: barrier"]);
    // Without race checks, on several host threads.
    let beyond = Kernel::new("st.global.u32 [cell+65536], 7;\nld.global.u32 r0, [cell+65536];\nret;").shape(9, 64);
    let all = faults(beyond.without_race_checks(), 20);
    assert_eq!(all.len(), 2, "{all:?}");
}
