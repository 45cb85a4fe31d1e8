//! Address assignment for the variables of one state space.

use super::error::Problem;
use crate::limits::max_bytes;
use crate::memory::{AccessError, Extent, first_address, window_bytes};
use crate::syntax::Space;

/// Unallocated bytes between two variables, to detect an access past a variable's end.
const GAP: u64 = 256;

/// Size of the largest access in bytes.
const MAX_ACCESS_BYTES: usize = 16;

/// The variables of a state space, in ascending order of address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    space: Space,
    extents: Vec<Extent>,
    /// Size of all variables in bytes, without gaps.
    bytes: u64,
    /// Size with the aligned variables packed one after the other.
    packed: u64,
    end: u64,
}

impl Ranges {
    /// An empty list for a state space.
    pub(crate) fn new(space: Space) -> Self {
        Self { space, extents: Vec::new(), bytes: 0, packed: 0, end: first_address(space) }
    }

    /// Appends a variable after a gap and returns its address. Up to the largest access size, the
    /// address has no more alignment than the variable. An access that requires more is therefore
    /// detected and does not succeed by chance.
    ///
    /// # Errors
    /// If the space cannot hold the variable.
    pub(crate) fn append(&mut self, name: &str, bytes: usize, align: usize) -> Result<u64, Problem> {
        let (gap, align) = (if self.extents.is_empty() { 0 } else { GAP }, align.max(1));
        let start = (self.end + gap).next_multiple_of(align as u64);
        let is_overaligned = align < MAX_ACCESS_BYTES && start.is_multiple_of(2 * align as u64);
        self.append_at(name, bytes, align, gap + if is_overaligned { align as u64 } else { 0 })
    }

    /// Appends a parameter without a gap before it.
    ///
    /// # Errors
    /// If the space cannot hold the variable.
    pub(crate) fn append_packed(&mut self, name: &str, bytes: usize, align: usize) -> Result<u64, Problem> {
        self.append_at(name, bytes, align, 0)
    }

    fn append_at(&mut self, name: &str, bytes: usize, align: usize, gap: u64) -> Result<u64, Problem> {
        let (space, limit) = (self.space, max_bytes(self.space));
        let all = self.bytes.saturating_add(bytes as u64);
        if all > limit {
            return Err(Problem::TooLarge { space, bytes: all, limit });
        }
        let start = (self.end + gap).next_multiple_of(align.max(1) as u64);
        let end = start + bytes as u64;
        // The window includes the gaps, so many small variables can exceed it before the limit.
        let (span, window) = (end - first_address(space), window_bytes(space));
        if span > window {
            return Err(Problem::TooLarge { space, bytes: span, limit: window });
        }
        self.extents.push(Extent { name: name.into(), space, start, bytes: bytes as u64, element: None });
        self.packed = self.packed.next_multiple_of(align.max(1) as u64) + bytes as u64;
        (self.bytes, self.end) = (all, end);
        Ok(start)
    }

    /// The address of a variable.
    pub(crate) fn start_of(&self, name: &str) -> Option<u64> {
        self.extents.iter().find(|extent| &*extent.name == name).map(|extent| extent.start)
    }

    /// The variable that contains all bytes of an access.
    ///
    /// # Errors
    /// If no variable does. Names the one that the access most likely missed.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: usize) -> Result<&Extent, AccessError> {
        match self.extents.iter().find(|extent| extent.offset_of(address, bytes).is_some()) {
            Some(extent) => Ok(extent),
            None => Err(self.miss(address, bytes)),
        }
    }

    #[cold]
    fn miss(&self, address: u64, bytes: usize) -> AccessError {
        // An index past the end of a variable hits an address after that variable.
        let before = self.extents.iter().rev().find(|extent| extent.start <= address);
        match before.or(self.extents.first()) {
            Some(nearest) if address >= first_address(self.space) / 2 => {
                AccessError::OutOfBounds { address, bytes, nearest: nearest.clone() }
            }
            _ => AccessError::NoAllocation { address, bytes, space: self.space },
        }
    }

    /// Number of bytes from the first address to the end of the last variable, including gaps.
    pub(crate) fn bytes(&self) -> usize {
        (self.end - first_address(self.space)) as usize
    }

    /// Size of the aligned variables, packed one after the other.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.packed as usize
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Extent> {
        self.extents.iter()
    }
}
