//! GPU memory and page-locked host memory, with a pool of freed blocks of each.

use std::collections::VecDeque;
use std::ptr::NonNull;

use cust::sys::{self, CUdeviceptr};

use super::status::succeed;
use crate::DriverError;

pub(super) const OUT_OF_MEMORY: u32 = sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32;
/// Maximum number of kept blocks, which bounds the search for one of the right size.
const MAX_BLOCKS: usize = 256;

/// A driver allocation of at least one byte. Dropping it frees the memory; the context must be
/// current then.
pub(super) trait Allocation: Sized {
    /// Allocates `bytes` bytes, at least one, in the current context.
    fn allocate(bytes: usize) -> Result<Self, DriverError>;

    fn bytes(&self) -> usize;
}

/// An allocation in the GPU's global memory. The driver waits until no kernel uses it before it
/// frees it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) address: CUdeviceptr,
    bytes: usize,
}

impl Allocation for Block {
    #[allow(unsafe_code)]
    fn allocate(bytes: usize) -> Result<Self, DriverError> {
        let mut address = 0;
        // SAFETY: `address` is a valid out-pointer.
        succeed(unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) })?;
        Ok(Self { address, bytes })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `allocate` allocated it, and only this call frees it. A failure cannot be
        // reported here, and recurs in the next call.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// An allocation of page-locked host memory. No copy uses it when it is dropped, since copies from
/// and to this kind of memory have finished when the driver returns.
#[derive(Debug)]
pub(super) struct LockedBlock {
    /// Aligned to a page.
    pub(super) memory: NonNull<u8>,
    bytes: usize,
}

impl Allocation for LockedBlock {
    #[allow(unsafe_code)]
    fn allocate(bytes: usize) -> Result<Self, DriverError> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: `memory` is a valid out-pointer.
        succeed(unsafe { sys::cuMemAllocHost_v2(&raw mut memory, bytes) })?;
        let memory = NonNull::new(memory.cast()).expect("the driver allocates no memory at address 0");
        Ok(Self { memory, bytes })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for LockedBlock {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: as for a `Block`.
        let _ = unsafe { sys::cuMemFreeHost(self.memory.as_ptr().cast()) };
    }
}

/// Blocks freed by buffers, kept for later buffers of exactly the same size. `cuMemAlloc` and
/// `cuMemFree` take longer than small kernels, and `cuMemFree` waits for all kernels.
///
/// A block may be reused while launches and copies that used it are still queued. This is sound
/// because everything that a device does with a buffer is ordered: its launches, graphs and
/// asynchronous copies are in one stream, or between two points of it (launches at once). Other copies and fills are in the legacy default stream,
/// and the two streams wait for each other. A device belongs to one thread and does not share its
/// pool.
#[derive(Debug)]
pub(super) struct Pool<A> {
    /// Oldest first.
    kept: VecDeque<A>,
    kept_bytes: usize,
    max_bytes: usize,
}

impl<A: Allocation> Pool<A> {
    /// A pool that keeps at most `max_bytes` bytes; 0 disables it.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { kept: VecDeque::new(), kept_bytes: 0, max_bytes }
    }

    /// A block of `bytes` bytes, at least one: a kept one, or a new one in the current context. If
    /// there is no memory for a new one, the kept blocks are freed.
    pub(super) fn allocate(&mut self, bytes: usize) -> Result<A, DriverError> {
        // The most recent block is the most likely to be in the L2 cache.
        let place = self.kept.iter().rposition(|block| block.bytes() == bytes);
        if let Some(block) = place.and_then(|place| self.kept.remove(place)) {
            self.kept_bytes -= bytes;
            return Ok(block);
        }
        match A::allocate(bytes) {
            Err(error) if error.code == OUT_OF_MEMORY && !self.kept.is_empty() => {
                self.clear();
                A::allocate(bytes)
            }
            allocated => allocated,
        }
    }

    /// Keeps a block, and frees the oldest ones if a limit is exceeded. The context must be
    /// current.
    pub(super) fn keep(&mut self, block: A) {
        self.kept_bytes += block.bytes();
        self.kept.push_back(block);
        while self.kept_bytes > self.max_bytes || self.kept.len() > MAX_BLOCKS {
            let oldest = self.kept.pop_front().expect("there are bytes, or more than none");
            self.kept_bytes -= oldest.bytes();
        }
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.kept_bytes = 0;
    }
}
