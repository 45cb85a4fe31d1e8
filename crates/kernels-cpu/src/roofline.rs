//! The two limits of the roofline model (Williams, Waterman and Patterson, "Roofline", 2009): a
//! kernel bound by memory reads and a kernel bound by multiply-adds. Other kernels are measured
//! against them.

use pulp::{Simd, WithSimd};

use crate::{InstructionSet, Real};

/// The wrapping sum of all values of `a` and `b`, both read up to the length of the shorter one. It
/// has the lowest possible arithmetic intensity, so memory reads are the bound.
pub fn sum_of_reads(set: InstructionSet, a: &[i32], b: &[i32]) -> i32 {
    set.dispatch(Read { a, b })
}

struct Read<'a> {
    a: &'a [i32],
    b: &'a [i32],
}

impl WithSimd for Read<'_> {
    type Output = i32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> i32 {
        self.a.iter().zip(self.b).fold(0, |sum, (&a, &b)| sum.wrapping_add(a).wrapping_add(b))
    }
}

/// Independent chains of multiply-adds: more than the 8 that two units with a latency of four
/// cycles need, and few enough to fit in sixteen registers together with the two constants.
const CHAINS: usize = 12;

/// Runs `steps` steps x ← a · x + b from x = 0 in each lane of twelve registers. Only the
/// arithmetic units limit the speed. Returns the sum of all x and the number of floating-point
/// operations, two for each multiply-add.
pub fn multiply_adds(set: InstructionSet, a: f32, b: f32, steps: u64) -> (f32, u64) {
    set.dispatch(MultiplyAdds { a, b, steps })
}

struct MultiplyAdds {
    a: f32,
    b: f32,
    steps: u64,
}

impl WithSimd for MultiplyAdds {
    type Output = (f32, u64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f32, u64) {
        let (a, b) = (f32::splat(simd, self.a), f32::splat(simd, self.b));
        let mut chains = [f32::splat(simd, 0.0); CHAINS];
        for _ in 0..self.steps {
            for x in &mut chains {
                *x = f32::multiply_add_vectors(simd, a, *x, b);
            }
        }
        let lanes = <f32 as Real>::as_elements::<S>(&chains);
        (lanes.iter().sum(), 2 * self.steps * lanes.len() as u64)
    }
}
