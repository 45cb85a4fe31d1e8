//! Conversion of arrays to and from the kernels' layout, padded to whole cache lines.

use kernels_cpu::Simd;
use kernels_cpu::product::{PaddedMatrix, Sink};
use ndarray::{Array1, Array2};

use crate::Scalar;

/// The matrix with its padding.
pub(crate) fn pad<F: Scalar>(array: &Array2<F>) -> PaddedMatrix<F> {
    let mut matrix = PaddedMatrix::zeros(array.nrows(), array.ncols());
    for (row, values) in array.outer_iter().enumerate() {
        matrix.row_mut(row).iter_mut().zip(values).for_each(|(cell, &value)| *cell = value);
    }
    matrix
}

/// The vector as a matrix of one row.
pub(crate) fn pad_row<F: Scalar>(array: &Array1<F>) -> PaddedMatrix<F> {
    let mut matrix = PaddedMatrix::zeros(1, array.len());
    matrix.row_mut(0).iter_mut().zip(array).for_each(|(cell, &value)| *cell = value);
    matrix
}

/// The matrix without its padding.
pub(crate) fn unpad<F: Scalar>(matrix: &PaddedMatrix<F>) -> Array2<F> {
    let mut values = Vec::with_capacity(matrix.rows() * matrix.columns());
    (0..matrix.rows()).for_each(|row| values.extend_from_slice(matrix.row(row)));
    match Array2::from_shape_vec((matrix.rows(), matrix.columns()), values) {
        Ok(array) => array,
        Err(error) => unreachable!("the number of values is that of the shape: {error}"),
    }
}

/// The one row of a matrix without its padding.
pub(crate) fn unpad_row<F: Scalar>(matrix: &PaddedMatrix<F>) -> Array1<F> {
    Array1::from(matrix.row(0).to_vec())
}

/// The sink of a layer's x·W: adds the bias and stores the sums.
pub(crate) struct AddBias<'a, F> {
    pub(crate) out: &'a mut [F],
    pub(crate) stride: usize,
    pub(crate) biases: &'a [F],
}

impl<F: Scalar> Sink<F> for AddBias<'_, F> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[F::Vector<S>]) {
        let out = F::as_vectors_mut::<S>(&mut self.out[row * self.stride + column..]);
        let biases = F::as_vectors::<S>(&self.biases[column..]);
        for ((out, &sum), &bias) in out.iter_mut().zip(sums).zip(biases) {
            *out = F::add_vectors(simd, sum, bias);
        }
    }
}
