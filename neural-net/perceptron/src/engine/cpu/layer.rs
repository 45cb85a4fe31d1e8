//! One layer's parameters in the CPU engine's layout, and the sinks for its products.

use std::ops::Range;

use kernels_cpu::flush_to_zero::{THRESHOLD_OF_PRODUCTS, flushed, flushed_below, flushed_vector};
use kernels_cpu::nonzero_product::{NonzeroRows, nonzero_product_of_transpose};
use kernels_cpu::product::{PaddedMatrix, Sink, product_of_transpose};
use kernels_cpu::{InstructionSet, Real, Simd, WithSimd};
use ndarray::{Array1, Array2};

use crate::engine::{LayerArrays, Parameters};
use crate::padded::{pad, pad_row, unpad, unpad_row};
use crate::training::{CorrectedStep, EPSILON, GradientScale, Hyperparameters, Optimizer, SQUARES_DECAY};
use crate::{Activation, Scalar};

/// The parameters of a layer, or of a part of its inputs, padded to whole cache lines.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// The inputs that it covers.
    pub(super) rows: Range<usize>,
    /// inputs × units.
    pub(super) weights: PaddedMatrix<f32>,
    /// One row of units.
    pub(super) biases: PaddedMatrix<f32>,
    /// Whether the biases are up to date. Among the parts of a layer, only the last one owns them.
    pub(super) owns_biases: bool,
    /// For the weights and the biases: the last changes with momentum, the mean gradients with Adam.
    velocities: Option<WeightsAndBiases>,
    /// The mean squared gradients, with Adam only.
    squares: Option<WeightsAndBiases>,
    /// With Adam, a buffer for the gradients of the weights.
    gradients: Option<PaddedMatrix<f32>>,
    /// The factor that multiplies its gradients.
    rate_factor: f32,
    /// The gradients of the biases, one row.
    bias_gradients: PaddedMatrix<f32>,
}

/// The left matrix of a weight gradient xᵀ·δ: a batch's inputs to a layer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left<'a> {
    /// Rows of equal length, at most 64.
    Dense(&'a [&'a [f32]]),
    /// Rows that are mostly zeros.
    Nonzero(&'a NonzeroRows),
}

