//! One layer's parameters in the CPU engine's layout, and the sinks of its products.

use std::ops::Range;

use kernels_cpu::nonzero_product::{NonzeroRows, nonzero_product_of_transpose};
use kernels_cpu::product::{PaddedMatrix, Sink, product_of_transpose};
use kernels_cpu::{InstructionSet, Simd, WithSimd};
use ndarray::{Array1, Array2};

use crate::padded::{pad, pad_row};
use crate::training::{GradientScale, Hyperparameters};
use crate::{Activation, Scalar};

/// The parameters of a layer, or of a part of it by inputs, padded to whole cache lines.
#[derive(Clone, Debug)]
pub(super) struct Layer<F> {
    /// The inputs that it covers.
    pub(super) rows: Range<usize>,
    /// inputs × units.
    pub(super) weights: PaddedMatrix<F>,
    /// One row of units.
    pub(super) biases: PaddedMatrix<F>,
    /// Whether the biases are up to date: of the parts of a layer, only the last one's are.
    pub(super) owns_biases: bool,
    /// The last changes of the weights and the biases, with momentum only.
    velocities: Option<(PaddedMatrix<F>, PaddedMatrix<F>)>,
    /// The factor of its gradients.
    rate_factor: F,
    /// The gradients of the biases, one row.
    bias_gradients: PaddedMatrix<F>,
}

/// The left matrix of a weight gradient xᵀ·δ: a batch's inputs of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left<'a, F> {
    /// Rows of equal length, at most 64.
    Dense(&'a [&'a [F]]),
    /// Rows that are mostly zeros.
    Nonzero(&'a NonzeroRows<F>),
}

impl<F: Scalar> Left<'_, F> {
    /// Passes the product of its transpose and `errors` to the sink; rows of zeros may be skipped if `only_nonzero`.
    pub(super) fn gradient(
        self,
        set: InstructionSet,
        errors: &PaddedMatrix<F>,
        only_nonzero: bool,
        sink: impl Sink<F>,
    ) {
        match self {
            Self::Dense(rows) => {
                let width = rows.first().map_or(0, |row| row.len());
                product_of_transpose(set, rows, 0..width, errors, sink);
            }
            Self::Nonzero(rows) => nonzero_product_of_transpose(set, rows, errors, only_nonzero, sink),
        }
    }
}

impl<F: Scalar> Layer<F> {
    /// A whole layer; with momentum, velocities that are not given are zero.
    pub(super) fn new(
        weights: &Array2<F>,
        biases: &Array1<F>,
        velocities: Option<&(Array2<F>, Array1<F>)>,
        index: usize,
        hyperparameters: &Hyperparameters,
    ) -> Self {
        let (weights, biases) = (pad(weights), pad_row(biases));
        let (rows, columns) = (weights.rows(), weights.columns());
        let velocities = match velocities {
            Some((weights, biases)) => Some((pad(weights), pad_row(biases))),
            None if hyperparameters.momentum != 0.0 => {
                Some((PaddedMatrix::zeros(rows, columns), PaddedMatrix::zeros(1, columns)))
            }
            None => None,
        };
        Self {
            rows: 0..rows,
            weights,
            biases,
            owns_biases: true,
            velocities,
            rate_factor: F::from_f64(hyperparameters.learning_rate_factor(index)),
            bias_gradients: PaddedMatrix::zeros(1, columns),
        }
    }

    /// A copy of the part with the given inputs.
    pub(super) fn part(&self, rows: Range<usize>, owns_biases: bool) -> Self {
        let copy = |matrix: &PaddedMatrix<F>| rows_of(matrix, rows.clone());
        Self {
            weights: copy(&self.weights),
            biases: self.biases.clone(),
            owns_biases,
            velocities: self.velocities.as_ref().map(|(weights, biases)| (copy(weights), biases.clone())),
            rate_factor: self.rate_factor,
            bias_gradients: self.bias_gradients.clone(),
            rows,
        }
    }

    /// A copy that cannot be trained with momentum.
    pub(super) fn without_velocities(&self) -> Self {
        Self { velocities: None, ..self.clone() }
    }

