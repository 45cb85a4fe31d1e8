//! `malloc` and `free` in kernels, which a GPU's driver provides.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::Memory;
use super::lanes::lanes_of;
use super::warp::Warp;
use crate::memory::{BadFree, from_generic, space_of, to_generic};
use crate::program::instruction::HeapCall;
use crate::syntax::Space;

impl Warp {
    /// Allocates or frees a block of the heap for each active lane.
    pub(super) fn call_heap(&mut self, call: &HeapCall, active: u32, context: &mut Context<'_>) -> Result<(), Failure> {
        for lane in lanes_of(active) {
            let fail = |error| Failure::at(lane, FaultKind::Access { access: Access::Read, error });
            match call {
                HeapCall::Allocate { result, bytes } => {
                    let bytes = self.parameter(lane, bytes, 8, context).map_err(fail)?;
                    let pointer = context.allocate(self, bytes);
                    if let Some(result) = result {
                        let result = self.addresses(result)[lane];
                        let (memory, offset) = context.resolve(self, Space::Local, lane, result, 8).map_err(fail)?;
                        context.region(memory, self).store(offset, 8, pointer);
                    }
                }
                HeapCall::Free(pointer) => {
                    let pointer = self.parameter(lane, pointer, 8, context).map_err(fail)?;
                    context.free(pointer).map_err(|kind| Failure::at(lane, kind))?;
                }
            }
        }
        context.note_change();
        Ok(())
    }
}

impl Context<'_> {
    /// A pointer to a block of the heap, or 0 if there is no room.
    fn allocate(&mut self, warp: &Warp, bytes: u64) -> u64 {
        let launch = self.launch;
        let Some((heap, bytes)) = launch.view.heap().zip(usize::try_from(bytes).ok()) else { return 0 };
        let Some(offset) = heap.allocate(bytes) else { return 0 };
        // Earlier accesses at this address were to another block, which has been freed.
        if let Ok((index, _)) = launch.view.find(heap.start(), 0)
            && let Some(watched) = self.watched(Memory::Global(index), warp)
            && let Some(races) = &mut self.races
        {
            races.detector.forget_range(watched.at(offset), bytes);
        }
        to_generic(Space::Global, heap.start() + offset as u64)
    }

    /// Frees the block at a generic address. Does nothing for 0.
    fn free(&mut self, pointer: u64) -> Result<(), FaultKind> {
        if pointer == 0 {
            return Ok(());
        }
        let space = space_of(pointer);
        let address = from_generic(space, pointer);
        let freed = match self.launch.view.heap().filter(|_| space == Space::Global) {
            Some(heap) => heap.free(address),
            None => Err(BadFree::NotOnHeap),
        };
        freed.map_err(|why| FaultKind::BadFree { address, why })
    }
}
