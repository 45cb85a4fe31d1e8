//! Training steps on a thread team.
//!
//! Each member of the team has the weights for some inputs of each layer ([`Shard`]) and some
//! samples of each batch ([`Work`]). A step has these phases:
//!
//! 1. **Pipeline**, only for a batch of one chunk and several members: computes the first layer's
//!    sums. Each member adds the terms of its inputs to one member's samples after another. Before
//!    each of these, it waits until the previous member has added its terms, so every sum receives
//!    its terms in the order of the inputs. The first member indexes its inputs of the next batch
//!    after adding its terms. The others do so before, while they would otherwise wait.
//! 2. **Samples**: runs the other layers forward and backward for the member's samples. The member
//!    writes its [`Work`] and reads the parameters of all members.
//! 3. **Parameters**, after a barrier: computes the gradients of the member's weights and updates
//!    them. The member writes its [`Shard`] and reads the activations and deltas of all samples.
//!    The next pipeline needs only the member's own weights, so it starts without a barrier.
//!
//! The first layer has most of the weights. Its weights and the corresponding inputs are thus used
//! by one core only and stay in that core's cache. If cores are far apart, each member also has all
//! other layers and updates them itself ([`Split::copies_later_layers`]). A batch of several chunks
//! has no pipeline: a member has whole chunks and reads the weights of all members. It has enough
//! samples to make that worthwhile.
//!
//! No thread ever waits for a lock, since the members' marks separate the phases. Locks are only
//! tried, and a phase that overlaps another panics.
//!
//! **Every sum has the same order as on one thread**, so the weights have the same bits for any
//! split.

use std::ops::{ControlFlow, Range};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use kernels_cpu::nonzero_product::add_nonzero_product;
use kernels_cpu::product::{PaddedMatrix, product};
use team::{Broken, Member};

use super::chunk::{Chunk, ChunkInputs, Copies, LayerParts, Purpose, WithCopies, first_rows};
use super::layer::{Accumulate, Forward, Layer, Left, UpdateRule, add_all, add_sum_of_rows};
use super::model::{CHUNK, GROUPS, Model};
use super::phases::{Phase, PhaseTimes, Stopwatch};
use super::split::{Layout, Split};
use crate::Samples;
use crate::training::Hyperparameters;

/// The update rules of an epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    pub(super) hyperparameters: &'a Hyperparameters,
    /// Number of steps in the previous epochs.
    pub(super) steps_before: usize,
}

impl Rules<'_> {
    /// The rule for step `step` of the epoch, on a batch of `count` samples.
    pub(super) fn of_step(self, step: usize, count: usize) -> UpdateRule {
        UpdateRule::new(self.hyperparameters, self.steps_before + step, count)
    }
}

/// The data of a team that trains on batches of one size.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    model: &'a Model,
    samples: &'a Samples,
    rules: Rules<'a>,
    split: Split,
    /// Written by their members in parameter phases, and read in sample phases.
    shards: Vec<RwLock<Shard>>,
    /// Written by their members in sample phases, and read in parameter phases.
    work: Vec<RwLock<Work>>,
    /// The first layer's sums of each member's samples, samples × units. In the pipeline, one
    /// member after another writes them; then their own member reads them.
    sums: Vec<RwLock<PaddedMatrix<f32>>>,
    /// A member's copies of weights, before the first copy.
    copies: Copies,
}

/// A member's part of the parameters, and what it computes from all samples. Like [`Work`], it has
/// its own cache lines: the locks of all members are next to each other.
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    /// Its part of each layer with weights.
    layers: Vec<Layer>,
    /// For batches of several chunks, the gradients of the whole batch and of one group of chunks.
    gradients: Vec<[Gradients; 2]>,
    /// Copies of the samples' data, if several members have the samples of a chunk.
    gathered: Option<Gathered>,
}

/// The gradients of a part of a layer.
#[derive(Debug)]
struct Gradients {
    weights: PaddedMatrix<f32>,
    /// One row.
    biases: PaddedMatrix<f32>,
}

