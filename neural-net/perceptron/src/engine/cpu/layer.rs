//! One layer's parameters in the CPU engine's layout, and the sinks of its products.

use kernels_cpu::product::{PaddedMatrix, Sink};
use kernels_cpu::{InstructionSet, Simd, WithSimd};
use ndarray::{Array1, Array2};

use crate::padded::{pad, pad_row};
use crate::{Activation, Scalar};

/// A layer's parameters, padded to whole cache lines.
#[derive(Clone, Debug)]
pub(super) struct Layer<F> {
    /// inputs × outputs.
    pub(super) weights: PaddedMatrix<F>,
    /// One row of outputs.
    pub(super) biases: PaddedMatrix<F>,
    /// The last changes of the weights and the biases, with momentum only.
    pub(super) velocities: Option<(PaddedMatrix<F>, PaddedMatrix<F>)>,
    /// The factor of its gradients.
    pub(super) rate_factor: F,
}

impl<F: Scalar> Layer<F> {
    pub(super) fn new(
        weights: &Array2<F>,
        biases: &Array1<F>,
        velocities: Option<&(Array2<F>, Array1<F>)>,
        rate_factor: f64,
    ) -> Self {
        Self {
            weights: pad(weights),
            biases: pad_row(biases),
            velocities: velocities.map(|(weights, biases)| (pad(weights), pad_row(biases))),
            rate_factor: F::from_f64(rate_factor),
        }
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
        rule.without_decay().apply(set, self.biases.padded_mut(), bias_velocities, biases.padded());
    }
}

/// The update rule of a parameter; see [`crate::Hyperparameters`].
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateRule<F> {
    /// The learning rate, divided by the batch size if gradients are means.
    pub(super) rate: F,
    pub(super) momentum: F,
    /// Learning rate · weight decay.
    pub(super) decay: F,
}

impl<F: Scalar> UpdateRule<F> {
    /// The rule for a layer whose gradients are multiplied by `factor`.
    pub(super) fn for_layer(self, factor: F) -> Self {
        Self { rate: self.rate * factor, ..self }
    }

    /// The rule for biases, which do not decay.
    pub(super) fn without_decay(self) -> Self {
        Self { decay: F::zero(), ..self }
    }

    /// Updates `weights` by their gradients; the slices have the same length, a multiple of a cache line.
    pub(super) fn apply(self, set: InstructionSet, weights: &mut [F], velocities: Option<&mut [F]>, gradients: &[F]) {
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
pub(super) fn sum_of_rows<F: Scalar>(
    set: InstructionSet,
    matrix: &PaddedMatrix<F>,
    count: usize,
    sums: &mut PaddedMatrix<F>,
) {
    let rows = &matrix.padded()[..count * matrix.stride()];
    set.dispatch(SumOfRows { rows, sums: sums.padded_mut() });
}

struct SumOfRows<'a, F> {
    rows: &'a [F],
    sums: &'a mut [F],
}

impl<F: Scalar> WithSimd for SumOfRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.sums.fill(F::zero());
        let stride = self.sums.len();
        for (column, sums) in F::as_vectors_mut::<S>(self.sums).iter_mut().enumerate() {
            for row in self.rows.chunks_exact(stride) {
                *sums = F::add_vectors(simd, *sums, F::as_vectors::<S>(row)[column]);
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
pub(super) struct Update<'a, F> {
    pub(super) weights: &'a mut [F],
    pub(super) velocities: Option<&'a mut [F]>,
    pub(super) stride: usize,
    /// The index of `weights`' first row in the whole matrix.
    pub(super) first_row: usize,
    pub(super) rule: UpdateRule<F>,
}

impl<F: Scalar> Sink<F> for Update<'_, F> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let start = (row - self.first_row) * self.stride + column;
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
