use cuda_std::{F32x4, Global, GlobalMut, SharedArray, kernel, shared_array, thread};

use super::activation;
use super::batch::{Batch, Rows};
use super::input::{ByteScale, Input};
use super::shape::{Batches, LayerShape};
use super::tile::{Fetched, QUADS, adjacent, product};

/// A layer's forward pass over a batch, as each kernel takes it.
#[derive(Clone, Copy)]
pub(super) struct Forward<'a, T: Input> {
    pub(super) inputs: Rows<'a, T>,
    pub(super) parameters: Global<'a, f32>,
    pub(super) outputs: GlobalMut<'a, f32>,
    pub(super) shape: LayerShape,
    pub(super) activation: u32,
}

/// A kernel of the forward pass, which the expression computes.
macro_rules! forward_kernel {
    (
        $(#[$documentation:meta])*
        $name:ident, $input:ty $(, $scale:ident: $scale_type:ty)?, |$pass:ident| $compute:expr
    ) => {
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
            let inputs = Rows::new(inputs, ($($scale)?), batch, shape.features);
            let $pass = Forward { inputs, parameters, outputs, shape, activation };
            $compute;
        }
    };
}
pub(super) use forward_kernel;

forward_kernel! {
    /// A layer's activations for a batch, activation(x · W + b), in tiles of 64 × 64: one block per tile, in row-major
    /// order.
    ///
    /// `inputs` are the samples if `order` is not empty, else the activations of the layer before.
    network_forward_64, f32, |pass| forward::<64, f32>(pass, &shared_array![F32x4; QUADS])
}

forward_kernel! {
    /// A layer's activations, in tiles of 16 × 16; see [`network_forward_64`].
    network_forward_16, f32, |pass| forward::<16, f32>(pass, &shared_array![F32x4; QUADS])
}

forward_kernel! {
    /// The first layer's activations for samples of bytes, in tiles of 64 × 64; see [`network_forward_64`].
    network_forward_bytes_64, u8, scale: ByteScale, |pass| forward::<64, u8>(pass, &shared_array![F32x4; QUADS])
}

forward_kernel! {
    /// The first layer's activations for samples of bytes, in tiles of 16 × 16; see [`network_forward_64`].
    network_forward_bytes_16, u8, scale: ByteScale, |pass| forward::<16, u8>(pass, &shared_array![F32x4; QUADS])
}

#[inline(always)]
fn forward<const TILE: u32, T: Input>(pass: Forward<T>, quads: &SharedArray<F32x4, QUADS>) {
    let Forward { inputs, parameters, outputs, shape, activation } = pass;
    let (LayerShape { features, units, .. }, rows) = (shape, inputs.batch.rows);
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
        adjacent(parameters, shape.parameter(p, unit) as u32, units.saturating_sub(unit))
    };
    product::<TILE, _>(quads, features, (a_quad, fetch_a, value_of_a), (b_quad, fetch_b), |row, unit, sum| {
        let (row, unit) = (first_row + row, first_unit + unit);
        if row < rows && unit < units {
            let a = activation::apply(activation, sum + parameters[shape.parameter(features, unit)]);
            outputs.set((row * units + unit) as usize, a);
        }
    });
}
