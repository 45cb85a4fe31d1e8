//! An allocator that counts what a case holds, and rejects more than a case may have, as a machine with less memory
//! would.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that a case may hold at once.
pub(crate) const LIMIT: usize = 1 << 30;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// What was held when the case began.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
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

// SAFETY: every call is handed to the system's allocator as it came, or answered by null, which means "no memory".
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !admit(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !admit(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise that `pointer` is of this allocator, which is the system's, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old block counts until the new one is there: the system may have to hold both.
        if !admit(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `pointer`, `layout` and `size`.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        HELD.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}

/// Counts from here on.
pub(crate) fn begin_case() {
    let held = HELD.load(Relaxed);
    BASE.store(held, Relaxed);
    PEAK.store(held, Relaxed);
}

/// The most that the case held at once, beside what was there before.
pub(crate) fn peak_of_case() -> usize {
    PEAK.load(Relaxed).saturating_sub(BASE.load(Relaxed))
}