impl Left<'_> {
    /// Passes the product of its transpose and `errors` to the sink. May skip rows of zeros if
    /// `only_nonzero`.
    pub(super) fn gradient(
        self,
        set: InstructionSet,
        errors: &PaddedMatrix<f32>,
        only_nonzero: bool,
        sink: impl Sink<f32>,
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

impl Layer {
    /// Creates layer `index` of a network. Optimizer state that it needs and `parameters` lacks
    /// starts at zero.
    pub(super) fn new(parameters: &Parameters, index: usize, hyperparameters: &Hyperparameters) -> Self {
        let network = &parameters.network;
        let (weights, biases) = (pad(&network.weights()[index]), pad_row(&network.biases()[index]));
        let (rows, columns) = (weights.rows(), weights.columns());
        let state = |of_layers: &Option<LayerArrays>, is_needed: bool| match of_layers {
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
            rate_factor: f32::from_f64(hyperparameters.learning_rate_factor(index)),
            bias_gradients: PaddedMatrix::zeros(1, columns),
        }
    }

    /// A copy of the part for the given inputs.
    pub(super) fn part(&self, rows: Range<usize>, owns_biases: bool) -> Self {
        let copy = |matrix: &PaddedMatrix<f32>| rows_of(matrix, rows.clone());
        let copy_state =
            |state: &Option<WeightsAndBiases>| state.as_ref().map(|(weights, biases)| (copy(weights), biases.clone()));
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

    /// A copy of the parameters without the optimizer's state.
    pub(super) fn without_state(&self) -> Self {
        Self { velocities: None, squares: None, gradients: None, ..self.clone() }
    }

    /// Copies a part back into this whole layer.
    pub(super) fn copy_part(&mut self, part: &Self) {
        let copy = |to: &mut PaddedMatrix<f32>, from: &PaddedMatrix<f32>| {
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
    pub(super) fn parameters_and_velocities(&self) -> impl Iterator<Item = &PaddedMatrix<f32>> {
        let velocities = self.velocities.iter().flat_map(|(weights, biases)| [weights, biases]);
        [&self.weights, &self.biases].into_iter().chain(velocities)
    }

    /// [`Self::parameters_and_velocities`], mutable.
    pub(super) fn parameters_and_velocities_mut(&mut self) -> impl Iterator<Item = &mut PaddedMatrix<f32>> {
        let velocities = self.velocities.iter_mut().flat_map(|(weights, biases)| [weights, biases]);
        [&mut self.weights, &mut self.biases].into_iter().chain(velocities)
    }

    /// The state in [`Parameters::velocities`], of the weights and the biases.
    pub(super) fn velocities(&self) -> Option<(Array2<f32>, Array1<f32>)> {
        self.velocities.as_ref().map(|(weights, biases)| (unpad(weights), unpad_row(biases)))
    }

    /// The state in [`Parameters::squares`], of the weights and the biases.
    pub(super) fn squares(&self) -> Option<(Array2<f32>, Array1<f32>)> {
        self.squares.as_ref().map(|(weights, biases)| (unpad(weights), unpad_row(biases)))
    }

    /// Updates the weights from the layer's inputs and deltas; without Adam, directly from registers.
    pub(super) fn update(&mut self, set: InstructionSet, rule: UpdateRule, left: Left<'_>, errors: &PaddedMatrix<f32>) {
        let rule = rule.for_layer(self.rate_factor);
        let stride = self.weights.stride();
        let [target, _] = targets(&mut self.weights, &mut self.biases, &mut self.velocities, &mut self.squares);
        let Target { weights, velocities, squares: None } = target else {
            let gradients = self.gradients.as_mut().expect("with Adam, a layer has a buffer of gradients");
            gradients.padded_mut().fill(0.0);
            left.gradient(set, errors, true, Accumulate { gradients: gradients.padded_mut(), stride });
            return rule.apply(set, target, gradients.padded());
        };
        // Without momentum and decay, a zero gradient changes nothing.
        let only_nonzero = velocities.is_none() && rule.decay == 0.0;
        left.gradient(set, errors, only_nonzero, Update { weights, velocities, stride, rule });
    }

    /// Updates the biases from the first `count` rows of the layer's deltas.
    pub(super) fn update_biases(
        &mut self,
        set: InstructionSet,
        rule: UpdateRule,
        errors: &PaddedMatrix<f32>,
        count: usize,
    ) {
        sum_of_rows(set, errors, count, &mut self.bias_gradients);
        let rule = rule.for_layer(self.rate_factor).without_decay();
        let gradients = &self.bias_gradients;
        let [_, target] = targets(&mut self.weights, &mut self.biases, &mut self.velocities, &mut self.squares);
        rule.apply(set, target, gradients.padded());
    }

    /// Updates all parameters from their padded gradients.
    pub(super) fn apply(&mut self, set: InstructionSet, rule: UpdateRule, weights: &[f32], biases: &[f32]) {
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
type WeightsAndBiases = (PaddedMatrix<f32>, PaddedMatrix<f32>);

/// Parameters and the optimizer state that belongs to them. The slices have the same length.
struct Target<'a> {
    weights: &'a mut [f32],
    velocities: Option<&'a mut [f32]>,
    squares: Option<&'a mut [f32]>,
}

/// A layer's weights and biases as targets of an update.
fn targets<'a>(
    weights: &'a mut PaddedMatrix<f32>,
    biases: &'a mut PaddedMatrix<f32>,
    velocities: &'a mut Option<WeightsAndBiases>,
    squares: &'a mut Option<WeightsAndBiases>,
) -> [Target<'a>; 2] {
    let split = |state: &'a mut Option<WeightsAndBiases>| {
        state.as_mut().map(|(weights, biases)| (weights.padded_mut(), biases.padded_mut())).unzip()
    };
    let (velocities, squares) = (split(velocities), split(squares));
    [
        Target { weights: weights.padded_mut(), velocities: velocities.0, squares: squares.0 },
        Target { weights: biases.padded_mut(), velocities: velocities.1, squares: squares.1 },
    ]
}

/// A copy of some rows of a matrix.
fn rows_of(matrix: &PaddedMatrix<f32>, rows: Range<usize>) -> PaddedMatrix<f32> {
    let mut copy = PaddedMatrix::zeros(rows.len(), matrix.columns());
    let stride = matrix.stride();
    copy.padded_mut().copy_from_slice(&matrix.padded()[rows.start * stride..rows.end * stride]);
    copy
}

/// The update rule of a parameter; see [`crate::Hyperparameters`].
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateRule {
    /// The learning rate. Without Adam, it is divided by the batch size if gradients are means;
    /// with Adam, it is corrected for the bias.
    rate: f32,
    momentum: f32,
    /// Learning rate · weight decay.
    decay: f32,
    adam: Option<AdamRule>,
}

/// Adam's additional settings.
#[derive(Clone, Copy, Debug)]
struct AdamRule {
    /// The factor of the gradients.
    scale: f32,
    /// [`CorrectedStep::root`].
    root: f32,
    /// Whether the step ends with a flush of w, m and v ([`STEPS_BETWEEN_FLUSHES`]).
    flushes: bool,
}

/// Adam's values are flushed once every this many steps: a flush in each step takes several percent
/// of its time. Without gradients, m and v shrink by β₁ and β₂ per step. If the factors are at
/// least 0.9, values of 2⁻¹¹⁶ stay above 2⁻¹²⁶ for 64 steps, which is normal. Values of m and v
/// below 2⁻¹¹⁶ change a step by less than ε does.
const STEPS_BETWEEN_FLUSHES: usize = 64;

impl UpdateRule {
    /// The rule for the weights after a batch of `count` samples, in step `step` of the training
    /// run, without a layer's factor.
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
                let adam = AdamRule {
                    scale: f32::from_f64(1.0 / count),
                    root: f32::from_f64(corrected.root),
                    flushes: step.is_multiple_of(STEPS_BETWEEN_FLUSHES),
                };
                (corrected.rate, Some(adam))
            }
        };
        Self {
            rate: f32::from_f64(rate_of_step),
            momentum: f32::from_f64(hyperparameters.momentum),
            decay: f32::from_f64(rate * hyperparameters.weight_decay),
            adam,
        }
    }

    /// The rule for a layer with gradients multiplied by `factor`.
    fn for_layer(self, factor: f32) -> Self {
        match self.adam {
            None => Self { rate: self.rate * factor, ..self },
            Some(adam) => {
                let factor = factor.sqrt();
                let adam = AdamRule { scale: adam.scale * factor, ..adam };
                Self { rate: self.rate * factor, adam: Some(adam), ..self }
            }
        }
    }

    /// The rule for biases, which have no weight decay.
    fn without_decay(self) -> Self {
        Self { decay: 0.0, ..self }
    }

    /// Updates the target from the gradients. The slices have the same length, a multiple of a
    /// cache line.
    fn apply(self, set: InstructionSet, target: Target<'_>, gradients: &[f32]) {
        let Target { weights, velocities, squares } = target;
        match (squares, self.adam) {
            (None, _) => set.dispatch(UpdateAll { weights, velocities, gradients, rule: self }),
            (Some(squares), adam) => {
                let (adam, velocities) = adam.zip(velocities).expect("squares are Adam's, and so are velocities");
                set.dispatch(UpdateByAdam { weights, velocities, squares, gradients, rule: self, adam });
            }
        }
    }

    /// Updates `weights` from their gradients, which are in registers.
    #[inline(always)]
    fn apply_vectors<S: Simd>(
        self,
        simd: S,
        weights: &mut [f32],
        velocities: Option<&mut [f32]>,
        gradients: &[S::f32s],
    ) {
        let minus_rate = f32::splat(simd, -self.rate);
        // Slices of the gradients' length: if the compiler knows the length, the gradients stay in
        // registers.
        let length = size_of_val(gradients) / size_of::<f32>();
        let all = f32::as_vectors_mut::<S>(&mut weights[..length]);
        let weights = all.iter_mut();
        match velocities {
            // w ← (1 − decay) · w − rate · g
            None => {
                let keep = f32::splat(simd, 1.0 - self.decay);
                for (weight, &gradient) in weights.zip(gradients) {
                    let kept = f32::multiply_vectors(simd, keep, *weight);
                    *weight = f32::multiply_add_vectors(simd, minus_rate, gradient, kept);
                }
            }
            // v ← momentum · v − decay · w − rate · g;  w ← w + v
            Some(velocities) => {
                let (momentum, minus_decay) = (f32::splat(simd, self.momentum), f32::splat(simd, -self.decay));
                let velocities = f32::as_vectors_mut::<S>(&mut velocities[..length]).iter_mut();
                for ((weight, velocity), &gradient) in weights.zip(velocities).zip(gradients) {
                    let kept = f32::multiply_vectors(simd, momentum, *velocity);
                    let kept = f32::multiply_add_vectors(simd, minus_decay, *weight, kept);
                    *velocity = flushed_vector(simd, f32::multiply_add_vectors(simd, minus_rate, gradient, kept));
                    *weight = f32::add_vectors(simd, *weight, *velocity);
                }
            }
        }
        // Without decay, no weight shrinks indefinitely.
        if self.decay != 0.0 {
            all.iter_mut().for_each(|weight| *weight = flushed_vector(simd, *weight));
        }
    }
}