    /// Copies a part back into this whole layer.
    pub(super) fn copy_part(&mut self, part: &Self) {
        let copy = |to: &mut PaddedMatrix<F>, from: &PaddedMatrix<F>| {
            let start = part.rows.start * to.stride();
            to.padded_mut()[start..start + from.padded().len()].copy_from_slice(from.padded());
        };
        copy(&mut self.weights, &part.weights);
        if let (Some((weights, _)), Some((of_part, _))) = (&mut self.velocities, &part.velocities) {
            copy(weights, of_part);
        }
        if part.owns_biases {
            self.biases.clone_from(&part.biases);
            if let (Some((_, biases)), Some((_, of_part))) = (&mut self.velocities, &part.velocities) {
                biases.clone_from(of_part);
            }
        }
    }

    /// The velocities of the weights and the biases.
    pub(super) fn velocities(&self) -> Option<&(PaddedMatrix<F>, PaddedMatrix<F>)> {
        self.velocities.as_ref()
    }

    /// Updates the weights by the layer's inputs and errors, directly from registers.
    pub(super) fn update(
        &mut self,
        set: InstructionSet,
        rule: UpdateRule<F>,
        left: Left<'_, F>,
        errors: &PaddedMatrix<F>,
    ) {
        let rule = rule.for_layer(self.rate_factor);
        let stride = self.weights.stride();
        let velocities = self.velocities.as_mut().map(|(weights, _)| weights.padded_mut());
        // Without momentum and decay, a zero gradient changes nothing.
        let only_nonzero = velocities.is_none() && rule.decay == F::zero();
        left.gradient(
            set,
            errors,
            only_nonzero,
            Update { weights: self.weights.padded_mut(), velocities, stride, rule },
        );
    }

    /// Updates the biases by the first `count` rows of the layer's errors.
    pub(super) fn update_biases(
        &mut self,
        set: InstructionSet,
        rule: UpdateRule<F>,
        errors: &PaddedMatrix<F>,
        count: usize,
    ) {
        sum_of_rows(set, errors, count, &mut self.bias_gradients);
        let rule = rule.for_layer(self.rate_factor).without_decay();
        let velocities = self.velocities.as_mut().map(|(_, biases)| biases.padded_mut());
        rule.apply(set, self.biases.padded_mut(), velocities, self.bias_gradients.padded());
    }

    /// Updates all parameters by their gradients; `biases` is one row.
    pub(super) fn apply(
        &mut self,
        set: InstructionSet,
        rule: UpdateRule<F>,
        weights: &PaddedMatrix<F>,
        biases: &PaddedMatrix<F>,
    ) {
        let rule = rule.for_layer(self.rate_factor);
        let (weight_velocities, bias_velocities) = match &mut self.velocities {
            Some((weights, biases)) => (Some(weights.padded_mut()), Some(biases.padded_mut())),
            None => (None, None),
        };
        rule.apply(set, self.weights.padded_mut(), weight_velocities, weights.padded());
        if self.owns_biases {
            rule.without_decay().apply(set, self.biases.padded_mut(), bias_velocities, biases.padded());
        }
    }
}

/// A copy of some rows of a matrix.
fn rows_of<F: Scalar>(matrix: &PaddedMatrix<F>, rows: Range<usize>) -> PaddedMatrix<F> {
    let mut copy = PaddedMatrix::zeros(rows.len(), matrix.columns());
    let stride = matrix.stride();
    copy.padded_mut().copy_from_slice(&matrix.padded()[rows.start * stride..rows.end * stride]);
    copy
}

/// The update rule of a parameter; see [`crate::Hyperparameters`].
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateRule<F> {
    /// The learning rate, divided by the batch size if gradients are means.
    rate: F,
    momentum: F,
    /// Learning rate · weight decay.
    decay: F,
}

impl<F: Scalar> UpdateRule<F> {
    /// The rule of the weights after a batch of `count` samples, without a layer's factor.
    pub(super) fn new(hyperparameters: &Hyperparameters, count: usize) -> Self {
        let rate = hyperparameters.learning_rate;
        let scale = match hyperparameters.gradient {
            GradientScale::Sum => 1.0,
            GradientScale::Mean => count as f64,
        };
        Self {
            rate: F::from_f64(rate / scale),
            momentum: F::from_f64(hyperparameters.momentum),
            decay: F::from_f64(rate * hyperparameters.weight_decay),
        }
    }

