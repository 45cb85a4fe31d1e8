//! Memory for blocks that are too large to be served from what the program has used before.
//!
//! Idea: a large block comes from the operating system page by page, each at its first touch, which costs a fault and the
//! clearing of the page. With pages of 2 MiB instead of 4 KiB there are 512 times fewer faults. Where Linux is set to
//! give such pages to those who ask (`transparent_hugepage/enabled` is `madvise`, the usual default), this asks.
//!
//! The block is still the global allocator's, with the layout that a `Vec` frees: only a wish about its whole pages is sent to
//! the kernel, and nothing depends on whether that is granted.

use std::marker::PhantomData;
use std::mem;
use std::sync::Mutex;

use bytemuck::Pod;

/// Blocks of fewer bytes are left alone: they hold at most one large page, and are usually used again without any fault.
const SMALLEST: usize = 4 << 20;

/// A block of more bytes lies in memory that the system has just cleared: glibc maps such blocks for themselves, and anew each
/// time (`DEFAULT_MMAP_THRESHOLD_MAX`).
pub const ALWAYS_NEW: usize = 32 << 20;

/// The size of a large page.
const LARGE_PAGE: usize = 2 << 20;

/// An empty vector with room for `capacity` elements, in large pages where the system has them and the block is worth it.
///
/// A block of many megabytes gets room for one large page more, which is not touched: the block's last elements lie in a large
/// page, too, since all of that page is the block's. Measured at 64 MB: 255 small pages fewer, 0.3 of 7.5 ms.
pub fn vec_with_capacity<T>(capacity: usize) -> Vec<T> {
    let bytes = capacity.saturating_mul(size_of::<T>());
    let spare = if bytes > ALWAYS_NEW { LARGE_PAGE / size_of::<T>().max(1) } else { 0 };
    let mut vector = Vec::with_capacity(capacity.saturating_add(spare));
    let room = vector.spare_capacity_mut();
    if size_of_val(room) >= SMALLEST {
        ask_for_large_pages(room);
    }
    vector
}

/// So many zero bytes, in large pages where the system has them and the block is worth it.
pub fn zero_bytes(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    if length >= SMALLEST {
        ask_for_large_pages(&mut bytes);
    }
    bytes
}

/// Elements that a computation needs for itself, from a cache line on. They start as anything: what an earlier computation
/// left, or zero.
///
/// The largest one's memory, up to [`ALWAYS_NEW`], is kept until the next needs it, as BLAS libraries keep theirs. Freed
/// together with a result of the same size, it would be more than the allocator holds back: each call would get its pages
/// anew, cleared (X·Xᵀ for 1000 × 1000 in f32: 2000 faults and a third of the time).
#[derive(Debug)]
pub struct Scratch<F> {
    bytes: Vec<u8>,
    /// The bytes before the first element.
    skipped: usize,
    length: usize,
    element: PhantomData<F>,
}

/// The memory of a [`Scratch`] that is over.
static KEPT: Mutex<Vec<u8>> = Mutex::new(vec![]);

impl<F: Pod> Scratch<F> {
    /// So many elements.
    pub fn of_length(length: usize) -> Self {
        const LINE: usize = 64;
        let needed = length * size_of::<F>() + LINE;
        let kept = KEPT.lock().ok().filter(|kept| kept.len() >= needed).map(|mut kept| mem::take(&mut *kept));
        let bytes = kept.unwrap_or_else(|| zero_bytes(needed));
        let skipped = bytes.as_ptr().align_offset(LINE).min(LINE);
        Self { bytes, skipped, length, element: PhantomData }
    }

    /// The elements.
    pub fn as_slice(&self) -> &[F] {
        bytemuck::cast_slice(&self.bytes[self.skipped..][..self.length * size_of::<F>()])
    }

    /// The elements.
    pub fn as_mut_slice(&mut self) -> &mut [F] {
        bytemuck::cast_slice_mut(&mut self.bytes[self.skipped..][..self.length * size_of::<F>()])
    }
}

impl<F> Drop for Scratch<F> {
    fn drop(&mut self) {
        let Ok(mut kept) = KEPT.lock() else { return };
        if (kept.len() + 1..=ALWAYS_NEW).contains(&self.bytes.len()) {
            mem::swap(&mut *kept, &mut self.bytes);
        }
    }
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(room: &mut [T]) {
    /// A multiple of the size of a page, whatever that is: `madvise` refuses an address within a page.
    const PAGE: usize = 64 << 10;
    let bytes = size_of_val(room);
    let first = room.as_mut_ptr().cast::<u8>();
    let skipped = first.align_offset(PAGE).min(bytes);
    let length = (bytes - skipped) / PAGE * PAGE;
    let start = first.wrapping_add(skipped);
    #[allow(unsafe_code)]
    // SAFETY: the range lies inside `room`, and MADV_HUGEPAGE changes neither its contents nor whether it is mapped. A
    // refusal needs no answer: then the pages are small.
    let _refused = unsafe { libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_room: &mut [T]) {}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn there_is_room_for_all_elements_and_it_can_be_written_and_freed() {
        for capacity in
            [0, 1, 1000, SMALLEST / 4 - 1, SMALLEST / 4, SMALLEST / 4 + 12_345, 3 * SMALLEST, ALWAYS_NEW / 4 + 1]
        {
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
        for length in [0, 1, SMALLEST - 1, SMALLEST, SMALLEST + (1 << 20) + 3] {
            let mut bytes = zero_bytes(length);
            assert!(bytes.len() == length && bytes.iter().all(|&byte| byte == 0), "{length}");
            bytes.fill(7);
            assert!(bytes.iter().all(|&byte| byte == 7), "{length}");
        }
    }

    #[test]
    fn scratch_has_its_length_from_a_cache_line_on_whatever_was_there_before() {
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
                        assert!(scratch.as_slice().iter().copied().eq(values()), "{length}: another's memory");
                    }
                });
            }
        });
        assert_eq!(KEPT.lock().unwrap().len(), 8 * LARGEST_KEPT + 64);
    }
}
