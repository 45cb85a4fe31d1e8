//! Copies of large pageable memory through page-locked chunks.
//!
//! The GPU accesses only page-locked memory. For other memory the driver copies through its own
//! page-locked memory on one thread. Here, threads of rayon's current pool copy the next chunk on
//! the host while the GPU transfers the previous one. An upload returns when the last chunk has
//! been queued.

use std::mem::MaybeUninit;

use cust::context::{Context, CurrentContext};
use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::memory::LockedBuffer;
use cust::stream::Stream;
use cust::sys::{self, CUdeviceptr};
use rayon::prelude::*;

use super::status::succeed;
use crate::DriverError;

/// Minimum size for staging a copy. Below it the driver copies, because the calls below would take
/// as long as the copy. This is an estimate.
pub(super) const MIN_BYTES: usize = 256 << 10;
/// Bytes per chunk. By an estimate for PCIe 5 and eight threads, the GPU transfers a chunk in about
/// the time that the host needs to copy it, 20 µs. That is longer than the driver's calls take.
const CHUNK_BYTES: usize = 1 << 20;
/// Number of chunks. A download of up to this many chunks is queued at once.
const CHUNKS: usize = 4;
/// Bytes copied per task: enough to amortize its startup.
const PIECE_BYTES: usize = 128 << 10;

/// A ring of page-locked chunks.
#[derive(Debug)]
pub(super) struct Staging {
    chunks: [Chunk; CHUNKS],
    /// The least recently used chunk.
    next: usize,
}

/// The device of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) context: &'a Context,
    pub(super) stream: &'a Stream,
}

impl Target<'_> {
    fn enter(self) -> Result<(), DriverError> {
        Ok(CurrentContext::set_current(self.context)?)
    }
}

/// A ring during a copy. Dropping it waits until no transfer uses the chunks. If that cannot be
/// determined, the chunks are never freed.
#[derive(Debug)]
pub(super) struct InUse<'a> {
    staging: Option<Staging>,
    target: Target<'a>,
}

impl<'a> InUse<'a> {
    pub(super) fn new(staging: Staging, target: Target<'a>) -> Self {
        Self { staging: Some(staging), target }
    }

    /// Runs `copy`, and returns the ring if it succeeds.
    pub(super) fn copy(
        mut self,
        copy: impl FnOnce(&mut Staging, Target<'_>) -> Result<(), DriverError>,
    ) -> Result<Option<Staging>, DriverError> {
        self.staging.as_mut().map_or(Ok(()), |staging| copy(staging, self.target))?;
        Ok(self.staging.take())
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        if let Some(staging) = self.staging.take()
            && self.target.enter().and_then(|()| Ok(self.target.stream.synchronize()?)).is_err()
        {
            std::mem::forget(staging);
        }
    }
}

#[derive(Debug)]
struct Chunk {
    memory: LockedBuffer<u8>,
    /// Recorded after each transfer of the chunk.
    transferred: Event,
}

impl Staging {
    /// A ring in the current context.
    pub(super) fn new() -> CudaResult<Self> {
        let chunk = || {
            let memory = LockedBuffer::new(&0, CHUNK_BYTES)?;
            Ok(Chunk { memory, transferred: Event::new(EventFlags::DISABLE_TIMING)? })
        };
        Ok(Self { chunks: [chunk()?, chunk()?, chunk()?, chunk()?], next: 0 })
    }

    /// Copies `from` to the GPU, after the work already in the target's stream. The last transfers
    /// may still be queued on return, but `from` has been read completely.
    ///
    /// After an error, transfers may still be queued. Call no function except `drop` until the
    /// stream has none.
    ///
    /// # Safety
    /// The allocation at `to` must have room for the bytes until the stream has ended, and be in
    /// the target's context, which must be current.
    #[allow(unsafe_code)]
    pub(super) unsafe fn upload(
        &mut self,
        target: Target<'_>,
        to: CUdeviceptr,
        from: &[u8],
    ) -> Result<(), DriverError> {
        for (to, from) in (to..).step_by(CHUNK_BYTES).zip(from.chunks(CHUNK_BYTES)) {
            let Chunk { memory, transferred } = &mut self.chunks[self.next];
            // It returns at once if the event was never recorded.
            transferred.synchronize()?;
            let staged = &mut memory.as_mut_slice()[..from.len()];
            let pieces = staged.par_chunks_mut(PIECE_BYTES).zip(from.par_chunks(PIECE_BYTES));
            pieces.for_each(|(to, from)| to.copy_from_slice(from));
            // A thread that waits for others of its pool runs other tasks, which may have entered
            // another GPU's context.
            target.enter()?;
            // SAFETY: the caller promises the destination. The source is page-locked memory that
            // lives until the stream has ended: its owner drops it only then. Nothing writes to it
            // before the event below.
            succeed(unsafe {
                sys::cuMemcpyHtoDAsync_v2(to, staged.as_ptr().cast(), from.len(), target.stream.as_inner())
            })?;
            transferred.record(target.stream)?;
            self.next = (self.next + 1) % CHUNKS;
        }
        Ok(())
    }

    /// Copies from the GPU to `to`, after the work already in the target's stream, and waits until
    /// it has finished. On success, all of `to` is initialized.
    ///
    /// After an error, the same applies as for [`upload`](Self::upload).
    ///
    /// # Safety
    /// The allocation at `from` must have at least as many bytes as `to`, and be in the target's
    /// context, which must be current.
    #[allow(unsafe_code)]
    pub(super) unsafe fn download(
        &mut self,
        target: Target<'_>,
        to: &mut [MaybeUninit<u8>],
        from: CUdeviceptr,
    ) -> Result<(), DriverError> {
        let count = to.len().div_ceil(CHUNK_BYTES);
        let bytes = to.len();
        let queue = |chunk: &mut Chunk, number: usize| -> Result<(), DriverError> {
            let first = number * CHUNK_BYTES;
            let to = &mut chunk.memory.as_mut_slice()[..CHUNK_BYTES.min(bytes - first)];
            let from = from + first as u64;
            // SAFETY: the caller promises the source. The destination is page-locked memory that
            // lives until the stream has ended, has this many bytes, and is not read before the
            // event below. An earlier transfer of the chunk precedes this one in the stream.
            succeed(unsafe {
                sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), target.stream.as_inner())
            })?;
            Ok(chunk.transferred.record(target.stream)?)
        };
        let first = self.next;
        for number in 0..count.min(CHUNKS) {
            queue(&mut self.chunks[(first + number) % CHUNKS], number)?;
        }
        for (number, to) in to.chunks_mut(CHUNK_BYTES).enumerate() {
            let chunk = &mut self.chunks[(first + number) % CHUNKS];
            chunk.transferred.synchronize()?;
            let pieces = to.par_chunks_mut(PIECE_BYTES).zip(chunk.memory.as_slice().par_chunks(PIECE_BYTES));
            pieces.for_each(|(to, from)| {
                to.write_copy_of_slice(&from[..to.len()]);
            });
            // As in `upload`.
            target.enter()?;
            if number + CHUNKS < count {
                queue(chunk, number + CHUNKS)?;
            }
        }
        self.next = (first + count) % CHUNKS;
        Ok(())
    }
}
