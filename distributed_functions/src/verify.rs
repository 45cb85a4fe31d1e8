//! Checks a sum against one in rank order.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The buffer of a rank: numbers from 0 to 1, determined by the seed. Every rank can compute any
/// other rank's buffer.
pub fn buffer_of(rank: usize, length: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(rank as u64);
    (0..length).map(|_| rng.random()).collect()
}

/// An element of a wrong sum.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("element {index} is {found} instead of {expected} ± {tolerance:.0e}")]
pub struct Mismatch {
    /// The first wrong element.
    pub index: usize,
    /// Its value.
    pub found: f64,
    /// The sum in rank order.
    pub expected: f64,
    /// The bound on the rounding error for any order.
    pub tolerance: f64,
}

/// Checks the sum of all ranks' buffers ([`buffer_of`]). Two sums of n values with the same sign in
/// different orders differ by at most 2 (n − 1) ε times the sum (N. J. Higham, "Accuracy and
/// Stability of Numerical Algorithms", 2002).
///
/// # Errors
/// The first element that differs more.
pub fn verify(sum: &[f64], ranks: usize, seed: u64) -> Result<(), Mismatch> {
    let mut expected = vec![0.0; sum.len()];
    for rank in 0..ranks {
        expected.iter_mut().zip(buffer_of(rank, sum.len(), seed)).for_each(|(total, x)| *total += x);
    }
    for (index, (&found, &expected)) in sum.iter().zip(&expected).enumerate() {
        let tolerance = 2.0 * (ranks - 1) as f64 * f64::EPSILON * expected;
        let is_right = (found - expected).abs() <= tolerance;
        if !is_right {
            return Err(Mismatch { index, found, expected, tolerance });
        }
    }
    Ok(())
}
