//! Products of matrices in shared memory, whose rows are quads.

use cuda_std::{DynamicShared, F32x4, math, thread, warp};

/// The block's shared memory.
pub(super) type Quads = DynamicShared<F32x4>;

const LANES: u32 = 32;

/// A matrix in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Where its first row begins.
    pub(super) first: u32,
    /// Quads from a row to the next.
    pub(super) stride: u32,
}

impl Rows {
    /// Where quad `quad` of row `row` is.
    #[inline(always)]
    pub(super) fn place(self, row: u32, quad: u32) -> u32 {
        self.first + row * self.stride + quad
    }

    #[inline(always)]
    fn get(self, shared: &Quads, row: u32, quad: u32) -> [f32; 4] {
        shared.get(self.place(row, quad) as usize).to_array()
    }
}

/// The size of a product in quads: `rows` and `columns` of the result, and `depth` of the sums.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) depth: u32,
}

/// left · right, or with `TRANSPOSED` left · rightᵀ: hands each row of each quad of columns to `finish`.
///
/// A task is 4 × 4 sums. `slices` lanes of a warp share the depth of one: they are added by exchanges in which each lane
/// passes on half of its sums and keeps the other half, so that each lane ends up with one row, and 4, 8 or 16 lanes are
/// left to finish it when there are more slices than four. All threads of the block must call.
#[inline(always)]
pub(super) fn product<const TRANSPOSED: bool>(
    shared: &Quads,
    left: Rows,
    right: Rows,
    size: Size,
    slices: u32,
    mut finish: impl FnMut(u32, u32, [f32; 4]),
) {
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / LANES, t % LANES);
    // Neighbouring lanes have neighbouring tasks, or in one task neighbouring depths: they read neighbouring quads.
    let tasks_of_warp = LANES / slices;
    let (slice, in_warp) = (lane / tasks_of_warp, lane % tasks_of_warp);
    let tasks = size.rows * size.columns;
    let mut first = warp * tasks_of_warp;
    // The same for all lanes of a warp, which all take part in the exchanges.
    while first < tasks {
        let task = first + in_warp;
        let (row, column) = (4 * (task / size.columns), task % size.columns);
        let mut sums = [[0.0_f32; 4]; 4];
        let mut k = if task < tasks { slice } else { size.depth };
        while k < size.depth {
            let lefts: [[f32; 4]; 4] = core::array::from_fn(|i| left.get(shared, row + i as u32, k));
            if TRANSPOSED {
                let rights: [[f32; 4]; 4] = core::array::from_fn(|j| right.get(shared, 4 * column + j as u32, k));
                for (left, sums) in lefts.iter().zip(&mut sums) {
                    for (right, sum) in rights.iter().zip(sums) {
                        for (&left, &right) in left.iter().zip(right) {
                            *sum = math::fma(left, right, *sum);
                        }
                    }
                }
            } else {
                let rights: [[f32; 4]; 4] = core::array::from_fn(|p| right.get(shared, 4 * k + p as u32, column));
                for (left, sums) in lefts.iter().zip(&mut sums) {
                    for (&left, right) in left.iter().zip(&rights) {
                        for (&right, sum) in right.iter().zip(sums.iter_mut()) {
                            *sum = math::fma(left, right, *sum);
                        }
                    }
                }
            }
            k += slices;
        }
        let [a, b, c, d] = sums;
        let (a, b) = (halve(a, c, 16), halve(b, d, 16));
        let mut sum = halve(a, b, 8);
        let mut distance = 4;
        while distance >= tasks_of_warp {
            sum = sum.map(|value| value + warp::shuffle_xor(value, distance));
            distance /= 2;
        }
        // A lane's two highest bits tell its row.
        if task < tasks && lane % 8 < tasks_of_warp {
            finish(row + lane / 8, column, sum);
        }
        first += thread::block_dim_x() / slices;
    }
}

/// In the lanes without the bit `distance` the sum of both lanes' `low`, in the others that of their `high`.
#[inline(always)]
fn halve(low: [f32; 4], high: [f32; 4], distance: u32) -> [f32; 4] {
    let is_high = thread::thread_idx_x() & distance != 0;
    core::array::from_fn(|i| {
        let (kept, passed) = if is_high { (high[i], low[i]) } else { (low[i], high[i]) };
        kept + warp::shuffle_xor(passed, distance)
    })
}

/// Samples whose quads are read at once: enough loads under way to hide how long each takes.
const SAMPLES_AT_ONCE: usize = 4;

/// leftᵀ · right over `depth` rows of both, which are samples, a multiple of four: hands each row of each quad of columns
/// to `finish`.
#[inline(always)]
pub(super) fn product_over_samples(
    shared: &Quads,
    left: Rows,
    right: Rows,
    size: Size,
    mut finish: impl FnMut(u32, u32, [f32; 4]),
) {
    let mut task = thread::thread_idx_x();
    while task < size.rows * size.columns {
        let (row, column) = (task / size.columns, task % size.columns);
        let mut sums = [[0.0_f32; 4]; 4];
        let mut sample = 0;
        while sample < size.depth {
            let lefts: [[f32; 4]; SAMPLES_AT_ONCE] = core::array::from_fn(|i| left.get(shared, sample + i as u32, row));
            let rights: [[f32; 4]; SAMPLES_AT_ONCE] =
                core::array::from_fn(|i| right.get(shared, sample + i as u32, column));
            for (left, right) in lefts.iter().zip(&rights) {
                for (&left, sums) in left.iter().zip(&mut sums) {
                    for (&right, sum) in right.iter().zip(sums) {
                        *sum = math::fma(left, right, *sum);
                    }
                }
            }
            sample += SAMPLES_AT_ONCE as u32;
        }
        // Written out: in a loop that is not unrolled the sums would go to memory.
        let [a, b, c, d] = sums;
        finish(4 * row, column, a);
        finish(4 * row + 1, column, b);
        finish(4 * row + 2, column, c);
        finish(4 * row + 3, column, d);
        task += thread::block_dim_x();
    }
}

/// The sums of `columns` quads over `depth` rows, which are samples, a multiple of four: hands each to `finish`. The block's
/// last threads do it, which have least of what is shared out before and after.
#[inline(always)]
pub(super) fn sum_over_samples(
    shared: &Quads,
    values: Rows,
    columns: u32,
    depth: u32,
    mut finish: impl FnMut(u32, [f32; 4]),
) {
    let mut column = thread::block_dim_x() - 1 - thread::thread_idx_x();
    while column < columns {
        let mut sums = [0.0_f32; 4];
        let mut sample = 0;
        while sample < depth {
            let quads: [[f32; 4]; SAMPLES_AT_ONCE] =
                core::array::from_fn(|i| values.get(shared, sample + i as u32, column));
            for quad in &quads {
                for (&value, sum) in quad.iter().zip(&mut sums) {
                    *sum += value;
                }
            }
            sample += SAMPLES_AT_ONCE as u32;
        }
        finish(column, sums);
        column += thread::block_dim_x();
    }
}
