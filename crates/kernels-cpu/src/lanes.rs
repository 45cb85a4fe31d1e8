//! Horizontal sums of vectors: a fixed tree adds the partial sums in the lanes.

use pulp::Simd;

use crate::Real;

/// Number of partial sums per sum: one, two or four f32 vectors. It is fixed, so the order of
/// additions does not depend on the vector width.
pub(crate) const LANES: usize = 16;

/// Returns in element i the sum of the lanes of `partial_sums`\[i\], for N ≤ 16. The elements from
/// N on are zero. The upper half of the lanes is added to the lower half until one lane is left.
///
/// Idea: reducing one vector takes two shuffles for each of four additions, and each addition
/// leaves more lanes idle. The halves of two vectors fit in one vector, so ten sums take eleven
/// additions instead of forty.
#[inline(always)]
pub(crate) fn add_lanes<F: Real, S: Simd, const N: usize>(simd: S, partial_sums: &[[F; LANES]; N]) -> [F; LANES] {
    let zero = [F::zero(); LANES];
    // Unrolled by hand: no array is indexed by a variable, so all of them stay in registers.
    let half = |i: usize| {
        let at = |i: usize| if i < N { &partial_sums[i] } else { &zero };
        if 2 * i < N { add_pieces::<F, S, 8>(simd, at(2 * i), at(2 * i + 1)) } else { zero }
    };
    let [h0, h1, h2, h3, h4, h5, h6, h7] = [half(0), half(1), half(2), half(3), half(4), half(5), half(6), half(7)];
    let quarter = |i: usize, a, b| if 4 * i < N { add_pieces::<F, S, 4>(simd, a, b) } else { zero };
    let [q0, q1, q2, q3] = [quarter(0, &h0, &h1), quarter(1, &h2, &h3), quarter(2, &h4, &h5), quarter(3, &h6, &h7)];
    let eighth = |i: usize, a, b| if 8 * i < N { add_pieces::<F, S, 2>(simd, a, b) } else { zero };
    add_pieces::<F, S, 1>(simd, &eighth(0, &q0, &q1), &eighth(1, &q2, &q3))
}

/// Shuffles two vectors: lanes 0 to 15 come from `a`, 16 to 31 from `b`.
macro_rules! pick {
    ($a:ident, $b:ident: $($lane:literal)*) => {
        [$(if $lane < LANES { $a[$lane % LANES] } else { $b[$lane % LANES] }),*]
    };
}

/// Splits `a` and `b` into groups of `SIZE` lanes and adds each odd group to the even group before it.
#[inline(always)]
fn add_pieces<F: Real, S: Simd, const SIZE: usize>(simd: S, a: &[F; LANES], b: &[F; LANES]) -> [F; LANES] {
    // Literal indices let the compiler emit two shuffles.
    let (first, second) = match SIZE {
        8 => (
            pick!(a, b: 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23),
            pick!(a, b: 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31),
        ),
        4 => (
            pick!(a, b: 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27),
            pick!(a, b: 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31),
        ),
        2 => (
            pick!(a, b: 0 1 4 5 8 9 12 13 16 17 20 21 24 25 28 29),
            pick!(a, b: 2 3 6 7 10 11 14 15 18 19 22 23 26 27 30 31),
        ),
        _ => (
            pick!(a, b: 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30),
            pick!(a, b: 1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31),
        ),
    };
    let mut sums = [F::zero(); LANES];
    let vectors = F::as_vectors::<S>(&first).iter().zip(F::as_vectors::<S>(&second));
    for (sum, (&first, &second)) in F::as_vectors_mut::<S>(&mut sums).iter_mut().zip(vectors) {
        *sum = F::add_vectors(simd, first, second);
    }
    sums
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;
    use crate::InstructionSet;

    struct AddLanes<'a, const N: usize>(&'a [[f32; LANES]; N]);

    impl<const N: usize> WithSimd for AddLanes<'_, N> {
        type Output = [f32; LANES];
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [f32; LANES] {
            add_lanes(simd, self.0)
        }
    }

    /// The sum in the documented order, one sum at a time.
    fn sum_of_lanes(lanes: &[f32; LANES]) -> f32 {
        let mut sums = lanes.to_vec();
        while sums.len() > 1 {
            let (lower, upper) = sums.split_at(sums.len() / 2);
            sums = lower.iter().zip(upper).map(|(lower, upper)| lower + upper).collect();
        }
        sums[0]
    }

    fn check<const N: usize>() {
        let partial_sums: [[f32; LANES]; N] =
            std::array::from_fn(|i| std::array::from_fn(|lane| ((i * LANES + lane) as f32).sin()));
        for set in InstructionSet::available() {
            let got = set.dispatch(AddLanes(&partial_sums));
            for (index, got) in got.into_iter().enumerate() {
                let expected = partial_sums.get(index).map_or(0.0, sum_of_lanes);
                assert_eq!(got.to_bits(), expected.to_bits(), "{}, sum {index} of {N}", set.name());
            }
        }
    }

    #[test]
    fn each_sum_has_the_bits_of_the_documented_order() {
        check::<1>();
        check::<2>();
        check::<3>();
        check::<5>();
        check::<8>();
        check::<10>();
        check::<16>();
    }
}
