//! The product X·Xᵀ.

use gpu::Device;
use matmul_functions::{
    MatmulElement, Reference, matmul_transpose_gpu, matmul_transpose_rayon, matmul_transpose_trivial,
};
use ndarray::Array2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::ThreadPool;

use super::interleaved::{Version, one_and_ladders};
use super::{MeasureError, Plan};
use crate::figures::Product;

/// The homework's rows and columns of X.
pub(super) const SIZE: [usize; 2] = [784, 128];

/// A matrix of standard normal values.
pub(super) struct Input(pub(super) Array2<f32>);

impl Input {
    pub(super) fn random(seed: u64) -> Self {
        Self::of_size(SIZE, seed)
    }

    pub(super) fn of_size(size: [usize; 2], seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Self(Array2::from_shape_simple_fn(size, || StandardNormal.sample(&mut rng)))
    }

    pub(super) fn check(&self, device: &Device) -> Result<(), MeasureError> {
        let (x, reference) = (&self.0, Reference::of(&self.0));
        let check = |version, product: &Array2<f32>| {
            reference.verify(product).map_err(|difference| MeasureError::Wrong { version, difference })
        };
        check("matmul_transpose_trivial", &matmul_transpose_trivial(x))?;
        check("matmul_transpose_rayon", &matmul_transpose_rayon(x))?;
        check("matmul_transpose_gpu", &matmul_transpose_gpu(device, x).map_err(MeasureError::device)?)
    }

    pub(super) fn measure(&self, plan: &Plan, pools: &[ThreadPool]) -> Result<Product, MeasureError> {
        let x = &self.0;
        let name = "matmul_transpose_trivial";
        let Some(first) = pools.first() else { return Err(MeasureError::NoTime { version: name }) };
        let trivial =
            Version::new(name, plan.slow_repeats(), first, || MatmulElement::trivial_product_with_transpose(x));
        let rayon = pools
            .iter()
            .map(|pool| Version::new("matmul_transpose_rayon", plan.repeats(), pool, || matmul_transpose_rayon(x)));
        let (trivial, [rayon]) = one_and_ladders(plan.rounds(), trivial, [rayon.collect()])?;
        Ok(Product { size: SIZE, trivial, rayon })
    }
}
