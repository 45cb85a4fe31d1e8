//! Training on the CPU.
//!
//! A batch of up to [`CHUNK`] samples is one chunk: its gradients update the weights directly from
//! registers. A larger batch is cut into chunks, which are distributed among up to
//! [`GROUPS`](model::GROUPS) groups. The gradients of each group's chunks are added in order; then
//! the groups' gradients are added in order. The chunks, the groups and the order of every sum are
//! independent of the number of threads, so the weights have the same bits for any number of
//! threads ([`steps`]).
//!
//! If most inputs are zero, the first layer's products skip the zeros, which changes no bit of the
//! results ([`kernels_cpu::nonzero_product`]).
//!
//! Full-batch steps have a separate implementation if every layer has few units ([`full_batch`]).

mod asynchronous;
mod chunk;
mod full_batch;
mod gradients;
mod layer;
mod model;
mod pace;
mod phases;
mod split;
mod steps;

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use kernels_cpu::InstructionSet;
use rayon::prelude::*;
use team::Member;

pub use self::asynchronous::{MasterLayer, Masters, Says, WorkerEngine};
use self::chunk::{Chunk, ChunkInputs, Purpose};
use self::full_batch::FullBatch;
pub(super) use self::gradients::CpuGradients;
use self::layer::Layer;
use self::model::{CHUNK, Model};
pub use self::pace::Threads;
use self::pace::{Pace, Remaining};
pub use self::phases::PhaseTimes;
use self::steps::{Leader, OrderedBatches, Rules, Steps};
use super::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters, counted};
use crate::network::argmax;
use crate::padded::{unpad, unpad_row};
use crate::training::Hyperparameters;
use crate::{InputRow, Network, Samples};

/// Maximum fraction of nonzero inputs at which skipping the zeros is faster than dense products.
const NONZERO_SHARE: f64 = 0.4;

/// Trains on the CPU. Steps run on a thread team, or on one thread if that is faster ([`Threads`]).
/// Evaluations run on rayon's current thread pool.
#[derive(Debug)]
pub struct CpuEngine<'a> {
    samples: &'a Samples,
    hyperparameters: Hyperparameters,
    /// Number of steps in the epochs before this one.
    steps_before: usize,
    model: Model,
    layers: Vec<Layer>,
    pace: Pace,
    phases: Option<PhaseTimes>,
    /// The samples in the layout for full-batch steps, built at the first such step.
    full_batch: Option<FullBatch>,
}

impl<'a> CpuEngine<'a> {
    /// Creates an engine that trains the given parameters on the given samples.
    ///
    /// # Panics
    /// If the samples do not have the network's numbers of inputs and outputs.
    pub fn new(samples: &'a Samples, parameters: &Parameters, hyperparameters: &Hyperparameters) -> Self {
        let network = &parameters.network;
        let architecture = network.architecture().clone();
        assert_eq!(samples.input_count(), architecture.inputs(), "samples and network differ in inputs");
        assert_eq!(samples.targets().ncols(), architecture.outputs(), "samples and network differ in outputs");

        let layers = (0..architecture.layers()).map(|index| Layer::new(parameters, index, hyperparameters));
        let nonzero_share = Some(nonzero_share(samples)).filter(|&share| share <= NONZERO_SHARE);
        Self {
            samples,
            hyperparameters: hyperparameters.clone(),
            steps_before: 0,
            layers: layers.collect(),
            model: Model { architecture, instruction_set: InstructionSet::detect(), nonzero_share },
            pace: Pace::new(Threads::Fastest),
            phases: None,
            full_batch: None,
        }
    }

    /// Trains with this number of threads from now on.
    pub fn set_threads(&mut self, threads: Threads) {
        self.pace = Pace::new(threads);
    }

    /// Times the phases of the steps from now on, except full-batch steps with few units. This
    /// makes a step up to half a microsecond slower.
    pub fn time_phases(&mut self) {
        self.phases = Some(PhaseTimes::default());
    }

    /// The times since [`Self::time_phases`].
    pub fn phase_times(&self) -> Option<PhaseTimes> {
        self.phases
    }

