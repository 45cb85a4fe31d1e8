//! Element-wise operations on a layer's matrix, units × samples.

use kernels_cpu::activation::sigmoid_in_place;
use kernels_cpu::flush_to_zero::flushed;
use kernels_cpu::lane_per_sample::LANES;
use kernels_cpu::product::PaddedMatrix;
use kernels_cpu::{InstructionSet, Simd, WithSimd};

use crate::{Activation, Scalar};

/// Replaces the first `columns` sums of each unit by their activations. Not for softmax, which
/// needs all sums of a sample.
pub(super) fn apply(set: InstructionSet, activation: Activation, columns: usize, sums: &mut PaddedMatrix<f32>) {
    match activation {
        Activation::Relu => set.dispatch(Relu { columns, sums }),
        Activation::Sigmoid => {
            (0..sums.rows()).for_each(|row| sigmoid_in_place(set, &mut sums.row_mut(row)[..columns]));
        }
        _ => (0..sums.rows()).for_each(|row| activation.apply(&mut sums.row_mut(row)[..columns])),
    }
}

struct Relu<'a> {
    columns: usize,
    sums: &'a mut PaddedMatrix<f32>,
}

impl WithSimd for Relu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for row in 0..self.sums.rows() {
            // As in `Activation::apply`, a NaN passes through.
            let sums = &mut self.sums.row_mut(row)[..self.columns];
            sums.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z });
        }
    }
}

/// Multiplies the first `columns` deltas of each unit by the derivative of its activation. Flushes
/// the products.
pub(super) fn multiply_by_derivative(
    set: InstructionSet,
    activation: Activation,
    activations: &PaddedMatrix<f32>,
    columns: usize,
    errors: &mut PaddedMatrix<f32>,
) {
    set.dispatch(MultiplyByDerivative { activation, activations, columns, errors });
}

struct MultiplyByDerivative<'a> {
    activation: Activation,
    activations: &'a PaddedMatrix<f32>,
    columns: usize,
    errors: &'a mut PaddedMatrix<f32>,
}

impl WithSimd for MultiplyByDerivative<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        // One loop per activation, without a branch inside.
        match self.activation {
            Activation::Sigmoid => self.with(|a| Activation::Sigmoid.derivative(a)),
            Activation::Relu => self.with(|a| Activation::Relu.derivative(a)),
            Activation::Tanh => self.with(|a| Activation::Tanh.derivative(a)),
            Activation::Identity | Activation::Softmax => {}
        }
    }
}

impl MultiplyByDerivative<'_> {
    #[inline(always)]
    fn with(self, derivative: impl Fn(f32) -> f32) {
        for row in 0..self.errors.rows() {
            let activations = &self.activations.row(row)[..self.columns];
            let errors = &mut self.errors.row_mut(row)[..self.columns];
            errors.iter_mut().zip(activations).for_each(|(error, &a)| *error = flushed(*error * derivative(a)));
        }
    }
}

/// Computes the deltas (a − y) · da/dz for squared error, flushed, and the loss.
pub(super) fn squared_error(
    activation: Activation,
    outputs: &PaddedMatrix<f32>,
    targets: &PaddedMatrix<f32>,
    errors: &mut PaddedMatrix<f32>,
    samples: usize,
) -> f64 {
    let mut sums = [0.0; LANES];
    for row in 0..outputs.rows() {
        let (outputs, targets) = (&outputs.row(row)[..samples], &targets.row(row)[..samples]);
        let (errors, rest) = errors.row_mut(row).split_at_mut(samples);
        let chunks = errors.chunks_mut(LANES).zip(outputs.chunks(LANES).zip(targets.chunks(LANES)));
        for (errors, (outputs, targets)) in chunks {
            for (((error, &a), &y), sum) in errors.iter_mut().zip(outputs).zip(targets).zip(&mut sums) {
                let difference = a - y;
                *sum += (difference * difference).into_f64();
                *error = flushed(difference * activation.derivative(flushed(a)));
            }
        }
        rest.fill(0.0);
    }
    sums.iter().sum::<f64>() / 2.0
}
