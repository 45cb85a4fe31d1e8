//! `neural-net predict`: recognizes digits with a saved network.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use command_line::{counted, say};
use neural_net::data::Dataset;
use neural_net::data::convention::Convention;
use neural_net::network::argmax;
use neural_net::png::{self, Background, Digit};
use neural_net::{Activation, Architecture, Predictor, model_file};
use serde_json::{Value, json};

use super::arguments::PredictArguments;
use super::dataset;

pub(crate) fn run(arguments: &PredictArguments) -> Result<ExitCode> {
    let model = model_file::read(&arguments.model)?.into_content(command_line::warn);
    // Only indices need the test set.
    let dataset = match arguments.images.iter().any(|image| test_index(image).is_some()) {
        true => Some(dataset::load(&arguments.data)?),
        false => None,
    };
    if let Some((dataset, origin)) = &dataset {
        dataset::require_fit(dataset, model.network.architecture())?;
        dataset::warn_of_other_convention(model.convention, dataset);
        if !arguments.json {
            say!("{origin}");
        }
    }
    let mut predictor = Predictor::new(&model.network);
    let mut predictions = Vec::new();
    for image in &arguments.images {
        let (pixels, label, changes) = match (test_index(image), &dataset) {
            (Some(index), Some((dataset, _))) => {
                let (pixels, label) = test_image(dataset, index)?;
                (pixels, Some(label), Vec::new())
            }
            _ => {
                let background = arguments.background.into();
                let (mut pixels, mut changes) = read_png(Path::new(image), model.network.architecture(), background)?;
                model.convention.convert(&mut pixels, model.network.architecture().inputs().isqrt());
                if model.convention != Convention::default() {
                    changes.push(format!("made {}, as the training images", model.convention));
                }
                (pixels, None, changes)
            }
        };
        predictions.push(Prediction { changes, ..Prediction::new(image, label, &mut predictor, &pixels) });
    }
    if arguments.json {
        let predictions: Vec<Value> = predictions.iter().map(Prediction::to_json).collect();
        say!("{}", json!({ "program": "neural-net predict", "predictions": predictions }));
    } else {
        predictions.iter().for_each(Prediction::print);
    }
    Ok(ExitCode::SUCCESS)
}

/// The network's prediction for one image.
struct Prediction<'a> {
    /// The argument.
    image: &'a str,
    /// The label, for an image of the test set.
    label: Option<u8>,
    /// The changes made to the image beforehand, each in a few words.
    changes: Vec<String>,
    /// The predicted class.
    digit: usize,
    outputs: Vec<f32>,
    /// One per digit, with a sum of 1. `None` if the output activation is not softmax.
    probabilities: Option<Vec<f32>>,
}

impl<'a> Prediction<'a> {
    /// Only softmax outputs are probabilities of the digits. Sigmoid outputs are independent and
    /// may all be close to zero. Divided by their sum, they would state a certainty that the
    /// network does not have.
    fn new(image: &'a str, label: Option<u8>, predictor: &mut Predictor, pixels: &[u8]) -> Self {
        let inputs: Vec<f32> = pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
        let outputs = predictor.predict(&inputs).to_vec();
        let is_distribution = predictor.architecture().output_activation() == Activation::Softmax;
        let probabilities = is_distribution.then(|| outputs.clone());
        Self { image, label, changes: Vec::new(), digit: argmax(&outputs), outputs, probabilities }
    }

    fn print(&self) {
        let Self { image, digit, .. } = self;
        let mut label = self.label.map(|label| format!(", labelled {label}")).unwrap_or_default();
        if !self.changes.is_empty() {
            label += &format!(" ({})", self.changes.join("; "));
        }
        match &self.probabilities {
            Some(probabilities) => {
                say!("{image}: {digit} with probability {:.2} %{label}", 100.0 * probabilities[*digit]);
                for (digit, probability) in probabilities.iter().enumerate() {
                    let bar = "█".repeat((40.0 * probability).round() as usize);
                    say!("  {digit}  {:6.2} %  {bar}", 100.0 * probability);
                }
            }
            None => {
                say!("{image}: {digit} with output {:.4}{label}", self.outputs[*digit]);
                for (digit, output) in self.outputs.iter().enumerate() {
                    say!("  {digit}  output {output:.4}");
                }
            }
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "image": self.image,
            "label": self.label,
            "changes": self.changes,
            "digit": self.digit,
            "outputs": self.outputs,
            "probabilities": self.probabilities,
        })
    }
}

/// The index of a test image, if `image` is an integer. A file with such a name can be passed as `./7`.
fn test_index(image: &str) -> Option<usize> {
    image.parse().ok()
}

fn test_image(dataset: &Dataset, index: usize) -> Result<(Vec<u8>, u8)> {
    let count = dataset.test.len();
    let Some(&label) = dataset.test.labels.get(index) else {
        bail!("there is no test image {index}: {} has {count}, 0 to {}", dataset.name, count.saturating_sub(1));
    };
    Ok((dataset.test.pixels.row(index).to_vec(), label))
}

/// The digit in a PNG file, and the changes made to the image.
fn read_png(path: &Path, architecture: &Architecture, background: Background) -> Result<(Vec<u8>, Vec<String>)> {
    let (name, inputs) = (path.display(), architecture.inputs());
    let side = u32::try_from(inputs.isqrt()).ok().filter(|&side| u64::from(side).pow(2) == inputs as u64);
    let Some(side) = side else {
        bail!("{name}: the network has {inputs} inputs, not a square number: it cannot read images")
    };
    let Digit { pixels, changes, other_objects } = png::read_digit(path, side, background)?;
    if other_objects > 0 {
        let others = counted(other_objects, "other object");
        command_line::note!(
            "note: {name}: {others} beside the one that is read, which has the most ink: crop the image to one digit"
        );
    }
    Ok((pixels, changes.iter().map(ToString::to_string).collect()))
}