/// A batch's data for the gradients of a member's weights. Vectors have one element for each layer
/// with weights.
#[derive(Debug)]
struct Gathered {
    /// The activations that are inputs to its weights, batch × inputs. The first layer has none.
    left: Vec<PaddedMatrix<f32>>,
    /// batch × units.
    errors: Vec<PaddedMatrix<f32>>,
}

/// A member's samples, and what it computes from all parameters.
#[derive(Debug)]
#[repr(align(128))]
struct Work {
    /// Each chunk's inputs; empty if there is a pipeline.
    inputs: Vec<ChunkInputs>,
    /// The member's chunks, or its samples of the only chunk.
    chunks: Vec<Chunk>,
}

/// Yields the parts of the layers in the order of their inputs.
impl LayerParts for [RwLockReadGuard<'_, Shard>] {
    fn for_each(&self, layer: usize, mut each: impl FnMut(&Layer)) {
        self.iter().for_each(|shard| each(&shard.layers[layer]));
    }
}

/// The batches of the steps starting at `first`: `size` samples of `order` each, perhaps fewer in
/// the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderedBatches<'a> {
    pub(super) order: &'a [u32],
    pub(super) size: usize,
    pub(super) first: usize,
}

impl<'a> OrderedBatches<'a> {
    /// The batch of a step, if there is one.
    fn of_step(self, step: usize) -> Option<&'a [u32]> {
        let rest = self.order.get(step * self.size..).filter(|rest| !rest.is_empty())?;
        Some(&rest[..rest.len().min(self.size)])
    }

    /// Each step with its batch.
    fn iter(self) -> impl Iterator<Item = (usize, &'a [u32])> {
        self.order.chunks(self.size).enumerate().skip(self.first)
    }
}

/// Called with a step's index and the batch's summed loss; may end the run.
type AfterStep<'a> = &'a mut dyn FnMut(usize, f64) -> ControlFlow<()>;

/// What the leader does in addition to its part of the steps.
pub(super) struct Leader<'a> {
    /// Called after each step.
    pub(super) after_step: AfterStep<'a>,
    /// The times of its phases, if measured.
    pub(super) phases: Option<&'a mut PhaseTimes>,
}

impl<'a> Steps<'a> {
    /// Steps on batches of up to `batch_size` samples. A single member takes the layers; a team
    /// copies its parts of them.
    pub(super) fn new(
        model: &'a Model,
        layers: &mut Vec<Layer>,
        samples: &'a Samples,
        rules: Rules<'a>,
        split: Split,
        batch_size: usize,
    ) -> Self {
        let (architecture, members) = (&model.architecture, split.members);
        let sizes = architecture.sizes();
        let has_wholes = members == 1 || split.copies_later_layers;
        let copies = if has_wholes { Copies::of_transposed(architecture) } else { Copies::of_parts(model, layers) };
        let shard = |member: usize| {
            // The biases belong to the last inputs: they are added after those.
            let owns_biases = has_wholes || member + 1 == members;
            let part = |(index, layer): (usize, &Layer)| layer.part(split.rows(index, member), owns_biases);
            let layers = match members {
                1 => std::mem::take(layers),
                _ => layers.iter().enumerate().map(part).collect(),
            };
            let gradients = |layer: &Layer| {
                let (rows, columns) = (layer.weights.rows(), layer.weights.columns());
                std::array::from_fn(|_| Gradients {
                    weights: PaddedMatrix::zeros(rows, columns),
                    biases: PaddedMatrix::zeros(1, columns),
                })
            };
            let gradients = if batch_size > CHUNK { layers.iter().map(gradients).collect() } else { Vec::new() };
            let gathered = (split.layout == Layout::Samples).then(|| Gathered {
                left: layers.iter().map(|layer| PaddedMatrix::zeros(batch_size, layer.rows.len())).collect(),
                errors: sizes[1..].iter().map(|&units| PaddedMatrix::zeros(batch_size, units)).collect(),
            });
            RwLock::new(Shard { layers, gradients, gathered })
        };
        let shards = (0..members).map(shard).collect();
        let samples_of_member = batch_size.div_ceil(members);
        let work = |_| match split.layout {
            Layout::Samples => Work { inputs: Vec::new(), chunks: vec![Chunk::new(architecture, samples_of_member)] },
            Layout::Chunks => {
                let capacity = batch_size.min(CHUNK);
                let count = batch_size.div_ceil(CHUNK).min(round(members)).div_ceil(members);
                let inputs = ChunkInputs::new(model, samples, capacity, split.inputs());
                Work { inputs: vec![inputs; count], chunks: vec![Chunk::new(architecture, capacity); count] }
            }
        };
        let work = (0..members).map(|member| RwLock::new(work(member))).collect();
        let sums = |_| RwLock::new(PaddedMatrix::zeros(samples_of_member, sizes[1]));
        let sums = match split.layout {
            Layout::Samples => (0..members).map(sums).collect(),
            Layout::Chunks => Vec::new(),
        };
        Self { model, samples, rules, split, shards, work, sums, copies }
    }

