//! The element-wise maximum of two slices of integers.
//!
//! Idea: the compiler vectorizes a loop over slices of equal length, so the kernel only has to
//! select the widest vectors and minimize the bytes moved. The result's memory need not be
//! initialized. For a result that will not stay in cache, [`Stores::Streaming`] writes whole lines
//! with non-temporal stores that bypass the cache. An ordinary store first reads the line that it
//! overwrites, and evicts another one.
//!
//! Roofline: one comparison for 8 bytes read and 4 written, so memory bandwidth is the bound.
//! Ordinary stores move 16 bytes. The floor is the time to read the operands, if the stores overlap
//! perfectly with the reads. Within L2, ordinary stores are faster. In a victim L3
//! ([`crate::caches`]), reads and writes do not overlap, and the ordinary loop is the floor.
//! docs/performance.md has the times, and the variants that are not faster.

use std::mem::MaybeUninit;

use pulp::{Simd, WithSimd};

use crate::InstructionSet;

/// Elements in a cache line.
const LINE: usize = 16;

/// A type with a cache line's alignment.
#[repr(align(64))]
struct CacheLine;

/// The kind of stores that write a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Ordinary stores through the cache: for a result that stays there, or for memory that the
    /// system has just cleared.
    Cached,
    /// Non-temporal (streaming) stores of whole lines, which bypass the cache: for a result larger
    /// than the cache. Same as `Cached` on processors other than x86-64.
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
        // The elements before the first cache-line boundary are written separately, so no later
        // store crosses a line.
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

/// Writes the maximum with non-temporal stores. `out` starts at a cache line or is empty.
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

/// Writes one cache line with non-temporal stores. Every x86-64 processor has the instruction
/// (SSE2), for vectors of 16 bytes. Four in a row fill a write-combining buffer.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stream_line(out: &mut [MaybeUninit<i32>; LINE], values: [i32; LINE]) {
    use std::arch::x86_64::{__m128i, _mm_stream_si128};

    let vectors: [__m128i; 4] = bytemuck::cast(values);
    let target = out.as_mut_ptr().cast::<__m128i>();
    for (i, vector) in vectors.into_iter().enumerate() {
        #[allow(unsafe_code)]
        // SAFETY: four vectors cover all of `out`, which is borrowed exclusively. It starts at a
        // cache line, as `stream_maximum` checks, so every vector is aligned.
        // `order_streamed_stores` runs before the kernel returns, so a thread that synchronizes
        // with this one after the return sees the values.
        unsafe {
            _mm_stream_si128(target.add(i), vector);
        }
    }
}

/// Orders non-temporal stores before all later stores; ordinary stores need no fence on x86-64.
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

/// Writes max(a\[i\], b\[i\]) to every element of `out`, which is then fully initialized.
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
        /// Every offset within a cache line, to cover heads, whole lines and tails of all lengths.
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
                    // SAFETY: every cell was initialized with 7 before `maximum` wrote some.
                    let got: Vec<i32> = memory.iter().map(|cell| unsafe { cell.assume_init() }).collect();
                    prop_assert_eq!(&got[range.clone()], &expected, "{} {:?}", set.name(), stores);
                    let outside = got[..range.start].iter().chain(&got[range.end..]);
                    prop_assert!(outside.copied().all(|value| value == 7), "{} {:?}: written outside", set.name(), stores);
                }
            }
        }
    }
}
