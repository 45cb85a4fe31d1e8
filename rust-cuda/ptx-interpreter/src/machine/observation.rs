//! Shows stops, faults and accesses of a block to its observer.

use super::block_state::Block;
use super::context::Context;
use super::fault::{Access, Fault};
use super::lane_addresses::{LaneAddress, Memory};
use super::observer::{ObservedAccess, Observing, Step, StoppedBlock};
use crate::memory::first_address;
use crate::program::DYNAMIC_SHARED_START;
use crate::syntax::Space;

impl Context<'_> {
    /// Whether the launch stops before an instruction.
    pub(super) fn stops_before(&mut self, step: Step) -> bool {
        let Some(Observing(observer)) = &mut self.observer else { return false };
        if std::mem::take(&mut self.resumes) {
            return false;
        }
        self.stopped_before = observer.stops_before(step).then_some(step);
        self.stopped_before.is_some()
    }

    /// Shows the observer the block before the instruction where it stops.
    #[cold]
    pub(super) fn observe_stop(&mut self, step: Step, block: &Block) {
        let Some(Observing(observer)) = self.observer.take() else { return };
        self.abandoned = observer.stop(step, &self.stopped_block(block, false)).is_break();
        self.resumes = true;
        self.observer = Some(Observing(observer));
    }

    /// Shows the observer the block that caused a fault.
    #[cold]
    pub(super) fn observe_fault(&mut self, fault: &Fault, block: &Block) {
        let Some(Observing(observer)) = self.observer.take() else { return };
        observer.fault(fault, &self.stopped_block(block, true));
        self.observer = Some(Observing(observer));
    }

    /// Reports a lane's access to the observer, if there is one.
    #[cold]
    pub(super) fn observe_access(
        &mut self,
        warp: u32,
        lane: usize,
        pc: usize,
        access: Access,
        (memory, offset): LaneAddress,
        bytes: usize,
    ) {
        if self.observer.is_none() {
            return;
        }
        let block = self.state.number;
        let shared = |start: u64, owner| (Space::Shared, owner, start + offset as u64);
        let other = |rank: u32| self.residents.list[rank as usize].state.number;
        let (space, owner, address) = match memory {
            Memory::Global(index) => {
                let start = self.launch.view.allocations()[index].extent.start;
                (Space::Global, block, start + offset as u64)
            }
            Memory::Shared => shared(first_address(Space::Shared), block),
            Memory::DynamicShared => shared(DYNAMIC_SHARED_START, block),
            Memory::OtherShared { rank, is_dynamic: false } => shared(first_address(Space::Shared), other(rank)),
            Memory::OtherShared { rank, is_dynamic: true } => shared(DYNAMIC_SHARED_START, other(rank)),
            Memory::Local | Memory::Parameters | Memory::Constants => return,
        };
        if let Some(Observing(observer)) = &mut self.observer {
            let step = Step { block, warp, pc, lanes: 1 << lane, path: 1 << lane };
            observer.access(ObservedAccess { step, access, space, owner, address, bytes });
        }
    }

    fn stopped_block<'s>(&'s self, block: &'s Block, is_at_fault: bool) -> StoppedBlock<'s> {
        let Self { launch, state, residents, slice_used, .. } = self;
        StoppedBlock { launch, state, block, residents, slice_used: *slice_used, is_at_fault }
    }
}
