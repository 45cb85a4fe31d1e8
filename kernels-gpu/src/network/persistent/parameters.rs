//! Copying parameters from global memory to the blocks' shared memory and back, and the storage of their velocities.

use cuda_std::{F32x4, GlobalMut, thread};

use super::super::update::Rule;
use super::THREADS;
use super::network::{Layer, Network};
use super::rows::Quads;
use super::table::{self, Table};

/// The last updates of a block's parameters, in the layout of the parameters.
#[derive(Clone, Copy)]
pub(super) struct Velocities<'a> {
    shared: &'a Quads,
    workspace: GlobalMut<'a, F32x4>,
    /// See [`table::VELOCITIES`].
    pub(super) kind: u32,
    /// Index of the first quad.
    first: usize,
}

impl<'a> Velocities<'a> {
    #[inline(always)]
    pub(super) fn new<T: Table>(
        network: &Network<'a, T>,
        global: GlobalMut<'a, f32>,
        workspace: GlobalMut<'a, F32x4>,
    ) -> Self {
        let kind = if global.is_empty() { table::NOWHERE } else { network.header(table::VELOCITIES) };
        let first = match kind {
            table::IN_SHARED => network.header(table::FIRST_VELOCITY) as usize,
            _ => thread::block_idx_x() as usize * network.header(table::PARAMETER_QUADS) as usize,
        };
        Self { shared: network.shared, workspace, kind, first }
    }

    // KIND, one of the kinds, is a constant: with a run-time kind the compiler would merge the two loads into one with
    // a generic address.
    #[inline(always)]
    fn get<const KIND: u32>(self, offset: u32) -> [f32; 4] {
        match KIND {
            table::IN_SHARED => self.shared.get(self.first + offset as usize).to_array(),
            _ => self.workspace.get(self.first + offset as usize).to_array(),
        }
    }

    #[inline(always)]
    fn set<const KIND: u32>(self, offset: u32, values: [f32; 4]) {
        match KIND {
            table::IN_SHARED => self.shared.set(self.first + offset as usize, values.into()),
            _ => self.workspace.set(self.first + offset as usize, values.into()),
        }
    }

    /// Updates the quad of parameters at `offset` by its gradients.
    #[inline(always)]
    pub(super) fn update<const KIND: u32>(self, offset: u32, gradients: [f32; 4], rule: Rule) {
        let weights = self.shared.get(offset as usize).to_array();
        if KIND == table::NOWHERE {
            let weights: [f32; 4] = core::array::from_fn(|i| rule.weight(weights[i], gradients[i]));
            self.shared.set(offset as usize, weights.into());
            return;
        }
        let velocities = self.get::<KIND>(offset);
        let velocities: [f32; 4] = core::array::from_fn(|i| rule.velocity(velocities[i], weights[i], gradients[i]));
        self.set::<KIND>(offset, velocities);
        let weights: [f32; 4] = core::array::from_fn(|i| weights[i] + velocities[i]);
        self.shared.set(offset as usize, weights.into());
    }
}

