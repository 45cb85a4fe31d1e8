//! Counts of a launch: instructions by class, sectors, wavefronts and branches, for kernels with known counts.

use crate::support::kernel::Kernel;
use ptx_interpreter::semantics::Class;
use ptx_interpreter::{Access, AccessedSpace, SpaceTotals};

const ROOM: &str = ".shared .align 16 .b8 room[16384];\n";

/// Totals of global loads by 4 warps. Thread t loads at `stride` · t.
fn global_reads(stride: u32, form: &str, destination: &str) -> SpaceTotals {
    let body = format!("mad.wide.u32 d0, index, {stride}, input; ld.global.{form} {destination}, [d0]; ret;");
    Kernel::new(body).input(&vec![0; 8192]).shape(2, 64).report().accesses(AccessedSpace::Global, Access::Read)
}

#[test]
fn coalesced_loads_touch_few_sectors_and_strided_ones_many() {
    let totals = |lanes, requests, transactions, min_transactions| SpaceTotals {
        lanes,
        requests,
        transactions,
        min_transactions,
    };
    // 32 lanes with adjacent 4-byte loads: 4 sectors of 32 bytes.
    assert_eq!(global_reads(4, "u32", "r0"), totals(128, 4, 16, 16));
    assert_eq!(global_reads(8, "u32", "r0"), totals(128, 4, 32, 16));
    assert_eq!(global_reads(32, "u32", "r0"), totals(128, 4, 128, 16));
    assert_eq!(global_reads(128, "u32", "r0"), totals(128, 4, 128, 16));
    assert_eq!(global_reads(0, "u32", "r0"), totals(128, 4, 4, 4));
    assert_eq!(global_reads(1, "u8", "h0"), totals(128, 4, 4, 4));
    assert_eq!(global_reads(16, "v4.u32", "{r0, r1, r2, r3}"), totals(128, 4, 64, 64));
}

/// Totals of a warp. Lane l stores 4 bytes at `stride` · l in shared memory.
fn shared_writes(stride: u32) -> SpaceTotals {
    let body = format!("mov.u32 r0, room; mad.lo.u32 r0, tid, {stride}, r0; st.shared.u32 [r0], tid; ret;");
    let kernel = Kernel::new(body).declare(ROOM).without_race_checks();
    kernel.report().accesses(AccessedSpace::Shared, Access::Write)
}

#[test]
fn accesses_to_one_bank_are_serialised() {
    for (stride, wavefronts) in [(4, 1), (8, 2), (12, 1), (16, 4), (64, 16), (128, 32), (132, 1), (0, 1), (256, 32)] {
        let expected = SpaceTotals { lanes: 32, requests: 1, transactions: wavefronts, min_transactions: 1 };
        assert_eq!(shared_writes(stride), expected, "{stride}");
    }
}

#[test]
fn only_active_lanes_are_counted() {
    let kernel = Kernel::new(
        "setp.lt.u32 p0, tid, 8; @p0 ld.global.u32 r0, [cell]; setp.gt.u32 p1, tid, 99; @p1 st.global.u32 [cell], r0; ret;",
    );
    let report = kernel.report();
    let reads = report.accesses(AccessedSpace::Global, Access::Read);
    assert_eq!(reads, SpaceTotals { lanes: 8, requests: 1, transactions: 1, min_transactions: 1 });
    assert_eq!(report.accesses(AccessedSpace::Global, Access::Write), SpaceTotals::default());
}

#[test]
fn each_kind_of_access_has_its_own_totals() {
    let body = "
        .local .align 4 .u32 own;
        st.shared.u32 [room], 1; st.local.u32 [own], 2; ld.local.u32 r0, [own]; atom.global.add.u32 r1, [output], 1; red.global.add.u32 [output], 1;
        mov.u64 d0, output; ld.u32 r2, [d0]; ld.const.u32 r3, [number]; ret;";
    let kernel = Kernel::new(body).declare(ROOM).declare(".const .u32 number = 3;\n").without_race_checks();
    let report = kernel.shape(1, 64).report();
    let requests = |space, access| report.accesses(space, access).requests;
    let lanes = |space, access| report.accesses(space, access).lanes;
    assert_eq!((lanes(AccessedSpace::Shared, Access::Write), requests(AccessedSpace::Shared, Access::Write)), (64, 2));
    assert_eq!(lanes(AccessedSpace::Local, Access::Write), 64);
    assert_eq!(lanes(AccessedSpace::Local, Access::Read), 64);
    assert_eq!(
        (lanes(AccessedSpace::Global, Access::Atomic), requests(AccessedSpace::Global, Access::Atomic)),
        (128, 4)
    );
    assert_eq!(lanes(AccessedSpace::Generic, Access::Read), 64);
    assert_eq!(lanes(AccessedSpace::Const, Access::Read), 64);
    // The two parameters.
    assert_eq!(lanes(AccessedSpace::Param, Access::Read), 128);
}

#[test]
fn an_asynchronous_copy_reads_global_memory_and_writes_shared_memory() {
    let body = "
        mov.u32 r0, room; mad.lo.u32 r0, tid, 128, r0; mad.wide.u32 d0, tid, 4, input;
        cp.async.ca.shared.global [r0], [d0], 4; cp.async.wait_all; ret;";
    let report = Kernel::new(body).declare(ROOM).report();
    let reads = report.accesses(AccessedSpace::Global, Access::Read);
    assert_eq!(reads, SpaceTotals { lanes: 32, requests: 1, transactions: 4, min_transactions: 4 });
    let writes = report.accesses(AccessedSpace::Shared, Access::Write);
    assert_eq!(writes, SpaceTotals { lanes: 32, requests: 1, transactions: 32, min_transactions: 1 });
}

