//! The asynchronous copies of a warp that are in flight.

use super::lane_addresses::LaneAddress;
use super::lanes::lanes_of;
use crate::semantics::LANES;

/// The asynchronous copies of a warp that are in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCopies {
    copies: Vec<PendingCopy>,
    /// Number of groups that each lane has committed.
    committed: [u32; LANES],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCopy {
    pub(super) lane: usize,
    /// Index of the lane's group that the copy belongs to.
    group: u32,
    pub(super) target: LaneAddress,
    pub(super) data: [u8; 16],
    /// The bytes of `data` that nothing has written: bit i is byte i.
    pub(super) unwritten: u16,
    pub(super) bytes: usize,
    /// Where it reads, and the number of bytes.
    source: Option<(LaneAddress, usize)>,
}

impl PendingCopy {
    /// What it accesses while it is in flight: where, the number of bytes, and what it writes.
    pub(super) fn accesses(&self) -> [(LaneAddress, usize, Option<&[u8]>); 2] {
        let (source, bytes) = self.source.unwrap_or((self.target, 0));
        [(self.target, self.bytes, Some(&self.data[..self.bytes])), (source, bytes, None)]
    }
}

impl PendingCopies {
    /// Size of the copies in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.copies)
    }

    pub(super) fn clear(&mut self) {
        self.copies.clear();
        self.committed = [0; LANES];
    }

    /// Begins a copy to `bytes` bytes of a target.
    pub(super) fn begin(
        &mut self,
        lane: usize,
        (target, bytes): (LaneAddress, usize),
        source: Option<(LaneAddress, usize)>,
        (data, unwritten): ([u8; 16], u16),
    ) -> PendingCopy {
        let copy = PendingCopy { lane, group: self.committed[lane], target, data, unwritten, bytes, source };
        self.copies.push(copy);
        copy
    }

    pub(super) fn commit(&mut self, active: u32) {
        lanes_of(active).for_each(|lane| self.committed[lane] += 1);
    }

    /// Removes and returns the copies of these lanes.
    pub(super) fn discard(&mut self, lanes: u32) -> Vec<PendingCopy> {
        self.copies.extract_if(.., |copy| lanes >> copy.lane & 1 == 1).collect()
    }

    /// Removes and returns the copies that must complete so that only the last `groups` groups are in flight; all of
    /// them if None.
    pub(super) fn finish(&mut self, groups: Option<u32>, active: u32) -> Vec<PendingCopy> {
        let committed = self.committed;
        let is_due = |copy: &mut PendingCopy| {
            let due = groups.is_none_or(|groups| copy.group.saturating_add(groups) < committed[copy.lane]);
            active >> copy.lane & 1 == 1 && due
        };
        self.copies.extract_if(.., is_due).collect()
    }
}
