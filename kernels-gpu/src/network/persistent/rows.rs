//! Products of matrices in shared memory, whose rows consist of quads.

use cuda_std::{DynamicShared, F32x4, SharedView, math, thread, warp};

use super::{LANES, THREADS};

/// The block's shared memory.
pub(super) type Quads = DynamicShared<F32x4>;

/// The layout of a matrix in shared memory, in quads.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Offset of the first row.
    pub(super) first: u32,
    /// Row stride.
    pub(super) stride: u32,
}

impl Rows {
    /// Offset of quad `quad` of row `row`.
    #[inline(always)]
    pub(super) fn offset(self, row: u32, quad: u32) -> u32 {
        self.first + row * self.stride + quad
    }

    /// `rows` rows from `row` on, of `quads` quads each.
    #[inline(always)]
    fn view<'a>(self, shared: &'a Quads, row: u32, rows: u32, quads: u32) -> SharedView<'a, F32x4, 2> {
        shared.view(self.offset(row, 0), [rows, quads], [self.stride, 1])
    }

    /// Column `quad` of `fours` · 4 rows: element \[i, j\] is that of row 4i + j.
    #[inline(always)]
    fn column<'a>(self, shared: &'a Quads, quad: u32, fours: u32) -> SharedView<'a, F32x4, 2> {
        shared.view(self.offset(0, quad), [fours, 4], [4 * self.stride, self.stride])
    }
}

/// The size of a product, in quads: `rows` and `columns` of the result, and `depth` of the sums.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) depth: u32,
}

/// left · right, or with `TRANSPOSED` left · rightᵀ; calls `finish` with each row, quad of columns and its four sums, as
/// [`product_in_slices`].
#[inline(always)]
pub(super) fn product<const TRANSPOSED: bool>(
    shared: &Quads,
    left: Rows,
    right: Rows,
    size: Size,
    slices: u32,
    finish: impl FnMut(u32, u32, [f32; 4]),
) {
    product_in_slices(size, slices, finish, |row, column, mut k, sums| {
        let lefts = left.view(shared, 4 * row, 4, size.depth);
        if TRANSPOSED {
            let rights = right.view(shared, 4 * column, 4, size.depth);
            while k < size.depth {
                let lefts: [[f32; 4]; 4] = core::array::from_fn(|i| lefts.get([i as u32, k]).to_array());
                let rights: [[f32; 4]; 4] = core::array::from_fn(|j| rights.get([j as u32, k]).to_array());
                for (left, sums) in lefts.iter().zip(&mut *sums) {
                    add_products(left, &rights, sums);
                }
                k += slices;
            }
        } else {
            let rights = right.column(shared, column, size.depth);
            while k < size.depth {
                let lefts: [[f32; 4]; 4] = core::array::from_fn(|i| lefts.get([i as u32, k]).to_array());
                let rights: [[f32; 4]; 4] = core::array::from_fn(|p| rights.get([k, p as u32]).to_array());
                for (left, sums) in lefts.iter().zip(&mut *sums) {
                    for (&left, right) in left.iter().zip(&rights) {
                        add_scaled(left, right, sums);
                    }
                }
                k += slices;
            }
        }
    });
}

/// leftᵀ · right over `size.depth` quads of rows of both, which are samples; calls `finish` as [`product_in_slices`].
#[inline(always)]
pub(super) fn product_over_slices_of_samples(
    shared: &Quads,
    left: Rows,
    right: Rows,
    size: Size,
    slices: u32,
    finish: impl FnMut(u32, u32, [f32; 4]),
) {
    product_in_slices(size, slices, finish, |row, column, mut four, sums| {
        let (lefts, rights) = (left.column(shared, row, size.depth), right.column(shared, column, size.depth));
        while four < size.depth {
            let lefts: [[f32; 4]; 4] = core::array::from_fn(|i| lefts.get([four, i as u32]).to_array());
            let rights: [[f32; 4]; 4] = core::array::from_fn(|i| rights.get([four, i as u32]).to_array());
            for (left, right) in lefts.iter().zip(&rights) {
                add_outer_product(left, right, sums);
            }
            four += slices;
        }
    });
}

