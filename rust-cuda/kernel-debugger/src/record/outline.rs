//! The two runs before the recording: they count each block's instructions and find the memory that
//! the recorded block touches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{ControlFlow, Range};

use cuda_launch::Dim3;
use ptx_interpreter::memory::Extent;
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Fault, FaultKind, ObservedAccess, Observer, Step, StoppedBlock};

/// The warp and the lane of a thread.
pub(super) fn warp_and_lane(thread: Dim3, block: Dim3) -> (u32, u32) {
    let index = thread.x + block.x * (thread.y + block.y * thread.z);
    (index / LANES as u32, index % LANES as u32)
}

/// The number of instructions of each block, and its last instruction.
#[derive(Default)]
pub(super) struct Outline {
    blocks: HashMap<u32, (u64, Step)>,
    size: Dim3,
}

impl Outline {
    /// Number of instructions that a block has issued.
    pub(super) fn issued(&self, block: u32) -> u64 {
        self.blocks.get(&block).map_or(0, |(issued, _)| *issued)
    }

    /// Whether a block's fault occurs at the last instruction that the block issued.
    pub(super) fn is_last(&self, block: u32, fault: &Fault) -> bool {
        let Some((_, step)) = self.blocks.get(&block) else { return false };
        let (warp, lane) = warp_and_lane(fault.thread, self.size);
        let is_found_later = match fault.kind {
            FaultKind::MissingLanes { .. }
            | FaultKind::Endless { .. }
            | FaultKind::NoProgress { .. }
            | FaultKind::EndlessLoop
            | FaultKind::WaitsForever { .. }
            | FaultKind::PhaseNeverEnds { .. }
            | FaultKind::ClusterBarrierDivergence { .. } => true,
            FaultKind::BarrierDivergence { ref other_place, .. } => other_place.is_none(),
            _ => false,
        };
        !is_found_later && (step.warp, step.pc) == (warp, fault.pc) && step.lanes >> lane & 1 == 1
    }
}

impl Observer for Outline {
    fn stops_before(&mut self, step: Step) -> bool {
        self.blocks
            .entry(step.block)
            .and_modify(|(issued, last)| (*issued, *last) = (*issued + 1, step))
            .or_insert((1, step));
        false
    }

    fn stop(&mut self, _: Step, _: &StoppedBlock<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, block: &StoppedBlock<'_>) {
        self.size = block.config().block;
    }

    fn access(&mut self, _: ObservedAccess) {}
}

/// The memory that a block touches during some of its instructions.
pub(super) struct Touched {
    block: u32,
    range: Range<u64>,
    issued: u64,
    /// The block's shared variables.
    pub(super) shared: Vec<Extent>,
    /// All allocations of global memory.
    pub(super) global: Vec<Extent>,
    /// Start addresses and sizes of accesses to global memory.
    pub(super) accesses: BTreeMap<u64, usize>,
    /// The instructions that access each memory, as pairs: the instruction's index in the kernel,
    /// and the memory's index in `shared` followed by `global`.
    pub(super) instructions: BTreeSet<(usize, usize)>,
}

impl Touched {
    pub(super) fn new(block: u32, range: Range<u64>) -> Self {
        Self {
            block,
            range,
            issued: 0,
            shared: Vec::new(),
            global: Vec::new(),
            accesses: BTreeMap::new(),
            instructions: BTreeSet::new(),
        }
    }
}

impl Observer for Touched {
    fn stops_before(&mut self, step: Step) -> bool {
        if step.block != self.block {
            return false;
        }
        self.issued += 1;
        self.issued == self.range.start + 1 || self.issued > self.range.end
    }

    fn stop(&mut self, _: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        if self.issued > self.range.end {
            return ControlFlow::Break(());
        }
        self.shared = block.shared().map(|range| range.extent.clone()).collect();
        self.global = block.global().map(|range| range.extent.clone()).collect();
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, _: &StoppedBlock<'_>) {}

    fn access(&mut self, access: ObservedAccess) {
        if access.step.block != self.block || self.issued <= self.range.start {
            return;
        }
        match access.space {
            Space::Global => {
                let bytes = self.accesses.entry(access.address).or_default();
                *bytes = access.bytes.max(*bytes);
            }
            _ if access.owner != self.block => return,
            _ => {}
        }
        let holds =
            |extent: &Extent| extent.space == access.space && extent.offset_of(access.address, access.bytes).is_some();
        if let Some(memory) = self.shared.iter().chain(&self.global).position(holds) {
            self.instructions.insert((access.step.pc, memory));
        }
    }
}
