//! Observed launches: what an observer sees, and that observing changes nothing.

use std::ops::ControlFlow;

use cuda_launch::Dim3;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, Fault, FaultKind, ObservedAccess, Observer, Step, StoppedBlock, Waits};

use crate::support::kernel::{Kernel, each};

pub(crate) const ROOM: &str = ".shared .align 4 .b8 room[128];\n";
pub(crate) const PLACE: &str = "mov.u32 r0, room; mad.lo.u32 r1, tid, 4, r0;";

/// Records everything that happens. Stops before each instruction that `stops` selects and calls
/// `look` there.
pub(crate) struct Trace<S, L> {
    pub(crate) steps: Vec<Step>,
    pub(crate) accesses: Vec<ObservedAccess>,
    pub(crate) faults: Vec<Fault>,
    stops: S,
    look: L,
}

impl<S: FnMut(Step) -> bool, L: FnMut(Step, &StoppedBlock<'_>) -> ControlFlow<()>> Observer for Trace<S, L> {
    fn stops_before(&mut self, step: Step) -> bool {
        self.steps.push(step);
        (self.stops)(step)
    }

    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        assert_eq!(self.steps.last(), Some(&step));
        (self.look)(step, block)
    }

    fn fault(&mut self, fault: &Fault, block: &StoppedBlock<'_>) {
        assert_eq!(block.index(), fault.block);
        self.faults.push(fault.clone());
    }

    fn access(&mut self, access: ObservedAccess) {
        self.accesses.push(access);
    }
}

