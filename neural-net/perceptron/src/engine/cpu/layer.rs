//! One layer's parameters in the CPU engine's layout, and the sinks of its products.

use std::ops::Range;

use kernels_cpu::nonzero_product::{NonzeroRows, nonzero_product_of_transpose};
use kernels_cpu::product::{PaddedMatrix, Sink, product_of_transpose};
use kernels_cpu::{InstructionSet, Simd, WithSimd};
use ndarray::{Array1, Array2};

use crate::engine::{LayerArrays, Parameters};
use crate::padded::{pad, pad_row, unpad, unpad_row};
use crate::training::{CorrectedStep, EPSILON, GradientScale, Hyperparameters, Optimizer, SQUARES_DECAY};
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
    /// Of the weights and the biases: the last changes with momentum, the mean gradients with Adam.
    velocities: Option<WeightsAndBiases<F>>,
    /// The mean squared gradients, with Adam only.
    squares: Option<WeightsAndBiases<F>>,
    /// With Adam, a buffer for the gradients of the weights.
    gradients: Option<PaddedMatrix<F>>,
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
    /// Layer `index` of a network; parts of the optimizer's state that it needs and `parameters` lack are zero.
    pub(super) fn new(parameters: &Parameters<F>, index: usize, hyperparameters: &Hyperparameters) -> Self {
        let network = &parameters.network;
        let (weights, biases) = (pad(&network.weights()[index]), pad_row(&network.biases()[index]));
        let (rows, columns) = (weights.rows(), weights.columns());
        let state = |of_layers: &Option<LayerArrays<F>>, is_needed: bool| match of_layers {
            Some(of_layers) => Some((pad(&of_layers[index].0), pad_row(&of_layers[index].1))),
            None => is_needed.then(|| (PaddedMatrix::zeros(rows, columns), PaddedMatrix::zeros(1, columns))),
        };
        let is_adam = hyperparameters.optimizer == Optimizer::Adam;
        let velocities = state(&parameters.velocities, is_adam || hyperparameters.momentum != 0.0);
        let squares = state(&parameters.squares, is_adam).filter(|_| is_adam);
        Self {
            rows: 0..rows,
            weights,
            biases,
            owns_biases: true,
            velocities,
            squares,
            gradients: is_adam.then(|| PaddedMatrix::zeros(rows, columns)),
            rate_factor: F::from_f64(hyperparameters.learning_rate_factor(index)),
            bias_gradients: PaddedMatrix::zeros(1, columns),
        }
    }

    /// A copy of the part with the given inputs.
    pub(super) fn part(&self, rows: Range<usize>, owns_biases: bool) -> Self {
        let copy = |matrix: &PaddedMatrix<F>| rows_of(matrix, rows.clone());
        let copy_state = |state: &Option<WeightsAndBiases<F>>| {
            state.as_ref().map(|(weights, biases)| (copy(weights), biases.clone()))
        };
        Self {
            weights: copy(&self.weights),
            biases: self.biases.clone(),
            owns_biases,
            velocities: copy_state(&self.velocities),
            squares: copy_state(&self.squares),
            gradients: self.gradients.as_ref().map(copy),
            rate_factor: self.rate_factor,
            bias_gradients: self.bias_gradients.clone(),
            rows,
        }
    }

    /// A copy of the parameters, without the optimizer's state.
    pub(super) fn without_state(&self) -> Self {
        Self { velocities: None, squares: None, gradients: None, ..self.clone() }
    }

    /// Copies a part back into this whole layer.
    pub(super) fn copy_part(&mut self, part: &Self) {
        let copy = |to: &mut PaddedMatrix<F>, from: &PaddedMatrix<F>| {
            let start = part.rows.start * to.stride();
            to.padded_mut()[start..start + from.padded().len()].copy_from_slice(from.padded());
        };
        copy(&mut self.weights, &part.weights);
        if part.owns_biases {
            self.biases.clone_from(&part.biases);
        }
        let states = [(&mut self.velocities, &part.velocities), (&mut self.squares, &part.squares)];
        for (state, of_part) in states {
            let (Some((weights, biases)), Some((weights_of_part, biases_of_part))) = (state, of_part) else { continue };
            copy(weights, weights_of_part);
            if part.owns_biases {
                biases.clone_from(biases_of_part);
            }
        }
    }

    /// The weights, the biases, and, with momentum or Adam, the velocities of both.
    pub(super) fn parameters_and_velocities(&self) -> impl Iterator<Item = &PaddedMatrix<F>> {
        let velocities = self.velocities.iter().flat_map(|(weights, biases)| [weights, biases]);
        [&self.weights, &self.biases].into_iter().chain(velocities)
    }

    /// [`Self::parameters_and_velocities`], mutable.
    pub(super) fn parameters_and_velocities_mut(&mut self) -> impl Iterator<Item = &mut PaddedMatrix<F>> {
        let velocities = self.velocities.iter_mut().flat_map(|(weights, biases)| [weights, biases]);
        [&mut self.weights, &mut self.biases].into_iter().chain(velocities)
    }

    /// The state in [`Parameters::velocities`], of the weights and the biases.
    pub(super) fn velocities(&self) -> Option<(Array2<F>, Array1<F>)> {
        self.velocities.as_ref().map(|(weights, biases)| (unpad(weights), unpad_row(biases)))
    }

    /// The state in [`Parameters::squares`], of the weights and the biases.
    pub(super) fn squares(&self) -> Option<(Array2<F>, Array1<F>)> {
        self.squares.as_ref().map(|(weights, biases)| (unpad(weights), unpad_row(biases)))
    }

    /// Updates the weights by the layer's inputs and errors: without Adam, directly from registers.
    pub(super) fn update(
        &mut self,
        set: InstructionSet,
        rule: UpdateRule<F>,
        left: Left<'_, F>,
        errors: &PaddedMatrix<F>,
    ) {
        let rule = rule.for_layer(self.rate_factor);
        let stride = self.weights.stride();
        let [target, _] = targets(&mut self.weights, &mut self.biases, &mut self.velocities, &mut self.squares);
        let Target { weights, velocities, squares: None } = target else {
            let gradients = self.gradients.as_mut().expect("with Adam, a layer has a buffer of gradients");
            gradients.padded_mut().fill(F::zero());
            left.gradient(set, errors, true, Accumulate { gradients: gradients.padded_mut(), stride });
            return rule.apply(set, target, gradients.padded());
        };
        // Without momentum and decay, a zero gradient changes nothing.
        let only_nonzero = velocities.is_none() && rule.decay == F::zero();
        left.gradient(set, errors, only_nonzero, Update { weights, velocities, stride, rule });
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
        let gradients = &self.bias_gradients;
        let [_, target] = targets(&mut self.weights, &mut self.biases, &mut self.velocities, &mut self.squares);
        rule.apply(set, target, gradients.padded());
    }

    /// Updates all parameters by their gradients, which are padded.
    pub(super) fn apply(&mut self, set: InstructionSet, rule: UpdateRule<F>, weights: &[F], biases: &[F]) {
        let rule = rule.for_layer(self.rate_factor);
        let [target, target_of_biases] =
            targets(&mut self.weights, &mut self.biases, &mut self.velocities, &mut self.squares);
        rule.apply(set, target, weights);
        if self.owns_biases {
            rule.without_decay().apply(set, target_of_biases, biases);
        }
    }
}

