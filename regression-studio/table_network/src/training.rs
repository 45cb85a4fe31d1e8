//! Training: steps and epochs.

use std::ops::ControlFlow;

use kernels_cpu::product::PaddedMatrix;
use ndarray::ArrayView2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::adam::Rule;
use crate::chunk::{Chunk, Derived, Model, TrainedChunk};
use crate::dropout::Mask;
use crate::encoder::{Encoder, Rows};
use crate::gradients::Batch;
use crate::linear::Linear;
use crate::network::{self, TableNetwork};
use crate::shards::Moments;
use crate::{Error, InputKind, Options};

/// A training run. It keeps its rows in encoded form.
#[derive(Clone, Debug)]
pub struct Training {
    pub(crate) options: Options,
    rows: Rows,
    targets: Vec<f32>,
    pub(crate) network: TableNetwork,
    pub(crate) moments: Moments,
    pub(crate) best: Best,
    /// Number of complete epochs.
    pub(crate) epoch: usize,
    /// Number of completed steps in the next epoch.
    pub(crate) step: usize,
    /// Sum over the rows trained so far in that epoch. Each row adds its members' mean squared
    /// error, standardized, before its step.
    pub(crate) loss: f64,
    /// The measurement of the last epoch, until the next step.
    validated: Option<Validated>,
    derived: Derived,
    pub(crate) gradients: Vec<PaddedMatrix<f32>>,
    chunks: Vec<TrainedChunk>,
    /// Number of chunks in the last batch.
    used: usize,
    /// The order of the rows in epoch `order_of`.
    pub(crate) order: Vec<u32>,
    order_of: Option<usize>,
}

/// The best epoch so far.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    /// Number of the epoch, counted from 1; 0 before the end of the first.
    pub(crate) epoch: usize,
    /// Root mean squared error on the validation rows, standardized; infinite before the end of the
    /// first epoch.
    pub(crate) rmse: f64,
    /// The averages of the weights; before the end of the first epoch, the initial weights.
    pub(crate) parameters: Vec<PaddedMatrix<f32>>,
}

/// What [`Training::keep_best`] stores for an epoch besides its weights.
#[derive(Clone, Debug)]
struct Validated {
    rmse: f64,
    /// With the best share for the epoch.
    linear: Linear,
}

impl Training {
    /// Creates a run with random weights on `inputs`, rows × `kinds`, and `targets`, rows × 1, both
    /// standardized.
    ///
    /// # Errors
    /// If an option is out of range, the shapes do not match, there are no rows or no inputs, or a
    /// value is not finite.
    pub fn new(
        options: Options,
        kinds: &[InputKind],
        inputs: ArrayView2<f32>,
        targets: ArrayView2<f32>,
    ) -> Result<Self, Error> {
        options.check()?;
        check(kinds, inputs, targets)?;
        let encoder = Encoder::fit(kinds, inputs, options.bins);
        let rows = encoder.encode(inputs)?;
        let network = TableNetwork::new(&options, encoder, Linear::fit(inputs, targets));
        let layout = &network.layout;
        let batch = largest_batch(rows.count, options.batch_size);
        let chunks = batch.div_ceil(Chunk::capacity(layout));
        Ok(Self {
            targets: targets.iter().copied().collect(),
            moments: Moments { means: layout.zeros(), squares: layout.zeros(), averages: network.parameters.clone() },
            best: Best { epoch: 0, rmse: f64::INFINITY, parameters: network.parameters.clone() },
            epoch: 0,
            step: 0,
            loss: 0.0,
            validated: None,
            derived: Derived::for_training(layout, &network.parameters),
            gradients: layout.zeros(),
            chunks: vec![TrainedChunk::new(layout); chunks],
            used: 0,
            order: (0..rows.count as u32).collect(),
            order_of: None,
            options,
            rows,
            network,
        })
    }

    /// The run's options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Number of complete epochs.
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    /// Number of completed steps in the next epoch.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Sum over the rows trained so far in that epoch. Each row adds its members' mean squared
    /// error, standardized, before its step and with dropout.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Number of steps in an epoch.
    pub fn steps_per_epoch(&self) -> usize {
        steps(self.rows.count, self.options.batch_size)
    }

    /// Number of rows in the first `step` steps of an epoch.
    pub fn rows_of(&self, step: usize) -> usize {
        part(self.rows.count, self.steps_per_epoch(), step)
    }

    /// The network with the current averages of its weights, and the best epoch's linear share.
    pub fn current(&self) -> TableNetwork {
        TableNetwork { parameters: self.moments.averages.clone(), ..self.network.clone() }
    }

    /// The network that [`Self::keep_best`] stored; before its first call, the initial weights.
    pub fn best(&self) -> TableNetwork {
        TableNetwork { parameters: self.best.parameters.clone(), ..self.network.clone() }
    }

    /// Trains up to `count` steps of this epoch. After each step, calls `after_step` with the
    /// number of completed steps; it may end the call. [`Self::end_epoch`] follows the epoch's last
    /// step. Uses the threads of rayon's current pool.
    pub fn train(&mut self, count: usize, after_step: &mut dyn FnMut(usize) -> ControlFlow<()>) {
        let end = self.steps_per_epoch().min(self.step.saturating_add(count));
        while self.step < end {
            self.train_step();
            if after_step(self.step).is_break() {
                break;
            }
        }
    }

