//! Unordered accesses race; synchronized accesses do not.

use crate::support::kernel::{Kernel, each};
use cuda_launch::Dim3;
use ptx_interpreter::{Access, FaultKind};

const ROOM: &str = ".shared .align 4 .u32 room[128];\n";

/// The racing access, the other access, and the other one's block, thread and instruction.
fn race(kernel: &Kernel, text: &str, block: u32, thread: u32) -> (Access, Access, u32, u32, String) {
    match kernel.fault(text, block, thread) {
        FaultKind::Race { access, other_access, other_block, other_thread, other_place, .. } => {
            assert_eq!(other_block, Dim3::new(other_block.x, 0, 0));
            assert_eq!(other_thread, Dim3::new(other_thread.x, 0, 0));
            let line = kernel.text().lines().nth(other_place.line as usize - 1).unwrap().to_owned();
            assert!(line.contains(&*other_place.text), "{line}");
            (access, other_access, other_block.x, other_thread.x, other_place.text.to_string())
        }
        kind => panic!("{kind}"),
    }
}

/// Each thread writes its cell and reads the next thread's cell.
fn neighbours(between: &str, threads: u32) -> Kernel {
    Kernel::new(format!(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0;\nst.shared.u32 [r1], tid;\n{between}
         add.u32 r2, tid, 1; rem.u32 r2, r2, {threads}; mad.lo.u32 r2, r2, 4, r0;\nld.shared.u32 r3, [r2];\nst.global.u32 [cell], r3; ret;"
    ))
    .declare(ROOM)
    .shape(1, threads)
}

#[test]
fn shared_memory_without_a_barrier_is_a_race() {
    for between in ["", "membar.cta;", "fence.acq_rel.gpu;", "fence.proxy.async.shared::cta;"] {
        let (access, other_access, block, thread, text) =
            race(&neighbours(between, 32), "ld.shared.u32 r3, [r2];", 0, 0);
        assert_eq!((access, other_access, block, thread), (Access::Read, Access::Write, 0, 1), "{between}");
        assert_eq!(text, "st.shared.u32 [r1], tid");
    }
    // A warp barrier orders its own lanes, but not the lanes of another warp.
    neighbours("bar.warp.sync -1;", 32).report();
    neighbours("bar.sync 0;", 64).report();
    let kernel = Kernel::new(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; xor.b32 r2, tid, 32; mad.lo.u32 r2, r2, 4, r0;
         setp.ge.u32 p0, tid, 32; @p0 bra READ;\nst.shared.u32 [r1], tid;\nret; READ: bar.warp.sync -1;\nld.shared.u32 r3, [r2];\nret;",
    );
    let (access, other_access, _, thread, _) =
        race(&kernel.declare(ROOM).shape(1, 64), "ld.shared.u32 r3, [r2];", 0, 32);
    assert_eq!((access, other_access, thread), (Access::Read, Access::Write, 0));
}

#[test]
fn a_barrier_orders_the_accesses_before_and_after_it() {
    let kernel = Kernel::new(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid; bar.sync 0;
         xor.b32 r2, tid, 63; mad.lo.u32 r2, r2, 4, r0; ld.shared.u32 r3, [r2]; bar.sync 0; st.shared.u32 [r1], r3; ret;",
    );
    kernel.declare(ROOM).shape(2, 64).report();
    // Without the second barrier, a late read races with the write.
    let kernel = Kernel::new(
        "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; st.shared.u32 [r1], tid; bar.sync 0;
         xor.b32 r2, tid, 1; mad.lo.u32 r2, r2, 4, r0;\nld.shared.u32 r3, [r2];\nst.shared.u32 [r1], r3; // again\nret;",
    );
    let (access, other_access, _, thread, text) = race(&kernel.declare(ROOM), "st.shared.u32 [r1], r3; // again", 0, 0);
    assert_eq!((access, other_access, thread, &*text), (Access::Write, Access::Read, 1, "ld.shared.u32 r3, [r2]"));
}

#[test]
fn lanes_of_one_store_to_one_cell_race() {
    for (space, base) in [("shared", "room"), ("global", "output")] {
        let text = format!("st.{space}.u32 [{base}], tid;");
        let kernel = Kernel::new(format!("setp.gt.u32 p0, tid, 4; @!p0 bra DONE;\n{text}\nDONE: ret;")).declare(ROOM);
        let (access, other_access, _, thread, _) = race(&kernel, &text, 0, 6);
        assert_eq!((access, other_access, thread), (Access::Write, Access::Write, 5), "{space}");
    }
}