/// Values of the weights and the biases, padded.
type WeightsAndBiases<F> = (PaddedMatrix<F>, PaddedMatrix<F>);

/// Parameters and their part of the optimizer's state; the slices have the same length.
struct Target<'a, F> {
    weights: &'a mut [F],
    velocities: Option<&'a mut [F]>,
    squares: Option<&'a mut [F]>,
}

/// The weights and the biases of a layer as targets.
fn targets<'a, F: Scalar>(
    weights: &'a mut PaddedMatrix<F>,
    biases: &'a mut PaddedMatrix<F>,
    velocities: &'a mut Option<WeightsAndBiases<F>>,
    squares: &'a mut Option<WeightsAndBiases<F>>,
) -> [Target<'a, F>; 2] {
    let split = |state: &'a mut Option<WeightsAndBiases<F>>| {
        state.as_mut().map(|(weights, biases)| (weights.padded_mut(), biases.padded_mut())).unzip()
    };
    let (velocities, squares) = (split(velocities), split(squares));
    [
        Target { weights: weights.padded_mut(), velocities: velocities.0, squares: squares.0 },
        Target { weights: biases.padded_mut(), velocities: velocities.1, squares: squares.1 },
    ]
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
    /// The learning rate: without Adam divided by the batch size if gradients are means, with Adam corrected for the
    /// bias.
    rate: F,
    momentum: F,
    /// Learning rate · weight decay.
    decay: F,
    adam: Option<AdamRule<F>>,
}

