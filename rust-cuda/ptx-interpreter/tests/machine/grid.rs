//! The grid barrier of CUDA's cooperative groups. The driver places it in the grid's workspace.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;
use ptx_interpreter::limits::MULTIPROCESSORS;

/// The code of `cg::grid_group::sync`. Block 0 adds 0x80000000 minus the number of other blocks,
/// each other block adds 1, and all wait until the upper bit flips.
const SYNC: &str = "
    bar.sync 0; setp.ne.u32 p1, tid, 0; @p1 bra SYNCED;
    mov.u32 r10, %ctaid.x; setp.eq.u32 p2, r10, 0; mov.u32 r11, %nctaid.x; sub.u32 r11, 0x80000001, r11;
    selp.b32 r11, r11, 1, p2; atom.add.release.gpu.u32 r12, [d1+4], r11;
    SPIN: ld.acquire.gpu.u32 r13, [d1+4]; xor.b32 r14, r13, r12; setp.gt.s32 p3, r14, -1; @p3 bra SPIN;
    SYNCED: bar.sync 0;
";

const WORKSPACE: &str = "mov.u32 r0, %envreg1; mov.u32 r1, %envreg2; mov.b64 d1, {r1, r0};";

fn neighbours(between: &str) -> Kernel {
    Kernel::new(format!(
        "{WORKSPACE} setp.ne.u64 p0, d1, 0; @p0 bra GO;\ntrap;\nGO: add.u32 r2, index, 7; \nst.global.u32 [cell], r2;\n{between}
         mov.u32 r3, %nctaid.x; mov.u32 r4, %ntid.x; mul.lo.u32 r3, r3, r4; add.u32 r5, index, r4; rem.u32 r5, r5, r3;
         mad.wide.u32 d2, r5, 4, output;\nld.global.u32 r6, [d2];\n mad.wide.u32 d3, r3, 4, cell; st.global.u32 [d3], r6; ret;"
    ))
    .shape(5, 40)
    // A block also polls while the operating system keeps another one from running.
    .at_most(1 << 28)
}

#[test]
fn the_workspace_holds_a_barrier_of_the_grid() {
    for races in [true, false] {
        let kernel = neighbours(SYNC).cooperative();
        let kernel = if races { kernel } else { kernel.without_race_checks() };
        assert_eq!(kernel.words(400)[200..], each(200, |index| (index + 40) % 200 + 7));
    }
    // The workspace is zeroed, and its first word is its size.
    let kernel = Kernel::new(format!(
        "{WORKSPACE} ld.u32 r2, [d1]; ld.u32 r3, [d1+4]; st.global.v2.u32 [output], {{r2, r3}}; ret;"
    ));
    assert_eq!(kernel.shape(1, 1).cooperative().words(2), [8, 0]);
}

#[test]
fn blocks_race_without_the_barrier() {
    let kind = neighbours("").cooperative().fault("st.global.u32 [cell], r2;", 1, 0);
    assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
}

#[test]
fn a_launch_that_is_not_cooperative_has_no_workspace() {
    assert_eq!(neighbours(SYNC).fault("trap;", 0, 0), FaultKind::Trap);
    let kernel = Kernel::new("mov.u32 r0, %envreg1; mov.u32 r1, %envreg2; st.global.v2.u32 [output], {r0, r1}; ret;");
    assert_eq!(kernel.shape(1, 1).input(&[1]).words(2), [0, 0]);
    let outside = Kernel::new(format!("{WORKSPACE}\nld.u32 r0, [d1+8];\nret;")).shape(1, 1).cooperative();
    let message = outside.fault("ld.u32 r0, [d1+8];", 0, 0).to_string();
    assert!(message.contains("the grid's workspace (8 bytes"), "{message}");
}

#[test]
fn special_registers_of_the_device_have_its_values() {
    let read = |name: &str| {
        let body = format!("mov.u32 r0, %{name}; st.global.u32 [cell], r0; ret;");
        Kernel::new(body).declare(".shared .b8 room[200];").shape(34, 1).dynamic_shared(100).words(34)
    };
    for (name, value) in [
        ("nsmid", MULTIPROCESSORS),
        ("gridid", 1),
        ("pm0", 0),
        ("pm7", 0),
        ("envreg0", 0),
        ("envreg31", 0),
        ("total_smem_size", 128),
        ("aggr_smem_size", 1024 + 128),
        ("dynamic_smem_size", 100),
        ("reserved_smem_offset_begin", 0),
        ("reserved_smem_offset_end", 1024),
        ("reserved_smem_offset_cap", 1024),
        ("reserved_smem_offset_0", 0),
        ("reserved_smem_offset_1", 0),
        ("ntid.w", 0),
        ("nctaid.w", 0),
    ] {
        assert_eq!(read(name), [value; 34], "{name}");
    }
    assert_eq!(read("smid"), (0..34).map(|block| block % MULTIPROCESSORS).collect::<Vec<_>>());
    for (name, value) in [("gridid", 1), ("current_graph_exec", 0), ("pm0_64", 0), ("pm7_64", 0)] {
        let kernel = Kernel::new(format!("mov.u64 d0, %{name}; st.global.u64 [output], d0; ret;")).shape(1, 1);
        assert_eq!(kernel.words8(1), [value], "{name}");
    }
    let used =
        "mov.u32 r0, room; st.shared.u8 [r0], r0; mov.u32 r0, %total_smem_size; st.global.u32 [output], r0; ret;";
    let kernel = Kernel::new(used).declare(".shared .b8 room[200];").shape(1, 1).dynamic_shared(100);
    assert_eq!(kernel.words(1), [384]);
}

#[test]
fn cvt_reads_counters_too() {
    let body = "cvt.u64.u32 d0, %clock; cvt.u32.u64 r0, %clock64; cvt.u64.u32 d1, %smid; cvt.u64.u32 d2, r0; st.global.v2.u64 [output], {d0, d2}; ret;";
    let [first, second] = Kernel::new(body).shape(1, 1).words8(2)[..] else { panic!("two") };
    assert!(0 < first && first < second && second < 100, "{first} {second}");
}
