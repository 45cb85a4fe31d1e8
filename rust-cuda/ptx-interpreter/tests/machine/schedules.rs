//! Faults that show only under some schedules, and loops that wait for something that never
//! happens.

use crate::support::kernel::{Kernel, each};
use cuda_launch::{Schedule, Search};
use proptest::prelude::*;
use ptx_interpreter::{Fault, FaultKind, ObservedAccess, Observer, Step, StoppedBlock};
use std::ops::ControlFlow;

const MANY: Search = Search { runs: 60, seconds: u32::MAX, seed: 1 };

/// Block 0 runs `first`, the others run `second`. r9 is the number of the block.
fn blocks(first: &str, second: &str) -> Kernel {
    let body =
        format!("mov.u32 r9, %ctaid.x; setp.ne.u32 p9, r9, 0; @p9 bra SECOND;\n{first}\nret; SECOND:\n{second}\nret;");
    Kernel::new(body).shape(2, 1).output_bytes(64)
}

/// The schedule of the fault that a search finds. `None` if it finds none.
#[track_caller]
fn order(kernel: &Kernel, search: Search) -> Option<String> {
    let error = kernel.clone().in_orders(search).error()?;
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    // The schedule alone shows the same fault, in the same words.
    let schedule = fault.schedule.to_string();
    let again = kernel.clone().in_order(&schedule).launch_error();
    assert_eq!(again.to_string(), error.to_string());
    if !fault.schedule.is_default() {
        assert!(error.to_string().contains(&format!(" (order: {schedule})")), "{error}");
    }
    Some(schedule)
}

const LOCK: &str = "TAKE: atom.global.cas.b32 r0, [output], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra TAKE;";
const OPEN: &str = "membar.gl; atom.global.exch.b32 r1, [output], 0;";
const ADD: &str = "ld.global.u32 r2, [output+4]; add.u32 r2, r2, 1; st.global.u32 [output+4], r2;";

/// All blocks add to a number under a lock. Block `hasty` has no fence after it takes the lock.
fn lock(hasty: u32) -> Kernel {
    Kernel::new(format!(
        "mov.u32 r9, %ctaid.x; {LOCK} setp.eq.u32 p1, r9, {hasty}; @p1 bra NO; membar.gl; NO: {ADD} {OPEN} ret;"
    ))
    .shape(3, 1)
    .output_bytes(64)
}

#[test]
fn what_the_first_owner_of_a_lock_forgets_shows_in_another_order() {
    assert_eq!(order(&lock(1), Search::ONE).as_deref(), Some("ascending"));
    assert_eq!(order(&lock(0), Search::ONE), None);
    assert_eq!(order(&lock(0), Search::TWO).as_deref(), Some("descending"));
    assert_eq!(order(&lock(9), MANY), None);
    // Before or after the critical section, without the lock.
    let plain = |at: &str| {
        let [before, after] =
            ["before", "after"].map(|place| if place == at { "st.global.u32 [output+4], 1;" } else { "" });
        let locked = |write: &str| format!("{LOCK} membar.gl; {write} {OPEN}");
        let second = locked("st.global.u32 [output+4], 2;").replace("TAKE", "TAKE2");
        blocks(&format!("{before} {} {after}", locked("")), &second)
    };
    assert_eq!(order(&plain("after"), Search::ONE).as_deref(), Some("ascending"));
    assert_eq!(order(&plain("before"), Search::ONE), None);
    assert_eq!(order(&plain("before"), Search::TWO).as_deref(), Some("descending"));
    assert_eq!(order(&plain("nowhere"), MANY), None);
}

#[test]
fn a_path_that_only_another_order_takes_is_taken() {
    let look = |fence: &str| {
        blocks(
            "atom.global.add.u32 r0, [output], 0; setp.ne.u32 p0, r0, 1; @p0 ret; membar.gl; ld.global.u32 r1, [output+4];",
            &format!("st.global.u32 [output+4], 7; {fence} atom.global.exch.b32 r0, [output], 1;"),
        )
    };
    assert_eq!(order(&look(""), Search::ONE), None);
    assert_eq!(order(&look(""), Search::TWO).as_deref(), Some("descending"));
    assert_eq!(order(&look("membar.gl;"), MANY), None);
}