struct UpdateAll<'a> {
    weights: &'a mut [f32],
    velocities: Option<&'a mut [f32]>,
    gradients: &'a [f32],
    rule: UpdateRule,
}

impl WithSimd for UpdateAll<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.rule.apply_vectors(simd, self.weights, self.velocities, f32::as_vectors::<S>(self.gradients));
    }
}

/// m ← β₁ · m + (1 − β₁) · g;  v ← β₂ · v + (1 − β₂) · g²;  w ← (1 − decay) · w − rate · m / (root · √v + ε)
struct UpdateByAdam<'a> {
    weights: &'a mut [f32],
    /// m
    velocities: &'a mut [f32],
    /// v
    squares: &'a mut [f32],
    gradients: &'a [f32],
    rule: UpdateRule,
    adam: AdamRule,
}

impl WithSimd for UpdateByAdam<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (UpdateRule { rate, momentum: beta_1, decay, .. }, AdamRule { scale, root, .. }) = (self.rule, self.adam);
        // 1 − β₂ is rounded once: the difference of rounded values would have a relative error of 10⁻⁵.
        let [beta_2, one_minus_beta_2, epsilon] = [SQUARES_DECAY, 1.0 - SQUARES_DECAY, EPSILON].map(f32::from_f64);
        let one = 1.0;
        let state = self.velocities.iter_mut().zip(&mut *self.squares);
        for ((weight, (m, v)), &gradient) in self.weights.iter_mut().zip(state).zip(self.gradients) {
            let gradient = flushed(scale * gradient);
            // Copies: the compiler need not read them again.
            let mean = beta_1 * *m + (one - beta_1) * gradient;
            let square = beta_2 * *v + one_minus_beta_2 * gradient * gradient;
            (*m, *v) = (mean, square);
            *weight = (one - decay) * *weight - rate * mean / (root * square.sqrt() + epsilon);
        }
        if self.adam.flushes {
            self.weights.iter_mut().for_each(|weight| *weight = flushed(*weight));
            for value in self.velocities.iter_mut().chain(self.squares) {
                *value = flushed_below(THRESHOLD_OF_PRODUCTS, *value);
            }
        }
    }
}

