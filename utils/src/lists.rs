use ndarray::{Array, ArrayBase, Data, Dimension, NdFloat, Zip};

use crate::UtilsError;

/// Adds two lists of arrays: array *k* of the result is `a[k]` + `b[k]`, element by element. Shapes
/// may vary along the list, as with a network's weights, but `a[k]` and `b[k]` must have the same
/// shape. Nothing is broadcast.
///
/// # Errors
/// If the lists have different lengths, or `a[k]` and `b[k]` have different shapes. The error
/// contains the first such *k*.
///
/// ```
/// use ndarray::array;
/// let sums = utils::add_elementwise(&[array![1.0, 2.0], array![3.0]], &[array![10.0, 20.0], array![30.0]])?;
/// assert_eq!(sums, [array![11.0, 22.0], array![33.0]]);
/// # Ok::<(), utils::UtilsError>(())
/// ```
pub fn add_elementwise<A, D, S, T>(a: &[ArrayBase<S, D>], b: &[ArrayBase<T, D>]) -> Result<Vec<Array<A, D>>, UtilsError>
where
    A: NdFloat,
    D: Dimension,
    S: Data<Elem = A>,
    T: Data<Elem = A>,
{
    if a.len() != b.len() {
        return Err(UtilsError::ListLengthMismatch { a: a.len(), b: b.len() });
    }
    let pairs = a.iter().zip(b).enumerate();
    let sums = pairs.map(|(index, (a, b))| {
        if a.shape() != b.shape() {
            return Err(UtilsError::ArrayShapeMismatch { index, a: a.shape().to_vec(), b: b.shape().to_vec() });
        }
        Ok(Zip::from(a).and(b).map_collect(|&a, &b| a + b))
    });
    sums.collect()
}
