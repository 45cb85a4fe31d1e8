use cuda_std::{F32x4, Global, GlobalMut, SharedArray, hint, kernel, math, shared_array, thread};

use super::batch::{Batch, Rows};
use super::input::{ByteScale, Input};
use super::shape::{Batches, LayerShape, UpdateRule};
use super::tile::{Fetched, QUADS, adjacent, product};

/// The [`UpdateRule`] for a batch.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) rate: f32,
    pub(super) momentum: f32,
    pub(super) decay: f32,
}

impl Rule {
    /// The rule for a batch of `rows` samples.
    #[inline(always)]
    pub(super) fn new(rule: UpdateRule, rows: u32) -> Self {
        let UpdateRule { rate, momentum, decay, is_mean } = rule;
        Self { rate: if is_mean == 0 { rate } else { rate / rows as f32 }, momentum, decay }
    }

    /// The rule for biases, which do not decay.
    #[inline(always)]
    pub(super) fn without_decay(self) -> Self {
        Self { decay: 0.0, ..self }
    }

    /// The updated weight, without momentum.
    #[inline(always)]
    pub(super) fn weight(self, weight: f32, gradient: f32) -> f32 {
        math::fma(-self.rate, gradient, (1.0 - self.decay) * weight)
    }

    /// The updated weight, without momentum, by −rate · gradient.
    #[inline(always)]
    pub(super) fn changed(self, weight: f32, change: f32) -> f32 {
        math::fma(1.0 - self.decay, weight, change)
    }

    /// The updated velocity, which is added to the weight.
    #[inline(always)]
    pub(super) fn velocity(self, velocity: f32, weight: f32, gradient: f32) -> f32 {
        math::fma(-self.rate, gradient, math::fma(-self.decay, weight, self.momentum * velocity))
    }
}