/// Adds `others` to `totals` element by element. Both have the same length.
pub(super) fn add_all(set: InstructionSet, totals: &mut [f32], others: &[f32]) {
    set.dispatch(AddAll { totals, others });
}

struct AddAll<'a> {
    totals: &'a mut [f32],
    others: &'a [f32],
}

impl WithSimd for AddAll<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.totals.iter_mut().zip(self.others).for_each(|(total, &other)| *total += other);
    }
}

/// Adds the biases, one padded row, to every row of `out`.
pub(super) fn add_bias(set: InstructionSet, out: &mut [f32], biases: &[f32]) {
    set.dispatch(AddBiasToRows { out, biases });
}

struct AddBiasToRows<'a> {
    out: &'a mut [f32],
    biases: &'a [f32],
}

impl WithSimd for AddBiasToRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let biases = f32::as_vectors::<S>(self.biases);
        for row in self.out.chunks_exact_mut(self.biases.len()) {
            for (out, &bias) in f32::as_vectors_mut::<S>(row).iter_mut().zip(biases) {
                *out = f32::add_vectors(simd, *out, bias);
            }
        }
    }
}

/// Writes the sum of the first `count` rows, in order, to the row `sums`.
fn sum_of_rows(set: InstructionSet, matrix: &PaddedMatrix<f32>, count: usize, sums: &mut PaddedMatrix<f32>) {
    sums.padded_mut().fill(0.0);
    add_sum_of_rows(set, matrix, count, sums.padded_mut());
}