/// Each of two blocks looks at the other's flag and raises its own, in this order or the reverse. A
/// block that sees the other's flag down writes.
fn two_flags(looks_first: bool) -> Kernel {
    let look = "atom.global.add.u32 r0, [d1], 0;";
    let raise = "atom.global.exch.b32 r1, [d0], 1;";
    let [first, second] = if looks_first { [look, raise] } else { [raise, look] };
    Kernel::new(format!(
        "mov.u32 r9, %ctaid.x; mad.wide.u32 d0, r9, 4, output; xor.b32 r8, r9, 1; mad.wide.u32 d1, r8, 4, output;
         {first}\n{second} setp.ne.u32 p0, r0, 0; @p0 ret; add.u32 r9, r9, 1; st.global.u32 [output+8], r9; ret;"
    ))
    .shape(2, 1)
    .output_bytes(64)
}

#[test]
fn a_thread_gives_way_between_two_accesses_and_the_order_is_shrunk() {
    assert_eq!(order(&two_flags(true), Search::TWO), None);
    // The block that runs first yields between its look and its flag.
    assert_eq!(order(&two_flags(true), MANY).as_deref(), Some("ascending@2"));
    assert_eq!(order(&two_flags(false), MANY), None);
}

#[test]
fn lanes_that_diverge_run_in_the_other_order_too() {
    // Thread 0 raises a flag. The others write if they see it down.
    let early = Kernel::new(
        "setp.eq.u32 p0, tid, 0; @p0 bra RAISE; atom.global.add.u32 r0, [output], 0; setp.ne.u32 p1, r0, 0; @p1 ret;
         st.global.u32 [output+4], tid; ret; RAISE: atom.global.add.u32 r0, [output], 1; ret;",
    )
    .output_bytes(64);
    for (threads, expected) in [(4, "descending"), (32, "descending")] {
        assert_eq!(order(&early.clone().shape(1, threads), Search::ONE), None);
        assert_eq!(order(&early.clone().shape(1, threads), Search::TWO).as_deref(), Some(expected));
    }
    // The holder of a ticket is another lane.
    let tickets = Kernel::new(
        "atom.global.add.u32 r0, [output], 1; mad.wide.u32 d0, tid, 4, output; st.global.u32 [d0+4], r0; ret;",
    );
    let words = |order: &str| tickets.clone().output_bytes(256).in_order(order).words(33);
    assert_eq!(words("ascending")[1..], each(32, |lane| lane));
    assert_eq!(words("descending")[1..], each(32, |lane| 31 - lane));
}

#[test]
fn a_loop_for_a_block_that_has_not_started_ends_at_once() {
    let wait = "WAIT: atom.global.add.u32 r0, [output], 0;\nsetp.eq.u32 p0, r0, 0; @p0 bra WAIT;";
    let kernel = |blocks: u32| self::blocks(wait, "atom.global.exch.b32 r0, [output], 1;").shape(blocks, 1);
    for (blocks, text) in [(2, "block 1 has not started"), (64, "blocks 1 to 63 have not started")] {
        let kind = kernel(blocks).fault("WAIT: atom.global.add.u32 r0, [output], 0;", 0, 0);
        let FaultKind::WaitsForever { unstarted, bytes: 4, .. } = kind else { panic!("{kind}") };
        assert_eq!((unstarted.first, unstarted.count), (Some(1), u64::from(blocks) - 1));
        let message = kind.to_string();
        assert!(message.starts_with("waits forever: no thread that has started changes 4 bytes at "), "{message}");
        let end = format!(
            "in a loop; {text}: a block may wait for later ones only in a cooperative launch, which starts all"
        );
        assert!(message.ends_with(&end), "{message}");
    }
    // A cooperative launch has all blocks running, and so do other schedules.
    kernel(5).cooperative().report();
    kernel(5).in_order("descending").report();
    kernel(5).in_order("shuffled:3@1,2").report();
}

