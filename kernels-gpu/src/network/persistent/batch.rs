//! Loading batches into shared memory.
//!
//! Software prefetch: each thread loads its share of the next batch into registers while the block computes the later
//! layers, and stores it to shared memory at the end of the step.

use cuda_std::{F32x4, Global, thread};

use super::super::batch::{Batch, NO_SAMPLE};
use super::THREADS;
use super::network::Network;
use super::rows::{Quads, Rows};
use super::table::Table;

/// Quads of inputs that a thread prefetches: enough for 16 samples of 784 inputs distributed to 256 threads. It
/// prefetches one quad of targets.
const AHEAD: usize = 13;

/// The array of `$body` for `$n` in 0..[`AHEAD`], unrolled so that it stays in registers.
macro_rules! ahead {
    (|$n:ident| $body:expr) => {
        ahead!(|$n| $body; 0 1 2 3 4 5 6 7 8 9 10 11 12)
    };
    (|$n:ident| $body:expr; $($number:literal)*) => {
        [$({
            let $n: u32 = $number;
            $body
        }),*]
    };
}

/// The samples, as indices in the data set or [`NO_SAMPLE`], of a thread's share of a batch.
pub(super) struct Indices {
    inputs: [u32; AHEAD],
    target: u32,
}

/// A thread's prefetched share of a batch.
pub(super) struct Fetched {
    inputs: [F32x4; AHEAD],
    targets: F32x4,
}

/// Inputs or targets of the samples in quads, which are assigned to threads cyclically, sample by sample.
#[derive(Clone, Copy)]
struct Source<'a> {
    values: Global<'a, f32>,
    columns: u32,
    /// Quads of a sample.
    quads: u32,
    /// Rows of the batch, including those without a sample.
    rows: u32,
}

/// Position of one of a thread's quads in the batch.
#[derive(Clone, Copy)]
struct Position {
    row: u32,
    quad: u32,
}

impl<T: Table> Network<'_, T> {
    /// Loads the indices of this thread's samples into registers. All loads are issued before the first result is used.
    #[inline(always)]
    pub(super) fn fetch_indices(&self, inputs: Global<f32>, targets: Global<f32>, batch: &Batch) -> Indices {
        let [inputs, targets] = self.sources(inputs, targets);
        let target = targets.sample(targets.first_position(), batch);
        let positions = inputs.positions();
        Indices { inputs: ahead!(|n| inputs.sample(positions[n as usize], batch)), target }
    }

    /// Loads this thread's share of the batch into registers.
    #[inline(always)]
    pub(super) fn fetch_batch(&self, inputs: Global<f32>, targets: Global<f32>, indices: &Indices) -> Fetched {
        let [inputs, targets] = self.sources(inputs, targets);
        let target = targets.fetch(targets.first_position(), indices.target);
        if !inputs.is_aligned() {
            return Fetched { inputs: [F32x4::splat(0.0); AHEAD], targets: target };
        }
        let positions = inputs.positions();
        Fetched {
            inputs: ahead!(|n| inputs.fetch_aligned(positions[n as usize], indices.inputs[n as usize])),
            targets: target,
        }
    }

    /// Stores the prefetched share of the batch, then copies the rest of the batch.
    #[inline(always)]
    pub(super) fn store_batch(&self, fetched: Fetched, inputs: Global<f32>, targets: Global<f32>, batch: &Batch) {
        let [inputs, targets] = self.sources(inputs, targets);
        let mut position = inputs.first_position();
        if inputs.is_aligned() {
            let _: [(); AHEAD] = ahead!(|n| {
                inputs.store(position, fetched.inputs[n as usize], self.batch(), self.shared);
                position = inputs.next(position);
            });
        }
        inputs.copy_from(position, batch, self.batch(), self.shared);
        let position = targets.first_position();
        targets.store(position, fetched.targets, self.targets(), self.shared);
        targets.copy_from(targets.next(position), batch, self.targets(), self.shared);
    }

    /// Copies a batch into shared memory without prefetched quads.
    #[inline(always)]
    pub(super) fn load_batch(&self, inputs: Global<f32>, targets: Global<f32>, batch: &Batch) {
        let [inputs, targets] = self.sources(inputs, targets);
        inputs.copy_from(inputs.first_position(), batch, self.batch(), self.shared);
        targets.copy_from(targets.first_position(), batch, self.targets(), self.shared);
    }

    #[inline(always)]
    fn sources<'a>(&self, inputs: Global<'a, f32>, targets: Global<'a, f32>) -> [Source<'a>; 2] {
        let (features, units, rows) =
            (self.layer(0).features(), self.layer(self.layers - 1).units(), 4 * self.row_quads);
        [
            Source { values: inputs, columns: features, quads: features.div_ceil(4), rows },
            Source { values: targets, columns: units, quads: units.div_ceil(4), rows },
        ]
    }
}

