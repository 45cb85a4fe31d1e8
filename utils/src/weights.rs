use ndarray::{Array2, NdFloat};
use rand::distr::uniform::SampleUniform;
use rand::{Rng, RngExt};

use crate::UtilsError;

/// The element types of random weights: `f32` and `f64`.
pub trait RandomFloat: NdFloat + SampleUniform {
    /// The value nearest to `count`.
    fn from_count(count: usize) -> Self;
}

impl RandomFloat for f32 {
    fn from_count(count: usize) -> Self {
        count as Self
    }
}

impl RandomFloat for f64 {
    fn from_count(count: usize) -> Self {
        count as Self
    }
}

/// Random weights for a network with the given layer sizes. Each pair of consecutive layers has a
/// matrix of shape fan_in × fan_out, uniform in ±1/√fan_in.
///
/// This is equation 1 of Glorot and Bengio, "Understanding the difficulty of training deep
/// feedforward neural networks" (AISTATS 2010). It gives a weight the variance 1/(3·fan_in), so the
/// sum into a neuron is of order 1 whatever the width of the layer below.
///
/// The weights are drawn layer by layer and row by row: the same seed gives the same weights.
///
/// # Errors
/// If there are fewer than two layers, or one of them has size 0.
///
/// # Panics
/// If a matrix has more elements than an array can hold.
///
/// ```
/// use rand::{SeedableRng, rngs::ChaCha8Rng};
/// let weights = utils::random_weights::<f32>(&[784, 30, 10], &mut ChaCha8Rng::seed_from_u64(0))?;
/// assert_eq!((weights[0].dim(), weights[1].dim()), ((784, 30), (30, 10)));
/// assert!(weights[0].iter().all(|weight| weight.abs() <= 1.0 / 28.0));
/// # Ok::<(), utils::UtilsError>(())
/// ```
pub fn random_weights<A: RandomFloat>(
    sizes: &[usize],
    rng: &mut (impl Rng + ?Sized),
) -> Result<Vec<Array2<A>>, UtilsError> {
    UtilsError::check_layers("random_weights", sizes)?;
    // report: begin random_weights
    let mut layer = |pair: &[usize]| {
        let (fan_in, fan_out) = (pair[0], pair[1]);
        let bound = A::from_count(fan_in).sqrt().recip();
        Array2::from_shape_simple_fn((fan_in, fan_out), || rng.random_range(-bound..=bound))
    };
    Ok(sizes.windows(2).map(&mut layer).collect())
    // report: end random_weights
}
