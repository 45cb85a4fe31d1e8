//! Atomic operations on 64 bits, and those on 32 bits that are missing in `cuda_std`.
//!
//! The simulator has no such operations: the kernel exists as PTX only, and [`expected`] computes its results.

/// The number of 64-bit cells of the kernel `atomics`.
pub const CELLS: usize = 10;

/// The results of `atomics` in its 64-bit cells and its two 32-bit words. All are zero before the launch, except the
/// third cell (minimum) and the fifth (and), whose bits are all one. The elements of x must be small, so that every sum
/// is exact.
#[cfg(not(target_arch = "nvptx64"))]
pub fn expected(x: &[u32]) -> ([u64; CELLS], [u32; 2]) {
    let wide = || x.iter().map(|&x| widened(x));
    let sum = wide().fold(0u64, u64::wrapping_add);
    let real: f64 = x.iter().map(|&x| f64::from(x)).sum();
    let swapped = x.len() as u64;
    let cells = [
        sum,
        wide().max().unwrap_or(0),
        wide().min().unwrap_or(u64::MAX),
        wide().fold(0, |xor, x| xor ^ x),
        wide().fold(u64::MAX, |and, x| and & x),
        wide().fold(0, |or, x| or | x),
        real.to_bits(),
        sum,
        swapped,
        wide().map(|x| x as i64).max().unwrap_or(0).max(0) as u64,
    ];
    (cells, [x.len() as u32, x.iter().copied().max().unwrap_or(0)])
}

/// An element widened to 64 bits, with bits set in both halves.
fn widened(x: u32) -> u64 {
    (u64::from(x) << 40) ^ u64::from(x)
}

/// Combines all elements of x, as 64 bits, into `cells` with one atomic operation per cell; and into the two words
/// their number, through compare-and-swap, and the largest. See `expected`. Any one-dimensional launch.
///
/// # Safety
/// The pointers are to `length` elements, [`CELLS`] elements and two elements, in global memory.
#[cfg(target_arch = "nvptx64")]
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn atomics(x: *const u32, length: usize, cells: *mut u64, words: *mut u32) {
    use core::arch::asm;
    use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::*};

    let i = cuda_std::thread::index_1d() as usize;
    if i >= length {
        return;
    }
    // SAFETY: i is below the length, and by the function's contract all cells exist; they are accessed with atomic
    // operations only.
    let (x, cell, signed, words) = unsafe {
        let cell = |index: usize| AtomicU64::from_ptr(cells.add(index));
        (
            *x.add(i),
            cell,
            AtomicI64::from_ptr(cells.add(9).cast()),
            [0, 1].map(|index| AtomicU32::from_ptr(words.add(index))),
        )
    };
    let value = widened(x);
    cell(0).fetch_add(value, Relaxed);
    cell(1).fetch_max(value, Relaxed);
    cell(2).fetch_min(value, Relaxed);
    cell(3).fetch_xor(value, Relaxed);
    cell(4).fetch_and(value, Relaxed);
    cell(5).fetch_or(value, Relaxed);
    // SAFETY: as above; the cell holds an f64 that only this instruction accesses.
    unsafe {
        asm!(
            "{{ .reg .b64 at; cvta.to.global.u64 at, {0}; red.global.add.f64 [at], {1}; }}",
            in(reg64) cells.add(6), in(reg64) f64::from(x), options(nostack, preserves_flags)
        );
    }
    // A retry loop: other threads may change the cell between the load and the compare-and-swap.
    let mut seen = cell(7).load(Relaxed);
    while let Err(now) = cell(7).compare_exchange(seen, seen.wrapping_add(value), AcqRel, Relaxed) {
        seen = now;
    }
    // Each thread takes the count with a swap and adds it back plus one, so that no count is lost.
    let taken = cell(8).swap(0, Relaxed);
    cell(8).fetch_add(taken + 1, Relaxed);
    signed.fetch_max(value as i64, Relaxed);
    let mut seen = words[0].load(Acquire);
    while let Err(now) = words[0].compare_exchange(seen, seen + 1, Release, Relaxed) {
        seen = now;
    }
    words[1].fetch_max(x, Relaxed);
}
