//! The grid barrier of CUDA's cooperative groups, which the driver places in the grid's workspace.

use crate::support::kernel::{Kernel, each};
use ptx_interpreter::FaultKind;

/// The code of `cg::grid_group::sync`: block 0 adds 0x80000000 minus the number of other blocks, each other block adds
/// 1, and all wait until the upper bit flips.
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
    // A block also polls while the system keeps another from running.
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