/// Computes a product in tasks of 4 × 4 sums. `add` adds to the sums of a task, which is a quad of rows and one of
/// columns, every `slices`-th quad of the depth from the given one on.
///
/// `slices` lanes of a warp split the depth of one task. A reduction by shuffles (recursive halving: each lane passes on
/// half of its sums and keeps the other half) leaves one row of the task in each lane; the first `32 / slices` of each
/// eight lanes call `finish` with the row, the quad of columns and its four sums. All threads of the block must call it.
#[inline(always)]
fn product_in_slices(
    size: Size,
    slices: u32,
    mut finish: impl FnMut(u32, u32, [f32; 4]),
    add: impl Fn(u32, u32, u32, &mut [[f32; 4]; 4]),
) {
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / LANES, t % LANES);
    // Adjacent lanes have adjacent tasks, or adjacent depths of one task: they read adjacent quads.
    let tasks_of_warp = LANES / slices;
    let (slice, in_warp) = (lane / tasks_of_warp, lane % tasks_of_warp);
    let tasks = size.rows * size.columns;
    let mut first = warp * tasks_of_warp;
    // The condition is uniform across a warp: all its lanes take part in the shuffles.
    while first < tasks {
        // Lanes without a task, which are in the last warp, have the last task's place and an empty depth.
        let is_task = first + in_warp < tasks;
        let task = (first + in_warp).min(tasks - 1);
        let (row, column) = (task / size.columns, task % size.columns);
        let mut sums = [[0.0_f32; 4]; 4];
        add(row, column, if is_task { slice } else { size.depth }, &mut sums);
        let [a, b, c, d] = sums;
        let (a, b) = (halve(a, c, 16), halve(b, d, 16));
        let mut sum = halve(a, b, 8);
        let mut distance = 4;
        while distance >= tasks_of_warp {
            sum = sum.map(|value| value + warp::shuffle_xor(value, distance));
            distance /= 2;
        }
        // Bits 3 and 4 of the lane index are its row.
        if is_task && lane % 8 < tasks_of_warp {
            finish(4 * row + lane / 8, column, sum);
        }
        first += THREADS / slices;
    }
}

/// Adds the scalar products of `left` and each of `rights` to `sums`.
#[inline(always)]
pub(super) fn add_products(left: &[f32; 4], rights: &[[f32; 4]; 4], sums: &mut [f32; 4]) {
    for (right, sum) in rights.iter().zip(sums) {
        for (&left, &right) in left.iter().zip(right) {
            *sum = math::fma(left, right, *sum);
        }
    }
}

/// Adds `factor` · `values` to `sums`.
#[inline(always)]
pub(super) fn add_scaled(factor: f32, values: &[f32; 4], sums: &mut [f32; 4]) {
    for (&value, sum) in values.iter().zip(sums) {
        *sum = math::fma(factor, value, *sum);
    }
}

/// Adds the outer product of `left` and `right` to `sums`, which has a row per element of `left`.
#[inline(always)]
pub(super) fn add_outer_product(left: &[f32; 4], right: &[f32; 4], sums: &mut [[f32; 4]; 4]) {
    for (&left, sums) in left.iter().zip(sums) {
        add_scaled(left, right, sums);
    }
}

/// One step of recursive halving between lanes that differ in the bit `distance`: the sum of both lanes' `low` in the
/// lane without that bit, of both lanes' `high` in the other.
#[inline(always)]
pub(super) fn halve<const N: usize>(low: [f32; N], high: [f32; N], distance: u32) -> [f32; N] {
    let is_high = thread::thread_idx_x() & distance != 0;
    core::array::from_fn(|i| {
        let (kept, passed) = if is_high { (high[i], low[i]) } else { (low[i], high[i]) };
        kept + warp::shuffle_xor(passed, distance)
    })
}

/// leftᵀ · right over `depth` rows of both, which are samples, a multiple of four; calls `finish` with each row, quad
/// of columns and its four sums. Four samples' quads are loaded at once, enough to hide the latency of a load.
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
        let fours = size.depth / 4;
        let (lefts, rights) = (left.column(shared, row, fours), right.column(shared, column, fours));
        let mut sums = [[0.0_f32; 4]; 4];
        let mut four = 0;
        while four < fours {
            let lefts: [[f32; 4]; 4] = core::array::from_fn(|i| lefts.get([four, i as u32]).to_array());
            let rights: [[f32; 4]; 4] = core::array::from_fn(|i| rights.get([four, i as u32]).to_array());
            for (left, right) in lefts.iter().zip(&rights) {
                add_outer_product(left, right, &mut sums);
            }
            four += 1;
        }
        // Unrolled by hand: in a loop that is not unrolled the sums would spill to local memory.
        let [a, b, c, d] = sums;
        finish(4 * row, column, a);
        finish(4 * row + 1, column, b);
        finish(4 * row + 2, column, c);
        finish(4 * row + 3, column, d);
        task += THREADS;
    }
}

/// The sums of `columns` quads over `depth` rows, which are samples, a multiple of four; calls `finish` with each. They
/// are assigned from the block's last thread down, since the last threads have the least of the work before and after.
#[inline(always)]
pub(super) fn sum_over_samples(
    shared: &Quads,
    values: Rows,
    columns: u32,
    depth: u32,
    mut finish: impl FnMut(u32, [f32; 4]),
) {
    let mut column = THREADS - 1 - thread::thread_idx_x();
    while column < columns {
        let values = values.column(shared, column, depth / 4);
        let mut sums = [0.0_f32; 4];
        let mut four = 0;
        while four < depth / 4 {
            let quads: [[f32; 4]; 4] = core::array::from_fn(|i| values.get([four, i as u32]).to_array());
            for quad in &quads {
                for (&value, sum) in quad.iter().zip(&mut sums) {
                    *sum += value;
                }
            }
            four += 1;
        }
        finish(column, sums);
        column += THREADS;
    }
}
