//! The element-wise maximum.

use gpu::Device;
use max_functions::{max_cpu, max_gpu, max_rayon, random_matrix, verify};
use ndarray::Array2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::ThreadPool;

use super::interleaved::{Version, one_and_ladders};
use super::{MeasureError, Plan};
use crate::figures::Maximum;

/// The homework's rows and columns.
const SIZE: [usize; 2] = [1000, 1000];

/// Why a matrix can be viewed as a slice.
const ROW_MAJOR: &str = "a new matrix is row-major";

/// Two matrices of integers 0…255.
pub(super) struct Input {
    pub(super) a: Array2<i32>,
    pub(super) b: Array2<i32>,
}

impl Input {
    pub(super) fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut matrix = || random_matrix(SIZE[0], SIZE[1], &mut rng);
        Self { a: matrix(), b: matrix() }
    }

    /// The operands' values.
    pub(super) fn operands(&self) -> (&[i32], &[i32]) {
        (self.a.as_slice().expect(ROW_MAJOR), self.b.as_slice().expect(ROW_MAJOR))
    }

    pub(super) fn check(&self, device: &Device) -> Result<(), MeasureError> {
        let Self { a, b } = self;
        let wrong = |version| move |difference| MeasureError::Wrong { version, difference };
        verify(&max_cpu(a, b).map_err(MeasureError::device)?, a, b).map_err(wrong("max_cpu"))?;
        verify(&max_rayon(a, b).map_err(MeasureError::device)?, a, b).map_err(wrong("max_rayon"))?;
        verify(&max_gpu(device, a, b).map_err(MeasureError::device)?, a, b).map_err(wrong("max_gpu"))
    }

    pub(super) fn measure(&self, plan: &Plan, pools: &[ThreadPool]) -> Result<Maximum, MeasureError> {
        let Self { a, b } = self;
        let Some(first) = pools.first() else { return Err(MeasureError::NoTime { version: "max_cpu" }) };
        let cpu = Version::new("max_cpu", plan.repeats(), first, || max_cpu(a, b));
        let rayon = pools.iter().map(|pool| Version::new("max_rayon", plan.repeats(), pool, || max_rayon(a, b)));
        let (cpu, [rayon]) = one_and_ladders(plan.rounds(), cpu, [rayon.collect()])?;
        Ok(Maximum { size: SIZE, cpu, rayon })
    }
}
