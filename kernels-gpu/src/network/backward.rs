use cuda_std::{F32x4, Global, GlobalMut, SharedArray, kernel, shared_array, thread};

use super::activation;
use super::batch::Batch;
use super::shape::{Batches, LayerShape};
use super::tile::{Fetched, Lines, QUADS, product};

macro_rules! backward_kernel {
    ($(#[$documentation:meta])* $name:ident, tile $tile:literal) => {
        $(#[$documentation])*
        #[kernel]
        pub fn $name(
            errors: &[f32],
            order: &[u32],
            state: &[u32],
            parameters: &[f32],
            activations: &[f32],
            errors_below: GlobalMut<f32>,
            shape: LayerShape,
            batches: Batches,
            activation: u32,
        ) {
            let rows = Batch::new(order, state[0], batches).rows;
            let pass = Pass { errors, parameters, activations, errors_below, shape, rows, activation };
            backward::<$tile>(pass, &shared_array![F32x4; QUADS]);
        }
    };
}

backward_kernel! {
    /// The error of the layer below, (δ · Wᵀ) ⊙ derivative, in tiles of 64 × 64: one block per tile, in row-major order.
    ///
    /// `errors` is δ, batch × units; `activations` are those of the layer below, batch × features, and `activation` its
    /// activation function. `order` may be empty.
    network_backward_64, tile 64
}

backward_kernel! {
    /// The error of the layer below, in tiles of 16 × 16; see [`network_backward_64`].
    network_backward_16, tile 16
}

#[derive(Clone, Copy)]
struct Pass<'a> {
    errors: Global<'a, f32>,
    parameters: Global<'a, f32>,
    activations: Global<'a, f32>,
    errors_below: GlobalMut<'a, f32>,
    shape: LayerShape,
    rows: u32,
    activation: u32,
}

#[inline(always)]
fn backward<const TILE: u32>(pass: Pass, quads: &SharedArray<F32x4, QUADS>) {
    let LayerShape { features, units, .. } = pass.shape;
    let across = features.div_ceil(TILE);
    let (first_row, first_feature) = (thread::block_idx_x() / across * TILE, thread::block_idx_x() % across * TILE);
    if first_row >= pass.rows {
        return;
    }
    // Both factors are contiguous along the depth, the units.
    let quad = Fetched::along_depth::<TILE>();
    let row = |i: u32| (first_row + quad.line + i).min(pass.rows - 1);
    let feature = |i: u32| (first_feature + quad.line + i).min(features - 1);
    let errors = Lines::new(pass.errors, units, |i| (row(i) * units) as usize);
    let weights = Lines::new(pass.parameters, units, |i| pass.shape.parameter(feature(i), 0));
    let fetch_a = |first_p: u32| errors.at(first_p + quad.p).unwrap_or_default().into();
    let fetch_b = |first_p: u32| weights.at(first_p + quad.p).unwrap_or_default().into();
    product::<TILE, _>(quads, units, (quad, fetch_a, |quad| quad), (quad, fetch_b), |row, feature, sum| {
        let (row, feature) = (first_row + row, first_feature + feature);
        if row < pass.rows && feature < features {
            let index = (row * features + feature) as usize;
            pass.errors_below.set(index, sum * activation::derivative(pass.activation, pass.activations[index]));
        }
    });
}
