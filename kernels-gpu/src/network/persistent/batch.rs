//! The batch's way into shared memory.
//!
//! A thread fetches its share of the next batch into registers while the block computes the later layers: by the time
//! that it is stored, it has arrived.

use cuda_std::{F32x4, Global, thread};

use super::super::batch::Batch;
use super::network::Network;
use super::rows::{Quads, Rows};

/// Quads of inputs that a thread fetches ahead: those of 16 samples of 784 inputs, shared out to 256 threads. Of targets it
/// fetches one.
const AHEAD: usize = 13;

/// An array of what `$body` is for `$n` from 0 to before [`AHEAD`]. Written out, so that it stays in registers.
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

/// A thread's share of a batch.
pub(super) struct Fetched {
    inputs: [F32x4; AHEAD],
    targets: F32x4,
}

/// Samples' inputs or targets in quads, which are shared out to the threads sample by sample.
#[derive(Clone, Copy)]
struct Source<'a> {
    values: Global<'a, f32>,
    columns: u32,
    /// Quads of a sample.
    quads: u32,
    /// Rows of the batch, those without a sample too.
    rows: u32,
}

/// One of a thread's quads.
#[derive(Clone, Copy)]
struct Place {
    row: u32,
    quad: u32,
}

impl Network<'_> {
    /// Fetches this thread's share of the batch.
    #[inline(always)]
    pub(super) fn fetch_batch(&self, inputs: Global<f32>, targets: Global<f32>, batch: &Batch) -> Fetched {
        let [inputs, targets] = self.sources(inputs, targets);
        let first = targets.first_place();
        let target = targets.fetch(first, targets.sample(first, batch));
        if !inputs.is_aligned() {
            return Fetched { inputs: [F32x4::splat(0.0); AHEAD], targets: target };
        }
        let mut place = inputs.first_place();
        let places: [Place; AHEAD] = ahead!(|n| {
            if n > 0 {
                place = inputs.next(place);
            }
            place
        });
        // Looked up all at once, before the first is needed.
        let samples: [usize; AHEAD] = ahead!(|n| inputs.sample(places[n as usize], batch));
        Fetched { inputs: ahead!(|n| inputs.fetch_aligned(places[n as usize], samples[n as usize])), targets: target }
    }

    /// Stores what all threads have fetched of the batch, and what it has beyond that.
    #[inline(always)]
    pub(super) fn store_batch(&self, fetched: Fetched, inputs: Global<f32>, targets: Global<f32>, batch: &Batch) {
        let [inputs, targets] = self.sources(inputs, targets);
        let mut place = inputs.first_place();
        if inputs.is_aligned() {
            let _: [(); AHEAD] = ahead!(|n| {
                inputs.store(place, fetched.inputs[n as usize], self.batch(), self.shared);
                place = inputs.next(place);
            });
        }
        inputs.copy_from(place, batch, self.batch(), self.shared);
        let place = targets.first_place();
        targets.store(place, fetched.targets, self.targets(), self.shared);
        targets.copy_from(targets.next(place), batch, self.targets(), self.shared);
    }

    /// Brings a batch into shared memory of which nothing was fetched ahead.
    #[inline(always)]
    pub(super) fn load_batch(&self, inputs: Global<f32>, targets: Global<f32>, batch: &Batch) {
        let [inputs, targets] = self.sources(inputs, targets);
        inputs.copy_from(inputs.first_place(), batch, self.batch(), self.shared);
        targets.copy_from(targets.first_place(), batch, self.targets(), self.shared);
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

/// Where the batch has no sample.
const NO_SAMPLE: usize = usize::MAX;

impl Source<'_> {
    /// Whether a sample's numbers are whole quads, which can be loaded as such.
    #[inline(always)]
    fn is_aligned(self) -> bool {
        self.columns.is_multiple_of(4)
    }

    #[inline(always)]
    fn first_place(self) -> Place {
        Place { row: thread::thread_idx_x() / self.quads, quad: thread::thread_idx_x() % self.quads }
    }

    /// The thread's next quad.
    #[inline(always)]
    fn next(self, Place { row, quad }: Place) -> Place {
        let (rows, quads) = (thread::block_dim_x() / self.quads, thread::block_dim_x() % self.quads);
        let (row, quad) = (row + rows, quad + quads);
        if quad < self.quads { Place { row, quad } } else { Place { row: row + 1, quad: quad - self.quads } }
    }

    /// The sample of the quad.
    #[inline(always)]
    fn sample(self, place: Place, batch: &Batch) -> usize {
        if place.row < batch.rows { batch.sample(place.row) } else { NO_SAMPLE }
    }

    /// The quad, which is of sample `sample`.
    #[inline(always)]
    fn fetch(self, place: Place, sample: usize) -> F32x4 {
        if self.is_aligned() || sample == NO_SAMPLE {
            return self.fetch_aligned(place, sample);
        }
        let (first, column) = (sample * self.columns as usize, 4 * place.quad);
        let get = |i: u32| if column + i < self.columns { self.values[first + (column + i) as usize] } else { 0.0 };
        F32x4::new(get(0), get(1), get(2), get(3))
    }

    /// The same where a sample's numbers are whole quads.
    #[inline(always)]
    fn fetch_aligned(self, place: Place, sample: usize) -> F32x4 {
        if sample == NO_SAMPLE {
            return F32x4::splat(0.0);
        }
        self.values.quad(sample * self.columns as usize + 4 * place.quad as usize)
    }

    /// Stores the quad, if there is one, in its place in `rows`.
    #[inline(always)]
    fn store(self, place: Place, values: F32x4, rows: Rows, shared: &Quads) {
        if place.row < self.rows {
            shared.set(rows.place(place.row, place.quad) as usize, values);
        }
    }

    /// Fetches and stores the thread's quads from `place` on.
    #[inline(always)]
    fn copy_from(self, place: Place, batch: &Batch, rows: Rows, shared: &Quads) {
        let mut a = place;
        while a.row < self.rows {
            // Four are under way at once; those that there are not are of no sample, and not stored.
            let b = self.next(a);
            let c = self.next(b);
            let d = self.next(c);
            let samples = [a, b, c, d].map(|place| self.sample(place, batch));
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
