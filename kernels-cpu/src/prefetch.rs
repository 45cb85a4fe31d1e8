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
