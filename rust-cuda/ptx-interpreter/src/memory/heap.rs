//! The heap of a device, for `malloc` in kernels.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use super::Region;

/// Alignment of a block in bytes, and size of the gap after it.
const GRANULE: usize = 32;

/// The reason why a pointer cannot be freed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BadFree {
    /// No allocated block begins there.
    #[error("where no block of the heap begins that is in use: was it freed before?")]
    NoBlock,
    /// The pointer does not point to the heap.
    #[error("which is not on the heap: malloc has not returned it")]
    NotOnHeap,
}

/// The heap: one allocation of global memory, divided into blocks that kernels allocate and free.
#[derive(Debug)]
pub struct Heap {
    start: u64,
    region: Arc<Region>,
    blocks: Mutex<Blocks>,
}

/// Sizes by offset: of the blocks, without the gap after each, and of the free ranges between them.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    used: BTreeMap<usize, usize>,
    gaps: BTreeMap<usize, usize>,
}

impl Heap {
    /// Creates a heap without blocks in a region that begins at an address.
    pub(super) fn new(start: u64, region: Arc<Region>) -> Self {
        let gaps = BTreeMap::from([(0, region.bytes())]);
        Self { start, region, blocks: Mutex::new(Blocks { used: BTreeMap::new(), gaps }) }
    }

    /// Start address of the heap's allocation.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Allocates a block of uninitialized bytes. Returns its offset in the heap, a multiple of 32,
    /// or `None` if there is no room.
    pub fn allocate(&self, bytes: usize) -> Option<usize> {
        let mut blocks = self.blocks();
        // An empty block also has its own address.
        let taken = bytes.max(1).checked_next_multiple_of(GRANULE)?.checked_add(GRANULE)?;
        let (offset, gap) = blocks.gaps.iter().find(|(_, gap)| **gap >= taken).map(|(offset, gap)| (*offset, *gap))?;
        blocks.gaps.remove(&offset);
        if gap > taken {
            blocks.gaps.insert(offset + taken, gap - taken);
        }
        blocks.used.insert(offset, bytes);
        self.region.mark_uninitialised(offset, taken);
        Some(offset)
    }

    /// Frees the block that begins at an address. Its bytes become uninitialized.
    ///
    /// # Errors
    /// If no block begins there.
    pub fn free(&self, address: u64) -> Result<(), BadFree> {
        let offset = address.checked_sub(self.start).filter(|offset| *offset < self.region.bytes() as u64);
        let mut offset = offset.ok_or(BadFree::NotOnHeap)? as usize;
        let mut blocks = self.blocks();
        let bytes = blocks.used.remove(&offset).ok_or(BadFree::NoBlock)?;
        let mut gap = bytes.max(1).next_multiple_of(GRANULE) + GRANULE;
        self.region.mark_uninitialised(offset, gap);
        if let Some(after) = blocks.gaps.remove(&(offset + gap)) {
            gap += after;
        }
        let before = blocks.gaps.range(..offset).next_back().map(|(start, bytes)| (*start, *bytes));
        if let Some((start, bytes)) = before.filter(|(start, bytes)| start + bytes == offset) {
            blocks.gaps.remove(&start);
            (offset, gap) = (start, bytes + gap);
        }
        blocks.gaps.insert(offset, gap);
        Ok(())
    }

    /// The blocks, for a snapshot.
    pub(super) fn copy(&self) -> Blocks {
        self.blocks().clone()
    }

    /// Restores the blocks of a snapshot.
    pub(super) fn restore(&self, blocks: &Blocks) {
        self.blocks().clone_from(blocks);
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(bytes: usize) -> Heap {
        Heap::new(1 << 40, Arc::new(Region::new(bytes)))
    }

    #[test]
    fn blocks_do_not_overlap_and_are_used_again() {
        let heap = heap(4096);
        let mut live: Vec<(usize, usize)> = Vec::new();
        for round in 0..2000_usize {
            let bytes = round * 7919 % 300;
            match heap.allocate(bytes) {
                Some(offset) => {
                    assert!(offset % GRANULE == 0 && offset + bytes < 4096);
                    let apart = |&(other, size): &(usize, usize)| offset + bytes < other || other + size < offset;
                    assert!(live.iter().all(apart), "round {round}");
                    heap.region.mark_initialised(offset, bytes);
                    live.push((offset, bytes));
                }
                None => {
                    let (offset, bytes) = live.swap_remove(round * 31 % live.len());
                    assert_eq!(heap.free(heap.start + offset as u64), Ok(()));
                    assert!(bytes == 0 || !heap.region.is_initialised(offset, 1));
                    assert_eq!(heap.free(heap.start + offset as u64), Err(BadFree::NoBlock));
                }
            }
        }
        live.iter().for_each(|(offset, _)| heap.free(heap.start + *offset as u64).unwrap());
        assert_eq!(heap.blocks().gaps, BTreeMap::from([(0, 4096)]));
        assert_eq!(heap.allocate(4096 - GRANULE), Some(0));
        assert_eq!(heap.allocate(1), None);
    }

    #[test]
    fn only_the_start_of_a_block_is_freed() {
        let heap = heap(1 << 10);
        let block = heap.start + heap.allocate(100).unwrap() as u64;
        for address in [0, heap.start - 32, heap.start + 1024, u64::MAX] {
            assert_eq!(heap.free(address), Err(BadFree::NotOnHeap));
        }
        assert_eq!(heap.free(block + 32), Err(BadFree::NoBlock));
        assert_eq!(heap.free(block), Ok(()));
        assert_eq!(heap.allocate(usize::MAX), None);
    }
}
