use ndarray::{ArrayRef, ArrayView, Axis, RemoveAxis};

use crate::UtilsError;

/// Splits `data` and `labels` along axis 0, the axis of examples, into consecutive batches of
/// `batch_size` examples. The last batch is smaller if `batch_size` does not divide the number of
/// examples.
///
/// If `data` is *N* × … and `labels` *N* × …, batch *k* is a pair of views that begin at example
/// *k*·`batch_size`. Nothing is copied.
///
/// # Errors
/// If `batch_size` is 0, if `data` and `labels` have different lengths along axis 0, or if one of them has no axis.
///
/// ```
/// use ndarray::{Array2, array};
/// let (images, labels) = (Array2::<f32>::zeros((5, 784)), array![7, 2, 1, 0, 4]);
/// let batches: Vec<_> = utils::create_batches(&images, &labels, 2)?.collect();
/// assert_eq!(batches.len(), 3);
/// assert_eq!((batches[0].0.dim(), batches[2].0.dim()), ((2, 784), (1, 784)));
/// assert_eq!(batches[1].1, array![1, 0]);
/// # Ok::<(), utils::UtilsError>(())
/// ```
#[expect(clippy::type_complexity, reason = "a batch is a pair of views")]
pub fn create_batches<'a, A, D: RemoveAxis, B, E: RemoveAxis>(
    data: &'a ArrayRef<A, D>,
    labels: &'a ArrayRef<B, E>,
    batch_size: usize,
) -> Result<impl ExactSizeIterator<Item = (ArrayView<'a, A, D>, ArrayView<'a, B, E>)>, UtilsError> {
    if batch_size == 0 {
        return Err(UtilsError::ZeroBatchSize);
    }
    let shapes = || (data.shape().to_vec(), labels.shape().to_vec());
    let (Some(data_count), Some(label_count)) = (data.shape().first(), labels.shape().first()) else {
        let (data, labels) = shapes();
        return Err(UtilsError::NoExampleAxis { data, labels });
    };
    if data_count != label_count {
        let (data, labels) = shapes();
        return Err(UtilsError::ExampleCountMismatch { data, labels });
    }
    Ok(data.axis_chunks_iter(Axis(0), batch_size).zip(labels.axis_chunks_iter(Axis(0), batch_size)))
}