#[test]
fn blocks_that_write_one_cell_race() {
    let text = "st.global.u32 [output], index;";
    let kernel = Kernel::new(format!("\n{text}\nret;")).shape(3, 1);
    let (access, other_access, block, thread, _) = race(&kernel, text, 1, 0);
    assert_eq!((access, other_access, block, thread), (Access::Write, Access::Write, 0, 0));
    // One block's cell is read by the next block.
    let body = "st.global.u32 [cell], tid; mov.u32 r5, %ctaid.x; setp.eq.u32 p0, r5, 0; @p0 bra DONE;\nld.global.u32 r0, [cell+-4];\nDONE: ret;";
    let (access, _, block, _, _) = race(&Kernel::new(body).shape(4, 1), "ld.global.u32 r0, [cell+-4];", 1, 0);
    assert_eq!((access, block), (Access::Read, 0));
}

#[test]
fn parts_of_a_word_do_not_race() {
    Kernel::new("cvt.u64.u32 d0, index; add.u64 d0, output, d0; st.global.u8 [d0], 1; ret;").shape(3, 40).report();
    let text = "st.global.u16 [d0], h0;";
    let overlapping = Kernel::new(format!(
        "cvt.u16.u32 h0, index; shr.u32 r0, index, 1; mul.wide.u32 d0, r0, 2; add.u64 d0, output, d0;\n{text}\nret;"
    ));
    assert_eq!(race(&overlapping, text, 0, 1).3, 0);
}

#[test]
fn reads_do_not_race_and_neither_do_atomics() {
    Kernel::new(
        "ld.global.u32 r0, [input]; atom.global.add.u32 r1, [output], r0; red.global.max.u32 [output+4], tid; ret;",
    )
    .shape(4, 64)
    .report();
    Kernel::new("ld.relaxed.gpu.global.u32 r0, [output]; st.relaxed.gpu.global.u32 [output], tid; ld.volatile.global.u32 r1, [output]; ret;")
        .shape(4, 64)
        .report();
    // An atomic operation and a plain store race.
    let text = "st.global.u32 [output], 1;";
    let kernel = Kernel::new(format!("setp.eq.u32 p0, index, 33; red.global.add.u32 [output], 1;\n@p0 {text}\nret;"))
        .shape(2, 32);
    assert_eq!(race(&kernel, text, 1, 1).1, Access::Atomic);
}

#[test]
fn races_are_not_checked_without_the_option() {
    Kernel::new("st.global.u32 [output], 1; ret;").shape(3, 32).without_race_checks().report();
}

/// Each block stores a sum, and the last block to finish adds them up. `before` and `after` are the
/// fences around the counter.
fn last_block_adds_up(before: &str, counts: &str, after: &str) -> Kernel {
    Kernel::new(format!(
        "mov.u32 r8, %ctaid.x; mad.wide.u32 d0, r8, 4, output; setp.ne.u32 p0, tid, 0; @p0 bra WAIT;
         mul.lo.u32 r0, r8, 10;\nst.global.u32 [d0+16], r0;\n{before}
         {counts} r1, [output], 1; {after} setp.eq.u32 p1, r1, 7; selp.u32 r2, 1, 0, p1; st.shared.u32 [room], r2;
         WAIT: bar.sync 0; ld.shared.u32 r2, [room]; setp.eq.u32 p1, r2, 0; @p1 bra DONE;
         setp.ge.u32 p2, tid, 8; @p2 bra DONE; mad.wide.u32 d1, tid, 4, output;\nld.global.u32 r3, [d1+16];\n
         red.global.add.u32 [output+4], r3; DONE: ret;"
    ))
    .declare(ROOM)
    .shape(8, 64)
}

#[test]
fn the_last_block_may_add_up_what_was_released() {
    for (before, counts, after) in [
        ("membar.gl;", "atom.global.add.u32", "membar.gl;"),
        ("fence.acq_rel.gpu;", "atom.relaxed.gpu.global.add.u32", "fence.acq_rel.gpu;"),
        ("", "atom.acq_rel.gpu.global.add.u32", ""),
        ("fence.acq_rel.gpu;", "atom.acquire.gpu.global.add.u32", ""),
        ("", "atom.global.gpu.acq_rel.add.u32", ""),
        ("", "atom.global.acq_rel.gpu.add.u32", ""),
        ("", "atom.gpu.acq_rel.global.add.u32", ""),
    ] {
        let kernel = last_block_adds_up(before, counts, after);
        assert_eq!(kernel.words(2), [8, (0..8).map(|block| block * 10).sum::<u32>()], "{before} {counts} {after}");
    }
}