    /// The update rules of this epoch.
    fn rules(&self) -> Rules<'_> {
        Rules { hyperparameters: &self.hyperparameters, steps_before: self.steps_before }
    }

    /// Runs step `step` of the epoch on all samples and returns their summed loss before the step.
    fn full_batch_step(&mut self, step: usize, count: usize) -> f64 {
        let rule = self.rules().of_step(step, count);
        let (samples, loss) = (self.samples, self.hyperparameters.loss);
        let full_batch = self.full_batch.get_or_insert_with(|| FullBatch::new(&self.model, samples, loss));
        full_batch.step(&mut self.layers, rule)
    }

    /// Trains on the batches of the given steps with one split between threads. Ends when the pace
    /// suggests another split, the observer ends the run, or all steps are done. Advances the start
    /// of `steps`.
    fn train_batches(
        &mut self,
        order: &[u32],
        batch_size: usize,
        steps: &mut Range<usize>,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<Result<(), EngineError>>,
    ) -> ControlFlow<Result<(), EngineError>> {
        let batches = OrderedBatches { order, size: batch_size, first: steps.start };
        let capacity = batch_size.min(order.len());
        let split = self.pace.next_split(Remaining {
            architecture: &self.model.architecture,
            batch_size: capacity,
            steps: steps.len(),
            nonzero_share: self.model.nonzero_share,
        });
        let members = split.members;
        let Self { samples, hyperparameters, steps_before, model, layers, pace, phases, .. } = self;
        let rules = Rules { hyperparameters, steps_before: *steps_before };
        let team = Steps::new(model, layers, samples, rules, split, capacity);
        let mut ended = ControlFlow::Continue(());
        let mut resumed = Instant::now();
        let mut after_step = |step: usize, loss: f64| {
            let time = resumed.elapsed();
            steps.start = step + 1;
            ended = observe(step, loss);
            let may_change = pace.after_step(members, time);
            resumed = Instant::now();
            if ended.is_break() || may_change { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // A member returns early only if the leader has ended the run, or after a panic, which is
        // propagated.
        let lead = |leader: &Member| {
            let duties = Leader { after_step: &mut after_step, phases: phases.as_mut() };
            _ = team.run(leader, batches, Some(duties));
        };
        let follow = |member: &Member| _ = team.run(member, batches, None);
        let outcome = team::run(members, lead, follow);
        team.write_back(layers);
        if outcome.is_err() {
            pace.without_threads();
        }
        ended
    }

    /// Whether a batch has every sample exactly once, and [`FullBatch`] supports the model and the samples.
    fn is_full_batch(&self, batch: &[u32]) -> bool {
        let count = self.samples.len();
        if batch.len() != count || !FullBatch::supports(&self.model, self.samples) {
            return false;
        }
        // The usual ascending order needs no search for duplicates.
        if batch.iter().zip(0..).all(|(&index, expected)| index == expected) {
            return true;
        }
        let mut seen = vec![false; count];
        batch.iter().all(|&index| seen.get_mut(index as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
    }

    /// The summed loss of some samples, and how many of them are correct.
    fn evaluate_range(
        &self,
        samples: &Samples,
        range: Range<usize>,
        (inputs, chunk): &mut (ChunkInputs, Chunk),
    ) -> (f64, usize) {
        inputs.copy_in(self.model.instruction_set, samples, range.clone(), Purpose::Evaluation);
        chunk.first_layer(&self.model, self.layers.as_slice(), inputs, range.len());
        chunk.later_layers(&self.model, self.layers.as_slice());
        let (mut loss, mut correct) = (0.0, 0);
        for (row, index) in range.enumerate() {
            let (output, target) = (chunk.output(row), samples.target(index));
            loss += self.hyperparameters.loss.of_sample(self.model.architecture.output_activation(), output, target);
            correct += usize::from(argmax(output) == argmax(target));
        }
        (loss, correct)
    }
}

impl Engine for CpuEngine<'_> {
    fn device(&self) -> String {
        format!("CPU, {}, {}", counted(rayon::current_num_threads(), "thread"), self.model.instruction_set.name())
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.hyperparameters.learning_rate = learning_rate;
        self.steps_before = steps_before;
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let batch_size = self.hyperparameters.batch_size.unwrap_or(order.len()).max(1);
        let mut observe = |step: usize, loss: f64| match loss.is_finite() {
            true => observe(step, loss).map_break(|()| Ok(())),
            false => ControlFlow::Break(Err(Diverged { step }.into())),
        };
        let mut steps = first_step..order.len().div_ceil(batch_size);
        while !steps.is_empty() {
            let first_batch = &order[steps.start * batch_size..order.len().min((steps.start + 1) * batch_size)];
            let ended = if self.is_full_batch(first_batch) {
                let step = steps.start;
                steps.start += 1;
                observe(step, self.full_batch_step(step, first_batch.len()))
            } else {
                self.train_batches(order, batch_size, &mut steps, &mut observe)
            };
            if let ControlFlow::Break(result) = ended {
                return result;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        let starts: Vec<usize> = (0..samples.len()).step_by(CHUNK).collect();
        let buffers = || {
            let whole = 0..self.model.architecture.inputs();
            let inputs = ChunkInputs::new(&self.model, samples, CHUNK, std::slice::from_ref(&whole));
            (inputs, Chunk::new(&self.model.architecture, CHUNK))
        };
        let evaluate = |buffers: &mut (ChunkInputs, Chunk), &start: &usize| {
            self.evaluate_range(samples, start..samples.len().min(start + CHUNK), buffers)
        };
        let parts: Vec<(f64, usize)> = starts.par_iter().map_init(buffers, evaluate).collect();
        let loss: f64 = parts.iter().map(|part| part.0).sum();
        let correct = parts.iter().map(|part| part.1).sum();
        Ok(Evaluation { loss: loss / samples.len().max(1) as f64, correct, count: samples.len() })
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.evaluate(self.samples)
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        let layers = &self.layers;
        let weights = layers.iter().map(|layer| unpad(&layer.weights)).collect();
        let biases = layers.iter().map(|layer| unpad_row(&layer.biases)).collect();
        let network = match Network::new(self.model.architecture.clone(), weights, biases) {
            Ok(network) => network,
            Err(error) => unreachable!("the engine keeps every shape: {error}"),
        };
        let velocities = layers.iter().map(Layer::velocities).collect();
        Ok(Parameters { network, velocities, squares: layers.iter().map(Layer::squares).collect() })
    }
}

/// The fraction of nonzero inputs, 0 … 1, in up to 256 evenly spaced samples.
fn nonzero_share(samples: &Samples) -> f64 {
    const MAX_INSPECTED: usize = 256;
    let (mut nonzero, mut all) = (0, 0);
    for index in (0..samples.len()).step_by(samples.len().div_ceil(MAX_INSPECTED).max(1)) {
        let (count, length) = match samples.input_row(index) {
            InputRow::Floats(row) => (row.iter().filter(|value| **value != 0.0).count(), row.len()),
            InputRow::Bytes(row, _) => (row.iter().filter(|&&byte| byte != 0).count(), row.len()),
        };
        nonzero += count;
        all += length;
    }
    nonzero as f64 / all.max(1) as f64
}
