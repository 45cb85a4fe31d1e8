//! The split of a step between the members of a team.

use std::ops::Range;

use crate::Architecture;

/// What each member of a team computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) layout: Layout,
    pub(super) members: usize,
    /// For each layer with weights, the inputs whose weights each member updates.
    rows: Vec<Vec<Range<usize>>>,
}

/// The two ways to split a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A member has whole chunks. With one member, any batch.
    Chunks,
    /// A batch of one chunk: a member has some of its samples, and the members form a pipeline for the first layer.
    Samples,
}

/// Inputs in a part of the first layer are a multiple of this if zeros are skipped: the columns per word of the index.
const WORD: usize = 64;
/// Inputs in any other part are a multiple of this, the height of a small tile.
const TILE: usize = 4;

impl Split {
    /// One member.
    pub(super) fn whole(architecture: &Architecture) -> Self {
        Self::of(architecture, 1, 1, false)
    }

    /// The split of batches of up to `batch_size` samples, in `chunks` chunks, between at most `members` members.
    pub(super) fn of_batch(
        architecture: &Architecture,
        batch_size: usize,
        chunks: usize,
        members: usize,
        skips_zeros: bool,
    ) -> Self {
        let most = if chunks > 1 { chunks } else { batch_size };
        Self::of(architecture, chunks, members.clamp(1, most.max(1)), skips_zeros)
    }

    fn of(architecture: &Architecture, chunks: usize, members: usize, skips_zeros: bool) -> Self {
        let sizes = architecture.sizes();
        let rows = sizes[..sizes.len() - 1].iter().enumerate().map(|(layer, &size)| {
            let quantum = if layer == 0 && skips_zeros { WORD } else { TILE };
            (0..members).map(|member| share(size, quantum, members, member)).collect()
        });
        let layout = if chunks == 1 && members > 1 { Layout::Samples } else { Layout::Chunks };
        Self { layout, members, rows: rows.collect() }
    }

    /// The inputs of layer `layer` whose weights `member` updates.
    pub(super) fn rows(&self, layer: usize, member: usize) -> Range<usize> {
        self.rows[layer][member].clone()
    }

    /// The inputs of the first layer whose weights each member updates.
    pub(super) fn inputs(&self) -> &[Range<usize>] {
        &self.rows[0]
    }

    /// The part of `count` samples or chunks that `member` has.
    pub(super) fn share(&self, count: usize, member: usize) -> Range<usize> {
        share(count, 1, self.members, member)
    }

    /// The time of a step without its meetings, divided by that on one thread: the largest share of the work that a member
    /// has. `first_layer` is the share of the first layer's forward pass.
    ///
    /// With M members, the pipeline of the first layer has 2 M − 1 slots of 1 / M² of that pass.
    pub(super) fn relative_time(&self, chunks: usize, first_layer: f64) -> f64 {
        let members = self.members as f64;
        match self.layout {
            Layout::Chunks => chunks.div_ceil(self.members) as f64 / chunks as f64,
            Layout::Samples => {
                first_layer * (2.0 * members - 1.0) / (members * members) + (1.0 - first_layer) / members
            }
        }
    }

    /// Meetings in a step.
    pub(super) fn meetings(&self) -> usize {
        match self.layout {
            Layout::Chunks => 2,
            Layout::Samples => 2 * self.members - 1,
        }
    }
}

/// The share of a member if `count` items are split into contiguous shares of as many whole `quantum` each as possible.
fn share(count: usize, quantum: usize, members: usize, member: usize) -> Range<usize> {
    let bound = |member: usize| (count.div_ceil(quantum) * member / members * quantum).min(count);
    bound(member)..bound(member + 1)
}