    /// Writes the trained parameters back to the layers that [`Self::new`] received.
    pub(super) fn write_back(self, layers: &mut Vec<Layer>) {
        let is_whole = self.split.members == 1;
        for shard in self.shards {
            let shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
            match is_whole {
                true => *layers = shard.layers,
                false => layers.iter_mut().zip(&shard.layers).for_each(|(layer, part)| layer.copy_part(part)),
            }
        }
    }

    /// Runs a member's part of the steps on these batches.
    ///
    /// # Errors
    /// If the leader has ended the run, or a member has panicked. The leader ends a run only after
    /// complete steps.
    pub(super) fn run(&self, member: &Member, batches: OrderedBatches, leader: Option<Leader>) -> Result<(), Broken> {
        let (after_step, phases) = leader.map(|leader| (leader.after_step, leader.phases)).unzip();
        let stopwatch = Stopwatch::start(phases.flatten());
        match self.split.layout {
            Layout::Samples => self.run_pipeline(member, batches, after_step, stopwatch),
            Layout::Chunks => self.run_chunks(member, batches, after_step, stopwatch),
        }
    }

    fn run_pipeline(
        &self,
        member: &Member,
        batches: OrderedBatches,
        mut after_step: Option<AfterStep>,
        mut stopwatch: Stopwatch,
    ) -> Result<(), Broken> {
        let (me, members) = (member.index(), self.split.members);
        let own = std::slice::from_ref(&self.split.inputs()[me]);
        let buffer = || ChunkInputs::new(self.model, self.samples, batches.size, own);
        let mut copies = self.copies.clone();
        if self.split.copies_later_layers {
            copies.copy(read_lock(&self.shards[me]).layers.as_slice());
        }
        // For the current batch and for the next one.
        let (mut inputs, mut next_inputs) = (buffer(), buffer());
        if let Some(batch) = batches.of_step(batches.first) {
            self.read_inputs(&mut inputs, batch);
        }
        for (step, batch) in batches.iter() {
            let mark = member.mark();
            // Marks announce what `self.add_terms` has added: one mark for each member's samples.
            let added = |other: usize| mark + 1 + other;
            let mut read_next = || {
                if let Some(next) = batches.of_step(step + 1) {
                    self.read_inputs(&mut next_inputs, next);
                }
                if let Some(later) = batches.of_step(step + 2) {
                    later.iter().for_each(|&index| self.samples.prefetch(index as usize, own[0].clone()));
                }
            };
            if me > 0 {
                read_next();
            }
            for other in 0..members {
                if let Some(before) = me.checked_sub(1) {
                    stopwatch.end(Phase::FirstLayer);
                    member.wait_for(before, added(other))?;
                    stopwatch.end(Phase::Meetings);
                }
                self.add_terms(me, &inputs, other, batch.len());
                member.pass();
            }
            if me == 0 {
                read_next();
            }
            stopwatch.end(Phase::FirstLayer);
            member.wait_for(members - 1, added(me))?;
            stopwatch.end(Phase::Meetings);
            self.other_layers(me, batch, &mut copies);
            stopwatch.end(Phase::OtherLayers);
            member.wait()?;
            stopwatch.end(Phase::Meetings);
            self.update(me, &inputs, step, batch.len(), &mut copies);
            stopwatch.end(Phase::Update);
            stopwatch.end_step();
            std::mem::swap(&mut inputs, &mut next_inputs);
            if let Some(after_step) = &mut after_step
                && after_step(step, self.loss()).is_break()
            {
                break;
            }
            stopwatch.restart();
        }
        Ok(())
    }

