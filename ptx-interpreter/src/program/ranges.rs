//! The variables of one space and where they lie.

use super::error::Problem;
use crate::limits::max_bytes;
use crate::memory::{AccessError, Extent, first_address, window_bytes};
use crate::syntax::Space;

/// The bytes between two variables that belong to none, so that an access beyond a variable's end is found.
const GAP: u64 = 256;

/// The bytes of the largest access.
const MOST_ACCESS: usize = 16;

/// Variables in the order of their addresses, which are those within the space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    space: Space,
    extents: Vec<Extent>,
    /// The bytes of all variables, without gaps.
    bytes: u64,
    end: u64,
}

impl Ranges {
    /// No variables of this space yet.
    pub(crate) fn new(space: Space) -> Self {
        Self { space, extents: Vec::new(), bytes: 0, end: first_address(space) }
    }

    /// Appends a variable after a gap and returns its address, which is a multiple of its alignment and of no more: an
    /// access that needs more is found, and does not succeed by chance.
    ///
    /// # Errors
    /// If the space cannot hold it.
    pub(crate) fn append(&mut self, name: &str, bytes: usize, align: usize) -> Result<u64, Problem> {
        let (gap, align) = (if self.extents.is_empty() { 0 } else { GAP }, align.max(1));
        let start = (self.end + gap).next_multiple_of(align as u64);
        let is_more = align < MOST_ACCESS && start.is_multiple_of(2 * align as u64);
        self.append_at(name, bytes, align, gap + if is_more { align as u64 } else { 0 })
    }

    /// Appends a parameter, which follows the one before it.
    ///
    /// # Errors
    /// If the space cannot hold it.
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
        // The gaps count here, which only very many variables fill it with.
        let (span, window) = (end - first_address(space), window_bytes(space));
        if span > window {
            return Err(Problem::TooLarge { space, bytes: span, limit: window });
        }
        self.extents.push(Extent { name: name.into(), space, start, bytes: bytes as u64 });
        (self.bytes, self.end) = (all, end);
        Ok(start)
    }

    /// The address of a variable.
    pub(crate) fn start_of(&self, name: &str) -> Option<u64> {
        self.extents.iter().find(|extent| &*extent.name == name).map(|extent| extent.start)
    }

    /// The variable in which an access lies.
    ///
    /// # Errors
    /// Which variable the access misses.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: usize) -> Result<&Extent, AccessError> {
        match self.extents.iter().find(|extent| extent.offset_of(address, bytes).is_some()) {
            Some(extent) => Ok(extent),
            None => Err(self.miss(address, bytes)),
        }
    }

    #[cold]
    fn miss(&self, address: u64, bytes: usize) -> AccessError {
        // The variable that begins last before the address is the one that an index ran out of.
        let before = self.extents.iter().rev().find(|extent| extent.start <= address);
        match before.or(self.extents.first()) {
            Some(nearest) if address >= first_address(self.space) / 2 => {
                AccessError::OutOfBounds { address, bytes, nearest: nearest.clone() }
            }
            _ => AccessError::NoAllocation { address, bytes, space: self.space },
        }
    }

    /// The bytes from the first address to the end of the last variable.
    pub(crate) fn bytes(&self) -> usize {
        (self.end - first_address(self.space)) as usize
    }

    /// The bytes that the variables take without gaps, each aligned to 16.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.extents.iter().map(|extent| extent.bytes.next_multiple_of(16) as usize).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Extent> {
        self.extents.iter()
    }
}
