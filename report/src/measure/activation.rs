//! The activation exercise: greyscale values are normalized, weighted and activated.

use activation_functions::{
    LengthMismatch, Step, TOLERANCE, activate, activate_rayon, fused_gpu, fused_rayon, normalize, normalize_rayon,
    verify, weigh, weigh_rayon,
};
use gpu::Device;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::ThreadPool;

use super::interleaved::{Version, one_and_ladders};
use super::{MeasureError, Plan};
use crate::figures::Activation;

/// The exercise's number of values.
const VALUES: usize = 1_000_000;

/// Integral greyscale values, uniform in 0…254, and normally distributed weights with mean 0.5 and
/// standard deviation 0.1.
pub(super) struct Input {
    pub(super) values: Vec<f32>,
    pub(super) weights: Vec<f32>,
}

impl Input {
    pub(super) fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let values = (0..VALUES).map(|_| rng.random_range(0.0..255.0_f32).floor()).collect();
        let normal = StandardNormal.sample_iter(rng);
        let weights = normal.take(VALUES).map(|normal: f32| 0.5 + 0.1 * normal).collect();
        Self { values, weights }
    }

    fn trivial(&self) -> Result<Vec<f32>, LengthMismatch> {
        Ok(activate(&weigh(&normalize(&self.values), &self.weights)?))
    }

    fn three_passes(&self) -> Result<Vec<f32>, LengthMismatch> {
        Ok(activate_rayon(&weigh_rayon(&normalize_rayon(&self.values), &self.weights)?))
    }

    fn fused(&self) -> Result<Vec<f32>, LengthMismatch> {
        fused_rayon(&self.values, &self.weights)
    }

    pub(super) fn check(&self, device: &Device) -> Result<(), MeasureError> {
        let check = |version, results: Vec<f32>| {
            let outcome = verify(Step::Activate, &results, &self.values, &self.weights, TOLERANCE);
            outcome.map(drop).map_err(|difference| MeasureError::Wrong { version, difference })
        };
        check("activate", self.trivial().map_err(MeasureError::device)?)?;
        check("activate_rayon", self.three_passes().map_err(MeasureError::device)?)?;
        check("fused_rayon", self.fused().map_err(MeasureError::device)?)?;
        check("fused_gpu", fused_gpu(device, &self.values, &self.weights).map_err(MeasureError::device)?)
    }

    pub(super) fn measure(&self, plan: &Plan, pools: &[ThreadPool]) -> Result<Activation, MeasureError> {
        let Some(first) = pools.first() else { return Err(MeasureError::NoTime { version: "activate" }) };
        let trivial = Version::new("activate", plan.repeats(), first, || self.trivial());
        let passes =
            pools.iter().map(|pool| Version::new("activate_rayon", plan.repeats(), pool, || self.three_passes()));
        let fused = pools.iter().map(|pool| Version::new("fused_rayon", plan.repeats(), pool, || self.fused()));
        let (cpu, [three_passes, fused]) =
            one_and_ladders(plan.rounds(), trivial, [passes.collect(), fused.collect()])?;
        Ok(Activation { values: VALUES, cpu, three_passes, fused })
    }
}