    /// Reads the inputs of a batch, with the index that both passes need.
    fn read_inputs(&self, inputs: &mut ChunkInputs, batch: &[u32]) {
        let indices = batch.iter().map(|&index| index as usize);
        inputs.copy_in(self.model.instruction_set, self.samples, indices, Purpose::Training);
    }

    /// Adds the terms of a member's inputs to the first layer's sums, for the samples of member
    /// `other` in a batch of `count` samples.
    fn add_terms(&self, member: usize, inputs: &ChunkInputs, other: usize, count: usize) {
        let (set, samples) = (self.model.instruction_set, self.split.range(count, other));
        let (shard, mut sums) = (read_lock(&self.shards[member]), write_lock(&self.sums[other]));
        let (weights, stride) = (&shard.layers[0].weights, sums.stride());
        let out = &mut sums.padded_mut()[..samples.len() * stride];
        match inputs {
            ChunkInputs::Nonzero(parts) => {
                if member == 0 {
                    out.fill(0.0);
                }
                parts.iter().for_each(|(_, part)| add_nonzero_product(set, part, samples.clone(), weights, 0, out));
            }
            ChunkInputs::Dense { rows, .. } => {
                let left = first_rows(rows, samples.end);
                let sink = Forward { out, stride, continues: member > 0, biases: None };
                product(set, &left[samples], weights, 0..stride, sink);
            }
        }
    }

    /// Completes the first layer and runs the others, forward and backward, for a member's samples.
    fn other_layers(&self, member: usize, batch: &[u32], copies: &mut Copies) {
        let samples = self.split.range(batch.len(), member);
        let mut work = write_lock(&self.work[member]);
        let chunk = &mut work.chunks[0];
        let shards = match self.split.copies_later_layers {
            true => vec![read_lock(&self.shards[member])],
            false => {
                let shards = read_locks(&self.shards);
                copies.copy(shards.as_slice());
                shards
            }
        };
        let with_biases = shards.last().expect("a team has a member");
        chunk.finish_first_layer(self.model, &with_biases.layers[0], &read_lock(&self.sums[member]), samples.len());
        chunk.later_layers(self.model, &WithCopies { parts: shards.as_slice(), copies });
        let indices = batch[samples].iter().map(|&index| index as usize);
        chunk.backward(self.model, copies, self.samples, indices, self.rules.hyperparameters.loss);
    }

    /// Updates a member's parameters from the gradients of step `step`, over `count` samples.
    fn update(&self, member: usize, inputs: &ChunkInputs, step: usize, count: usize, copies: &mut Copies) {
        let (set, rule) = (self.model.instruction_set, self.rules.of_step(step, count));
        let mut shard = write_lock(&self.shards[member]);
        let Shard { layers, gathered, .. } = &mut *shard;
        let Gathered { left, errors } = gathered.as_mut().expect("several members have the samples of the chunk");
        for (other, work) in self.work.iter().enumerate() {
            let (work, samples) = (read_lock(work), self.split.range(count, other));
            let chunk = &work.chunks[0];
            for (index, layer) in layers.iter().enumerate() {
                copy_rows(&chunk.errors[index], 0..chunk.errors[index].columns(), &mut errors[index], samples.clone());
                if let Some(before) = index.checked_sub(1) {
                    copy_rows(&chunk.activations[before], layer.rows.clone(), &mut left[index], samples.clone());
                }
            }
        }
        for (index, layer) in layers.iter_mut().enumerate() {
            let matrix = match (index, inputs) {
                (0, ChunkInputs::Nonzero(parts)) => {
                    parts.iter().for_each(|(_, part)| layer.update(set, rule, Left::Nonzero(part), &errors[0]));
                    None
                }
                (0, ChunkInputs::Dense { rows, .. }) => Some(rows),
                _ => Some(&left[index]),
            };
            if let Some(matrix) = matrix {
                layer.update(set, rule, Left::Dense(&first_rows(matrix, count)[..count]), &errors[index]);
            }
            if layer.owns_biases {
                layer.update_biases(set, rule, &errors[index], count);
            }
        }
        if self.split.copies_later_layers {
            // Now, while the weights are in cache.
            copies.copy(layers.as_slice());
        }
    }

