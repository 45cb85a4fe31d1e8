//! Large allocations in huge pages, and scratch memory that is kept between calls.
//!
//! Idea: the operating system maps a large block page by page at the first touch. Each page costs a
//! page fault and has to be cleared. Pages of 2 MiB instead of 4 KiB cause 512 times fewer faults.
//! If Linux provides such pages only on request (`transparent_hugepage/enabled` is `madvise`, the
//! usual default), this module requests them.
//!
//! The block still belongs to the global allocator, with the layout that a `Vec` frees. `madvise`
//! is only a hint for the block's whole pages. No result depends on whether the kernel follows it.

use std::marker::PhantomData;
use std::mem;
use std::sync::Mutex;

use bytemuck::Pod;

/// Minimum size in bytes of a block for which huge pages are requested. A smaller block holds at
/// most one huge page, and the allocator usually reuses it without faults.
const MIN_BYTES: usize = 4 << 20;

/// Size in bytes above which a block is always freshly mapped memory that the system has cleared.
/// glibc maps each such block separately, and again at each allocation
/// (`DEFAULT_MMAP_THRESHOLD_MAX`).
pub const MMAP_THRESHOLD_MAX: usize = 32 << 20;

/// The size of a huge page in bytes.
const LARGE_PAGE: usize = 2 << 20;

/// Returns an empty vector with room for `capacity` elements, in huge pages if the system has them
/// and the block is large enough.
///
/// A block above [`MMAP_THRESHOLD_MAX`] bytes is allocated one huge page larger than needed. The
/// extra page is never touched. It lets the block's last elements be in a huge page too, because
/// that page then belongs to the block entirely.
pub fn vec_with_capacity<T>(capacity: usize) -> Vec<T> {
    let bytes = capacity.saturating_mul(size_of::<T>());
    let spare = if bytes > MMAP_THRESHOLD_MAX { LARGE_PAGE / size_of::<T>().max(1) } else { 0 };
    let mut vector = Vec::with_capacity(capacity.saturating_add(spare));
    let room = vector.spare_capacity_mut();
    if size_of_val(room) >= MIN_BYTES {
        ask_for_large_pages(room);
    }
    vector
}

/// Returns `length` zero bytes, in huge pages if the system has them and the block is large enough.
pub fn zero_bytes(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    if length >= MIN_BYTES {
        ask_for_large_pages(&mut bytes);
    }
    bytes
}

/// Working memory of a computation, aligned to a cache line. Its elements start with unspecified
/// values: zeros, or the values of an earlier computation.
///
/// The largest such memory, up to [`MMAP_THRESHOLD_MAX`], is kept for the next use, as in BLAS
/// libraries. If it were freed together with a result of the same size, the allocator would return
/// both to the system. Each call would then fault its pages in again.
#[derive(Debug)]
pub struct Scratch<F> {
    bytes: Vec<u8>,
    /// Bytes before the first element.
    skipped: usize,
    length: usize,
    element: PhantomData<F>,
}

/// The memory of the largest dropped [`Scratch`], up to [`MMAP_THRESHOLD_MAX`] bytes.
static KEPT: Mutex<Vec<u8>> = Mutex::new(vec![]);

impl<F: Pod> Scratch<F> {
    /// Scratch memory of `length` elements.
    pub fn of_length(length: usize) -> Self {
        const LINE: usize = 64;
        let needed = length * size_of::<F>() + LINE;
        let kept = KEPT.lock().ok().filter(|kept| kept.len() >= needed).map(|mut kept| mem::take(&mut *kept));
        let bytes = kept.unwrap_or_else(|| zero_bytes(needed));
        let skipped = bytes.as_ptr().align_offset(LINE).min(LINE);
        Self { bytes, skipped, length, element: PhantomData }
    }

    /// All elements.
    pub fn as_slice(&self) -> &[F] {
        bytemuck::cast_slice(&self.bytes[self.skipped..][..self.length * size_of::<F>()])
    }

    /// All elements.
    pub fn as_mut_slice(&mut self) -> &mut [F] {
        bytemuck::cast_slice_mut(&mut self.bytes[self.skipped..][..self.length * size_of::<F>()])
    }
}

impl<F> Drop for Scratch<F> {
    fn drop(&mut self) {
        let Ok(mut kept) = KEPT.lock() else { return };
        if (kept.len() + 1..=MMAP_THRESHOLD_MAX).contains(&self.bytes.len()) {
            mem::swap(&mut *kept, &mut self.bytes);
        }
    }
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(room: &mut [T]) {
    /// A multiple of every page size in use: `madvise` rejects an address that is not page-aligned.
    const PAGE: usize = 64 << 10;
    let bytes = size_of_val(room);
    let first = room.as_mut_ptr().cast::<u8>();
    let skipped = first.align_offset(PAGE).min(bytes);
    let length = (bytes - skipped) / PAGE * PAGE;
    let start = first.wrapping_add(skipped);
    #[allow(unsafe_code)]
    // SAFETY: the range is inside `room`, and MADV_HUGEPAGE changes neither its contents nor
    // whether it is mapped. An error can be ignored: the pages are then small.
    let _error = unsafe { libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_room: &mut [T]) {}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn there_is_room_for_all_elements_and_it_can_be_written_and_freed() {
        for capacity in [
            0,
            1,
            1000,
            MIN_BYTES / 4 - 1,
            MIN_BYTES / 4,
            MIN_BYTES / 4 + 12_345,
            3 * MIN_BYTES,
            MMAP_THRESHOLD_MAX / 4 + 1,
        ] {
            let mut vector = vec_with_capacity::<u32>(capacity);
            assert!(vector.is_empty() && vector.capacity() >= capacity);
            let start = vector.as_ptr();
            vector.extend(0..capacity as u32);
            assert_eq!(vector.as_ptr(), start, "{capacity}: the room was too small");
            assert!(vector.iter().copied().eq(0..capacity as u32), "{capacity}");
        }
    }

    #[test]
    fn bytes_of_every_length_are_zero_and_can_be_written() {
        for length in [0, 1, MIN_BYTES - 1, MIN_BYTES, MIN_BYTES + (1 << 20) + 3] {
            let mut bytes = zero_bytes(length);
            assert!(bytes.len() == length && bytes.iter().all(|&byte| byte == 0), "{length}");
            bytes.fill(7);
            assert!(bytes.iter().all(|&byte| byte == 7), "{length}");
        }
    }

    #[test]
    fn scratch_is_aligned_and_has_its_length_whatever_was_kept() {
        const LARGEST_KEPT: usize = 4_000_000;
        thread::scope(|scope| {
            for seed in 0..3 {
                scope.spawn(move || {
                    for length in [3, 0, 1_000_000, 17, LARGEST_KEPT, LARGEST_KEPT - 1, 5_000_000, 1] {
                        let mut scratch = Scratch::<f64>::of_length(length);
                        assert!(scratch.as_slice().as_ptr().addr().is_multiple_of(64));
                        let values = || (0..length).map(|i| (i * 7 + seed) as f64);
                        assert_eq!(scratch.as_slice().len(), length);
                        scratch.as_mut_slice().iter_mut().zip(values()).for_each(|(element, value)| *element = value);
                        assert!(scratch.as_slice().iter().copied().eq(values()), "{length}: memory of another Scratch");
                    }
                });
            }
        });
        assert_eq!(KEPT.lock().unwrap().len(), 8 * LARGEST_KEPT + 64);
    }
}
