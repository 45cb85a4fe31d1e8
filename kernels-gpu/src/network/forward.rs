use cuda_std::{F32x4, Global, GlobalMut, SharedArray, kernel, shared_array, thread};

use super::activation;
use super::batch::{Batch, Rows};
use super::input::{ByteScale, Input};
use super::shape::{Batches, LayerShape};
use super::tile::{Fetched, QUADS, adjacent, product};

macro_rules! forward_kernel {
    ($(#[$documentation:meta])* $name:ident, tile $tile:literal, $input:ty $(, $scale:ident: $scale_type:ty)?) => {
        $(#[$documentation])*
        #[kernel]
        pub fn $name(
            inputs: &[$input],
            $($scale: $scale_type,)?
            order: &[u32],
            state: &[u32],
            parameters: &[f32],
            outputs: GlobalMut<f32>,
            shape: LayerShape,
            batches: Batches,
            activation: u32,
        ) {
            let batch = Batch::new(order, state[0], batches);
            forward::<$tile, $input>(
                Rows::new(inputs, ($($scale)?), batch, shape.features),
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
    network_forward_64, tile 64, f32
}

forward_kernel! {
    /// A layer's activations, in tiles of 16 × 16; see [`network_forward_64`].
    network_forward_16, tile 16, f32
}

forward_kernel! {
    /// The first layer's activations for samples of bytes, in tiles of 64 × 64; see [`network_forward_64`].
    network_forward_bytes_64, tile 64, u8, scale: ByteScale
}

forward_kernel! {
    /// The first layer's activations for samples of bytes, in tiles of 16 × 16; see [`network_forward_64`].
    network_forward_bytes_16, tile 16, u8, scale: ByteScale
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
fn forward<const TILE: u32, T: Input>(
    inputs: Rows<T>,
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
    let lines = inputs.lines(first_row + a_quad.line);
    let fetch_a = |first_p: u32| match lines.at(first_p + a_quad.p) {
        Some(elements) => elements.map(Input::register),
        None => [0; 4],
    };
    let value_of_a = |registers: [u32; 4]| registers.map(|register| inputs.value(register)).into();
    let b_quad = Fetched::along_lines::<TILE>();
    let fetch_b = |first_p: u32| {
        let (p, unit) = (first_p + b_quad.p, first_unit + b_quad.line);
        if p >= features {
            return F32x4::splat(0.0);
        }
        adjacent(layer.parameters, layer.shape.parameter(p, unit) as u32, units.saturating_sub(unit))
    };
    product::<TILE, _>(quads, features, (a_quad, fetch_a, value_of_a), (b_quad, fetch_b), |row, unit, sum| {
        let (row, unit) = (first_row + row, first_unit + unit);
        if row < rows && unit < units {
            let a = activation::apply(activation, sum + layer.get(features, unit));
            outputs.set((row * units + unit) as usize, a);
        }
    });
}
