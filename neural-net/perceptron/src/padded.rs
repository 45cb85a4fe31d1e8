//! Conversion of arrays to and from the kernels' layout, which is padded to whole cache lines.

use kernels_cpu::product::{PaddedMatrix, Sink};
use kernels_cpu::{Real, Simd};
use ndarray::{Array1, Array2};

/// The matrix with its padding.
pub(crate) fn pad(array: &Array2<f32>) -> PaddedMatrix<f32> {
    let mut matrix = PaddedMatrix::zeros(array.nrows(), array.ncols());
    for (row, values) in array.outer_iter().enumerate() {
        matrix.row_mut(row).iter_mut().zip(values).for_each(|(cell, &value)| *cell = value);
    }
    matrix
}

/// The vector as a one-row matrix.
pub(crate) fn pad_row(array: &Array1<f32>) -> PaddedMatrix<f32> {
    let mut matrix = PaddedMatrix::zeros(1, array.len());
    matrix.row_mut(0).iter_mut().zip(array).for_each(|(cell, &value)| *cell = value);
    matrix
}

/// The matrix without its padding.
pub(crate) fn unpad(matrix: &PaddedMatrix<f32>) -> Array2<f32> {
    let mut values = Vec::with_capacity(matrix.rows() * matrix.columns());
    (0..matrix.rows()).for_each(|row| values.extend_from_slice(matrix.row(row)));
    match Array2::from_shape_vec((matrix.rows(), matrix.columns()), values) {
        Ok(array) => array,
        Err(error) => unreachable!("the number of values is that of the shape: {error}"),
    }
}

/// The row of a one-row matrix, without its padding.
pub(crate) fn unpad_row(matrix: &PaddedMatrix<f32>) -> Array1<f32> {
    Array1::from(matrix.row(0).to_vec())
}

/// The sink for a layer's x·W: adds the bias and stores the sums.
pub(crate) struct AddBias<'a> {
    pub(crate) out: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) biases: &'a [f32],
}

impl Sink<f32> for AddBias<'_> {
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, row: usize, column: usize, sums: &[S::f32s]) {
        let out = f32::as_vectors_mut::<S>(&mut self.out[row * self.stride + column..]);
        let biases = f32::as_vectors::<S>(&self.biases[column..]);
        for ((out, &sum), &bias) in out.iter_mut().zip(sums).zip(biases) {
            *out = f32::add_vectors(simd, sum, bias);
        }
    }
}
