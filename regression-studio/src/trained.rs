//! A trained network of either kind. It maps standardized inputs to the standardized output.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use neural_net::model_file::{ModelFileError, NamedTensor, TensorFile, network_tensors};
use neural_net::{Network, Predictor};
use table_network::{InputKind, State, TableNetwork, Tensor};

use crate::prepared::Input;
use crate::sigmoid::Neuron;

/// A trained network.
#[derive(Clone, Debug, PartialEq)]
pub enum Trained {
    /// An MLP.
    Layers {
        /// Weights W and biases b.
        network: Network,
        /// The hidden neurons' activation.
        neuron: Neuron,
    },
    /// A tabular network.
    Table(Arc<TableNetwork>),
}

/// Predicts with a trained network.
pub(crate) enum TrainedPredictor {
    Layers(Predictor),
    Table(Arc<TableNetwork>),
}

impl Trained {
    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Layers { network, .. } => network.architecture().inputs(),
            Self::Table(network) => network.kinds().len(),
        }
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        match self {
            Self::Layers { network, .. } => {
                network.architecture().sizes().windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
            }
            Self::Table(network) => network.parameters(),
        }
    }

    /// The network, if it is an MLP.
    pub fn layers(&self) -> Option<&Network> {
        match self {
            Self::Layers { network, .. } => Some(network),
            Self::Table(_) => None,
        }
    }

    pub(crate) fn predictor(&self) -> TrainedPredictor {
        match self {
            Self::Layers { network, neuron } => TrainedPredictor::Layers(Predictor::new(&neuron.fold(network))),
            Self::Table(network) => TrainedPredictor::Table(Arc::clone(network)),
        }
    }

    /// The tensors, with names that begin with `prefix`.
    pub(crate) fn tensors(&self, prefix: &str) -> Vec<NamedTensor> {
        match self {
            Self::Layers { network, .. } => network_tensors(prefix, network),
            Self::Table(network) => state_tensors(prefix, &network.state()),
        }
    }
}

impl TrainedPredictor {
    /// The standardized outputs, rows × 1, for standardized inputs, rows × inputs.
    pub(crate) fn predict_all(&self, inputs: ArrayView2<f32>) -> Array2<f32> {
        match self {
            Self::Layers(predictor) => predictor.predict_all(inputs),
            Self::Table(network) => {
                let outputs = network.predict(inputs).expect("the inputs are those of the transform");
                Array2::from_shape_vec((outputs.len(), 1), outputs).expect("one output per row")
            }
        }
    }

    /// The standard deviation of the members' outputs for each row of standardized inputs, rows ×
    /// inputs; `None` for a network without members.
    pub(crate) fn deviations(&self, inputs: ArrayView2<f32>) -> Option<Vec<f64>> {
        let Self::Table(network) = self else { return None };
        let outputs = network.predict_members(inputs).expect("the inputs are those of the transform");
        let deviation = |row: ndarray::ArrayView1<f32>| {
            let (count, sum) = (row.len() as f64, row.iter().map(|&output| f64::from(output)).sum::<f64>());
            let squares: f64 = row.iter().map(|&output| (f64::from(output) - sum / count).powi(2)).sum();
            (squares / count).sqrt()
        };
        Some(outputs.outer_iter().map(deviation).collect())
    }
}

/// The kinds of a tabular network's inputs.
pub(crate) fn kinds(inputs: &[Input]) -> Vec<InputKind> {
    let kind = |input: &Input| match input {
        Input::Number { .. } => InputKind::Number,
        Input::Text { .. } => InputKind::Indicator,
    };
    inputs.iter().map(kind).collect()
}

/// The tensors of a tabular network's state, with names that begin with `prefix`.
pub(crate) fn state_tensors(prefix: &str, state: &State) -> Vec<NamedTensor> {
    let named = |tensor: &Tensor| (format!("{prefix}.{}", tensor.name), tensor.shape.clone(), tensor.values.clone());
    state.tensors.iter().map(named).collect()
}

/// Restores the states in a tabular network's file, one for each prefix, from the file's tensors
/// and these integers.
///
/// # Errors
/// If the file has a tensor with another name, or a value is not finite.
pub(crate) fn states<const N: usize>(
    file: &TensorFile,
    prefixes: [&str; N],
    integers: [Vec<(String, u64)>; N],
) -> Result<[State; N], ModelFileError> {
    let mut states = integers.map(|integers| State { tensors: Vec::new(), integers });
    for (name, shape, values) in file.named_tensors()? {
        let place = prefixes.iter().zip(&mut states).find_map(|(prefix, state)| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            Some((rest.to_owned(), state))
        });
        let Some((name, state)) = place else {
            return Err(file.not_ours(format!("it has a tensor {name:?}, which is not known")));
        };
        state.tensors.push(Tensor { name, shape, values });
    }
    Ok(states)
}
