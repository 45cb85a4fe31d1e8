//! The split of a step among the members of a team.

use std::ops::Range;

use super::model::CHUNK;
use crate::Architecture;

/// What each member of a team computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) layout: Layout,
    pub(super) members: usize,
    /// Whether every member has all layers except the first as wholes and updates them itself. It
    /// computes more but reads no weights of other members.
    pub(super) copies_later_layers: bool,
    /// For each layer with weights, the inputs with weights that each member updates.
    rows: Vec<Vec<Range<usize>>>,
}

/// The two ways to split a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Each member has whole chunks. With one member, any batch.
    Chunks,
    /// A batch of one chunk: each member has some of its samples, and the members form a pipeline
    /// for the first layer.
    Samples,
}

/// The largest batch, per second of barrier time, for which every member has all layers except the
/// first.
///
/// The cost of updating a member's own copy grows with the batch. Reading a line of weights that
/// another member has updated, and getting it back for the next update, takes the same time for any
/// batch, and that time is proportional to the barrier time. Measured on two cores of an EPYC with
/// the homework's network: with barriers of 35 ns, the two costs are equal at 16 samples. With 195
/// ns, copies are faster up to 64, the largest batch that is split this way.
const COPIED_BATCH: f64 = 16.0 / 36e-9;

/// If zeros are skipped, parts of the first layer have a multiple of this many inputs: the columns
/// per index word.
const WORD: usize = 64;
/// All other parts have a multiple of this many inputs: the height of a small tile.
const TILE: usize = 4;

impl Split {
    /// The split with a single member.
    pub(super) fn whole(architecture: &Architecture) -> Self {
        let rows = inputs_of_layers(architecture).map(|inputs| std::iter::once(0..inputs).collect()).collect();
        Self { layout: Layout::Chunks, members: 1, copies_later_layers: false, rows }
    }

    /// How many of at most `members` members a batch of up to `batch_size` samples can be split among.
    pub(super) fn members_for(batch_size: usize, members: usize) -> usize {
        let chunks = batch_size.div_ceil(CHUNK);
        let most = if chunks > 1 { chunks } else { batch_size };
        members.clamp(1, most.max(1))
    }

    /// Splits batches of up to `batch_size` samples among at most `members` members, with barriers
    /// that take `meeting` seconds.
    pub(super) fn of_batch(
        architecture: &Architecture,
        batch_size: usize,
        members: usize,
        skips_zeros: bool,
        meeting: f64,
    ) -> Self {
        let members = Self::members_for(batch_size, members);
        let layout = if batch_size <= CHUNK && members > 1 { Layout::Samples } else { Layout::Chunks };
        let copies_later_layers = layout == Layout::Samples && batch_size as f64 <= COPIED_BATCH * meeting;
        let rows = inputs_of_layers(architecture).enumerate().map(|(layer, inputs)| {
            let quantum = if layer == 0 && skips_zeros { WORD } else { TILE };
            let rows = |member| match layer > 0 && copies_later_layers {
                true => 0..inputs,
                false => range_of_member(inputs, quantum, members, member),
            };
            (0..members).map(rows).collect()
        });
        Self { layout, members, copies_later_layers, rows: rows.collect() }
    }

    /// The inputs of layer `layer` with weights that `member` updates.
    pub(super) fn rows(&self, layer: usize, member: usize) -> Range<usize> {
        self.rows[layer][member].clone()
    }

    /// For each member, the inputs of the first layer with weights that it updates.
    pub(super) fn inputs(&self) -> &[Range<usize>] {
        &self.rows[0]
    }

    /// The range of `count` samples or chunks that belongs to `member`.
    pub(super) fn range(&self, count: usize, member: usize) -> Range<usize> {
        range_of_member(count, 1, self.members, member)
    }

    /// The time of a step on such a batch without barriers, divided by its time on one thread: the
    /// largest fraction of the work that one member has. `first_layer` is the first layer's forward
    /// pass as a fraction of the step, and its gradients take as much again. The rest is three
    /// equal parts; the last one is the update of the other layers.
    ///
    /// With M members, the first layer's pipeline has 2 M − 1 slots, each 1 / M² of that pass.
    pub(super) fn relative_time(&self, batch_size: usize, first_layer: f64) -> f64 {
        let (chunks, members) = (batch_size.div_ceil(CHUNK), self.members as f64);
        match self.layout {
            Layout::Chunks => chunks.div_ceil(self.members) as f64 / chunks as f64,
            Layout::Samples => {
                let copied = if self.copies_later_layers { (1.0 - 2.0 * first_layer) / 3.0 } else { 0.0 };
                let slots = (2.0 * members - 1.0) / (members * members);
                first_layer * slots + (1.0 - first_layer - copied) / members + copied
            }
        }
    }

    /// Number of barriers in a step, counting consecutive waits for a single member.
    pub(super) fn meetings(&self) -> usize {
        match self.layout {
            Layout::Chunks => 2,
            Layout::Samples => 2 * self.members - 1,
        }
    }
}

