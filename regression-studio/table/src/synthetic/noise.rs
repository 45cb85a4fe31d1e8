//! Random numbers that are bit-identical on every machine.

use std::f64::consts::LN_10;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

/// A seeded stream of random numbers.
pub(super) struct Noise(ChaCha8Rng);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// An approximately normal variate of mean 0 and variance 1: the sum of twelve uniform variates, within ±6.
    ///
    /// Exact: integer arithmetic, then one division by a power of two.
    pub(super) fn normal(&mut self) -> f64 {
        // A 64-bit integer consists of four 16-bit ones, each with mean 32767.5 and variance about
        // 65536² / 12.
        let four = |bits: u64| (0..4).map(|part| (bits >> (16 * part)) as i32 & 0xffff).sum::<i32>();
        let sum = four(self.0.next_u64()) + four(self.0.next_u64()) + four(self.0.next_u64());
        f64::from(sum - 6 * 65_535) / 65_536.0
    }

    /// A uniform variate in [0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// eˣ
pub(super) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// 10ˣ
pub(super) fn exp10(x: f64) -> f64 {
    libm::exp(x * LN_10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_0_variance_1_and_thin_tails() {
        let mut noise = Noise::new(1);
        let count = 200_000.0;
        let numbers: Vec<f64> = (0..200_000).map(|_| noise.normal()).collect();
        let moment = |power: i32| numbers.iter().map(|number| number.powi(power)).sum::<f64>() / count;
        // The sum of twelve uniform numbers has kurtosis 3 − 1.2 / 12; the bounds are five standard errors.
        assert!(moment(1).abs() < 5.0 / count.sqrt(), "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 5.0 * (1.9 / count).sqrt(), "variance {}", moment(2));
        assert!(moment(3).abs() < 5.0 * (15.0 / count).sqrt(), "skewness {}", moment(3));
        assert!((moment(4) - 2.9).abs() < 5.0 * (96.0 / count).sqrt(), "kurtosis {}", moment(4));
        assert!(numbers.iter().all(|number| number.abs() <= 6.0));
    }

    #[test]
    fn uniform_numbers_fill_0_to_1() {
        let mut noise = Noise::new(2);
        let mut counts = [0_u32; 10];
        (0..100_000).for_each(|_| counts[(noise.uniform() * 10.0) as usize] += 1);
        // Five standard deviations of a binomial count: √(100,000 · 0.1 · 0.9) = 95.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 475), "{counts:?}");
    }
}
