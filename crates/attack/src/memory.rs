//! An allocator that counts the bytes allocated by a case, and fails allocations beyond a case's limit, as a machine
//! with less memory would.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Maximum of bytes that a case may hold at once.
pub(crate) const LIMIT: usize = 1 << 30;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// Bytes held when the case began.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a count of the allocated bytes.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn admit(bytes: usize) -> bool {
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    if held.saturating_sub(BASE.load(Relaxed)) > LIMIT {
        HELD.fetch_sub(bytes, Relaxed);
        return false;
    }
    PEAK.fetch_max(held, Relaxed);
    true
}

// SAFETY: every call is forwarded to the system's allocator unchanged, or returns null, which means out of memory.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !admit(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: `layout` meets the contract of `GlobalAlloc`, which the caller upholds.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !admit(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: `layout` meets the contract of `GlobalAlloc`, which the caller upholds.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller guarantees that `pointer` is from this allocator, which is the system's, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old block counts until the new one exists: the system may have to hold both.
        if !admit(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: `pointer`, `layout` and `size` meet the contract of `GlobalAlloc`, which the caller upholds.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        HELD.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}

/// Resets the base and the peak to the bytes held now.
pub(crate) fn begin_case() {
    let held = HELD.load(Relaxed);
    BASE.store(held, Relaxed);
    PEAK.store(held, Relaxed);
}

/// Maximum of bytes that the case held at once, beyond those held when it began.
pub(crate) fn peak_of_case() -> usize {
    PEAK.load(Relaxed).saturating_sub(BASE.load(Relaxed))
}
