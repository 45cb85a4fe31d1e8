//! Asking for memory before it is needed.

/// Asks for a slice to be brought into the first-level cache, for what will be read soon from places that the processor
/// cannot foresee. Nothing happens on processors other than x86-64.
#[inline]
#[allow(unsafe_code)]
pub fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(slice)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the offset is below the slice's size, so that the address lies in it; a prefetch reads nothing anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().cast::<i8>().add(offset)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// Has the cache line of `place` fetched, as if it were going to be written, without waiting for it. Any address will do: where
/// there is no memory, nothing happens.
#[inline(always)]
pub fn prefetch_for_writing<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch reads nothing that the program sees, and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
