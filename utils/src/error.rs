/// Sizes that do not fit together, or that no network has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UtilsError {
    /// A network needs an input and an output layer.
    #[error("{operation}: layer sizes {sizes:?}: a network has at least 2 layers, input and output")]
    TooFewLayers {
        /// The function that was called.
        operation: &'static str,
        /// The sizes it was given.
        sizes: Vec<usize>,
    },
    /// A layer without neurons.
    #[error("{operation}: layer sizes {sizes:?}: layer {layer} is empty, but every layer has at least 1 neuron")]
    EmptyLayer {
        /// The function that was called.
        operation: &'static str,
        /// The sizes it was given.
        sizes: Vec<usize>,
        /// The layer, counted from 0, the input.
        layer: usize,
    },
    /// Batches of no examples.
    #[error("create_batches: batch_size is 0, but a batch has at least 1 example")]
    ZeroBatchSize,
    /// An array of dimension 0 has no axis to cut along.
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
    /// Two lists of different length.
    #[error("add_elementwise: a list of {a} and a list of {b} arrays: the lists must have the same length")]
    ListLengthMismatch {
        /// Length of the first list.
        a: usize,
        /// Length of the second list.
        b: usize,
    },
    /// Two arrays of different shape, at the same place in their lists.
    #[error("add_elementwise: arrays of shape {a:?} and {b:?} at index {index}: the shapes must be the same")]
    ArrayShapeMismatch {
        /// The arrays' place in the lists.
        index: usize,
        /// Shape of the first list's array.
        a: Vec<usize>,
        /// Shape of the second list's array.
        b: Vec<usize>,
    },
}

impl UtilsError {
    /// Checks the layer sizes that `operation` was given.
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
