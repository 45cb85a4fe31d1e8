use cuda_std::{Global, GlobalMut, SharedArray, kernel, math, shared_array, thread, warp};

use super::batch::Batch;
use super::shape::{Batches, OutputLayer};
use super::{activation, loss};

/// Samples per block of 256 threads: one per warp.
pub const ROWS_PER_BLOCK: u32 = 8;
pub(super) const SAMPLES: usize = ROWS_PER_BLOCK as usize;
const LANES: u32 = 32;

/// The output layer's error and loss, one warp per sample of the batch.
///
/// `outputs` are the last layer's activations, batch × units; for softmax its sums, which this kernel replaces by the
/// activations. It writes δ = ∂loss/∂z to `errors`, and to `losses` one sum of the step per [`ROWS_PER_BLOCK`] samples.
#[kernel]
pub fn network_output(
    targets: &[f32],
    order: &[u32],
    state: &[u32],
    outputs: GlobalMut<f32>,
    errors: GlobalMut<f32>,
    losses: GlobalMut<f32>,
    layer: OutputLayer,
    batches: Batches,
) {
    let step = state[0];
    let batch = Batch::new(order, step, batches);
    let row = thread::block_idx_x() * ROWS_PER_BLOCK + thread::thread_idx_x() / LANES;
    let mut sample_loss = 0.0;
    if row < batch.rows {
        let row = Row::new(outputs, targets, layer, row, batch.sample(row));
        row.finish_activation();
        sample_loss = row.loss();
        row.store_errors(errors);
    }
    let sums = shared_array![f32; SAMPLES];
    let sum = sum_of_samples(LANES, &sums, sample_loss);
    if thread::thread_idx_x() == 0 {
        let parts = batches.size.div_ceil(ROWS_PER_BLOCK);
        losses.set((step * parts + thread::block_idx_x()) as usize, sum);
    }
}

/// The loss and the number of samples whose largest output has the index of their largest target, one warp per sample.
///
/// To `losses` and `correct` it writes one sum of the step per [`ROWS_PER_BLOCK`] samples; otherwise as
/// [`network_output`].
#[kernel]
pub fn network_evaluate(
    targets: &[f32],
    order: &[u32],
    state: &[u32],
    outputs: GlobalMut<f32>,
    losses: GlobalMut<f32>,
    correct: GlobalMut<f32>,
    layer: OutputLayer,
    batches: Batches,
) {
    let step = state[0];
    let batch = Batch::new(order, step, batches);
    let row = thread::block_idx_x() * ROWS_PER_BLOCK + thread::thread_idx_x() / LANES;
    let (mut sample_loss, mut is_correct) = (0.0, 0.0);
    if row < batch.rows {
        let row = Row::new(outputs, targets, layer, row, batch.sample(row));
        row.finish_activation();
        sample_loss = row.loss();
        is_correct = row.is_correct();
    }
    let (losses_of_samples, correct_of_samples) = (shared_array![f32; SAMPLES], shared_array![f32; SAMPLES]);
    let loss_sum = sum_of_samples(LANES, &losses_of_samples, sample_loss);
    let correct_sum = sum_of_samples(LANES, &correct_of_samples, is_correct);
    if thread::thread_idx_x() == 0 {
        let parts = batches.size.div_ceil(ROWS_PER_BLOCK);
        let at = (step * parts + thread::block_idx_x()) as usize;
        losses.set(at, loss_sum);
        correct.set(at, correct_sum);
    }
}

/// The sum of the samples' values in order, in thread 0. All threads of the block must call it; of a sample's `lanes` threads the first one
/// has its value.
#[inline(always)]
pub(super) fn sum_of_samples(lanes: u32, sums: &SharedArray<f32, SAMPLES>, value: f32) -> f32 {
    let t = thread::thread_idx_x();
    if t.is_multiple_of(lanes) {
        sums.set((t / lanes) as usize, value);
    }
    thread::sync_threads();
    let mut sum = 0.0;
    if t == 0 {
        let mut sample = 0;
        while sample < SAMPLES {
            sum += sums.get(sample);
            sample += 1;
        }
    }
    sum
}

