//! The element-wise maximum of two slices of integers.
//!
//! Idea: the compiler turns a loop over slices of equal length into vector instructions; all that is left is to let it
//! use the widest ones and to move as few bytes as possible. Nobody has to clear the result's memory first, and where the
//! result will not stay in a core's own cache, [`Stores::Streaming`] sends whole lines past it: an ordinary store first
//! reads the line that it is about to overwrite, and pushes something useful out of the cache.
//!
//! Roofline: one comparison for 8 bytes read and 4 written, so memory decides; ordinary stores move 16 bytes. Measured on
//! two cores of a Sapphire Rapids server (L2 2 MiB a core), one thread, 1000 × 1000: reading the operands alone takes
//! 268 µs (30 GB/s), streaming the result alone 161 µs; if they overlap perfectly, 268 µs is the floor. Streaming stores
//! take 349 µs, 77 % of the floor's rate; ordinary ones 428 µs. Within a core's cache, ordinary ones win: 7 against 15 µs at 250 × 250.
//! On two cores of a Zen 5 server (L2 1 MiB a core, L3 32 MiB), one thread, 1000 × 1000: reading the operands from the third level
//! alone takes 68 µs (118 GB/s), writing the result there alone 33 µs, both together 102 µs: nothing overlaps, and streaming, which
//! is limited to 41 GB/s on one core or two, takes 103 µs on one thread and 98 µs on two, where ordinary stores take 53 µs. So
//! the floor is the ordinary loop's time there, NumPy's and Numba's too ([`crate::caches`] tells the two kinds of processors apart).
//!
//! What did not pay: unrolling by hand (no change, tried in an AVX-512 variant only), software prefetch of the operands (1000 elements ahead, 4 % at most
//! in one of four runs' minima and nothing in the median; non-temporal hints are far slower), `prefetchw` of the result
//! (5 %, where streaming gives 21 %). On Zen 5: streaming a part of the lines only (an eighth to three quarters: up to 40 % slower
//! than either), prefetches of all three (no gain to 10 % slower), other places within a page (no change).

use std::mem::MaybeUninit;

use pulp::{Simd, WithSimd};

use crate::InstructionSet;

/// Elements of a cache line.
const LINE: usize = 16;

/// What is aligned as a cache line is.
#[repr(align(64))]
struct CacheLine;

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// By way of the cache: for a result that stays there, or memory that the system has just cleared.
    Cached,
    /// Past the cache, by whole lines: for a result larger than the cache. The same as `Cached` where the processor is no x86-64.
    Streaming,
}

struct Maximum<'a> {
    a: &'a [i32],
    b: &'a [i32],
    out: &'a mut [MaybeUninit<i32>],
    stores: Stores,
}

impl WithSimd for Maximum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        // The first few elements apart, so that every vector of the rest is stored into one cache line, not across two.
        let head = self.out.as_ptr().align_offset(64).min(self.out.len());
        let (out_head, out) = self.out.split_at_mut(head);
        let (a_head, a) = self.a.split_at(head);
        let (b_head, b) = self.b.split_at(head);
        write_maximum(a_head, b_head, out_head);
        match self.stores {
            Stores::Cached => write_maximum(a, b, out),
            Stores::Streaming => stream_maximum(a, b, out),
        }
    }
}

#[inline(always)]
fn write_maximum(a: &[i32], b: &[i32], out: &mut [MaybeUninit<i32>]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        out.write(larger(a, b));
    }
}

#[inline(always)]
fn larger(a: i32, b: i32) -> i32 {
    if a > b { a } else { b }
}

/// As [`write_maximum`], past the cache; `out` starts at a cache line, or is empty.
#[inline(always)]
fn stream_maximum(a: &[i32], b: &[i32], out: &mut [MaybeUninit<i32>]) {
    assert!(out.is_empty() || out.as_ptr().cast::<CacheLine>().is_aligned(), "streamed lines start at a cache line");
    let (out, out_tail) = out.as_chunks_mut::<LINE>();
    let (a, a_tail) = a.as_chunks::<LINE>();
    let (b, b_tail) = b.as_chunks::<LINE>();
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        stream_line(out, std::array::from_fn(|i| larger(a[i], b[i])));
    }
    order_streamed_stores();
    write_maximum(a_tail, b_tail, out_tail);
}

/// Writes one cache line past the cache. The instruction is part of every x86-64 processor (SSE2), in vectors of 16 bytes;
/// four in a row fill a line's buffer.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stream_line(out: &mut [MaybeUninit<i32>; LINE], values: [i32; LINE]) {
    use std::arch::x86_64::{__m128i, _mm_stream_si128};

    let vectors: [__m128i; 4] = bytemuck::cast(values);
    let target = out.as_mut_ptr().cast::<__m128i>();
    for (i, vector) in vectors.into_iter().enumerate() {
        #[allow(unsafe_code)]
        // SAFETY: four vectors are the whole of `out`, which is borrowed alone. It starts at a cache line, as
        // `stream_maximum` checks, so every vector is aligned. `order_streamed_stores` follows before the kernel returns, so
        // that whoever is told that the kernel has ended, on any thread, sees the values.
        unsafe {
            _mm_stream_si128(target.add(i), vector);
        }
    }
}

/// Orders streamed stores before all later stores, as ordinary ones are by themselves.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn order_streamed_stores() {
    #[allow(unsafe_code, unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction, and it takes no operands.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn stream_line(out: &mut [MaybeUninit<i32>; LINE], values: [i32; LINE]) {
    *out = values.map(MaybeUninit::new);
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn order_streamed_stores() {}

/// Writes max(a\[i\], b\[i\]) to every element of `out`, so that afterwards all of `out` is initialised.
///
/// # Panics
/// If the three slices differ in length.
pub fn maximum(set: InstructionSet, a: &[i32], b: &[i32], out: &mut [MaybeUninit<i32>], stores: Stores) {
    assert!(a.len() == out.len() && b.len() == out.len(), "maximum: slices of different length");
    set.dispatch(Maximum { a, b, out, stores });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// At every place of a cache line, so that there are heads, lines and tails of all lengths.
        #[test]
        fn part2_maximum_agrees_with_ord_max_on_every_instruction_set(
            pairs in prop::collection::vec((any::<i32>(), any::<i32>()), 0..200), offset in 0..LINE
        ) {
            let (a, b): (Vec<i32>, Vec<i32>) = pairs.iter().copied().unzip();
            let expected: Vec<i32> = pairs.iter().map(|&(a, b)| a.max(b)).collect();
            for set in InstructionSet::available() {
                for stores in [Stores::Cached, Stores::Streaming] {
                    let mut memory = vec![MaybeUninit::new(7); a.len() + 3 * LINE];
                    let first = memory.as_ptr().align_offset(64) + offset;
                    let range = first..first + a.len();
                    maximum(set, &a, &b, &mut memory[range.clone()], stores);
                    #[allow(unsafe_code)]
                    // SAFETY: every cell was initialised with 7 before `maximum` wrote some.
                    let got: Vec<i32> = memory.iter().map(|cell| unsafe { cell.assume_init() }).collect();
                    prop_assert_eq!(&got[range.clone()], &expected, "{} {:?}", set.name(), stores);
                    let outside = got[..range.start].iter().chain(&got[range.end..]);
                    prop_assert!(outside.copied().all(|value| value == 7), "{} {:?}: written outside", set.name(), stores);
                }
            }
        }
    }
}
