//! A network's parameters in a layout for fast prediction: one sample with low latency, or many
//! samples.
//!
//! Predicting one sample takes dot products with the columns of the weights
//! ([`kernels_cpu::vector_product`]) and allocates nothing. Many samples are cut into chunks of 64,
//! which are distributed among threads. In a chunk, layers of more than 16 units use tiled
//! products, which read the weights once for several samples ([`kernels_cpu::product`]). The other
//! layers use dot products again.
//!
//! The two kernels round differently, so a sample's outputs may differ in the last bits between
//! them. Neither kernel depends on the number of threads.

use kernels_cpu::InstructionSet;
use kernels_cpu::product::{PaddedMatrix, product};
use kernels_cpu::vector_product::{Columns, vector_product};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::padded::{AddBias, pad, pad_row};
use crate::{Architecture, Network};

/// Number of samples predicted together.
const CHUNK: usize = 64;
/// Minimum number of samples for which a tiled product is faster than dot products.
const MIN_TILED_SAMPLES: usize = 2;
/// Maximum number of units for which dot products are always faster: so few columns do not fill a tile.
const MAX_DOT_PRODUCT_UNITS: usize = 16;
/// Minimum number of multiply-adds that makes waking other threads worthwhile.
const PARALLEL_WORK: usize = 5_000_000;

/// Computes a network's outputs with low latency.
///
/// ```
/// use perceptron::network::Initialization;
/// use perceptron::{Activation, Architecture, Network, Predictor};
/// use rand::SeedableRng;
///
/// let architecture = Architecture::new(vec![784, 10, 10], Activation::Relu, Activation::Softmax)?;
/// let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(0);
/// let network = Network::<f32>::random(architecture, Initialization::Normal, &mut rng);
/// let mut predictor = Predictor::new(&network);
/// let probabilities = predictor.predict(&[0.5; 784]);
/// assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-5);
/// # Ok::<(), perceptron::network::ArchitectureError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Predictor {
    architecture: Architecture,
    layers: Vec<PredictorLayer>,
    /// The activations of each layer for one sample.
    activations: Vec<Vec<f32>>,
    instruction_set: InstructionSet,
}

#[derive(Clone, Debug)]
struct PredictorLayer {
    /// inputs × units, for tiled products. `None` for few units.
    weights: Option<PaddedMatrix<f32>>,
    /// The same weights in the layout for dot products.
    columns: Columns<f32>,
    /// One row of units.
    biases: PaddedMatrix<f32>,
}

impl Predictor {
    /// Copies the network's parameters.
    pub fn new(network: &Network) -> Self {
        Self::with_instruction_set(network, InstructionSet::detect())
    }

    /// [`Self::new`] with the given instruction set, for comparisons.
    pub fn with_instruction_set(network: &Network, instruction_set: InstructionSet) -> Self {
        let layers = network.weights().iter().zip(network.biases()).map(|(weights, biases)| {
            let (inputs, units) = weights.dim();
            let columns = Columns::new(inputs, units, |input, unit| weights[[input, unit]]);
            PredictorLayer {
                weights: (units > MAX_DOT_PRODUCT_UNITS).then(|| pad(weights)),
                columns,
                biases: pad_row(biases),
            }
        });
        let architecture = network.architecture().clone();
        Self {
            layers: layers.collect(),
            activations: architecture.sizes()[1..].iter().map(|&units| vec![0.0; units]).collect(),
            architecture,
            instruction_set,
        }
    }

