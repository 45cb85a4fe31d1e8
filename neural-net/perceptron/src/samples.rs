//! Training data: inputs and their target outputs.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ndarray::{ArcArray2, Array2, ArrayView1, Axis};

use crate::Scalar;

/// Samples row by row: `inputs` is *N* × inputs, `targets` is *N* × outputs. A clone shares the data.
#[derive(Clone, Debug)]
pub struct Samples<F = f32> {
    inputs: Arc<Inputs<F>>,
    targets: Arc<Array2<F>>,
}

/// The reason why a row of samples is a slice.
pub(crate) const ROW_BY_ROW: &str = "samples are stored row by row";

/// The inputs, as floats, or as bytes that are converted to floats on demand.
#[derive(Debug)]
struct Inputs<F> {
    floats: OnceLock<Array2<F>>,
    bytes: Option<ByteInputs<F>>,
}

/// Inputs that are multiples of one value, such as the pixels of gray images. They take one byte
/// each instead of four or eight.
#[derive(Debug)]
struct ByteInputs<F> {
    bytes: ArcArray2<u8>,
    /// The value of each byte.
    values: Box<[F; 256]>,
}

/// The inputs of one sample.
#[derive(Clone, Copy, Debug)]
pub enum InputRow<'a, F = f32> {
    /// The inputs themselves.
    Floats(&'a [F]),
    /// Bytes, and the lookup table of their values.
    Bytes(&'a [u8], &'a [F; 256]),
}

/// Different numbers of inputs and targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{inputs} rows of inputs and {targets} rows of targets: each sample needs both")]
pub struct SampleCountError {
    /// Rows of inputs.
    pub inputs: usize,
    /// Rows of targets.
    pub targets: usize,
}

impl<F: Scalar> Samples<F> {
    /// Pairs inputs and targets row by row.
    ///
    /// # Errors
    /// If they differ in the number of rows.
    pub fn new(inputs: Array2<F>, targets: Array2<F>) -> Result<Self, SampleCountError> {
        let floats = OnceLock::new();
        SampleCountError::check(inputs.nrows(), targets.nrows())?;
        // Rows must be slices.
        let row_by_row =
            |array: Array2<F>| if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() };
        let _ = floats.set(row_by_row(inputs));
        Ok(Self { inputs: Arc::new(Inputs { floats, bytes: None }), targets: Arc::new(row_by_row(targets)) })
    }

    /// Pairs inputs with the values `bytes` / `white` with targets, row by row. The bytes are
    /// shared, not copied. They are converted to floats as a whole only for an engine that needs
    /// it: the CPU engine converts within its products.
    ///
    /// # Errors
    /// If they differ in the number of rows.
    pub fn from_bytes(bytes: ArcArray2<u8>, white: F, targets: Array2<F>) -> Result<Self, SampleCountError> {
        SampleCountError::check(bytes.nrows(), targets.nrows())?;
        let bytes = if bytes.is_standard_layout() { bytes } else { bytes.as_standard_layout().into_owned().into() };
        let values = Box::new(std::array::from_fn(|byte| F::from_f64(byte as f64) / white));
        let inputs = Inputs { floats: OnceLock::new(), bytes: Some(ByteInputs { bytes, values }) };
        Ok(Self { inputs: Arc::new(inputs), targets: Arc::new(targets.as_standard_layout().into_owned()) })
    }

    /// Whether both share the same data in memory, rather than having equal copies.
    pub fn shares_data_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inputs, &other.inputs) && Arc::ptr_eq(&self.targets, &other.targets)
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.targets.nrows()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of inputs of a sample.
    pub fn input_count(&self) -> usize {
        match &self.inputs.bytes {
            Some(inputs) => inputs.bytes.ncols(),
            None => self.inputs().ncols(),
        }
    }

    /// All inputs, *N* × inputs. Bytes are converted at the first call. The floats then stay
    /// allocated in addition to the bytes.
    pub fn inputs(&self) -> &Array2<F> {
        self.inputs.floats.get_or_init(|| match &self.inputs.bytes {
            Some(ByteInputs { bytes, values }) => bytes.map(|&byte| values[usize::from(byte)]),
            None => unreachable!("inputs are floats or bytes"),
        })
    }

    /// All targets, *N* × outputs.
    pub fn targets(&self) -> &Array2<F> {
        &self.targets
    }

    /// The value of each byte, if the inputs are stored as bytes.
    pub fn byte_values(&self) -> Option<&[F; 256]> {
        self.inputs.bytes.as_ref().map(|inputs| &*inputs.values)
    }

    /// All inputs as bytes, row by row, if they are stored as bytes. Their values are
    /// [`Self::byte_values`].
    pub fn bytes(&self) -> Option<&[u8]> {
        self.inputs.bytes.as_ref().map(|inputs| inputs.bytes.as_slice().expect(ROW_BY_ROW))
    }

    /// The inputs of sample `index` as they are stored.
    ///
    /// # Panics
    /// If `index` is out of bounds.
    pub fn input_row(&self, index: usize) -> InputRow<'_, F> {
        match &self.inputs.bytes {
            Some(ByteInputs { bytes, values }) => {
                let row: ArrayView1<u8> = bytes.index_axis(Axis(0), index);
                InputRow::Bytes(row.to_slice().expect(ROW_BY_ROW), values)
            }
            None => InputRow::Floats(self.input(index)),
        }
    }

    /// Prefetches some of a sample's inputs and its targets.
    pub(crate) fn prefetch(&self, index: usize, inputs: Range<usize>) {
        kernels_cpu::prefetch(self.target(index));
        match self.input_row(index) {
            InputRow::Floats(row) => kernels_cpu::prefetch(&row[inputs]),
            InputRow::Bytes(row, _) => kernels_cpu::prefetch(&row[inputs]),
        }
    }

    /// The inputs of sample `index`.
    ///
    /// # Panics
    /// If `index` is out of bounds.
    pub fn input(&self, index: usize) -> &[F] {
        row(self.inputs(), index)
    }

    /// The targets of sample `index`.
    ///
    /// # Panics
    /// If `index` is out of bounds.
    pub fn target(&self, index: usize) -> &[F] {
        row(&self.targets, index)
    }
}