/// Number of inputs of each layer with weights.
fn inputs_of_layers(architecture: &Architecture) -> impl Iterator<Item = usize> {
    let sizes = architecture.sizes();
    sizes[..sizes.len() - 1].iter().copied()
}

/// The items of a member if `count` items are split into contiguous ranges of whole multiples of
/// `quantum`. The shortfall of an incomplete multiple goes to the first member, which has the upper
/// part of an image, with fewer nonzero pixels in MNIST.
fn range_of_member(count: usize, quantum: usize, members: usize, member: usize) -> Range<usize> {
    let bound = |member: usize| {
        let after = count.div_ceil(quantum) * (members - member) / members;
        count.saturating_sub(after * quantum)
    };
    bound(member)..bound(member + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activation;

    fn architecture(sizes: &[usize]) -> Architecture {
        Architecture::new(sizes.to_vec(), Activation::Sigmoid, Activation::Softmax).unwrap()
    }

    #[test]
    fn part1_every_weight_and_every_sample_belongs_to_one_member() {
        for sizes in [&[784, 128, 64, 10][..], &[8, 32, 16, 1], &[1, 1], &[65, 3, 2]] {
            for (batch_size, chunks) in [(1, 1), (16, 1), (64, 1), (65, 2), (1024, 16), (60_000, 938)] {
                for (members, skips_zeros) in [(1, false), (2, true), (3, false), (5, true), (8, false), (20, true)] {
                    let architecture = architecture(sizes);
                    // The second barrier is so slow that each member has all layers except the first.
                    for meeting in [0.0, 1e-3] {
                        let split = Split::of_batch(&architecture, batch_size, members, skips_zeros, meeting);
                        assert!((1..=members).contains(&split.members));
                        assert_eq!(split.copies_later_layers, split.layout == Layout::Samples && meeting > 0.0);
                        for (layer, &inputs) in sizes[..sizes.len() - 1].iter().enumerate() {
                            let mut rows = (0..split.members).map(|member| split.rows(layer, member));
                            match split.copies_later_layers && layer > 0 {
                                true => assert!(rows.all(|rows| rows == (0..inputs)), "{split:?}"),
                                false => assert!(rows.flatten().eq(0..inputs), "{split:?}"),
                            }
                        }
                    }
                    let split = Split::of_batch(&architecture, batch_size, members, skips_zeros, 0.0);
                    for count in [0, 1, batch_size.min(64), chunks] {
                        assert!((0..split.members).flat_map(|member| split.range(count, member)).eq(0..count));
                    }
                }
            }
        }
    }

    #[test]
    fn part1_a_member_has_samples_of_one_chunk_or_whole_chunks() {
        let architecture = architecture(&[784, 128, 10]);
        let split = |batch_size, members| {
            let split = Split::of_batch(&architecture, batch_size, members, true, 0.0);
            (split.layout, split.members)
        };
        assert_eq!(split(16, 1), (Layout::Chunks, 1));
        assert_eq!(split(16, 2), (Layout::Samples, 2));
        assert_eq!(split(3, 8), (Layout::Samples, 3));
        assert_eq!(split(256, 8), (Layout::Chunks, 4));
    }

    /// With the barrier times measured on two cores that share a cache, and on two that do not.
    #[test]
    fn part1_small_batches_and_far_cores_copy_the_later_layers() {
        let architecture = architecture(&[784, 128, 64, 10]);
        let copies =
            |batch_size, meeting| Split::of_batch(&architecture, batch_size, 2, true, meeting).copies_later_layers;
        assert_eq!([4, 15, 32, 64].map(|batch_size| copies(batch_size, 35e-9)), [true, true, false, false]);
        assert_eq!([4, 15, 32, 64].map(|batch_size| copies(batch_size, 195e-9)), [true; 4]);
    }

    #[test]
    fn part1_the_model_of_a_step_has_the_largest_share_of_work() {
        let architecture = architecture(&[784, 128, 10]);
        let time = |batch_size, members, first_layer, meeting| {
            let split = Split::of_batch(&architecture, batch_size, members, true, meeting);
            split.relative_time(batch_size, first_layer)
        };
        assert_eq!(time(16, 1, 0.4, 1e-3), 1.0);
        // One of two members has 3 of the 5 chunks.
        assert_eq!(time(320, 2, 0.4, 1e-3), 0.6);
        // The pipeline takes three slots of a quarter each, the rest a half.
        assert!((time(16, 2, 0.4, 0.0) - (0.4 * 0.75 + 0.6 * 0.5)).abs() < 1e-12);
        // A third of the work outside the first layer is not split.
        assert!((time(16, 2, 0.35, 1e-3) - (0.35 * 0.75 + 0.55 * 0.5 + 0.1)).abs() < 1e-12);
    }
}
