use ndarray::{Array1, Array2, NdFloat};

use crate::UtilsError;

/// Zeros in the shape of a network's weights: a matrix of shape fan_in × fan_out for each pair of
/// consecutive layers.
///
/// # Errors
/// If there are fewer than two layers, or one of them has size 0.
///
/// # Panics
/// If a matrix has more elements than an array can hold.
///
/// ```
/// let weights = utils::zeros_weights::<f32>(&[784, 30, 10])?;
/// assert_eq!((weights[0].dim(), weights[1].dim()), ((784, 30), (30, 10)));
/// # Ok::<(), utils::UtilsError>(())
/// ```
pub fn zeros_weights<A: NdFloat>(sizes: &[usize]) -> Result<Vec<Array2<A>>, UtilsError> {
    UtilsError::check_layers("zeros_weights", sizes)?;
    Ok(sizes.windows(2).map(|pair| Array2::zeros((pair[0], pair[1]))).collect())
}

/// Zeros in the shape of a network's biases: a vector of the layer's size for every layer except the input.
///
/// # Errors
/// If there are fewer than two layers, or one of them has size 0.
///
/// # Panics
/// If a vector has more elements than an array can hold.
///
/// ```
/// let biases = utils::zeros_biases::<f32>(&[784, 30, 10])?;
/// assert_eq!((biases[0].len(), biases[1].len()), (30, 10));
/// # Ok::<(), utils::UtilsError>(())
/// ```
pub fn zeros_biases<A: NdFloat>(sizes: &[usize]) -> Result<Vec<Array1<A>>, UtilsError> {
    UtilsError::check_layers("zeros_biases", sizes)?;
    Ok(sizes[1..].iter().map(|&size| Array1::zeros(size)).collect())
}