/// What Adam needs besides.
#[derive(Clone, Copy, Debug)]
struct AdamRule<F> {
    /// The factor of the gradients.
    scale: F,
    /// [`CorrectedStep::root`].
    root: F,
}

impl<F: Scalar> UpdateRule<F> {
    /// The rule of the weights after a batch of `count` samples, in step `step` of the training run, without a layer's
    /// factor.
    pub(super) fn new(hyperparameters: &Hyperparameters, step: usize, count: usize) -> Self {
        let rate = hyperparameters.learning_rate;
        let count = match hyperparameters.gradient {
            GradientScale::Sum => 1.0,
            GradientScale::Mean => count as f64,
        };
        let (rate_of_step, adam) = match hyperparameters.optimizer {
            Optimizer::Sgd => (rate / count, None),
            Optimizer::Adam => {
                let corrected = CorrectedStep::new(hyperparameters, step);
                let adam = AdamRule { scale: F::from_f64(1.0 / count), root: F::from_f64(corrected.root) };
                (corrected.rate, Some(adam))
            }
        };
        Self {
            rate: F::from_f64(rate_of_step),
            momentum: F::from_f64(hyperparameters.momentum),
            decay: F::from_f64(rate * hyperparameters.weight_decay),
            adam,
        }
    }

    /// The rule for a layer whose gradients are multiplied by `factor`.
    fn for_layer(self, factor: F) -> Self {
        match self.adam {
            None => Self { rate: self.rate * factor, ..self },
            Some(adam) => {
                let factor = factor.sqrt();
                let adam = AdamRule { scale: adam.scale * factor, ..adam };
                Self { rate: self.rate * factor, adam: Some(adam), ..self }
            }
        }
    }

    /// The rule for biases, which do not decay.
    fn without_decay(self) -> Self {
        Self { decay: F::zero(), ..self }
    }

    /// Updates the target by the gradients; the slices have the same length, a multiple of a cache line.
    fn apply(self, set: InstructionSet, target: Target<'_, F>, gradients: &[F]) {
        let Target { weights, velocities, squares } = target;
        match (squares, self.adam) {
            (None, _) => set.dispatch(UpdateAll { weights, velocities, gradients, rule: self }),
            (Some(squares), adam) => {
                let (adam, velocities) = adam.zip(velocities).expect("squares are Adam's, and so are velocities");
                set.dispatch(UpdateByAdam { weights, velocities, squares, gradients, rule: self, adam });
            }
        }
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

/// m ← β₁ · m + (1 − β₁) · g;  v ← β₂ · v + (1 − β₂) · g²;  w ← (1 − decay) · w − rate · m / (root · √v + ε)
struct UpdateByAdam<'a, F> {
    weights: &'a mut [F],
    /// m
    velocities: &'a mut [F],
    /// v
    squares: &'a mut [F],
    gradients: &'a [F],
    rule: UpdateRule<F>,
    adam: AdamRule<F>,
}

impl<F: Scalar> WithSimd for UpdateByAdam<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (UpdateRule { rate, momentum: beta_1, decay, .. }, AdamRule { scale, root }) = (self.rule, self.adam);
        // 1 − β₂ is rounded once: the difference of rounded values has an error of 10⁻⁵ of it.
        let [beta_2, one_minus_beta_2, epsilon] = [SQUARES_DECAY, 1.0 - SQUARES_DECAY, EPSILON].map(F::from_f64);
        let one = F::one();
        let state = self.velocities.iter_mut().zip(self.squares);
        for ((weight, (m, v)), &gradient) in self.weights.iter_mut().zip(state).zip(self.gradients) {
            let gradient = scale * gradient;
            *m = beta_1 * *m + (one - beta_1) * gradient;
            *v = beta_2 * *v + one_minus_beta_2 * gradient * gradient;
            *weight = (one - decay) * *weight - rate * *m / (root * v.sqrt() + epsilon);
        }
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
    add_sum_of_rows(set, matrix, count, sums.padded_mut());
}

/// Adds the sum of the first `count` rows, in order, to `totals`, which is padded as a row.
pub(super) fn add_sum_of_rows<F: Scalar>(
    set: InstructionSet,
    matrix: &PaddedMatrix<F>,
    count: usize,
    totals: &mut [F],
) {
    let rows = &matrix.padded()[..count * matrix.stride()];
    set.dispatch(AddSumOfRows { rows, totals });
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