/// One sample's outputs and targets, processed by one warp: each lane handles every 32nd unit.
#[derive(Clone, Copy)]
struct Row<'a> {
    outputs: GlobalMut<'a, f32>,
    targets: Global<'a, f32>,
    layer: OutputLayer,
    first_output: u32,
    first_target: usize,
    lane: u32,
}

impl<'a> Row<'a> {
    #[inline(always)]
    fn new(outputs: GlobalMut<'a, f32>, targets: Global<'a, f32>, layer: OutputLayer, row: u32, sample: usize) -> Self {
        let lane = thread::thread_idx_x() % LANES;
        let units = layer.units;
        Self { outputs, targets, layer, first_output: row * units, first_target: sample * units as usize, lane }
    }

    #[inline(always)]
    fn output(&self, unit: u32) -> f32 {
        self.outputs.get((self.first_output + unit) as usize)
    }

    #[inline(always)]
    fn target(&self, unit: u32) -> f32 {
        self.targets[self.first_target + unit as usize]
    }

    /// The sum of `value` over the units.
    #[inline(always)]
    fn sum(&self, value: impl Fn(u32) -> f32) -> f32 {
        let mut sum = 0.0;
        let mut unit = self.lane;
        while unit < self.layer.units {
            sum += value(unit);
            unit += LANES;
        }
        warp::reduce_add(sum)
    }

    /// Replaces softmax's sums by its activations. The largest sum is subtracted first, so that no exponential
    /// overflows.
    #[inline(always)]
    fn finish_activation(&self) {
        if self.layer.activation != activation::SOFTMAX {
            return;
        }
        let mut largest = f32::NEG_INFINITY;
        let mut unit = self.lane;
        while unit < self.layer.units {
            largest = largest.max(self.output(unit));
            unit += LANES;
        }
        let largest = warp::reduce_max(largest);
        let total = self.sum(|unit| {
            let e = math::exp(self.output(unit) - largest);
            self.outputs.set((self.first_output + unit) as usize, e);
            e
        });
        let mut unit = self.lane;
        while unit < self.layer.units {
            self.outputs.set((self.first_output + unit) as usize, self.output(unit) / total);
            unit += LANES;
        }
    }

    #[inline(always)]
    fn loss(&self) -> f32 {
        let OutputLayer { activation, loss, .. } = self.layer;
        self.sum(|unit| loss::term(activation, loss, self.output(unit), self.target(unit)))
    }

    #[inline(always)]
    fn store_errors(&self, errors: GlobalMut<f32>) {
        let OutputLayer { activation, loss, .. } = self.layer;
        let weighted = match loss::needs_weighted_sum(activation, loss) {
            true => self.sum(|unit| (self.output(unit) - self.target(unit)) * self.output(unit)),
            false => 0.0,
        };
        let mut unit = self.lane;
        while unit < self.layer.units {
            let error = loss::error(activation, loss, self.output(unit), self.target(unit), weighted);
            errors.set((self.first_output + unit) as usize, error);
            unit += LANES;
        }
    }

    /// 1 if the argmax of the outputs is that of the targets, else 0; the first of equal values counts.
    #[inline(always)]
    fn is_correct(&self) -> f32 {
        let output = self.argmax(|unit| self.output(unit));
        if output == self.argmax(|unit| self.target(unit)) { 1.0 } else { 0.0 }
    }

    #[inline(always)]
    fn argmax(&self, value: impl Fn(u32) -> f32) -> u32 {
        let (mut best, mut largest) = (u32::MAX, f32::NEG_INFINITY);
        let mut unit = self.lane;
        while unit < self.layer.units {
            let candidate = value(unit);
            if best == u32::MAX || candidate > largest {
                (best, largest) = (unit, candidate);
            }
            unit += LANES;
        }
        let mut distance = LANES / 2;
        while distance > 0 {
            let (other, candidate) = (warp::shuffle_xor(best, distance), warp::shuffle_xor(largest, distance));
            if best == u32::MAX
                || (other != u32::MAX && (candidate > largest || (candidate == largest && other < best)))
            {
                (best, largest) = (other, candidate);
            }
            distance /= 2;
        }
        best
    }
}