impl SampleCountError {
    fn check(inputs: usize, targets: usize) -> Result<(), Self> {
        if inputs == targets { Ok(()) } else { Err(Self { inputs, targets }) }
    }
}

fn row<F>(array: &Array2<F>, index: usize) -> &[F] {
    let row: ArrayView1<F> = array.index_axis(Axis(0), index);
    row.to_slice().expect(ROW_BY_ROW)
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;

    #[test]
    fn part1_bytes_have_the_values_of_the_homeworks_division() {
        let bytes = ArcArray2::from_shape_fn((256, 3), |(row, column)| (row * (column + 1)) as u8);
        let targets = Array2::zeros((200, 1));
        let samples = Samples::<f32>::from_bytes(bytes.clone().slice_move(s![56.., ..]), 255.0, targets).unwrap();
        let floats = bytes.slice(s![56.., ..]).mapv(|byte| f32::from(byte) / 255.0);
        assert_eq!((samples.len(), samples.input_count()), (200, 3));
        for index in 0..200 {
            let InputRow::Bytes(row, values) = samples.input_row(index) else { panic!("{index}") };
            let row: Vec<f32> = row.iter().map(|&byte| values[usize::from(byte)]).collect();
            assert_eq!(row, floats.row(index).to_vec());
            assert_eq!(row, samples.input(index));
        }
        assert_eq!(samples.inputs(), floats);
    }

    #[test]
    fn part1_each_sample_needs_inputs_and_targets() {
        let error = SampleCountError { inputs: 1, targets: 2 };
        assert_eq!(Samples::new(array![[1.0]], array![[1.0], [2.0]]).unwrap_err(), error);
        assert_eq!(Samples::from_bytes(array![[1]].into(), 1.0, array![[1.0], [2.0]]).unwrap_err(), error);
    }
}
