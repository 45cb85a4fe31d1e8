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

/// Maximum number of bytes copied at once. The size of a bulk copy is a multiple of it.
pub(super) const PIECE: usize = 16;

/// Up to 16 bytes that a copy writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    data: [u8; PIECE],
    pub(super) bytes: usize,
    /// The unwritten bytes: bit i is byte i.
    pub(super) unwritten: u16,
}

impl Piece {
    /// The piece with these bytes. Higher bits of `unwritten` are ignored.
    pub(super) fn new(bytes: &[u8], unwritten: u16) -> Self {
        let mut data = [0; PIECE];
        data[..bytes.len()].copy_from_slice(bytes);
        let of_bytes = u16::MAX.checked_shr((PIECE - bytes.len()) as u32).unwrap_or(0);
        Self { data, bytes: bytes.len(), unwritten: unwritten & of_bytes }
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.data[..self.bytes]
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCopy {
    pub(super) lane: usize,
    /// Index of the lane's group that the copy belongs to.
    group: u32,
    pub(super) target: LaneAddress,
    pub(super) written: Piece,
    /// Source address and number of bytes.
    source: Option<(LaneAddress, usize)>,
}

impl PendingCopy {
    /// The accesses of the copy while it is in flight: address, number of bytes, and the bytes it
    /// writes.
    pub(super) fn accesses(&self) -> [(LaneAddress, usize, Option<&[u8]>); 2] {
        let (source, bytes) = self.source.unwrap_or((self.target, 0));
        [(self.target, self.written.bytes, Some(self.written.data())), (source, bytes, None)]
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

    /// Begins a copy that writes to a target, and reads this many bytes from a source until it
    /// ends.
    pub(super) fn begin(
        &mut self,
        lane: usize,
        target: LaneAddress,
        written: Piece,
        source: Option<(LaneAddress, usize)>,
    ) -> PendingCopy {
        let copy = PendingCopy { lane, group: self.committed[lane], target, written, source };
        self.copies.push(copy);
        copy
    }

    /// Begins tracking a read by a copy, without its write.
    pub(super) fn begin_read(&mut self, lane: usize, source: LaneAddress, bytes: usize) -> PendingCopy {
        self.begin(lane, source, Piece::new(&[], 0), Some((source, bytes)))
    }

    pub(super) fn commit(&mut self, active: u32) {
        lanes_of(active).for_each(|lane| self.committed[lane] += 1);
    }

    /// Removes and returns the copies of these lanes.
    pub(super) fn discard(&mut self, lanes: u32) -> Vec<PendingCopy> {
        self.copies.extract_if(.., |copy| lanes >> copy.lane & 1 == 1).collect()
    }

    /// Removes and returns the copies that must complete before only the last `groups` groups are
    /// in flight. `None` selects all copies.
    pub(super) fn finish(&mut self, groups: Option<u32>, active: u32) -> Vec<PendingCopy> {
        let committed = self.committed;
        let is_due = |copy: &mut PendingCopy| {
            let due = groups.is_none_or(|groups| copy.group.saturating_add(groups) < committed[copy.lane]);
            active >> copy.lane & 1 == 1 && due
        };
        self.copies.extract_if(.., is_due).collect()
    }
}