impl<T: Table> Network<'_, T> {
    /// Copies the block's parameters into shared memory, and its velocities to their storage.
    #[inline(always)]
    pub(super) fn load_parameters(
        &self,
        parameters: GlobalMut<f32>,
        block_velocities: &Velocities,
        velocities: GlobalMut<f32>,
    ) {
        self.for_each_quad(false, |offset, quad| self.shared.set(offset as usize, quad.load(parameters).into()));
        match block_velocities.kind {
            table::NOWHERE => {}
            table::IN_SHARED => self.for_each_quad(false, |offset, quad| {
                block_velocities.set::<{ table::IN_SHARED }>(offset, quad.load(velocities));
            }),
            _ => self.for_each_quad(false, |offset, quad| {
                block_velocities.set::<{ table::IN_WORKSPACE }>(offset, quad.load(velocities));
            }),
        }
    }

    /// Copies them back: each block its units of the first layer, and block 0 all later layers.
    #[inline(always)]
    pub(super) fn store_parameters(
        &self,
        parameters: GlobalMut<f32>,
        block_velocities: &Velocities,
        velocities: GlobalMut<f32>,
    ) {
        let only_own = thread::block_idx_x() != 0;
        self.for_each_quad(only_own, |offset, quad| {
            quad.store(parameters, self.shared.get(offset as usize).to_array());
        });
        match block_velocities.kind {
            table::NOWHERE => {}
            table::IN_SHARED => self.for_each_quad(only_own, |offset, quad| {
                quad.store(velocities, block_velocities.get::<{ table::IN_SHARED }>(offset));
            }),
            _ => self.for_each_quad(only_own, |offset, quad| {
                quad.store(velocities, block_velocities.get::<{ table::IN_WORKSPACE }>(offset));
            }),
        }
    }

    /// Calls `work` with each quad of the block's parameters and its offset in shared memory, cyclically over the
    /// threads.
    #[inline(always)]
    fn for_each_quad(&self, only_own: bool, mut work: impl FnMut(u32, Quad)) {
        let layer = self.layer(0);
        let (quads, weights) = (layer.feature_quads(), layer.weights());
        let mut i = thread::thread_idx_x();
        while i < 4 * self.own * quads {
            let (row, quad) = (i / quads, i % quads);
            let unit = 4 * self.first_own + row;
            work(weights.offset(row, quad), Quad::of_column(&layer, unit, 4 * quad));
            i += THREADS;
        }
        let mut i = thread::thread_idx_x();
        while i < self.own {
            work(layer.biases() + i, Quad::of_biases(&layer, 4 * (self.first_own + i)));
            i += THREADS;
        }
        if only_own {
            return;
        }
        self.for_each_later_layer(|index| {
            let layer = self.layer(index);
            let (quads, weights) = (layer.unit_quads(), layer.weights());
            let mut i = thread::thread_idx_x();
            while i < 4 * layer.feature_quads() * quads {
                let (row, quad) = (i / quads, i % quads);
                work(weights.offset(row, quad), Quad::of_row(&layer, row, 4 * quad));
                i += THREADS;
            }
            let mut i = thread::thread_idx_x();
            while i < quads {
                work(layer.biases() + i, Quad::of_biases(&layer, 4 * i));
                i += THREADS;
            }
        });
    }
}

/// Four parameters in global memory, the last of which may be padding.
#[derive(Clone, Copy)]
pub(super) struct Quad {
    pub(super) first: u32,
    pub(super) stride: u32,
    /// Number of parameters; the rest is padding.
    pub(super) count: u32,
}

impl Quad {
    /// The weights from input `feature` to four units.
    #[inline(always)]
    fn of_row(layer: &Layer<impl Table>, feature: u32, unit: u32) -> Self {
        let count = if feature < layer.features() { layer.units() - unit } else { 0 };
        Self { first: layer.first_parameter() + feature * layer.units() + unit, stride: 1, count }
    }

    /// The biases of four units.
    #[inline(always)]
    fn of_biases(layer: &Layer<impl Table>, unit: u32) -> Self {
        let first = layer.first_parameter() + layer.features() * layer.units() + unit;
        Self { first, stride: 1, count: layer.units() - unit }
    }

    /// The weights from four inputs to one unit.
    #[inline(always)]
    fn of_column(layer: &Layer<impl Table>, unit: u32, feature: u32) -> Self {
        let count = if unit < layer.units() { layer.features() - feature } else { 0 };
        Self { first: layer.first_parameter() + feature * layer.units() + unit, stride: layer.units(), count }
    }

    #[inline(always)]
    pub(super) fn load(self, values: GlobalMut<f32>) -> [f32; 4] {
        core::array::from_fn(|i| match (i as u32) < self.count {
            true => values.get((self.first + i as u32 * self.stride) as usize),
            false => 0.0,
        })
    }

    #[inline(always)]
    pub(super) fn store(self, values: GlobalMut<f32>, quad: [f32; 4]) {
        for (i, &value) in quad.iter().enumerate() {
            if (i as u32) < self.count {
                values.set((self.first + i as u32 * self.stride) as usize, value);
            }
        }
    }
}
