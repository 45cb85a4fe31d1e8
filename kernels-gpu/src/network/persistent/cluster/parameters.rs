//! Copying parameters from global memory to the blocks' shared memory and back.

use cuda_std::GlobalMut;

use super::super::parameters::Quad;
use super::memory::{
    Block, FIRST_BIASES, OUTPUT_QUADS, SECOND_BIASES, SECOND_QUADS, SECOND_WEIGHTS, THIRD_BIASES, THIRD_WEIGHTS,
};
use super::{FEATURES, THREADS, UNITS, thread};

/// Index of each layer's first parameter in global memory.
const FIRST_PARAMETER: [u32; 3] = [0, (FEATURES + 1) * UNITS[0], (FEATURES + 1) * UNITS[0] + (UNITS[0] + 1) * UNITS[1]];

/// The weights of layer `layer` from input `feature` to four units, or its biases for the row after the last input.
#[inline(always)]
fn of_row(layer: usize, feature: u32, unit: u32) -> Quad {
    let units = UNITS[layer];
    Quad { first: FIRST_PARAMETER[layer] + feature * units + unit, stride: 1, count: units - unit }
}

/// The first of them.
#[inline(always)]
fn of_unit(layer: usize, feature: u32, unit: u32) -> Quad {
    Quad { count: 1, ..of_row(layer, feature, unit) }
}

impl Block<'_> {
    /// Copies the block's parameters into shared memory, except the first layer's weights.
    #[inline(always)]
    pub(super) fn load_parameters(&self, parameters: GlobalMut<f32>) {
        let load = |offset: usize, quad: Quad| self.shared.set(offset, quad.load(parameters).into());
        self.for_each_own(load);
        for_each_of_third(load);
    }

    /// Copies them back: each block those that only it has, and block 0 the third layer.
    #[inline(always)]
    pub(super) fn store_parameters(&self, parameters: GlobalMut<f32>) {
        let store = |offset: usize, quad: Quad| quad.store(parameters, self.shared.get(offset).to_array());
        self.for_each_own(store);
        if self.rank == 0 {
            for_each_of_third(store);
        }
    }

    /// Calls `work` with the offset in shared memory and the place in global memory of each quad that no other block has: the second
    /// layer's weights from its units, and the biases of its units.
    #[inline(always)]
    fn for_each_own(&self, mut work: impl FnMut(usize, Quad)) {
        for_each(8 * SECOND_QUADS, |i| {
            let (row, quad) = (i / SECOND_QUADS, i % SECOND_QUADS);
            work(SECOND_WEIGHTS.offset([row, quad]), of_row(1, 8 * self.rank + row, 4 * quad));
        });
        for_each(8, |i| work(FIRST_BIASES.offset([i]), of_unit(0, FEATURES, 8 * self.rank + i)));
        for_each(4, |i| work(SECOND_BIASES.offset([i]), of_unit(1, UNITS[0], 4 * self.rank + i)));
    }
}

/// Calls `work` with each quad of the third layer, which all blocks have.
#[inline(always)]
fn for_each_of_third(mut work: impl FnMut(usize, Quad)) {
    for_each(4 * SECOND_QUADS * OUTPUT_QUADS, |i| {
        let (row, quad) = (i / OUTPUT_QUADS, i % OUTPUT_QUADS);
        work(THIRD_WEIGHTS.offset([row / 4, row % 4, quad]), of_row(2, row, 4 * quad));
    });
    for_each(OUTPUT_QUADS, |i| work(THIRD_BIASES.offset([i]), of_row(2, UNITS[1], 4 * i)));
}

/// Calls `work` with each index below `count`, cyclically over the threads.
#[inline(always)]
fn for_each(count: u32, mut work: impl FnMut(u32)) {
    let mut i = thread();
    while i < count {
        work(i);
        i += THREADS;
    }
}