#[test]
fn a_loop_that_no_thread_ends_is_found_wherever_the_others_are() {
    let wait = |guard: &str, rest: &str| {
        format!("{guard} WAIT: ld.acquire.gpu.global.u32 r0, [output];\nsetp.eq.u32 p0, r0, 0; @p0 bra WAIT; {rest}")
    };
    let poll = "ld.acquire.gpu.global.u32 r0, [output];";
    let forever = |kernel: Kernel| {
        let error = kernel.launch_error();
        let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
        assert!(matches!(fault.kind, FaultKind::WaitsForever { .. }), "{fault}");
        assert!(poll.contains(&*fault.place.text), "{fault}");
    };
    let one_thread = wait("setp.ne.u32 p1, tid, 40; @p1 bra DONE;", "DONE: bar.sync 0; ret;");
    for kernel in [
        Kernel::new(wait("", "ret;")),
        Kernel::new(wait("", "ret;")).shape(1, 256),
        // Unoptimized code stores its variables in each iteration.
        Kernel::new(wait(".local .align 8 .b8 frame[8]; mov.u32 r5, 7; mov.u32 r6, 0xffff1234;", "ret;").replace(
            "setp.eq.u32 p0, r0, 0;",
            "st.local.v2.u32 [frame], {r5, r6}; st.local.u8 [frame+4], r6; setp.eq.u32 p0, r0, 0;",
        )),
        Kernel::new(one_thread.clone()).shape(1, 64),
        Kernel::new(one_thread.replace("bar.sync 0;", "bar.warp.sync -1;")).shape(1, 64),
        Kernel::new(wait("", "ret;")).shape(3, 64).cooperative(),
        Kernel::new(one_thread).shape(4, 64).clusters_of(2),
    ] {
        forever(kernel.clone());
        for order in ["descending", "shuffled:7@3,9"] {
            forever(kernel.clone().in_order(order));
        }
    }
    // Two locks, which the other block takes in reverse order.
    let both = |first: u32, second: u32| {
        format!(
            "A{first}: atom.global.cas.b32 r0, [output+{first}], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra A{first};
             B{first}: atom.global.cas.b32 r0, [output+{second}], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra B{first};
             atom.global.exch.b32 r0, [output+{first}], 0; atom.global.exch.b32 r0, [output+{second}], 0;"
        )
    };
    let deadlock = blocks(&both(0, 4), &both(4, 0));
    assert_eq!(order(&deadlock, Search::TWO), None);
    let found = order(&deadlock, MANY).expect("a deadlock");
    assert!(found.starts_with("ascending@") && !found.contains(','), "{found}");
    assert_eq!(order(&blocks(&both(0, 4), &both(0, 4).replace("A0", "C").replace("B0", "D")), MANY), None);
}

#[test]
fn a_loop_that_ends_by_itself_or_by_another_thread_is_no_fault() {
    // Polls a hundred thousand times.
    let bounded =
        "mov.u32 r1, 0; WAIT: ld.acquire.gpu.global.u32 r0, [output]; add.u32 r1, r1, 1; setp.eq.u32 p0, r0, 0;
        setp.lt.and.u32 p0, r1, 100000, p0; @p0 bra WAIT; st.global.u32 [cell+4], r1; ret;";
    assert_eq!(Kernel::new(bounded).words(2), [0, 100_000]);
    // Counts in local memory.
    let local = ".local .align 4 .u32 count; st.local.u32 [count], 0; WAIT: ld.acquire.gpu.global.u32 r0, [output]; ld.local.u32 r1, [count];
        add.u32 r1, r1, 1; st.local.u32 [count], r1; setp.eq.u32 p0, r0, 0; setp.lt.and.u32 p0, r1, 100000, p0; mov.u32 r1, 0; @p0 bra WAIT; ret;";
    Kernel::new(local).report();
    // The other warp computes for a long time before it raises the flag.
    let slow = "setp.lt.u32 p0, tid, 32; @!p0 bra SLOW; WAIT: ld.acquire.gpu.global.u32 r0, [output]; setp.eq.u32 p1, r0, 0; @p1 bra WAIT; ret;
        SLOW: mov.u32 r1, 0; NEXT: add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 300000; @p1 bra NEXT; st.release.gpu.global.u32 [output], 1; ret;";
    Kernel::new(slow).shape(1, 33).report();
    Kernel::new(slow).shape(1, 33).in_order("shuffled:4@2").report();
    // The number of loop iterations depends on the clock.
    let clock =
        "mov.u64 d0, %clock64; WAIT: ld.acquire.gpu.global.u32 r0, [output]; mov.u64 d1, %clock64; sub.u64 d1, d1, d0;
        setp.lt.u64 p0, d1, 200000; mov.u64 d1, 0; @p0 bra WAIT; ret;";
    Kernel::new(clock).report();
}