impl Source<'_> {
    /// Whether a sample is a whole number of quads, so that 128-bit loads are aligned.
    #[inline(always)]
    fn is_aligned(self) -> bool {
        self.columns.is_multiple_of(4)
    }

    #[inline(always)]
    fn first_position(self) -> Position {
        Position { row: thread::thread_idx_x() / self.quads, quad: thread::thread_idx_x() % self.quads }
    }

    /// The thread's first quads.
    #[inline(always)]
    fn positions(self) -> [Position; AHEAD] {
        let mut position = self.first_position();
        ahead!(|n| {
            if n > 0 {
                position = self.next(position);
            }
            position
        })
    }

    /// The thread's next quad.
    #[inline(always)]
    fn next(self, Position { row, quad }: Position) -> Position {
        let (rows, quads) = (THREADS / self.quads, THREADS % self.quads);
        let (row, quad) = (row + rows, quad + quads);
        if quad < self.quads { Position { row, quad } } else { Position { row: row + 1, quad: quad - self.quads } }
    }

    /// Index of the quad's sample, or [`NO_SAMPLE`].
    #[inline(always)]
    fn sample(self, position: Position, batch: &Batch) -> u32 {
        batch.sample_in_row(position.row)
    }

    /// The quad at `position`, of sample `sample`.
    #[inline(always)]
    fn fetch(self, position: Position, sample: u32) -> F32x4 {
        if self.is_aligned() || sample == NO_SAMPLE {
            return self.fetch_aligned(position, sample);
        }
        let (first, column) = (sample as usize * self.columns as usize, 4 * position.quad);
        let get = |i: u32| if column + i < self.columns { self.values[first + (column + i) as usize] } else { 0.0 };
        F32x4::new(get(0), get(1), get(2), get(3))
    }

    /// [`Self::fetch`] for samples that [`Self::is_aligned`].
    #[inline(always)]
    fn fetch_aligned(self, position: Position, sample: u32) -> F32x4 {
        if sample == NO_SAMPLE {
            return F32x4::splat(0.0);
        }
        self.values.quad(sample as usize * self.columns as usize + 4 * position.quad as usize)
    }

    /// Stores the quad at its position in `rows`, if its row exists.
    #[inline(always)]
    fn store(self, position: Position, values: F32x4, rows: Rows, shared: &Quads) {
        if position.row < self.rows {
            shared.set(rows.offset(position.row, position.quad) as usize, values);
        }
    }

    /// Copies the thread's quads from `position` on.
    #[inline(always)]
    fn copy_from(self, position: Position, batch: &Batch, rows: Rows, shared: &Quads) {
        let mut a = position;
        while a.row < self.rows {
            // Four loads in flight; quads beyond the batch have no sample and are not stored.
            let b = self.next(a);
            let c = self.next(b);
            let d = self.next(c);
            let samples = [a, b, c, d].map(|position| self.sample(position, batch));
            let [first, second, third, fourth] = samples;
            let (first, second) = (self.fetch(a, first), self.fetch(b, second));
            let (third, fourth) = (self.fetch(c, third), self.fetch(d, fourth));
            self.store(a, first, rows, shared);
            self.store(b, second, rows, shared);
            self.store(c, third, rows, shared);
            self.store(d, fourth, rows, shared);
            a = self.next(d);
        }
    }
}
