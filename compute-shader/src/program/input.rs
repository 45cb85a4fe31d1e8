//! The network and samples to check and time.

use anyhow::{Context, Result, ensure};
use ndarray::{Array2, ArrayView2, Axis, s};
use neural_net::data::{Dataset, ToSamples};
use neural_net::network::argmax;
use neural_net::preset::Preset;
use neural_net::{Network, model_file};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::Arguments;

/// Full-batch training steps, as in the notebook.
const STEPS: usize = 1000;

pub(super) struct Input {
    pub(super) network: Network,
    /// Samples for the largest batch, samples × inputs.
    pub(super) inputs: Array2<f32>,
    /// The images' digits. `None` for random samples or a network with a different number of classes.
    pub(super) labels: Option<Vec<u8>>,
    pub(super) network_line: String,
    pub(super) data_line: String,
}

impl Input {
    pub(super) fn new(arguments: &Arguments) -> Result<Self> {
        let saved = arguments.weights.as_deref().map(model_file::read).transpose()?;
        let saved = saved.map(|saved| saved.into_content(command_line::warn));
        let dataset = Dataset::find(arguments.data.as_deref())?;
        let (rows, columns) = dataset.test.shape;
        let (network, origin) = match (saved, &arguments.weights) {
            (Some(saved), Some(path)) => (saved.network, format!("from {}", path.display())),
            _ => {
                let (rows, columns) = dataset.train.shape;
                let wanted = Preset::Notebook.sizes()[0];
                ensure!(
                    rows * columns == wanted,
                    "{} has images of {rows} × {columns} pixels, but the notebook's network has {wanted} inputs: give \
                     other files with --data, or a network with --weights",
                    dataset.name
                );
                command_line::note!("training the notebook's network, {STEPS} steps …");
                let network = compute_shader::notebook::train(&dataset.train, STEPS)
                    .context("training of the notebook's network")?;
                (network, format!("trained for {STEPS} steps on {}", dataset.name))
            }
        };
        let architecture = network.architecture();
        let sizes: Vec<String> = architecture.sizes().iter().map(ToString::to_string).collect();
        let (hidden, output) = (architecture.hidden_activation().name(), architecture.output_activation().name());
        let network_line = format!("{}, {hidden} then {output}, {origin}", sizes.join("-"));
        let max_batch = arguments.batches().last().copied().unwrap_or(1);
        // The inputs, and the outputs of both devices.
        let values = architecture.inputs() + 3 * architecture.outputs();
        let bytes = values.checked_mul(4).and_then(|bytes| bytes.checked_mul(max_batch));
        command_line::require_memory(&format!("a batch of {max_batch} images"), bytes.map(|bytes| bytes as u64))?;
        if architecture.inputs() != rows * columns {
            let data_line =
                format!("{max_batch} random samples, since the network's inputs are not {rows} × {columns} pixels");
            let mut rng = ChaCha8Rng::seed_from_u64(arguments.homework.seed);
            let inputs =
                Array2::from_shape_simple_fn((max_batch, architecture.inputs()), || rng.random_range(0.0..1.0));
            return Ok(Self { network, inputs, labels: None, network_line, data_line });
        }
        let count = dataset.test.len().min(max_batch);
        let samples = dataset.test.samples(0, count);
        // Only requested batch sizes repeat images.
        let rows = if arguments.batch.is_empty() { count } else { max_batch };
        let indices: Vec<usize> = (0..rows).map(|row| row % count.max(1)).collect();
        let labels = indices.iter().map(|&index| dataset.test.labels[index]).collect::<Vec<_>>();
        let reads_digits = architecture.outputs() == neural_net::data::CLASSES;
        let repeated = if rows > count { format!(", repeated to {rows}") } else { String::new() };
        let data_line = format!("{count} test images of {}{repeated}", dataset.name);
        let inputs = samples.inputs().select(Axis(0), &indices);
        Ok(Self { network, inputs, labels: reads_digits.then_some(labels), network_line, data_line })
    }

    /// The first `size` samples, or all if there are fewer.
    pub(super) fn batch(&self, size: usize) -> ArrayView2<'_, f32> {
        self.inputs.slice(s![..size.min(self.inputs.nrows()), ..])
    }
}

/// The number of rows with the largest output at the label's index.
pub(super) fn count_correct(outputs: &Array2<f32>, labels: &[u8]) -> usize {
    let is_correct = |(row, &label): (ndarray::ArrayView1<f32>, &u8)| {
        argmax(row.to_slice().expect("rows of the outputs are contiguous")) == usize::from(label)
    };
    outputs.outer_iter().zip(labels).filter(|pair| is_correct((pair.0, pair.1))).count()
}
