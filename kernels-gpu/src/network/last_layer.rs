use cuda_std::math::GpuFloat;
use cuda_std::{Global, GlobalMut, hint, kernel, math, shared_array, thread, warp};

use super::batch::Batch;
use super::output::{ROWS_PER_BLOCK, SAMPLES, sum_of_samples};
use super::shape::{Batches, LayerShape, OutputLayer};
use super::{activation, loss};

/// Lanes of a sample: half a warp, one lane for each unit.
const LANES: u32 = 16;

/// Maximum number of units of [`network_last_layer`].
pub const LAST_UNITS: u32 = LANES;
/// Maximum number of features of [`network_last_layer`] where it is worthwhile: each sample loads all weights, from the L1 cache.
pub const LAST_FEATURES: u32 = 64;
/// Threads of a block of [`network_last_layer`], which has [`ROWS_PER_BLOCK`] samples.
pub const LAST_THREADS: u32 = LANES * ROWS_PER_BLOCK;

/// The forward pass, the output and the backward pass of a small last layer behind another layer, in one launch: 16 lanes per sample of the batch.
///
/// In place of three launches that pass a few floats of each sample through the GPU's memory, registers have them: a lane has one unit in the
/// forward pass and every 16th feature in the backward pass.
///
/// `activations` and `errors_below` are of the layer below, batch × features, and `activation_below` is its activation function. `errors` is of this
/// layer, batch × units. `losses` gets one sum of the step per [`ROWS_PER_BLOCK`] samples. The layer has at most [`LAST_UNITS`] units. A launch has
/// one block of [`LAST_THREADS`] threads per [`ROWS_PER_BLOCK`] samples.
#[kernel]
pub fn network_last_layer(
    targets: &[f32],
    order: &[u32],
    state: &[u32],
    parameters: &[f32],
    activations: &[f32],
    errors: GlobalMut<f32>,
    errors_below: GlobalMut<f32>,
    losses: GlobalMut<f32>,
    shape: LayerShape,
    layer: OutputLayer,
    batches: Batches,
    activation_below: u32,
) {
    core::assert!(
        layer.units == shape.units && (1..=LAST_UNITS).contains(&shape.units),
        "a sample has a lane per unit"
    );
    let step = state[0];
    let batch = Batch::new(order, step, batches);
    let row = thread::block_idx_x() * ROWS_PER_BLOCK + thread::thread_idx_x() / LANES;
    let mut sample_loss = 0.0;
    // All lanes of a warp exchange values: those without a sample take the last one, and store nothing.
    if thread::block_idx_x() * ROWS_PER_BLOCK < batch.rows {
        let is_sample = row < batch.rows;
        let row = row.min(batch.rows - 1);
        let sample = Sample::new(parameters, activations, shape, row);
        // Its loads are under way during the forward pass.
        let target = targets[batch.sample(row) * shape.units as usize + sample.unit() as usize];
        let output = sample.output(layer);
        let OutputLayer { activation, loss, .. } = layer;
        let loss_sum = sample.sum(loss::term(activation, loss, output, target));
        let weighted = match loss::needs_weighted_sum(activation, loss) {
            true => sample.sum((output - target) * output),
            false => 0.0,
        };
        let error = loss::error(activation, loss, output, target, weighted);
        if is_sample {
            sample_loss = loss_sum;
            if sample.lane < shape.units {
                errors.set((row * shape.units + sample.lane) as usize, error);
            }
        }
        sample.backward(error, |feature, sum, a| {
            if is_sample {
                let error = sum * activation::derivative(activation_below, a);
                errors_below.set((row * shape.features + feature) as usize, error);
            }
        });
    }
    let sums = shared_array![f32; SAMPLES];
    let sum = sum_of_samples(LANES, &sums, sample_loss);
    if thread::thread_idx_x() == 0 {
        let parts = batches.size.div_ceil(ROWS_PER_BLOCK);
        losses.set((step * parts + thread::block_idx_x()) as usize, sum);
    }
}