#[test]
fn the_last_block_races_without_a_fence() {
    for (before, counts, after) in [
        ("", "atom.global.add.u32", ""),
        ("", "atom.global.add.u32", "membar.gl;"),
        ("membar.gl;", "atom.global.add.u32", ""),
        ("", "atom.acquire.gpu.global.add.u32", ""),
        ("", "atom.release.gpu.global.add.u32", ""),
        ("", "atom.global.gpu.release.add.u32", ""),
    ] {
        let kernel = last_block_adds_up(before, counts, after);
        let (access, other_access, block, thread, _) = race(&kernel, "ld.global.u32 r3, [d1+16];", 7, 0);
        assert_eq!((access, other_access, block, thread), (Access::Read, Access::Write, 0, 0), "{before} {after}");
    }
}

#[test]
fn a_lock_orders_its_holders() {
    let kernel = Kernel::new(
        "setp.ne.u32 p9, tid, 0; @p9 ret;
         LOOP: atom.acquire.gpu.global.cas.b32 r0, [output], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra LOOP;
         ld.global.u32 r1, [output+4]; add.u32 r1, r1, index; st.global.u32 [output+4], r1;
         atom.release.gpu.global.exch.b32 r0, [output], 0; ret;",
    );
    assert_eq!(kernel.shape(9, 32).words(2), [0, each(9, |block| block * 32).iter().sum()]);
}

/// Threads `tid < writers` write the value in `r1` to one cell of shared memory.
fn writers(value: &str, before: &str, after: &str) -> Kernel {
    Kernel::new(format!("{value} {before}\nst.shared.u32 [room], r1;\n{after}\nret;")).declare(ROOM)
}

