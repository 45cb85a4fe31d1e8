//! Asynchronous copies from global to shared memory.

use std::ops::Range;

use super::block::Context;
use super::fault::{Access, FaultKind};
use super::lanes::lanes_of;
use super::places::{Found, Places, WarpAccess};
use super::race::Recorded;
use super::warp::{Failure, Warp};
use crate::memory::{AccessError, Region, global_pattern, shared_pattern};
use crate::program::instruction::{CopyAsync, Ordering};
use crate::semantics::LANES;
use crate::syntax::Space;

impl Warp {
    /// Begins to copy: reads now, and writes when the copy is waited for.
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
        let (mut from, mut to) = (Places::unknown(), Places::unknown());
        let ordering = Ordering::default();
        let read = WarpAccess { space: Space::Global, bytes: copy.bytes, access: Access::Read, ordering, stored: &[] };
        for lane in lanes_of(reads) {
            // However little of it is read.
            AccessError::check_aligned(Space::Global, sources[lane], copy.bytes)
                .map_err(|error| Failure::at(lane, FaultKind::Access { access: Access::Read, error }))?;
        }
        let (mut rest, mut sectors, mut least_sectors) = (reads, 0, 0);
        while rest != 0 {
            let bytes = sizes[rest.trailing_zeros() as usize];
            let alike = lanes_of(rest).filter(|lane| sizes[*lane] == bytes).fold(0, |mask, lane| mask | 1 << lane);
            let read = WarpAccess { bytes, ..read };
            self.find_lanes(read, &sources, alike, &mut from, context)?;
            self.record_lanes(pc, read, alike, &from, context)?;
            let pattern = global_pattern(&sources, alike, bytes);
            (sectors, least_sectors) = (sectors + pattern.sectors, least_sectors + pattern.ideal_sectors);
            rest &= !alike;
        }
        if reads != 0 {
            context.counts[pc].add_source(sectors, least_sectors);
        }
        let written = WarpAccess { space: Space::Shared, access: Access::Write, ..read };
        self.find_lanes(written, &targets, active, &mut to, context)?;
        let pattern = shared_pattern(&targets, active, copy.bytes);
        context.counts[pc].add_access(pattern.wavefronts, pattern.ideal_wavefronts);
        for lane in lanes_of(active) {
            let mut data = [0; 16];
            if reads >> lane & 1 == 1 {
                let (memory, offset) = from.of(lane);
                context.region(memory, self).read(offset, &mut data[..sizes[lane]]);
            }
            self.copies.begin(lane, to.of(lane), data, copy.bytes);
        }
        Ok(())
    }

    /// Finishes copies of the active lanes: all but those of the last `groups` groups.
    pub(super) fn wait_for_copies(
        &mut self,
        pc: usize,
        groups: Option<u32>,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        for Copy { lane, place: (memory, offset), data, bytes, .. } in self.copies.finish(groups, active) {
            let recorded = Recorded { pc, access: Access::Write, ordering: Ordering::default(), bytes };
            let same_value = |region: &Region, range: Range<usize>| {
                let written = range.start - offset..range.end - offset;
                range.zip(&data[written]).all(|(offset, byte)| region.load(offset, 1) as u8 == *byte)
            };
            context.record(self, lane, (memory, offset), recorded, same_value)?;
            context.region(memory, self).write(offset, &data[..bytes]);
        }
        Ok(())
    }
}

/// The asynchronous copies of a warp that are under way.
#[derive(Debug, Default)]
pub(super) struct Copies {
    copies: Vec<Copy>,
    /// The groups that each lane has ended.
    committed: [u32; LANES],
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    lane: usize,
    /// The group of its lane.
    group: u32,
    place: Found,
    data: [u8; 16],
    bytes: usize,
}

impl Copies {
    pub(super) fn clear(&mut self) {
        self.copies.clear();
        self.committed = [0; LANES];
    }

    fn begin(&mut self, lane: usize, place: Found, data: [u8; 16], bytes: usize) {
        self.copies.push(Copy { lane, group: self.committed[lane], place, data, bytes });
    }

    pub(super) fn commit(&mut self, active: u32) {
        lanes_of(active).for_each(|lane| self.committed[lane] += 1);
    }

    pub(super) fn forget(&mut self, lanes: u32) {
        self.copies.retain(|copy| lanes >> copy.lane & 1 == 0);
    }

    /// Takes the copies that must be done once at most the last `groups` groups are under way; all of them if None.
    fn finish(&mut self, groups: Option<u32>, active: u32) -> Vec<Copy> {
        let committed = self.committed;
        let is_due = |copy: &mut Copy| {
            let due = groups.is_none_or(|groups| copy.group.saturating_add(groups) < committed[copy.lane]);
            active >> copy.lane & 1 == 1 && due
        };
        self.copies.extract_if(.., is_due).collect()
    }
}