/// The values of a sample's lanes, combined by a butterfly, in each of them.
#[inline(always)]
fn butterfly(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut all = value;
    let mut distance = LANES / 2;
    while distance > 0 {
        all = combine(all, warp::shuffle_xor(all, distance));
        distance /= 2;
    }
    all
}

/// A sample of the batch, for one of its lanes.
#[derive(Clone, Copy)]
struct Sample<'a> {
    /// The layer's weights, features × units, and its biases as one more row.
    parameters: Global<'a, f32>,
    /// The sample's activations of the layer below.
    activations: Global<'a, f32>,
    shape: LayerShape,
    lane: u32,
    /// All bits if the lane has a unit, else none. It is opaque: the compiler would make a branch of it, with exchanges in both of its parts.
    mask: u32,
}

impl<'a> Sample<'a> {
    #[inline(always)]
    fn new(parameters: Global<'a, f32>, activations: Global<'a, f32>, shape: LayerShape, row: u32) -> Self {
        let LayerShape { first_parameter, features, units } = shape;
        let (first, start) = (first_parameter as usize, (row * features) as usize);
        let size = ((features + 1) * units) as usize;
        let lane = thread::thread_idx_x() % LANES;
        Self {
            parameters: parameters.slice(first..first + size),
            activations: activations.slice(start..start + features as usize),
            shape,
            lane,
            mask: hint::opaque(if lane < units { u32::MAX } else { 0 }),
        }
    }

    /// The lane's unit; beyond the units, the last one.
    #[inline(always)]
    fn unit(&self) -> u32 {
        self.lane.min(self.shape.units - 1)
    }

    /// The weight from input `feature` to unit `unit`; behind the last input, the bias.
    #[inline(always)]
    fn weight(&self, feature: u32, unit: u32) -> f32 {
        self.parameters[(feature * self.shape.units + unit) as usize]
    }

    /// The sum of the units' values, in each lane.
    #[inline(always)]
    fn sum(&self, value: f32) -> f32 {
        butterfly(f32::from_bits(value.to_bits() & self.mask), |a, b| a + b)
    }

    /// The activation of the lane's unit.
    #[inline(always)]
    fn output(&self, layer: OutputLayer) -> f32 {
        let features = self.shape.features;
        let unit = self.unit();
        let factors = |feature: u32| (self.activations[feature as usize], self.weight(feature, unit));
        let mut z = 0.0;
        let mut feature = 0;
        // Eight loads are under way at once.
        while feature + 4 <= features {
            for (a, weight) in [0, 1, 2, 3].map(|i| factors(feature + i)) {
                z = math::fma(a, weight, z);
            }
            feature += 4;
        }
        while feature < features {
            let (a, weight) = factors(feature);
            z = math::fma(a, weight, z);
            feature += 1;
        }
        let z = z + self.weight(features, unit);
        if layer.activation != activation::SOFTMAX {
            return activation::apply(layer.activation, z);
        }
        // The largest sum is subtracted first, so no exponential overflows.
        let e = math::exp(z - butterfly(z, GpuFloat::max));
        e / self.sum(e)
    }

    /// Calls `store` with each feature of the lane, the sum of the units' errors by their weights, and the feature's activation.
    #[inline(always)]
    fn backward(&self, error: f32, store: impl Fn(u32, f32, f32)) {
        let LayerShape { features, units, .. } = self.shape;
        let first_lane = warp::lane_id() / LANES * LANES;
        let mut first = 0;
        while first < features {
            let feature = (first + self.lane).min(features - 1);
            let mut sum = 0.0;
            let mut unit = 0;
            while unit < units {
                sum = math::fma(warp::shuffle_idx(error, first_lane + unit), self.weight(feature, unit), sum);
                unit += 1;
            }
            if first + self.lane < features {
                store(feature, sum, self.activations[feature as usize]);
            }
            first += LANES;
        }
    }
}