macro_rules! update_kernel {
    ($(#[$documentation:meta])* $name:ident, tile $tile:literal, $input:ty $(, $scale:ident: $scale_type:ty)?) => {
        $(#[$documentation])*
        #[kernel]
        pub fn $name(
            inputs: &[$input],
            $($scale: $scale_type,)?
            order: &[u32],
            state: &[u32],
            errors: &[f32],
            parameters: GlobalMut<f32>,
            velocities: GlobalMut<f32>,
            shape: LayerShape,
            batches: Batches,
            rule: UpdateRule,
        ) {
            let batch = Batch::new(order, state[0], batches);
            let gradient =
                Gradient { inputs: Rows::new(inputs, ($($scale)?), batch, shape.features), errors, shape, first: 0, end: batch.rows };
            let target = Target { parameters, velocities, shape };
            let rule = Rule::new(rule, batch.rows);
            gradient.compute::<$tile>(thread::block_idx_x(), &shared_array![F32x4; QUADS], |feature, unit, sum| {
                target.update(feature, unit, sum, rule);
            });
        }
    };
}

update_kernel! {
    /// Updates a layer's parameters by their gradients, xᵀ · δ, in tiles of 64 × 64: one block per tile of (features + 1) ×
    /// units, where the last row has the biases, whose input is always 1.
    ///
    /// `inputs` are the samples if `order` is not empty, else the activations of the layer before; `errors` is δ, batch ×
    /// units. Empty `velocities` mean no momentum.
    network_update_64, tile 64, f32
}

update_kernel! {
    /// Updates a layer's parameters by their gradients, in tiles of 16 × 16; see [`network_update_64`].
    network_update_16, tile 16, f32
}

update_kernel! {
    /// Updates the first layer's parameters for samples of bytes, in tiles of 64 × 64; see [`network_update_64`].
    network_update_bytes_64, tile 64, u8, scale: ByteScale
}

update_kernel! {
    /// Updates the first layer's parameters for samples of bytes, in tiles of 16 × 16; see [`network_update_64`].
    network_update_bytes_16, tile 16, u8, scale: ByteScale
}

macro_rules! gradient_kernel {
    ($(#[$documentation:meta])* $name:ident, tile $tile:literal, $input:ty $(, $scale:ident: $scale_type:ty)?) => {
        $(#[$documentation])*
        #[kernel]
        pub fn $name(
            inputs: &[$input],
            $($scale: $scale_type,)?
            order: &[u32],
            state: &[u32],
            errors: &[f32],
            parts: GlobalMut<f32>,
            shape: LayerShape,
            batches: Batches,
        ) {
            let batch = Batch::new(order, state[0], batches);
            partial::<$tile, $input>(
                Rows::new(inputs, ($($scale)?), batch, shape.features),
                batch.rows,
                errors,
                parts,
                shape,
                &shared_array![F32x4; QUADS],
            );
        }
    };
}

gradient_kernel! {
    /// Partial sums of a layer's gradients, in tiles of 64 × 64: as [`network_update_64`], but the batch's samples are
    /// split along the grid's second dimension (split-K). Each part stores its (features + 1) × units sums in `parts`,
    /// one part after the other.
    network_gradient_64, tile 64, f32
}

gradient_kernel! {
    /// Partial sums of a layer's gradients, in tiles of 16 × 16; see [`network_gradient_64`].
    network_gradient_16, tile 16, f32
}

gradient_kernel! {
    /// Partial sums of the first layer's gradients for samples of bytes, in tiles of 64 × 64; see [`network_gradient_64`].
    network_gradient_bytes_64, tile 64, u8, scale: ByteScale
}

gradient_kernel! {
    /// Partial sums of the first layer's gradients for samples of bytes, in tiles of 16 × 16; see [`network_gradient_64`].
    network_gradient_bytes_16, tile 16, u8, scale: ByteScale
}

/// Updates a layer's parameters by the sums of `count` partial gradients, added in order. One thread per parameter, of
/// which there are (features + 1) × units; otherwise as [`network_update_64`].
#[kernel]
pub fn network_update_from_parts(
    parts: &[f32],
    order: &[u32],
    state: &[u32],
    parameters: GlobalMut<f32>,
    velocities: GlobalMut<f32>,
    count: u32,
    shape: LayerShape,
    batches: Batches,
    rule: UpdateRule,
) {
    let batch = Batch::new(order, state[0], batches);
    let size = (shape.features + 1) * shape.units;
    let index = thread::index_1d();
    if index < size {
        let sum = sum_of_parts(parts, count, size, index);
        let rule = Rule::new(rule, batch.rows);
        let target = Target { parameters, velocities, shape };
        target.update(index / shape.units, index % shape.units, sum, rule);
    }
}

/// The gradient of parameter `index`: the sum of its `count` parts, in order, of `size` parameters each.
#[inline(always)]
pub(super) fn sum_of_parts(parts: Global<f32>, count: u32, size: u32, index: u32) -> f32 {
    let get = |part: u32| parts[part as usize * size as usize + index as usize];
    let mut sum = 0.0;
    let mut part = 0;
    // Eight loads are under way at once.
    while part + 8 <= count {
        for value in [0, 1, 2, 3, 4, 5, 6, 7].map(|i| get(part + i)) {
            sum += value;
        }
        part += 8;
    }
    while part < count {
        sum += get(part);
        part += 1;
    }
    sum
}

/// Parameters and velocities of the layer to update.
#[derive(Clone, Copy)]
struct Target<'a> {
    parameters: GlobalMut<'a, f32>,
    velocities: GlobalMut<'a, f32>,
    shape: LayerShape,
}

impl Target<'_> {
    #[inline(always)]
    fn update(self, feature: u32, unit: u32, gradient: f32, rule: Rule) {
        let rule = if feature == self.shape.features { rule.without_decay() } else { rule };
        let index = self.shape.parameter(feature, unit);
        let weight = self.parameters.get(index);
        if self.velocities.is_empty() {
            self.parameters.set(index, rule.weight(weight, gradient));
        } else {
            let velocity = rule.velocity(self.velocities.get(index), weight, gradient);
            self.velocities.set(index, velocity);
            self.parameters.set(index, weight + velocity);
        }
    }
}

/// xᵀ · δ over the samples `first..end` of the batch.
#[derive(Clone, Copy)]
struct Gradient<'a, T: Input> {
    inputs: Rows<'a, T>,
    errors: Global<'a, f32>,
    shape: LayerShape,
    first: u32,
    end: u32,
}

impl<T: Input> Gradient<'_, T> {
    #[inline(always)]
    fn compute<const TILE: u32>(
        self,
        tile: u32,
        quads: &SharedArray<F32x4, QUADS>,
        mut finish: impl FnMut(u32, u32, f32),
    ) {
        let Self { inputs, errors, shape, first, end } = self;
        let LayerShape { features, units, .. } = shape;
        let across = units.div_ceil(TILE);
        let (first_feature, first_unit) = (tile / across * TILE, tile % across * TILE);
        // Both factors are contiguous along the tile's lines; the depth is the batch.
        let quad = Fetched::along_lines::<TILE>();
        // Those of the batch's rows: of others there may be none.
        let errors = errors.slice(0..(end * units) as usize);
        let feature = first_feature + quad.line;
        let fetch_a = |first_p: u32| {
            let row = first + first_p + quad.p;
            if row >= end {
                return [0; 4];
            }
            let row = inputs.row(row);
            let get = |i: u32| row[(feature + i) as usize].register();
            if feature + 4 <= features {
                return [get(0), get(1), get(2), get(3)];
            }
            let get = |i: u32| if feature + i < features { hint::opaque(get(i)) } else { 0 };
            [get(0), get(1), get(2), get(3)]
        };
        // The biases' input is 1 also beyond the batch, where the errors are 0.
        let value_of_a = |registers: [u32; 4]| {
            let value = |i: u32| match feature + i == features {
                true => 1.0,
                false => inputs.value(registers[i as usize]),
            };
            F32x4::new(value(0), value(1), value(2), value(3))
        };
        let fetch_b = |first_p: u32| {
            let (row, unit) = (first + first_p + quad.p, first_unit + quad.line);
            if row >= end {
                return F32x4::splat(0.0);
            }
            adjacent(errors, row * units + unit, units.saturating_sub(unit))
        };
        let depth = end.saturating_sub(first);
        product::<TILE, _>(quads, depth, (quad, fetch_a, value_of_a), (quad, fetch_b), |feature, unit, sum| {
            let (feature, unit) = (first_feature + feature, first_unit + unit);
            if feature <= features && unit < units {
                finish(feature, unit, sum);
            }
        });
    }
}

#[inline(always)]
fn partial<const TILE: u32, T: Input>(
    inputs: Rows<T>,
    rows: u32,
    errors: Global<f32>,
    parts: GlobalMut<f32>,
    shape: LayerShape,
    quads: &SharedArray<F32x4, QUADS>,
) {
    let (part, count) = (thread::block_idx_y(), thread::grid_dim_y());
    let share = rows.div_ceil(count);
    let first = part * share;
    let gradient = Gradient { inputs, errors, shape, first, end: rows.min(first + share) };
    let start = part as usize * ((shape.features + 1) * shape.units) as usize;
    gradient.compute::<TILE>(thread::block_idx_x(), quads, |feature, unit, sum| {
        parts.set(start + (feature * shape.units + unit) as usize, sum);
    });
}
