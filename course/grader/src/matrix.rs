//! Matrices exchanged between the processes.

use ndarray::{Array2, Axis};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A matrix that keeps its memory layout when it is sent: row-major or column-major, with reversed
/// axes or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T>(pub Array2<T>);

/// The elements in memory order.
#[derive(Serialize, Deserialize)]
struct InMemory<T> {
    shape: (usize, usize),
    is_reversed: [bool; 2],
    is_by_columns: bool,
    elements: Vec<T>,
}

impl<T: Copy + Serialize> Serialize for Matrix<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut view = self.0.view();
        let is_reversed = [0, 1].map(|axis| view.strides()[axis] < 0 && view.len_of(Axis(axis)) > 1);
        for axis in [0, 1].into_iter().filter(|&axis| is_reversed[axis]) {
            view.invert_axis(Axis(axis));
        }
        let is_by_columns = view.strides()[0].unsigned_abs() < view.strides()[1].unsigned_abs();
        let shape = view.dim();
        let view = if is_by_columns { view.reversed_axes() } else { view };
        InMemory { shape, is_reversed, is_by_columns, elements: view.iter().copied().collect() }.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Matrix<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let InMemory { shape: (rows, columns), is_reversed, is_by_columns, elements } =
            InMemory::deserialize(deserializer)?;
        let in_memory = if is_by_columns { (columns, rows) } else { (rows, columns) };
        let matrix = Array2::from_shape_vec(in_memory, elements).map_err(serde::de::Error::custom)?;
        let mut matrix = if is_by_columns { matrix.reversed_axes() } else { matrix };
        for axis in [0, 1].into_iter().filter(|&axis| is_reversed[axis]) {
            matrix.invert_axis(Axis(axis));
        }
        Ok(Self(matrix))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;

    #[test]
    fn a_matrix_arrives_with_its_layout() {
        let matrix = array![[1, 2, 3], [4, 5, 6]];
        let layouts = [
            matrix.clone(),
            matrix.t().to_owned(),
            matrix.slice(s![..;-1, ..]).to_owned(),
            matrix.slice(s![..;-1, ..;-1]).to_owned().reversed_axes(),
            matrix.slice(s![..1, ..]).to_owned(),
            Array2::zeros((0, 3)),
            Array2::zeros((4, 0)),
        ];
        for matrix in layouts {
            let sent = Matrix(matrix.clone());
            let Matrix(arrived): Matrix<i32> = crate::decoded(&crate::encoded(&sent)).unwrap();
            assert_eq!(arrived, matrix);
            if !matrix.is_empty() {
                let strides = |matrix: &Array2<i32>| {
                    matrix
                        .strides()
                        .iter()
                        .zip(matrix.shape())
                        .filter(|(_, n)| **n > 1)
                        .map(|(s, _)| *s)
                        .collect::<Vec<_>>()
                };
                assert_eq!(strides(&arrived), strides(&matrix));
            }
        }
    }

    #[test]
    fn a_wrong_number_of_elements_is_an_error() {
        let wrong = InMemory { shape: (2, 3), is_reversed: [false; 2], is_by_columns: false, elements: vec![1, 2] };
        assert!(crate::decoded::<Matrix<i32>>(&crate::encoded(&wrong)).is_err());
        let huge = InMemory::<i32> {
            shape: (1 << 40, 1 << 40),
            is_reversed: [true; 2],
            is_by_columns: true,
            elements: vec![],
        };
        assert!(crate::decoded::<Matrix<i32>>(&crate::encoded(&huge)).is_err());
    }
}