    /// The summed loss of the last batch, added in the samples' order.
    fn loss(&self) -> f64 {
        let mut loss = 0.0;
        for work in &self.work {
            read_lock(work).chunks[0].losses.iter().for_each(|sample| loss += sample);
        }
        loss
    }

    fn run_chunks(
        &self,
        member: &Member,
        batches: OrderedBatches,
        mut after_step: Option<AfterStep>,
        mut stopwatch: Stopwatch,
    ) -> Result<(), Broken> {
        let me = member.index();
        let mut copies = self.copies.clone();
        for (step, batch) in batches.iter() {
            if let Some(next) = batches.of_step(step + 1)
                && batches.size <= CHUNK
            {
                let all = 0..self.model.architecture.inputs();
                next.iter().for_each(|&index| self.samples.prefetch(index as usize, all.clone()));
            }
            let (mut loss, mut loss_of_group) = (0.0, 0.0);
            let chunks = Chunks::of(batch.len());
            for round in chunks.rounds(self.split.members) {
                self.passes(me, batch, round.clone(), &mut copies, &mut stopwatch);
                member.wait()?;
                stopwatch.end(Phase::Meetings);
                match chunks.count {
                    1 => self.update_by_chunk(me, step, batch.len()),
                    _ => self.add_gradients(me, self.rules.of_step(step, batch.len()), chunks, round.clone()),
                }
                stopwatch.end(Phase::Update);
                if round.end == chunks.count {
                    stopwatch.end_step();
                }
                if let Some(after_step) = &mut after_step {
                    self.each_chunk(&read_locks(&self.work), round.clone(), |index, _, chunk| {
                        loss_of_group += chunk.loss();
                        if chunks.ends_group(index) {
                            loss += std::mem::take(&mut loss_of_group);
                        }
                    });
                    if round.end == chunks.count && after_step(step, loss).is_break() {
                        return Ok(());
                    }
                }
                stopwatch.restart();
                member.wait()?;
                stopwatch.end(Phase::Meetings);
            }
        }
        Ok(())
    }

    /// Runs both passes for a member's chunks among the chunks of a round.
    fn passes(
        &self,
        member: usize,
        batch: &[u32],
        round: Range<usize>,
        copies: &mut Copies,
        stopwatch: &mut Stopwatch,
    ) {
        let own = self.split.range(round.len(), member);
        let mut work = write_lock(&self.work[member]);
        let Work { inputs, chunks } = &mut *work;
        let shards = read_locks(&self.shards);
        if round.start == 0 {
            copies.copy(shards.as_slice());
        }
        let layers = WithCopies { parts: shards.as_slice(), copies };
        for ((index, inputs), chunk) in own.zip(inputs).zip(chunks) {
            let start = (round.start + index) * CHUNK;
            let batch = &batch[start..batch.len().min(start + CHUNK)];
            self.read_inputs(inputs, batch);
            chunk.first_layer(self.model, &layers, inputs, batch.len());
            stopwatch.end(Phase::FirstLayer);
            chunk.later_layers(self.model, &layers);
            let indices = batch.iter().map(|&index| index as usize);
            chunk.backward(self.model, copies, self.samples, indices, self.rules.hyperparameters.loss);
            stopwatch.end(Phase::OtherLayers);
        }
    }

    /// Calls `each` with each chunk of a round, in order, and its index.
    fn each_chunk(
        &self,
        work: &[RwLockReadGuard<Work>],
        round: Range<usize>,
        mut each: impl FnMut(usize, &ChunkInputs, &Chunk),
    ) {
        for (member, work) in work.iter().enumerate() {
            let own = self.split.range(round.len(), member);
            for ((index, inputs), chunk) in own.zip(&work.inputs).zip(&work.chunks) {
                each(round.start + index, inputs, chunk);
            }
        }
    }