/// Adds the sum of the first `count` rows, in order, to `totals`, which is padded like a row.
pub(super) fn add_sum_of_rows(set: InstructionSet, matrix: &PaddedMatrix<f32>, count: usize, totals: &mut [f32]) {
    let rows = &matrix.padded()[..count * matrix.stride()];
    set.dispatch(AddSumOfRows { rows, totals });
}

struct AddSumOfRows<'a> {
    rows: &'a [f32],
    totals: &'a mut [f32],
}

impl WithSimd for AddSumOfRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = self.totals.len();
        for (column, total) in f32::as_vectors_mut::<S>(self.totals).iter_mut().enumerate() {
            let mut sum = f32::splat(simd, 0.0);
            for row in self.rows.chunks_exact(stride) {
                sum = f32::add_vectors(simd, sum, f32::as_vectors::<S>(row)[column]);
            }
            *total = f32::add_vectors(simd, *total, sum);
        }
    }
}

/// The sink that stores the sums of x·W. The sum over the inputs may be split into several parts.
pub(super) struct Forward<'a> {
    pub(super) out: &'a mut [f32],
    pub(super) stride: usize,
    /// Whether `out` already holds the sums over earlier parts' inputs, to be continued.
    pub(super) continues: bool,
    /// The biases to add to the sums of the last part.
    pub(super) biases: Option<&'a [f32]>,
}

impl Sink<f32> for Forward<'_> {
    #[inline(always)]
    fn start<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &mut [S::f32s]) {
        if self.continues {
            let out = f32::as_vectors::<S>(&self.out[row * self.stride + column..]);
            sums.iter_mut().zip(out).for_each(|(sum, &out)| *sum = out);
        }
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let out = f32::as_vectors_mut::<S>(&mut self.out[row * self.stride + column..]).iter_mut().zip(sums);
        match self.biases {
            None => out.for_each(|(out, &sum)| *out = sum),
            Some(biases) => {
                let biases = f32::as_vectors::<S>(&biases[column..]);
                out.zip(biases).for_each(|((out, &sum), &bias)| *out = f32::add_vectors(simd, sum, bias));
            }
        }
    }
}

/// The sink of δ_next·W_nextᵀ: multiplies the sums by the activation's derivative and stores the
/// layer's deltas δ. The padding stays zero.
pub(super) struct Backward<'a> {
    pub(super) errors: &'a mut PaddedMatrix<f32>,
    pub(super) activations: &'a PaddedMatrix<f32>,
    pub(super) activation: Activation,
}

impl Sink<f32> for Backward<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, _simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let sums = f32::as_elements::<S>(sums);
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

/// The sink for gradients that update the weights immediately and are never stored.
struct Update<'a> {
    weights: &'a mut [f32],
    velocities: Option<&'a mut [f32]>,
    stride: usize,
    rule: UpdateRule,
}

impl Sink<f32> for Update<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let start = row * self.stride + column;
        let velocities = self.velocities.as_mut().map(|velocities| &mut velocities[start..]);
        self.rule.apply_vectors(simd, &mut self.weights[start..], velocities, sums);
    }
}

/// The sink for the gradients of a part of a batch: adds them to the earlier parts' gradients.
pub(super) struct Accumulate<'a> {
    pub(super) gradients: &'a mut [f32],
    pub(super) stride: usize,
}

impl Sink<f32> for Accumulate<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let gradients = f32::as_vectors_mut::<S>(&mut self.gradients[row * self.stride + column..]);
        for (gradient, &sum) in gradients.iter_mut().zip(sums) {
            *gradient = f32::add_vectors(simd, *gradient, sum);
        }
    }
}
