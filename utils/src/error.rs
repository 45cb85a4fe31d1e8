/// Errors of this crate's functions: invalid layer or batch sizes, or shapes or lengths that do not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UtilsError {
    /// Fewer than two layers: every network has an input and an output layer.
    #[error("{operation}: layer sizes {sizes:?}: a network has at least 2 layers, input and output")]
    TooFewLayers {
        /// Name of the function.
        operation: &'static str,
        /// Its argument `sizes`.
        sizes: Vec<usize>,
    },
    /// A layer has no neurons.
    #[error("{operation}: layer sizes {sizes:?}: layer {layer} is empty, but every layer has at least 1 neuron")]
    EmptyLayer {
        /// Name of the function.
        operation: &'static str,
        /// Its argument `sizes`.
        sizes: Vec<usize>,
        /// Index of the layer; 0 is the input.
        layer: usize,
    },
    /// The batch size is 0.
    #[error("create_batches: batch_size is 0, but a batch has at least 1 example")]
    ZeroBatchSize,
    /// An array of dimension 0 has no axis of examples.
    #[error("create_batches: data of shape {data:?} and labels of shape {labels:?}: both need an axis of examples")]
    NoExampleAxis {
        /// Shape of the data.
        data: Vec<usize>,
        /// Shape of the labels.
        labels: Vec<usize>,
    },
    /// Data and labels have different lengths along axis 0.
    #[error("create_batches: data of shape {data:?} and labels of shape {labels:?}: axis 0 must have the same length")]
    ExampleCountMismatch {
        /// Shape of the data.
        data: Vec<usize>,
        /// Shape of the labels.
        labels: Vec<usize>,
    },
    /// Two lists have different lengths.
    #[error("add_elementwise: a list of {a} and a list of {b} arrays: the lists must have the same length")]
    ListLengthMismatch {
        /// Length of the first list.
        a: usize,
        /// Length of the second list.
        b: usize,
    },
    /// Two arrays at the same index of their lists have different shapes.
    #[error("add_elementwise: arrays of shape {a:?} and {b:?} at index {index}: the shapes must be the same")]
    ArrayShapeMismatch {
        /// Index of the arrays in the lists.
        index: usize,
        /// Shape of the first list's array.
        a: Vec<usize>,
        /// Shape of the second list's array.
        b: Vec<usize>,
    },
}

impl UtilsError {
    /// Checks the argument `sizes` of the function `operation`.
    pub(crate) fn check_layers(operation: &'static str, sizes: &[usize]) -> Result<(), Self> {
        if sizes.len() < 2 {
            return Err(Self::TooFewLayers { operation, sizes: sizes.to_vec() });
        }
        match sizes.iter().position(|&size| size == 0) {
            Some(layer) => Err(Self::EmptyLayer { operation, sizes: sizes.to_vec(), layer }),
            None => Ok(()),
        }
    }
}
