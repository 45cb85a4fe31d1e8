//! Asking for memory before it is needed.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

/// Asks for a slice to be brought into the first-level cache, for what will be read soon from places that the processor
/// cannot foresee. Nothing happens on processors other than x86-64.
#[inline]
pub fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    prefetch_by::<{ _MM_HINT_T0 }, T>(slice);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// As [`prefetch`], into the second-level cache: for what will be read next, while the first level is in use.
#[inline]
pub fn prefetch_for_later<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    prefetch_by::<{ _MM_HINT_T1 }, T>(slice);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch_by<const HINT: i32, T>(slice: &[T]) {
    for offset in (0..size_of_val(slice)).step_by(64) {
        // SAFETY: the offset is below the slice's size, so that the address lies in it; a prefetch reads nothing anyway.
        unsafe { _mm_prefetch::<HINT>(slice.as_ptr().cast::<i8>().add(offset)) };
    }
}

/// Has the cache line of `place` fetched, as if it were going to be written, without waiting for it. Any address will do: where
/// there is no memory, nothing happens.
#[inline(always)]
pub fn prefetch_for_writing<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch reads nothing that the program sees, and never faults.
    unsafe {
        _mm_prefetch::<_MM_HINT_ET0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
