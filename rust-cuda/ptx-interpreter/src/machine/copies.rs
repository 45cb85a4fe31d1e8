//! Asynchronous copies from global to shared memory (`cp.async`).

use std::ops::Range;

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::{LaneAddress, LaneAddresses};
use super::lanes::{groups, lanes_of};
use super::pending_copies::{PendingCopy, Piece};
use super::resolve::{Request, WarpAccess};
use super::warp::Warp;
use crate::memory::{AccessError, Region, global_pattern, shared_pattern};
use crate::program::instruction::CopyAsync;
use crate::semantics::LANES;
use crate::syntax::Space;

impl Warp {
    /// Starts a copy: reads the source now, and writes the target when the kernel waits for the copy.
    pub(super) fn copy_async(
        &mut self,
        pc: usize,
        copy: &CopyAsync,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let ignored = copy.ignore.map_or(0, |predicate| self.predicates[predicate as usize]) & active;
        let sizes = match copy.read {
            Some(register) => self.registers[register as usize].map(|size| (size as usize).min(copy.bytes)),
            None => [copy.bytes; LANES],
        };
        let sources = self.addresses(&copy.from);
        let targets = self.addresses(&copy.to);
        let reads = lanes_of(active & !ignored).filter(|lane| sizes[*lane] > 0);
        let reads = reads.fold(0, |mask, lane| mask | 1 << lane);
        let (mut from, mut to) = (LaneAddresses::unresolved(), LaneAddresses::unresolved());
        for lane in lanes_of(reads) {
            // Uses the alignment of the whole copy, even if fewer bytes are read.
            AccessError::check_aligned(Space::Global, sources[lane], copy.bytes)
                .map_err(|error| Failure::at(lane, FaultKind::Access { access: Access::Read, error }))?;
        }
        let (mut sectors, mut least_sectors) = (0, 0);
        for (bytes, same_size) in groups(reads, |lane| sizes[lane]) {
            let request = Request::plain(pc, bytes, Access::Read);
            let read = WarpAccess { space: Space::Global, block: None, request };
            context.reading_uninitialised(context.copies_uninitialised(), |context| {
                self.resolve_lanes(read, &sources, same_size, &mut from, context)
            })?;
            self.record_lanes(request, same_size, &from, context)?;
            let pattern = global_pattern(&sources, same_size, bytes);
            (sectors, least_sectors) = (sectors + pattern.sectors, least_sectors + pattern.min_sectors);
        }
        if reads != 0 {
            context.counts[pc].add_source(sectors, least_sectors);
        }
        let request = Request::plain(pc, copy.bytes, Access::Write);
        let written = WarpAccess { space: Space::Shared, block: None, request };
        self.resolve_lanes(written, &targets, active, &mut to, context)?;
        let pattern = shared_pattern(&targets, active, copy.bytes);
        context.counts[pc].add_access(pattern.wavefronts, pattern.min_wavefronts);
        for lane in lanes_of(active) {
            let (mut data, mut unwritten) = ([0; 16], 0);
            let source = (reads >> lane & 1 == 1).then(|| (from.at(lane), sizes[lane]));
            if let Some(((memory, offset), bytes)) = source {
                let region = context.region(memory, self);
                region.read(offset, &mut data[..bytes]);
                unwritten = region.unwritten(offset, bytes);
            }
            self.record_copy(pc, lane, to.at(lane), &data[..copy.bytes], context)?;
            let begun = self.copies.begin(lane, to.at(lane), Piece::new(&data[..copy.bytes], unwritten), source);
            context.note_flight(self, &begun, Some(pc));
        }
        Ok(())
    }

    /// Records the write of a copy, when it starts or when its thread has waited for it.
    fn record_copy(
        &self,
        pc: usize,
        lane: usize,
        target: LaneAddress,
        data: &[u8],
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let request = Request::plain(pc, data.len(), Access::Write);
        let same_value = |region: &Region, range: Range<usize>, after_others: bool| {
            let written = range.start - target.1..range.end - target.1;
            (after_others || region.is_initialised(range.start, range.len()))
                && range.zip(&data[written]).all(|(offset, byte)| region.load(offset, 1) as u8 == *byte)
        };
        context.record(self, lane, target, request, Some(data), same_value)
    }

    /// Completes the copies of the active lanes, except their last `groups` groups. `None`
    /// completes all of them.
    pub(super) fn wait_for_copies(
        &mut self,
        pc: usize,
        groups: Option<u32>,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        for copy in self.copies.finish(groups, active) {
            self.complete_copy(pc, &copy, context)?;
        }
        Ok(())
    }

    /// Writes the bytes that a copy of the warp has read.
    pub(super) fn complete_copy(
        &mut self,
        pc: usize,
        copy: &PendingCopy,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let PendingCopy { lane, target: (memory, offset), written, .. } = *copy;
        context.note_flight(self, copy, None);
        self.record_copy(pc, lane, (memory, offset), written.data(), context)?;
        context.observe_access(self.number, lane, pc, Access::Write, (memory, offset), written.bytes);
        context.region(memory, self).write_part(offset, written.data(), written.unwritten);
        context.note_change();
        Ok(())
    }
}
