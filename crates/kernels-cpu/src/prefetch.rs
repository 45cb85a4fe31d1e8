//! Software prefetches. They do nothing on processors other than x86-64.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

/// Prefetches a slice into L1, for data that will be read soon at addresses that the hardware prefetcher cannot
/// predict.
#[inline]
pub fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    prefetch_by::<{ _MM_HINT_T0 }, T>(slice);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// Prefetches a slice into L2, for data that will be read next while other data occupy L1.
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
        // SAFETY: the offset is below the slice's size, so the address is inside the slice; a prefetch never faults.
        unsafe { _mm_prefetch::<HINT>(slice.as_ptr().cast::<i8>().add(offset)) };
    }
}

/// Prefetches the cache line at `address` for writing. The address need not be valid: a prefetch of unmapped memory has
/// no effect.
#[inline(always)]
pub fn prefetch_for_writing<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch reads nothing that the program sees, and never faults.
    unsafe {
        _mm_prefetch::<_MM_HINT_ET0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