#[test]
fn instructions_are_counted_by_class_for_warps_and_for_threads() {
    let empty = Kernel::new("ret;").shape(3, 40).report();
    let body = "
        add.u32 r0, r1, r2; mul.lo.u32 r0, r0, r0; add.f32 r3, r4, r5; fma.rn.f64 d0, d1, d2, d3; cvt.rn.f32.u32 r6, tid; setp.lt.u32 p0, tid, 4;
        ex2.approx.ftz.f32 r3, r3; bar.sync 0; ld.global.u32 r7, [input]; atom.global.add.u32 r8, [output], 1; activemask.b32 r9; ret;";
    let report = Kernel::new(body).shape(3, 40).report();
    assert_eq!((report.blocks, report.threads, &*report.kernel), (3, 120, "kernel"));
    // Two warps per block.
    assert_eq!(report.warp_instructions() - empty.warp_instructions(), 11 * 6);
    assert_eq!(report.thread_instructions() - empty.thread_instructions(), 11 * 120);
    assert_eq!(report.thread_instructions(), report.by_class().values().sum::<u64>());
    for (class, count) in [
        (Class::Integer, 2),
        (Class::F32, 1),
        (Class::F64, 1),
        (Class::Convert, 1),
        (Class::Compare, 1),
        (Class::Special, 1),
        (Class::Barrier, 1),
        (Class::Memory, 1),
        (Class::Atomic, 1),
        (Class::Warp, 1),
        (Class::Control, 0),
    ] {
        let of_class =
            |report: &ptx_interpreter::LaunchReport| report.by_class().get(&class).copied().unwrap_or_default();
        assert_eq!(of_class(&report) - of_class(&empty), count * 120, "{class:?}");
    }
    for instruction in &report.instructions {
        assert!(instruction.counts.issued == 6 && instruction.counts.lanes == 120, "{}", instruction.place);
    }
}

#[test]
fn a_guard_removes_lanes_but_no_issue() {
    let report = Kernel::new("setp.lt.u32 p0, tid, 5; @p0 add.u32 r0, r0, 77; ret;").report();
    let guarded = report.instructions.iter().find(|instruction| instruction.place.text.ends_with("77")).unwrap();
    assert_eq!((guarded.counts.issued, guarded.counts.lanes), (1, 5));
}

#[test]
fn branches_at_which_lanes_diverge_are_divergent() {
    for (limit, divergent) in [(0, 0), (5, 1), (32, 0), (40, 1), (64, 0)] {
        let body = format!("setp.lt.u32 p0, tid, {limit}; @p0 bra DONE; add.u32 r0, r0, 1; DONE: ret;");
        let report = Kernel::new(body).shape(3, 64).report();
        // One branch and one return in each of six warps.
        assert_eq!(report.branches().1, divergent * 3, "{limit}");
        let branch = report.instructions.iter().find(|instruction| instruction.place.text.starts_with("bra")).unwrap();
        assert_eq!((branch.counts.issued, branch.counts.divergent), (6, divergent * 3), "{limit}");
    }
}

#[test]
fn counts_depend_neither_on_race_checks_nor_on_the_order_of_blocks() {
    let body = "
        mov.u32 r0, 0; and.b32 r5, tid, 7; LOOP: add.u32 r0, r0, 1; setp.le.u32 p0, r0, r5; @p0 bra LOOP;
        st.global.u32 [cell], r0; atom.global.add.u32 r1, [input], r0; ret;";
    let kernel = Kernel::new(body).shape(40, 64);
    let checked = kernel.report();
    assert_eq!(kernel.clone().without_race_checks().report(), checked);
    assert_eq!(kernel.report(), checked);
}

#[test]
fn instructions_that_are_not_exact_are_listed_with_counts() {
    let body = "ex2.approx.ftz.f32 r1, 0f3F800000; setp.lt.u32 p0, tid, 8; @p0 rcp.approx.f32 r2, r1; div.rn.f32 r3, r1, r2; div.full.f32 r3, r1, r2;
         nanosleep.u32 20; mov.u64 d1, %clock64; atom.global.add.f32 r4, [output], 0f3F800000; atom.global.add.u32 r5, [output], 1;
         prefetch.global.L2 [input]; @!p0 ret; sin.approx.f32 r6, r1; ret;";
    let found: Vec<String> = Kernel::new(body).report().inexact().iter().map(ToString::to_string).collect();
    let expected = [
        "approximate: div.full.f32, of which a GPU's result is within 2 ulp; 32 of threads",
        "approximate: ex2.approx.ftz.f32, of which a GPU's result is within 2 ulp; 32 of threads",
        "approximate: rcp.approx.f32, of which a GPU's result is within 1 ulp; 8 of threads",
        "approximate: sin.approx.f32, of which a GPU's result has an error of at most 2^-20.5 up to 6.3, and 2^-14.7 up to 314.2; 8 of threads",
        "made deterministic: atom.global.add.f32; 32 of threads",
        "made deterministic: mov.u64 d1, %clock64; 32 of threads",
        "skipped: nanosleep.u32; 32 of threads",
        "skipped: prefetch.global.L2; 32 of threads",
    ];
    assert_eq!(found, expected);
    assert_eq!(Kernel::new("add.f32 r1, 0f3F800000, 0f3F800000; ret;").report().inexact(), []);
}