pub(crate) fn trace<S, L>(stops: S, look: L) -> Trace<S, L>
where
    S: FnMut(Step) -> bool,
    L: FnMut(Step, &StoppedBlock<'_>) -> ControlFlow<()>,
{
    Trace { steps: Vec::new(), accesses: Vec::new(), faults: Vec::new(), stops, look }
}

pub(crate) fn go_on(_: Step, _: &StoppedBlock<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Kernels with warps that diverge, wait for each other, and use up their time slices.
pub(crate) fn kernels() -> Vec<Kernel> {
    let uneven =
        "mov.u32 r2, 0; LOOP: add.u32 r2, r2, 1; mul.lo.u32 r3, tid, 100; setp.lt.u32 p0, r2, r3; @p0 bra LOOP;
        bar.sync 0; st.global.u32 [cell], r2; ret;";
    // Lane 0 of each warp waits for the last thread's store.
    let spinning = format!(
        "{PLACE} st.shared.u32 [r0], 0; bar.sync 0; setp.eq.u32 p1, tid, 63; @p1 bra LAST;
        AGAIN: ld.volatile.shared.u32 r2, [r0]; setp.eq.u32 p0, r2, 0; @p0 bra AGAIN; bra END;
        LAST: mov.u32 r3, 0; DELAY: add.u32 r3, r3, 1; setp.lt.u32 p0, r3, 5000; @p0 bra DELAY;
        st.volatile.shared.u32 [r0], index; END: ld.volatile.shared.u32 r2, [r0]; st.global.u32 [cell], r2; ret;"
    );
    let cluster = format!(
        "{PLACE} mov.u32 r4, %cluster_ctarank; xor.b32 r4, r4, 1; mapa.shared::cluster.u32 r5, r1, r4;
        barrier.cluster.arrive; barrier.cluster.wait; st.shared::cluster.u32 [r5], index;
        barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 r2, [r1]; st.global.u32 [cell], r2; ret;"
    );
    let ticket = "atom.global.add.u32 r2, [output], 1; ret;";
    vec![
        Kernel::new(uneven).shape(2, 80),
        Kernel::new(spinning).declare(ROOM).shape(2, 64),
        Kernel::new(cluster).declare(ROOM).shape(4, 32).clusters_of(2),
        Kernel::new(ticket).shape(3, 64).cooperative(),
    ]
}

/// The execution order does not depend on where the observer stops, and the counts are the same as
/// without it.
#[test]
fn stops_change_nothing() {
    for kernel in kernels() {
        let expected = kernel.bytes();
        let mut unstopped = trace(|_| false, go_on);
        let (result, bytes) = kernel.observe(&mut unstopped);
        assert!(result.unwrap());
        assert_eq!(bytes, expected);
        let issued: u64 = kernel.report().instructions.iter().map(|report| report.counts.issued).sum();
        assert_eq!(unstopped.steps.len() as u64, issued);
        for every in [1, 7] {
            let mut count = 0;
            let stops = |_| {
                count += 1;
                count % every == 0
            };
            let mut stopped = trace(stops, go_on);
            let (result, bytes) = kernel.observe(&mut stopped);
            assert!(result.unwrap());
            assert_eq!(bytes, expected);
            assert!(stopped.steps == unstopped.steps, "stops before every {every}th instruction change the order");
            assert_eq!(stopped.accesses, unstopped.accesses);
        }
    }
}

#[test]
fn a_stopped_block_shows_registers_paths_and_memory() {
    let body = format!(
        "{PLACE} mul.lo.u32 r7, tid, 3; setp.lt.u32 p1, tid, 8; @p1 st.shared.u32 [r1], r7;
        @p1 bra.uni FEW; bar.sync 0; ret; FEW: mov.u32 r8, 5; bar.sync 0; ret;"
    );
    let kernel = Kernel::new(body).declare(ROOM).shape(1, 40).input(&[9, 8, 7]);
    let mut looked = 0;
    let look = |step: Step, block: &StoppedBlock<'_>| {
        looked += 1;
        let warps: Vec<_> = block.warps().collect();
        assert_eq!((block.number(), warps.len(), step.warp, step.lanes), (0, 2, 0, 0xff));
        assert_eq!((warps[0].existing(), warps[1].existing(), warps[1].exited()), (u32::MAX, 0xff, 0));
        let tripled: Vec<u64> = warps[0].register("r7").unwrap()[..].to_vec();
        assert_eq!(tripled, (0..32).map(|tid| 3 * tid).collect::<Vec<u64>>());
        assert_eq!(warps[0].register("p1").unwrap().iter().sum::<u64>(), 8);
        assert_eq!(warps[0].register("r99"), None);
        let paths: Vec<_> = warps[0].paths().collect();
        assert!(paths.iter().any(|path| path.pc == step.pc && path.lanes == 0xff && path.waits.is_none()));
        let rest = paths.iter().find(|path| path.lanes == !0xff).unwrap();
        assert!(matches!(rest.waits, None | Some(Waits::Barrier(0))));
        let shared: Vec<_> = block.shared().collect();
        assert_eq!((shared.len(), &*shared[0].extent.name, shared[0].extent.bytes), (1, "room", 128));
        let mut word = [0; 4];
        shared[0].read(7 * 4, &mut word).unwrap();
        assert_eq!(u32::from_le_bytes(word), 21);
        assert!(shared[0].is_written(0, 32) && !shared[0].is_written(32, 4) && !shared[0].is_written(126, 4));
        assert_eq!(shared[0].read(126, &mut word), None);
        let input = block.global().next().unwrap();
        input.read(4, &mut word).unwrap();
        assert_eq!(u32::from_le_bytes(word), 8);
        let parameters: Vec<_> = block.parameters().map(|range| range.extent.name.to_string()).collect();
        assert_eq!(parameters, ["kernel_input", "kernel_output"]);
        ControlFlow::Break(())
    };
    let machine = kernel.machine();
    let code = machine.code("kernel").unwrap();
    let five = (0..code.instructions()).find(|pc| code.place(*pc).text.contains("mov.u32 r8")).unwrap();
    assert!(code.registers().any(|(name, bits)| (name, bits) == ("r8", 32)));
    assert!(machine.code("other").is_none());
    let mut trace = trace(|step: Step| step.pc == five && step.warp == 0, look);
    let (result, _) = kernel.observe(&mut trace);
    assert!(!result.unwrap(), "the observer has abandoned the launch");
    assert_eq!(trace.steps.last().unwrap().pc, five);
    drop(trace);
    assert_eq!(looked, 1);
}

#[test]
fn each_lanes_access_is_observed() {
    let body = format!("{PLACE} st.shared.u32 [r1], tid; ld.shared.u32 r2, [r1]; st.global.u32 [cell], r2; ret;");
    let kernel = Kernel::new(body).declare(ROOM).shape(2, 3);
    let mut trace = trace(|_| false, go_on);
    let (result, _) = kernel.observe(&mut trace);
    assert!(result.unwrap());
    let seen: Vec<_> = trace.accesses.iter().map(|access| (access.step.block, access.access, access.space)).collect();
    let of_block = |block| {
        let kinds = [(Access::Write, Space::Shared), (Access::Read, Space::Shared), (Access::Write, Space::Global)];
        kinds.into_iter().flat_map(move |(access, space)| [(block, access, space); 3])
    };
    assert_eq!(seen, of_block(0).chain(of_block(1)).collect::<Vec<_>>());
    let addresses: Vec<u64> = trace.accesses[..3].iter().map(|access| access.address).collect();
    assert_eq!(addresses, each(3, |lane| addresses[0] + 4 * u64::from(lane)));
    assert_eq!(trace.accesses[2].step.lanes, 0b100);
    assert!(trace.accesses.iter().all(|access| access.bytes == 4 && access.owner == access.step.block));
}

#[test]
fn an_observer_sees_the_block_of_a_fault() {
    let race = format!("{PLACE} shr.u32 r2, tid, 5; st.shared.u32 [r0], r2; ret;");
    let missing = "setp.lt.u32 p0, tid, 32; @p0 bar.sync 0; ret;";
    let kernels = [Kernel::new(race).declare(ROOM).shape(1, 64), Kernel::new(missing).shape(3, 64)];
    for (kernel, is_expected) in
        kernels.iter().zip([(|kind| matches!(kind, FaultKind::Race { .. })) as fn(&FaultKind) -> bool, |kind| {
            matches!(kind, FaultKind::BarrierDivergence { .. })
        }])
    {
        let mut trace = trace(|_| false, go_on);
        let (result, _) = kernel.observe(&mut trace);
        let error = result.unwrap_err();
        let seen = Fault { notes: Vec::new(), ..error.fault().unwrap().clone() };
        assert_eq!(trace.faults, [seen]);
        assert_eq!(trace.faults[0].block, Dim3::new(0, 0, 0));
        assert!(is_expected(&trace.faults[0].kind), "{error}");
    }
}