    /// Updates all parameters from the gradients of a batch of one chunk, which a single member has.
    fn update_by_chunk(&self, member: usize, step: usize, count: usize) {
        let (set, rule) = (self.model.instruction_set, self.rules.of_step(step, count));
        let mut shard = write_lock(&self.shards[member]);
        self.each_chunk(&read_locks(&self.work), 0..1, |_, inputs, chunk| {
            for (index, layer) in shard.layers.iter_mut().enumerate() {
                let (rows, errors) = (layer.rows.clone(), &chunk.errors[index]);
                chunk.with_left(inputs, index, member, &rows, |left| layer.update(set, rule, left, errors));
                layer.update_biases(set, rule, errors, count);
            }
        });
    }

    /// Adds the gradients of a round's chunks to the batch's gradients, group by group, for a
    /// member's parameters. After the last round, updates the parameters.
    fn add_gradients(&self, member: usize, rule: UpdateRule, chunks: Chunks, round: Range<usize>) {
        let set = self.model.instruction_set;
        let mut shard = write_lock(&self.shards[member]);
        let Shard { layers, gradients, .. } = &mut *shard;
        let work = read_locks(&self.work);
        for (layer_index, (layer, [batch, group])) in layers.iter_mut().zip(gradients).enumerate() {
            self.each_chunk(&work, round.clone(), |index, inputs, chunk| {
                let errors = &chunk.errors[layer_index];
                // The first group's gradients start the batch's sum. A group of one chunk has that
                // chunk's gradients.
                let is_first_group = index < chunks.per_group;
                let into = if is_first_group || chunks.per_group == 1 { &mut *batch } else { &mut *group };
                if index == 0 || (index.is_multiple_of(chunks.per_group) && chunks.per_group > 1) {
                    into.weights.padded_mut().fill(0.0);
                    into.biases.padded_mut().fill(0.0);
                }
                chunk.with_left(inputs, layer_index, member, &layer.rows, |left| {
                    let stride = into.weights.stride();
                    let sink = Accumulate { gradients: into.weights.padded_mut(), stride };
                    left.gradient(set, errors, true, sink);
                });
                if layer.owns_biases {
                    add_sum_of_rows(set, errors, chunk.count, into.biases.padded_mut());
                }
                if !is_first_group && chunks.per_group > 1 && chunks.ends_group(index) {
                    add_all(set, batch.weights.padded_mut(), group.weights.padded());
                    add_all(set, batch.biases.padded_mut(), group.biases.padded());
                }
            });
            if round.end == chunks.count {
                layer.apply(set, rule, batch.weights.padded(), batch.biases.padded());
            }
        }
    }
}

/// Copies the elements `columns` of the first rows to the given rows of `to`. `to` has exactly
/// these columns.
fn copy_rows(from: &PaddedMatrix<f32>, columns: Range<usize>, to: &mut PaddedMatrix<f32>, rows: Range<usize>) {
    if columns.len() == from.columns() {
        // One copy including the padding, instead of one per row.
        let stride = from.stride();
        let values = &from.padded()[..rows.len() * stride];
        to.padded_mut()[rows.start * stride..rows.end * stride].copy_from_slice(values);
        return;
    }
    for (from_row, to_row) in rows.enumerate() {
        to.row_mut(to_row).copy_from_slice(&from.row(from_row)[columns.clone()]);
    }
}

/// The chunks of a batch and their groups. They do not depend on the number of members.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    count: usize,
    per_group: usize,
}

impl Chunks {
    fn of(samples: usize) -> Self {
        let count = samples.div_ceil(CHUNK);
        Self { count, per_group: count.div_ceil(GROUPS).max(1) }
    }

    /// Whether chunk `index` is its group's last.
    fn ends_group(self, index: usize) -> bool {
        index + 1 == self.count || (index + 1).is_multiple_of(self.per_group)
    }

    /// The rounds of a step. A round is the set of chunks with activations kept at the same time.
    fn rounds(self, members: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.count).step_by(round(members)).map(move |first| first..self.count.min(first + round(members)))
    }
}