    /// The rule for a layer whose gradients are multiplied by `factor`.
    fn for_layer(self, factor: F) -> Self {
        Self { rate: self.rate * factor, ..self }
    }

    /// The rule for biases, which do not decay.
    fn without_decay(self) -> Self {
        Self { decay: F::zero(), ..self }
    }

    /// Updates `weights` by their gradients; the slices have the same length, a multiple of a cache line.
    fn apply(self, set: InstructionSet, weights: &mut [F], velocities: Option<&mut [F]>, gradients: &[F]) {
        set.dispatch(UpdateAll { weights, velocities, gradients, rule: self });
    }

    /// Updates `weights` by their gradients, which are in registers.
    #[inline(always)]
    fn apply_vectors<S: Simd>(
        self,
        simd: S,
        weights: &mut [F],
        velocities: Option<&mut [F]>,
        gradients: &[F::Vector<S>],
    ) {
        let minus_rate = F::splat(simd, -self.rate);
        // Slices of the gradients' length: if the compiler knows that length, the gradients stay in registers.
        let length = size_of_val(gradients) / size_of::<F>();
        let weights = F::as_vectors_mut::<S>(&mut weights[..length]).iter_mut();
        match velocities {
            // w ← (1 − decay) · w − rate · g
            None => {
                let keep = F::splat(simd, F::one() - self.decay);
                for (weight, &gradient) in weights.zip(gradients) {
                    *weight =
                        F::multiply_add_vectors(simd, minus_rate, gradient, F::multiply_vectors(simd, keep, *weight));
                }
            }
            // v ← momentum · v − decay · w − rate · g;  w ← w + v
            Some(velocities) => {
                let (momentum, minus_decay) = (F::splat(simd, self.momentum), F::splat(simd, -self.decay));
                let velocities = F::as_vectors_mut::<S>(&mut velocities[..length]).iter_mut();
                for ((weight, velocity), &gradient) in weights.zip(velocities).zip(gradients) {
                    let kept = F::multiply_vectors(simd, momentum, *velocity);
                    let kept = F::multiply_add_vectors(simd, minus_decay, *weight, kept);
                    *velocity = F::multiply_add_vectors(simd, minus_rate, gradient, kept);
                    *weight = F::add_vectors(simd, *weight, *velocity);
                }
            }
        }
    }
}

struct UpdateAll<'a, F> {
    weights: &'a mut [F],
    velocities: Option<&'a mut [F]>,
    gradients: &'a [F],
    rule: UpdateRule<F>,
}

impl<F: Scalar> WithSimd for UpdateAll<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.rule.apply_vectors(simd, self.weights, self.velocities, F::as_vectors::<S>(self.gradients));
    }
}

/// Adds `others` to `totals` element by element; both have the same length.
pub(super) fn add_all<F: Scalar>(set: InstructionSet, totals: &mut [F], others: &[F]) {
    set.dispatch(AddAll { totals, others });
}

struct AddAll<'a, F> {
    totals: &'a mut [F],
    others: &'a [F],
}

impl<F: Scalar> WithSimd for AddAll<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.totals.iter_mut().zip(self.others).for_each(|(total, &other)| *total += other);
    }
}

/// Adds the biases, one padded row, to every row of `out`.
pub(super) fn add_bias<F: Scalar>(set: InstructionSet, out: &mut [F], biases: &[F]) {
    set.dispatch(AddBiasToRows { out, biases });
}

struct AddBiasToRows<'a, F> {
    out: &'a mut [F],
    biases: &'a [F],
}

impl<F: Scalar> WithSimd for AddBiasToRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let biases = F::as_vectors::<S>(self.biases);
        for row in self.out.chunks_exact_mut(self.biases.len()) {
            for (out, &bias) in F::as_vectors_mut::<S>(row).iter_mut().zip(biases) {
                *out = F::add_vectors(simd, *out, bias);
            }
        }
    }
}

/// Writes the sum of the first `count` rows, in order, to the row `sums`.
fn sum_of_rows<F: Scalar>(set: InstructionSet, matrix: &PaddedMatrix<F>, count: usize, sums: &mut PaddedMatrix<F>) {
    sums.padded_mut().fill(F::zero());
    add_sum_of_rows(set, matrix, count, sums);
}

