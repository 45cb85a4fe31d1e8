//! Address ranges in a memory.

use std::fmt;
use std::sync::Arc;

use super::AccessError;
use crate::syntax::Space;

/// A named address range: an allocation, a variable or a block's dynamic shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Name in messages, such as "allocation 3".
    pub name: Arc<str>,
    /// The state space.
    pub space: Space,
    /// First address within the space.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl Extent {
    /// The address after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Offset of an access from the start; None if the access is not entirely inside.
    #[inline]
    pub fn offset_of(&self, address: u64, bytes: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.start);
        (offset <= self.bytes && bytes as u64 <= self.bytes - offset).then_some(offset as usize)
    }

    /// As `offset_of`, with an error.
    ///
    /// # Errors
    /// [`AccessError::OutOfBounds`], which says by how much the access misses.
    #[inline]
    pub fn check(&self, address: u64, bytes: usize) -> Result<usize, AccessError> {
        self.offset_of(address, bytes).ok_or_else(|| AccessError::OutOfBounds { address, bytes, nearest: self.clone() })
    }

    /// Number of bytes between an access and the extent; 0 if they touch or overlap.
    pub(super) fn distance(&self, address: u64, bytes: usize) -> u64 {
        let before = self.start.saturating_sub(address.saturating_add(bytes as u64));
        before.max(address.saturating_sub(self.end()))
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {:#x})", self.name, self.bytes, self.start)
    }
}