/// The number of chunks in a round. The activations of a batch of 1024 samples still fit in most
/// processors' last-level caches.
fn round(members: usize) -> usize {
    GROUPS.max(members)
}

/// The panic message for a phase that overlaps another.
const OVERLAP: &str = "the members' marks separate the phases";

fn read_lock<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    match lock.try_read() {
        Ok(guard) => guard,
        // The member that panicked has left. The others end when they wait for it.
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!("{OVERLAP}"),
    }
}

fn read_locks<T>(locks: &[RwLock<T>]) -> Vec<RwLockReadGuard<'_, T>> {
    locks.iter().map(read_lock).collect()
}

fn write_lock<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    match lock.try_write() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!("{OVERLAP}"),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::preset::Preset;
    use crate::training::initial_parameters;
    use crate::{Hyperparameters, engine::CpuEngine};

    /// Samples with mostly zero inputs, or not, in a fixed pattern.
    fn samples(count: usize, inputs: usize, outputs: usize, zeros: usize) -> Samples {
        let hash = |row: usize, column: usize| (row * 7919 + column * 104_729) % 97;
        let input = |(row, column)| if hash(row, column) < zeros { 0.0 } else { hash(column, row) as f32 / 97.0 };
        let target = |(row, column)| f32::from(u8::from(row % outputs == column));
        Samples::new(Array2::from_shape_fn((count, inputs), input), Array2::from_shape_fn((count, outputs), target))
            .unwrap()
    }

    /// The losses, and the bits of all parameters and velocities, after one epoch on a team with
    /// barriers of `meeting` seconds.
    fn train(
        samples: &Samples,
        hyperparameters: &Hyperparameters,
        members: usize,
        meeting: f64,
    ) -> (Vec<f64>, Vec<u32>) {
        let parameters = initial_parameters(Preset::Homework.architecture().unwrap(), hyperparameters);
        let CpuEngine { model, mut layers, .. } = CpuEngine::new(samples, &parameters, hyperparameters);
        let (size, skips_zeros) = (hyperparameters.batch_size.unwrap(), model.nonzero_share.is_some());
        let split = Split::of_batch(&model.architecture, size, members, skips_zeros, meeting);
        assert_eq!((split.members, split.copies_later_layers), (members, members > 1 && meeting > 0.0));
        let order: Vec<u32> = (0..samples.len() as u32).rev().collect();
        let batches = OrderedBatches { order: &order, size, first: 0 };
        let team = Steps::new(&model, &mut layers, samples, Rules { hyperparameters, steps_before: 0 }, split, size);
        let mut losses = Vec::new();
        let mut after_step = |_, loss| {
            losses.push(loss);
            ControlFlow::Continue(())
        };
        let lead = |leader: &Member| {
            team.run(leader, batches, Some(Leader { after_step: &mut after_step, phases: None })).unwrap();
        };
        team::run(members, lead, |member| _ = team.run(member, batches, None)).unwrap();
        team.write_back(&mut layers);
        let values = layers.iter().flat_map(Layer::parameters_and_velocities).flat_map(PaddedMatrix::padded);
        (losses, values.map(|value| value.to_bits()).collect())
    }

    #[test]
    fn part1_members_that_copy_the_later_layers_and_those_that_share_them_have_the_bits_of_one() {
        for (zeros, momentum, batch_size) in [(80, 0.0, 16), (80, 0.9, 33), (5, 0.0, 7), (5, 0.9, 64)] {
            let samples = samples(3 * batch_size + 5, 784, 10, zeros);
            let batch_size = Some(batch_size);
            let hyperparameters = Hyperparameters { momentum, batch_size, ..Preset::Homework.hyperparameters() };
            let expected = train(&samples, &hyperparameters, 1, 0.0);
            for members in [2, 3, 5] {
                for meeting in [0.0, 1e-3] {
                    let got = train(&samples, &hyperparameters, members, meeting);
                    assert!(got == expected, "{members} members, batch {batch_size:?}, meetings of {meeting} s");
                }
            }
        }
    }
}
