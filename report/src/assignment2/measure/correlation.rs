//! Times the correlations.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use filters::{CorrelationGpu, Reference, SOBEL_5X5, correlation_gpu, correlation_rayon, correlation_trivial};
use gpu::Device;
use ndarray::{Array2, s};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::seconds_of_repeats;

use super::Plan;
use crate::Times;
use crate::assignment2::{Correlation, KernelTimes};
use crate::measure::interleaved::{Version, one_and_ladders};
use crate::measure::{MeasureError, pool};

/// Rows and columns of the image.
const SIZE: [usize; 2] = [1000, 1000];
/// The assignment's kernel sizes, which are also timed for the peers.
pub(super) const PEERS_SIZES: [usize; 3] = [3, 5, 7];
/// The size of a larger kernel.
const LARGE: usize = 15;
/// Rows and columns for checking the GPU version in the simulator.
const SIMULATED: usize = 100;

/// Checks every version with every kernel, then times them in an interleaved order.
pub(super) fn measure(
    plan: &Plan,
    device: &Device,
    progress: &mut dyn FnMut(&str),
) -> Result<Correlation, MeasureError> {
    let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
    let image = Array2::from_shape_simple_fn(SIZE, || rng.random::<f32>());
    let cores = available_parallelism().map_or(1, usize::from);
    let pools = [1, cores][..cores.min(2)].iter().map(|&threads| pool(threads)).collect::<Result<Vec<_>, _>>()?;
    let Some(alone) = pools.first() else { return Err(MeasureError::NoTime { version: "correlation_trivial" }) };
    let repeats = |count: usize| NonZeroUsize::MIN.saturating_add(count - 1);
    let mut kernels = Vec::new();
    for size in PEERS_SIZES.into_iter().chain([LARGE]) {
        progress(&format!("{size} × {size}"));
        let kernel = Array2::from_shape_simple_fn([size, size], || rng.random_range(-1.0_f32..1.0));
        check(device, &kernel, &image)?;
        let (kernel, image) = (&kernel, &image);
        let trivial = Version::new("correlation_trivial", repeats(1), alone, || correlation_trivial(kernel, image));
        let rayon = pools
            .iter()
            .map(|pool| Version::new("correlation_rayon", repeats(5), pool, || correlation_rayon(kernel, image)));
        let (trivial, [rayon]) = one_and_ladders(plan.rounds(), trivial, [rayon.collect()])?;
        let gpu = if device.is_gpu() { Some(on_the_gpu(plan, device, kernel, image)?) } else { None };
        kernels.push(KernelTimes { size, trivial, rayon, gpu });
    }
    let separable = SOBEL_5X5.kernel();
    let one = Version::new("correlation_rayon", repeats(5), alone, || correlation_rayon(&separable, &image));
    let (separable, []) = one_and_ladders(plan.rounds(), one, [])?;
    Ok(Correlation { size: SIZE, kernels, separable })
}

fn check(device: &Device, kernel: &Array2<f32>, image: &Array2<f32>) -> Result<(), MeasureError> {
    let wrong = |version| move |difference| MeasureError::Wrong { version, difference };
    let reference = Reference::of(kernel, image);
    reference.verify(&correlation_trivial(kernel, image)).map_err(wrong("correlation_trivial"))?;
    reference.verify(&correlation_rayon(kernel, image)).map_err(wrong("correlation_rayon"))?;
    let side = if device.is_gpu() { usize::MAX } else { SIMULATED };
    let part = image.slice(s![..image.nrows().min(side), ..image.ncols().min(side)]);
    let result = correlation_gpu(device, kernel, &part).map_err(MeasureError::device)?;
    Reference::of(kernel, &part).verify(&result).map_err(wrong("correlation_gpu"))
}

/// Times the kernel alone by GPU events, and the function with copies.
fn on_the_gpu(
    plan: &Plan,
    device: &Device,
    kernel: &Array2<f32>,
    image: &Array2<f32>,
) -> Result<[Times; 2], MeasureError> {
    let no_time = MeasureError::NoTime { version: "correlation_gpu" };
    let repeats = NonZeroUsize::MIN.saturating_add(10 * plan.rounds());
    let mut sets = CorrelationGpu::beyond_cache(device, kernel, image).map_err(MeasureError::device)?;
    let count = sets.len();
    let seconds = device.time_repeats(repeats, |call| {
        let set = &mut sets[call % count];
        set.launch(set.fastest())
    });
    let Some(alone) = seconds.map_err(MeasureError::device)?.and_then(Times::of) else { return Err(no_time) };
    drop(sets);
    let copies = Times::of(seconds_of_repeats(repeats, || correlation_gpu(device, kernel, image)));
    Ok([alone, copies.ok_or(no_time)?])
}