    /// The shape of the network.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The outputs for one sample.
    ///
    /// # Panics
    /// If the length of `inputs` is not the network's number of inputs.
    pub fn predict(&mut self, inputs: &[f32]) -> &[f32] {
        assert_eq!(inputs.len(), self.architecture.inputs(), "predict: wrong number of inputs");
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, rest) = self.activations.split_at_mut(index);
            let inputs = before.last().map_or(inputs, |activations| activations);
            layer.apply_to_one(self.instruction_set, inputs, &mut rest[0]);
            let units = rest[0].len();
            self.architecture.activation(index).apply_to_rows(&mut rest[0], units, units);
        }
        self.activations.last().map_or(&[], |outputs| outputs)
    }

    /// The outputs for the samples in the rows of `inputs`, *N* × inputs. The result is *N* ×
    /// outputs. Runs on rayon's current thread pool if there is enough work.
    ///
    /// # Panics
    /// If the number of columns of `inputs` is not the network's number of inputs.
    pub fn predict_all(&self, inputs: ArrayView2<f32>) -> Array2<f32> {
        assert_eq!(inputs.ncols(), self.architecture.inputs(), "predict_all: wrong number of inputs");
        let inputs = inputs.as_standard_layout();
        let (samples, columns, units) = (inputs.nrows(), self.architecture.inputs(), self.architecture.outputs());
        let mut outputs = vec![0.0; samples * units];
        let values = inputs.as_slice().expect("the standard layout is row by row");
        let workspace = || -> Vec<PaddedMatrix<f32>> {
            self.architecture.sizes()[1..].iter().map(|&units| PaddedMatrix::zeros(samples.min(CHUNK), units)).collect()
        };
        let predict = |workspace: &mut Vec<PaddedMatrix<f32>>, (inputs, outputs): (&[f32], &mut [f32])| {
            self.predict_chunk(inputs, outputs, workspace);
        };
        let work: usize = self.architecture.sizes().windows(2).map(|sizes| samples * sizes[0] * sizes[1]).sum();
        if samples > CHUNK && work >= PARALLEL_WORK && rayon::current_num_threads() > 1 {
            let chunks = values.par_chunks(CHUNK * columns).zip(outputs.par_chunks_mut(CHUNK * units));
            chunks.for_each_init(workspace, predict);
        } else {
            let mut workspace = workspace();
            let chunks = values.chunks(CHUNK * columns).zip(outputs.chunks_mut(CHUNK * units));
            chunks.for_each(|chunk| predict(&mut workspace, chunk));
        }
        match Array2::from_shape_vec((samples, units), outputs) {
            Ok(outputs) => outputs,
            Err(error) => unreachable!("it was allocated of that size: {error}"),
        }
    }

    /// Predicts up to [`CHUNK`] samples; `inputs` and `outputs` are row-major.
    fn predict_chunk(&self, inputs: &[f32], outputs: &mut [f32], workspace: &mut [PaddedMatrix<f32>]) {
        let samples = inputs.len() / self.architecture.inputs();
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, rest) = workspace.split_at_mut(index);
            let mut rows: [&[f32]; CHUNK] = [&[]; CHUNK];
            let rows = &mut rows[..samples];
            match before.last() {
                None => rows.iter_mut().zip(inputs.chunks(self.architecture.inputs())).for_each(|(row, x)| *row = x),
                Some(values) => rows.iter_mut().enumerate().for_each(|(sample, row)| *row = values.row(sample)),
            }
            layer.apply_to_many(self.instruction_set, rows, &mut rest[0]);
            let (stride, units) = (rest[0].stride(), rest[0].columns());
            let sums = &mut rest[0].padded_mut()[..samples * stride];
            self.architecture.activation(index).apply_to_rows(sums, stride, units);
        }
        let last = workspace.last().expect("a network has a layer of outputs");
        for (sample, outputs) in outputs.chunks_mut(self.architecture.outputs()).enumerate() {
            outputs.copy_from_slice(last.row(sample));
        }
    }
}

impl PredictorLayer {
    /// x·W + b for one sample.
    fn apply_to_one(&self, set: InstructionSet, inputs: &[f32], sums: &mut [f32]) {
        vector_product(set, inputs, &self.columns, sums);
        sums.iter_mut().zip(self.biases.row(0)).for_each(|(sum, &bias)| *sum += bias);
    }

    /// x·W + b for each sample; sample i goes to row i of `sums`.
    fn apply_to_many(&self, set: InstructionSet, inputs: &[&[f32]], sums: &mut PaddedMatrix<f32>) {
        match &self.weights {
            Some(weights) if inputs.len() >= MIN_TILED_SAMPLES => {
                let stride = sums.stride();
                let sink = AddBias { out: sums.padded_mut(), stride, biases: self.biases.padded() };
                product(set, inputs, weights, 0..stride, sink);
            }
            _ => {
                for (sample, inputs) in inputs.iter().enumerate() {
                    self.apply_to_one(set, inputs, sums.row_mut(sample));
                }
            }
        }
    }
}
