use cuda_std::{F32x4, Global, GlobalMut, SharedArray, kernel, shared_array, thread};

use super::activation;
use super::batch::{Batch, Rows};
use super::shape::{Batches, LayerShape};
use super::tile::{Fetched, QUADS, product};

macro_rules! forward_kernel {
    ($(#[$documentation:meta])* $name:ident, tile $tile:literal) => {
        $(#[$documentation])*
        #[kernel]
        pub fn $name(
            inputs: &[f32],
            order: &[u32],
            state: &[u32],
            parameters: &[f32],
            outputs: GlobalMut<f32>,
            shape: LayerShape,
            batches: Batches,
            activation: u32,
        ) {
            let batch = Batch::new(order, state[0], batches);
            forward::<$tile>(
                Rows::new(inputs, batch, shape.features),
                batch.rows,
                Layer { parameters, shape },
                activation,
                outputs,
                &shared_array![F32x4; QUADS],
            );
        }
    };
}

forward_kernel! {
    /// A layer's activations for a batch, activation(x · W + b), in tiles of 64 × 64: one block per tile, in row-major
    /// order.
    ///
    /// `inputs` are the samples if `order` is not empty, else the activations of the layer before.
    network_forward_64, tile 64
}

forward_kernel! {
    /// A layer's activations, in tiles of 16 × 16; see [`network_forward_64`].
    network_forward_16, tile 16
}

#[derive(Clone, Copy)]
struct Layer<'a> {
    parameters: Global<'a, f32>,
    shape: LayerShape,
}

impl Layer<'_> {
    /// The weight from input `feature` to unit `unit`; the biases are the row after the last input.
    #[inline(always)]
    fn get(&self, feature: u32, unit: u32) -> f32 {
        self.parameters[self.shape.parameter(feature, unit)]
    }
}

#[inline(always)]
fn forward<const TILE: u32>(
    inputs: Rows,
    rows: u32,
    layer: Layer,
    activation: u32,
    outputs: GlobalMut<f32>,
    quads: &SharedArray<F32x4, QUADS>,
) {
    let LayerShape { features, units, .. } = layer.shape;
    let across = units.div_ceil(TILE);
    let (first_row, first_unit) = (thread::block_idx_x() / across * TILE, thread::block_idx_x() % across * TILE);
    if first_row >= rows {
        return;
    }
    let a_quad = Fetched::along_depth::<TILE>();
    let starts: [usize; 4] = core::array::from_fn(|i| {
        let row = first_row + a_quad.line + i as u32;
        if row < rows { inputs.start(row) } else { 0 }
    });
    let fetch_a = |first_p: u32| {
        let p = first_p + a_quad.p;
        let get = |i: usize| match p < features && first_row + a_quad.line + (i as u32) < rows {
            true => inputs.get(starts[i] + p as usize),
            false => 0.0,
        };
        F32x4::new(get(0), get(1), get(2), get(3))
    };
    let b_quad = Fetched::along_lines::<TILE>();
    let fetch_b = |first_p: u32| {
        let p = first_p + b_quad.p;
        let get = |i: u32| {
            let unit = first_unit + b_quad.line + i;
            if p < features && unit < units { layer.get(p, unit) } else { 0.0 }
        };
        F32x4::new(get(0), get(1), get(2), get(3))
    };
    product::<TILE>(quads, features, (a_quad, fetch_a), (b_quad, fetch_b), |row, unit, sum| {
        let (row, unit) = (first_row + row, first_unit + unit);
        if row < rows && unit < units {
            let a = activation::apply(activation, sum + layer.get(features, unit));
            outputs.set((row * units + unit) as usize, a);
        }
    });
}
