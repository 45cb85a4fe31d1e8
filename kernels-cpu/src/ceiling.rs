//! What a processor can do at most: how fast it reads memory, and how many multiply-adds it does. Other kernels are
//! measured against these two, the roof of the roofline model (Williams, Waterman and Patterson, "Roofline", 2009).

use pulp::{Simd, WithSimd};

use crate::{InstructionSet, Real};

/// The wrapping sum of all values of `a` and `b`, of which only the shorter one's length is read: as little arithmetic for each
/// byte as there can be, so that reading decides.
pub fn read(set: InstructionSet, a: &[i32], b: &[i32]) -> i32 {
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

/// Chains of multiply-adds that run side by side: more than two units with a latency of four cycles need, and few enough
/// that sixteen registers hold them and the two constants.
const CHAINS: usize = 12;

/// `steps` steps x ← a · x + b in each lane of so many registers that only the arithmetic decides, from x = 0 on. Returns the
/// sum of all x, and how many floating-point operations that took, two for each multiply-add.
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