/// Adds the sum of the first `count` rows, in order, to the row `totals`.
pub(super) fn add_sum_of_rows<F: Scalar>(
    set: InstructionSet,
    matrix: &PaddedMatrix<F>,
    count: usize,
    totals: &mut PaddedMatrix<F>,
) {
    let rows = &matrix.padded()[..count * matrix.stride()];
    set.dispatch(AddSumOfRows { rows, totals: totals.padded_mut() });
}

struct AddSumOfRows<'a, F> {
    rows: &'a [F],
    totals: &'a mut [F],
}

impl<F: Scalar> WithSimd for AddSumOfRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = self.totals.len();
        for (column, total) in F::as_vectors_mut::<S>(self.totals).iter_mut().enumerate() {
            let mut sum = F::splat(simd, F::zero());
            for row in self.rows.chunks_exact(stride) {
                sum = F::add_vectors(simd, sum, F::as_vectors::<S>(row)[column]);
            }
            *total = F::add_vectors(simd, *total, sum);
        }
    }
}

/// The sink of a part of x·W, whose sum over the inputs may be split into several parts: stores the sums.
pub(super) struct Forward<'a, F> {
    pub(super) out: &'a mut [F],
    pub(super) stride: usize,
    /// Whether `out` has the sums over the inputs of earlier parts, which are continued.
    pub(super) continues: bool,
    /// The biases, which are added to the sums of the last part.
    pub(super) biases: Option<&'a [F]>,
}

impl<F: Scalar> Sink<F> for Forward<'_, F> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [F::Vector<S>]) {
        if self.continues {
            let out = F::as_vectors::<S>(&self.out[row * self.stride + column..]);
            sums.iter_mut().zip(out).for_each(|(sum, &out)| *sum = out);
        }
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let out = F::as_vectors_mut::<S>(&mut self.out[row * self.stride + column..]).iter_mut().zip(sums);
        match self.biases {
            None => out.for_each(|(out, &sum)| *out = sum),
            Some(biases) => {
                let biases = F::as_vectors::<S>(&biases[column..]);
                out.zip(biases).for_each(|((out, &sum), &bias)| *out = F::add_vectors(simd, sum, bias));
            }
        }
    }
}

/// The sink of δ_next·W_nextᵀ: multiplies the sums by the activation's derivative and stores the layer's error δ. The
/// padding stays zero.
pub(super) struct Backward<'a, F> {
    pub(super) errors: &'a mut PaddedMatrix<F>,
    pub(super) activations: &'a PaddedMatrix<F>,
    pub(super) activation: Activation,
}

impl<F: Scalar> Sink<F> for Backward<'_, F> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let sums = F::as_elements::<S>(sums);
        let end = (column + sums.len()).min(self.activations.columns());
        if column >= end {
            return;
        }
        let activations = &self.activations.row(row)[column..end];
        let errors = &mut self.errors.row_mut(row)[column..end];
        for ((error, &sum), &a) in errors.iter_mut().zip(sums).zip(activations) {
            *error = sum * self.activation.derivative(a);
        }
    }
}

/// The sink of gradients that update the weights at once and are never stored.
struct Update<'a, F> {
    weights: &'a mut [F],
    velocities: Option<&'a mut [F]>,
    stride: usize,
    rule: UpdateRule<F>,
}

impl<F: Scalar> Sink<F> for Update<'_, F> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let start = row * self.stride + column;
        let velocities = self.velocities.as_mut().map(|velocities| &mut velocities[start..]);
        self.rule.apply_vectors(simd, &mut self.weights[start..], velocities, sums);
    }
}

/// The sink of gradients of a part of a batch: adds them to those of the earlier parts.
pub(super) struct Accumulate<'a, F> {
    pub(super) gradients: &'a mut [F],
    pub(super) stride: usize,
}

impl<F: Scalar> Sink<F> for Accumulate<'_, F> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let gradients = F::as_vectors_mut::<S>(&mut self.gradients[row * self.stride + column..]);
        for (gradient, &sum) in gradients.iter_mut().zip(sums) {
            *gradient = F::add_vectors(simd, *gradient, sum);
        }
    }
}