/// Counts the instructions of each warp, and hashes their order.
#[derive(Default)]
struct Order(u64);

impl Observer for Order {
    fn stops_before(&mut self, step: Step) -> bool {
        self.0 = (self.0 ^ u64::from(step.block) << 40 ^ u64::from(step.warp) << 32 ^ step.pc as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
        false
    }

    fn stop(&mut self, _: Step, _: &StoppedBlock<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, _: &StoppedBlock<'_>) {}

    fn access(&mut self, _: ObservedAccess) {}
}

/// Threads take tickets, some of them under a lock, and record them.
fn tickets() -> Kernel {
    Kernel::new(format!(
        "and.b32 r9, tid, 31; setp.ne.u32 p2, r9, 3; @p2 bra TICKET; {LOCK} membar.gl; {ADD} {OPEN} bra.uni DONE;
         TICKET: atom.global.add.u32 r2, [output+8], 1; DONE: mad.wide.u32 d0, index, 4, output; st.global.u32 [d0+16], r2; bar.sync 0; ret;"
    ))
    .shape(4, 80)
    .output_bytes(16 + 4 * 320)
}

#[test]
fn a_schedule_is_replayed_to_the_bit_a_thousand_times() {
    let search = Search { runs: u32::MAX, seconds: u32::MAX, seed: 5 };
    let mut outputs = std::collections::HashSet::new();
    for number in 1..1000 {
        let schedule = search.schedule(number, 400).to_string();
        let kernel = tickets().in_order(&schedule);
        let output = kernel.bytes();
        assert_eq!(kernel.bytes(), output, "{schedule}");
        // Each ticket occurs once.
        let words: Vec<u32> = output.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        assert_eq!((words[1], words[2]), (12, 308), "{schedule}");
        outputs.insert(output);
    }
    assert!(outputs.len() > 900, "{} results", outputs.len());
}

#[test]
fn an_observed_launch_runs_in_the_same_order() {
    let search = Search { runs: u32::MAX, seconds: u32::MAX, seed: 6 };
    let mut orders = std::collections::HashSet::new();
    for number in 1..40 {
        let kernel = tickets().in_order(&search.schedule(number, 400).to_string());
        let mut order = Order::default();
        let (result, output) = kernel.observe(&mut order);
        assert!(result.unwrap());
        assert_eq!(output, kernel.bytes());
        orders.insert(order.0);
    }
    assert_eq!(orders.len(), 39);
}

#[test]
fn a_search_leaves_memory_and_report_as_the_default_order_does() {
    let kernel = tickets();
    let searched = kernel.clone().in_orders(Search { runs: 9, ..MANY });
    assert_eq!(searched.bytes(), kernel.bytes());
    let report = searched.report();
    assert_eq!(report.orders, 9);
    assert_eq!(ptx_interpreter::LaunchReport { orders: 1, ..report }, kernel.report());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Barriers, warps of all sizes and clusters have the same results under each schedule as under
    /// the default one.
    #[test]
    fn a_right_kernel_has_one_result_in_each_order(
        threads in 1u32..130, grid in 1u32..5, cluster in prop::sample::select(vec![1u32, 2]), number in 1u32..1000,
    ) {
        let sum = "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0; mad.lo.u32 r3, index, 7, 1; st.shared.u32 [r1], r3; bar.sync 0;
            setp.ne.u32 p0, tid, 0; @p0 ret; mov.u32 r2, 0; mov.u32 r4, %ntid.x;
            NEXT: sub.u32 r4, r4, 1; mad.lo.u32 r1, r4, 4, r0; ld.shared.u32 r3, [r1]; add.u32 r2, r2, r3; setp.ne.u32 p1, r4, 0; @p1 bra NEXT;
            atom.global.add.u32 r3, [output], r2; ret;";
        let kernel = Kernel::new(sum).declare(".shared .align 4 .u32 room[128];\n").shape(grid * cluster, threads).output_bytes(64);
        let kernel = if cluster > 1 { kernel.clusters_of(cluster) } else { kernel };
        let schedule: Schedule = Search { runs: u32::MAX, seconds: u32::MAX, seed: 3 }.schedule(number, u64::from(grid * cluster));
        if threads <= 128 {
            prop_assert_eq!(kernel.clone().in_order(&schedule.to_string()).words(1), kernel.words(1));
        }
    }
}