#[test]
fn writes_of_the_same_value_are_reported_and_no_fault() {
    let report = writers("mov.u32 r1, 5;", "", "bar.sync 0; ld.shared.u32 r2, [room];").shape(2, 64).report();
    let [fault] = &report.notes[..] else { panic!("{:?}", report.notes) };
    let FaultKind::SameValueRace { address, memory, other_place, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!(&*fault.place.text, "st.shared.u32 [room], r1");
    assert_eq!(fault.place, **other_place);
    assert_eq!((fault.count, *address), (2 * 63, 1028));
    assert_eq!((&*memory.name, memory.bytes), ("room", 512));
    // Writes to separate cells do not race.
    assert_eq!(Kernel::new("st.global.u32 [cell], 1; ret;").shape(2, 64).report().notes, []);
    // Two instructions, one in each warp.
    let two = Kernel::new(
        "setp.lt.u32 p0, tid, 32; @p0 st.shared.u16 [room+2], 7; @!p0 st.shared.v2.u16 [room], {3, 7}; ret;",
    )
    .declare(ROOM);
    let report = two.shape(1, 64).report();
    let pairs: Vec<_> = report.notes.iter().map(|note| (note.place.text[..12].to_owned(), note.count)).collect();
    assert_eq!(
        pairs,
        [("st.shared.u1".to_owned(), 31), ("st.shared.v2".to_owned(), 1), ("st.shared.v2".to_owned(), 31)]
    );
}

#[test]
fn writes_of_the_same_value_are_a_fault_if_the_options_say_so() {
    let kernel = writers("mov.u32 r1, 5;", "", "").with_same_value_faults();
    let kind = kernel.fault("st.shared.u32 [room], r1;", 0, 1);
    assert!(matches!(kind, FaultKind::SameValueRace { address: 1028, bytes: 4, .. }), "{kind}");
    let message = kind.to_string();
    assert!(message.starts_with("same-value race: ") && message.ends_with("with the same value"), "{message}");
    // With different values it is an ordinary race.
    let kernel = writers("mov.u32 r1, tid;", "", "").with_same_value_faults();
    assert!(matches!(kernel.fault("st.shared.u32 [room], r1;", 0, 1), FaultKind::Race { .. }));
}

#[test]
fn a_write_of_another_value_is_a_fault_for_any_earlier_writer() {
    // Only lane 20 differs; lanes 0 to 19 wrote the same value.
    let kernel = writers("setp.eq.u32 p0, tid, 20; selp.u32 r1, 1, 2, p0;", "", "");
    assert!(
        matches!(kernel.fault("st.shared.u32 [room], r1;", 0, 20), FaultKind::Race { other_thread, .. } if other_thread == Dim3::new(19, 0, 0))
    );
    // Only one byte of four differs.
    let kernel = writers("setp.eq.u32 p0, tid, 3; selp.u32 r1, 0x05040302, 0x05050302, p0;", "", "");
    assert!(matches!(kernel.fault("st.shared.u32 [room], r1;", 0, 3), FaultKind::Race { .. }));
    // Thread 1 writes the value that thread 0 wrote, then a different one. Thread 0's write might
    // come last.
    let kernel = Kernel::new(
        "setp.gt.u32 p0, tid, 1; @p0 ret; st.shared.u32 [room], 5; setp.ne.u32 p1, tid, 1;\n@!p1 st.shared.u32 [room], 6;\nret;",
    );
    let kind = kernel.declare(ROOM).fault("st.shared.u32 [room], 6;", 0, 1);
    assert!(matches!(kind, FaultKind::Race { other_thread, .. } if other_thread == Dim3::default()), "{kind}");
    // The same with one instruction in a loop that writes different values alternately.
    let kernel = Kernel::new(
        "mov.u32 r1, 0;\nLOOP:\nst.shared.u32 [room], r1;\nadd.u32 r1, r1, 1; setp.lt.u32 p0, r1, 3; @p0 bra LOOP; ret;",
    );
    assert!(matches!(kernel.declare(ROOM).fault("st.shared.u32 [room], r1;", 0, 0), FaultKind::Race { .. }));
}

#[test]
fn the_same_value_excuses_no_other_kind_of_write() {
    let kernel = writers("mov.u32 r1, 5;", "setp.eq.u32 p0, tid, 9; @p0 st.volatile.shared.u32 [room], 5;", "");
    assert!(matches!(
        kernel.fault("st.shared.u32 [room], r1;", 0, 0),
        FaultKind::Race { other_access: Access::Write, reason: None, .. }
    ));
    // A barrier orders all the writes.
    writers(
        "mov.u32 r1, 5;",
        "",
        "bar.sync 0; setp.eq.u32 p0, tid, 3; @p0 st.shared.u32 [room], 6; bar.sync 0; ld.shared.u32 r2, [room];",
    )
    .shape(1, 64)
    .report();
}

#[test]
fn asynchronous_copies_of_the_same_value_are_reported_too() {
    let copy = |source: &str| {
        Kernel::new(format!(
            "mad.wide.u32 d0, tid, {source}, input; mov.u32 r0, room; cp.async.ca.shared.global [r0], [d0], 4;\ncp.async.wait_all;\nret;"
        ))
        .declare(ROOM)
    };
    assert_eq!(copy("0").report().notes[0].count, 31);
    let input: Vec<u32> = (0..32).collect();
    let kind = copy("4").input(&input).fault("cp.async.ca.shared.global [r0], [d0], 4;", 0, 1);
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
}

#[test]
fn a_thread_may_read_the_value_that_it_and_others_have_written() {
    let kernel = |value: &str, read: &str| {
        Kernel::new(format!(
            "mov.u32 r0, room; mov.u32 r1, {value};\nst.shared.u32 [r0], r1;\n{read}\nld.shared.u32 r2, [r0];\nst.global.u32 [cell], r2; ret;"
        ))
        .declare(ROOM)
        .shape(1, 64)
    };
    for order in ["ascending", "descending"] {
        let report = kernel("5", "").in_order(order).report();
        assert!(report.notes.iter().any(|note| note.place.text.starts_with("ld.shared")), "{order}");
        assert_eq!(kernel("5", "").in_order(order).words(64), each(64, |_| 5));
    }
    let strict = kernel("5", "").with_same_value_faults();
    assert!(matches!(strict.fault("st.shared.u32 [r0], r1;", 0, 1), FaultKind::SameValueRace { .. }));
    // With different values it is an ordinary race.
    race(&kernel("tid", ""), "st.shared.u32 [r0], r1;", 0, 1);
}

#[test]
fn a_thread_that_has_not_written_the_value_may_not_read_it() {
    let kernel = Kernel::new(
        "mov.u32 r0, room; setp.ge.u32 p0, tid, 63; @p0 bra READ;\nst.shared.u32 [r0], 5;\nret; READ:\nld.shared.u32 r2, [r0];\nst.global.u32 [cell], r2; ret;",
    );
    let (access, other_access, ..) = race(&kernel.declare(ROOM).shape(1, 64), "ld.shared.u32 r2, [r0];", 0, 63);
    assert_eq!((access, other_access), (Access::Read, Access::Write));
}