    /// Ends the epoch: predicts the validation part, `inputs`, rows × inputs, with the best linear
    /// share for its `targets`, rows × 1. The caller calls [`Self::keep_best`] if the error of
    /// these predictions is the smallest so far.
    ///
    /// # Errors
    /// If the shapes do not match, there are no rows, or the error is not finite.
    pub fn end_epoch(&mut self, inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Result<Vec<f32>, Error> {
        check_shapes(self.network.kinds(), inputs, targets)?;
        let outputs = self.current().outputs(&self.network.encoder.encode(inputs)?);
        let mut outputs: Vec<f32> = outputs.chunks(self.options.members).map(network::mean).collect();
        let mut linear = self.network.linear.clone();
        let of_linear: Vec<f32> = inputs.outer_iter().map(|row| linear.predict(row)).collect();
        linear.share = Linear::best_share(&of_linear, &outputs, targets);
        outputs.iter_mut().zip(&of_linear).for_each(|(output, &of_linear)| *output = linear.mix(of_linear, *output));
        let squares = outputs.iter().zip(targets).map(|(&output, &target)| {
            let error = f64::from(output) - f64::from(target);
            error * error
        });
        let rmse = (squares.sum::<f64>() / targets.len() as f64).sqrt();
        let epoch = self.epoch + 1;
        if !rmse.is_finite() {
            return Err(Error::Diverged { epoch });
        }
        (self.epoch, self.step, self.loss) = (epoch, 0, 0.0);
        self.validated = Some(Validated { rmse, linear });
        Ok(outputs)
    }

    /// Stores the weights and the linear share of the epoch that just ended as the best epoch's.
    pub fn keep_best(&mut self) {
        if let Some(Validated { rmse, linear }) = self.validated.take() {
            (self.best.epoch, self.best.rmse) = (self.epoch, rmse);
            self.best.parameters.clone_from(&self.moments.averages);
            self.network.linear = linear;
        }
    }

    fn train_step(&mut self) {
        self.validated = None;
        let (epoch, step) = (self.epoch, self.step);
        if self.order_of != Some(epoch) {
            self.order = (0..self.rows.count as u32).collect();
            self.order.shuffle(&mut ChaCha8Rng::seed_from_u64(order_seed(self.options.seed, epoch)));
            self.order_of = Some(epoch);
        }
        let steps = self.steps_per_epoch();
        let count = (epoch * steps + step) as u64;
        let range = part(self.rows.count, steps, step)..part(self.rows.count, steps, step + 1);
        let loss = self.gradients_of(range, count);
        let rule = Rule::of_step(&self.options, count, steps);
        self.update(Some(rule));
        self.derive();
        self.step += 1;
        self.loss += loss / self.options.members as f64;
    }

    /// Runs forward and backward on a range of the order. Returns the sum of the squared errors.
    pub(crate) fn gradients_of(&mut self, range: std::ops::Range<usize>, step: u64) -> f64 {
        let TableNetwork { layout, parameters, .. } = &self.network;
        let model = Model { layout, parameters, derived: &self.derived };
        let (rows, targets, capacity) = (&self.rows, &self.targets, Chunk::capacity(layout));
        let (dropout, seed) = (self.options.dropout, self.options.seed);
        let mask = |layer| Mask::new(dropout, seed, step, layer);
        let batch = &self.order[range];
        self.chunks.par_iter_mut().with_max_len(1).zip(batch.par_chunks(capacity)).enumerate().for_each(
            |(index, (chunk, samples))| {
                chunk.chunk.forward(model, rows, samples.iter().copied(), index * capacity, mask);
                chunk.backward(model, targets, batch.len(), mask);
            },
        );
        self.used = batch.len().div_ceil(capacity);
        self.chunks[..self.used].iter().map(|chunk| chunk.loss).sum()
    }

    /// Recomputes the values derived from the parameters after they changed.
    pub(crate) fn derive(&mut self) {
        self.derived.update(&self.network.layout, &self.network.parameters);
    }

    pub(crate) fn update(&mut self, rule: Option<Rule>) {
        let TableNetwork { layout, parameters, .. } = &mut self.network;
        let batch = Batch { layout, rows: &self.rows, chunks: &self.chunks[..self.used] };
        batch.update(&mut self.gradients, parameters, &mut self.moments, rule);
    }
}

/// The seed for an epoch's row order.
fn order_seed(seed: u64, epoch: usize) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(epoch as u64 + 1)
}

/// Number of steps in an epoch. Their batches are about `batch_size` large, and their sizes differ
/// by at most one.
fn steps(rows: usize, batch_size: usize) -> usize {
    ((rows + batch_size / 2) / batch_size).max(1)
}

/// The end of the first `step` of `steps` nearly equal parts of `rows`.
fn part(rows: usize, steps: usize, step: usize) -> usize {
    (rows as u128 * step as u128 / steps as u128) as usize
}

fn largest_batch(rows: usize, batch_size: usize) -> usize {
    rows.div_ceil(steps(rows, batch_size))
}

fn check_shapes(kinds: &[InputKind], inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Result<(), Error> {
    let (rows, columns) = inputs.dim();
    if rows == 0 || columns == 0 {
        return Err(Error::Empty { what: "the inputs", rows, columns });
    }
    for (what, (rows, columns), (expected_rows, expected_columns)) in
        [("the inputs", (rows, columns), (rows, kinds.len())), ("the targets", targets.dim(), (rows, 1))]
    {
        if (rows, columns) != (expected_rows, expected_columns) {
            return Err(Error::Shape { what, rows, columns, expected_rows, expected_columns });
        }
    }
    Ok(())
}

fn check(kinds: &[InputKind], inputs: ArrayView2<f32>, targets: ArrayView2<f32>) -> Result<(), Error> {
    check_shapes(kinds, inputs, targets)?;
    for (what, values) in [("the inputs", inputs), ("the targets", targets)] {
        if let Some(((row, column), _)) = values.indexed_iter().find(|(_, value)| !value.is_finite()) {
            return Err(Error::NotFinite { what, row, column });
        }
    }
    Ok(())
}
