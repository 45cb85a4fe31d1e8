//! Launches that continue after a fault, to find faults on other lines.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;

/// The instructions at fault, with their kinds, of a launch that lists at most `max` of them.
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
    // The last thread reads beyond the input, which has 64 words for 64 threads.
    let kernel = Kernel::new(format!(
        "mad.wide.u32 d0, tid, 4, input;\nld.global.u32 r1, [d0+4];\nst.global.u32 [cell], r1;\n{TWO_RACES}"
    ));
    // In execution order: the first warp has no bad read.
    let all = ["st.shared.u32 [r0], tid: race", "ld.global.u32 r1, [d0+4]: reads", "st.shared.u32 [r0+4], tid: race"];
    assert_eq!(faults(kernel.clone().declare(ROOM).shape(1, 64), 20), all);
    // A value computed from a bad read is not another fault, wherever it goes.
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
    // Each thread races with the next one. The last thread has no next one.
    assert_eq!(first.others.len(), 0, "{first}");
    assert!(matches!(first.kind, FaultKind::Access { .. } | FaultKind::Race { .. }), "{first}");
    assert_eq!(words(&output), [vec![7], vec![8; 31]].concat());
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

/// Blocks 1 and 3 of five have a fault. Each block counts how far it gets.
fn two_faulty_blocks(fault: &str) -> Kernel {
    Kernel::new(format!(
        "mov.u32 r1, %ctaid.x; and.b32 r2, r1, 1; setp.eq.u32 p0, r2, 0; @p0 bra GOOD;\n{fault}\nGOOD: bar.sync 0; add.u32 r1, r1, 1; st.global.u32 [cell], r1; ret;"
    ))
    .shape(5, 64)
}

fn words(output: &[u8]) -> Vec<u32> {
    output.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

#[test]
fn a_launch_goes_on_with_other_blocks_after_any_fault() {
    let written = |block: u32| if block.is_multiple_of(2) { block + 1 } else { 0 };
    for fault in ["trap;", "setp.lt.u32 p1, tid, 7; @!p1 bar.sync 1;\n@p1 bar.sync 2;"] {
        for order in ["ascending", "descending"] {
            for races in [true, false] {
                let kernel = two_faulty_blocks(fault).keep_going().in_order(order);
                let kernel = if races { kernel } else { kernel.without_race_checks() };
                let (error, output) = kernel.error_and_output();
                let error = error.unwrap();
                let first = error.fault().unwrap();
                assert_eq!((first.count, first.others.len()), (2, 0), "{order}: {error}");
                assert_eq!(first.block.x, if order == "ascending" { 1 } else { 3 }, "{error}");
                assert!(error.to_string().ends_with("; 2 in all"), "{error}");
                assert_eq!(
                    words(&output)[..5 * 64],
                    each(5 * 64, |index| written(index / 64)),
                    "{order}, {races}, {fault}"
                );
            }
        }
        // Otherwise the launch ends with the first one.
        let error = two_faulty_blocks(fault).with_max_faults(20).launch_error();
        assert_eq!(error.fault().unwrap().count, 1, "{error}");
    }
}

#[test]
fn a_cooperative_launch_and_one_that_does_not_end_end_with_the_fault() {
    let error = two_faulty_blocks("trap;").keep_going().cooperative().launch_error();
    assert_eq!(error.fault().unwrap().count, 1, "{error}");
    let endless = "LOOP: add.u32 r3, r3, r1; setp.ne.u32 p1, r3, 0; @p1 bra LOOP; bra LOOP;";
    let error = two_faulty_blocks(endless).keep_going().at_most(10_000).launch_error();
    assert_eq!((error.fault().unwrap().count, error.fault().unwrap().block.x), (1, 1), "{error}");
}

#[test]
fn a_cluster_ends_with_the_fault_of_a_block() {
    let body = "mov.u32 r1, %ctaid.x; setp.ne.u32 p0, r1, 1; @!p0 trap; barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [cell], r1; ret;";
    for order in ["ascending", "descending"] {
        let kernel = Kernel::new(body).shape(4, 32).clusters_of(2).keep_going().in_order(order);
        let (error, output) = kernel.error_and_output();
        assert_eq!(error.unwrap().fault().unwrap().count, 1);
        assert_eq!(words(&output)[..128], each(128, |index| if index < 64 { 0 } else { index / 32 }), "{order}");
    }
}

#[test]
fn faults_beyond_the_limit_are_dropped_and_the_launch_goes_on() {
    let lines: String = (0..30).map(|line| format!("st.global.u32 [output+{}], tid;\n", 4 * line)).collect();
    let kernel = Kernel::new(format!("{lines}st.global.u32 [cell+128], 5;\nret;")).shape(1, 64).output_bytes(512);
    let (error, output) = kernel.keep_going().with_max_faults(3).error_and_output();
    let error = error.unwrap();
    assert_eq!((error.fault().unwrap().others.len(), error.fault().unwrap().count), (2, 63), "{error}");
    assert_eq!(output[128..132], 5_u32.to_le_bytes());
}

#[test]
fn notes_are_told_beside_faults() {
    let body = "mov.u32 r0, room; st.shared.u32 [r0], 5;\nst.shared.u32 [r0+4], tid;\nret;";
    let error = Kernel::new(body).declare(ROOM).shape(1, 64).with_max_faults(20).launch_error();
    let fault = error.fault().unwrap();
    let [note] = &fault.notes[..] else { panic!("{:?}", fault.notes) };
    assert_eq!((fault.kind.id(), note.kind.id(), note.count), ("race", "same-value-race", 63));
}
