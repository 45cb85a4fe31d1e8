//! The element-wise maximum of two slices of integers.
//!
//! Idea: the compiler turns a loop over slices of equal length into vector instructions; all that is left is to let it
//! use the widest ones and to write each result once, into memory that nobody has to clear first.
//!
//! Roofline: 12 bytes moved and one comparison per element, so memory decides.

use std::mem::MaybeUninit;

use pulp::{Simd, WithSimd};

use crate::InstructionSet;

struct Maximum<'a> {
    a: &'a [i32],
    b: &'a [i32],
    out: &'a mut [MaybeUninit<i32>],
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
        write_maximum(a, b, out);
    }
}

#[inline(always)]
fn write_maximum(a: &[i32], b: &[i32], out: &mut [MaybeUninit<i32>]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        out.write(if a > b { a } else { b });
    }
}

/// Writes max(a\[i\], b\[i\]) to every element of `out`, so that afterwards all of `out` is initialised.
///
/// # Panics
/// If the three slices differ in length.
pub fn maximum(set: InstructionSet, a: &[i32], b: &[i32], out: &mut [MaybeUninit<i32>]) {
    assert!(a.len() == out.len() && b.len() == out.len(), "maximum: slices of different length");
    set.dispatch(Maximum { a, b, out });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn part2_maximum_agrees_with_ord_max_on_every_instruction_set(
            pairs in prop::collection::vec((any::<i32>(), any::<i32>()), 0..200)
        ) {
            let (a, b): (Vec<i32>, Vec<i32>) = pairs.iter().copied().unzip();
            for set in InstructionSet::available() {
                let mut out = vec![MaybeUninit::new(0); a.len()];
                maximum(set, &a, &b, &mut out);
                #[allow(unsafe_code)]
                // SAFETY: every cell was initialised with 0 before `maximum` wrote it.
                let got: Vec<i32> = out.iter().map(|cell| unsafe { cell.assume_init() }).collect();
                let expected: Vec<i32> = pairs.iter().map(|&(a, b)| a.max(b)).collect();
                prop_assert_eq!(&got, &expected, "{}", set.name());
            }
        }
    }
}
