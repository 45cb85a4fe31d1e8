//! Saved networks, of `neural-net` and of the regression studio.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use neural_net::model_file;
use neural_net::training::initial_parameters;
use neural_net::{Activation, Architecture, Network, Predictor, preset};
use regression_studio::Model;
use regression_studio::settings::NetworkKind;
use regression_studio::trained::Trained;

use crate::finding::{Case, Verdict, Wrong, wrong};
use crate::random::Random;
use crate::targets::{Reader, safetensors, studio};

/// Name of `neural-net`'s files in cases.
const DIGITS: &str = "digits.safetensors";
/// Name of the regression studio's files in cases.
const STUDIO: &str = "studio.safetensors";

pub(super) struct Models {
    folder: PathBuf,
    /// Valid files, with the name by which their reader is chosen.
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Models {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let mut files = vec![];
        let path = folder.join("base.safetensors");
        for (sizes, hidden, output) in [
            (vec![4, 3, 10], Activation::Sigmoid, Activation::Sigmoid),
            (vec![2, 2], Activation::Relu, Activation::Softmax),
            (vec![16, 8, 4, 10], Activation::Tanh, Activation::Identity),
        ] {
            let network = network(Architecture::new(sizes, hidden, output)?);
            model_file::save(
                &path,
                &model_file::Model { network, dataset: "built-in digits".to_owned(), convention: Default::default() },
            )?;
            files.push((DIGITS, fs::read(&path)?));
        }
        for kind in [NetworkKind::Layers, NetworkKind::Table] {
            studio::run(kind)?.model.save(&path)?;
            files.push((STUDIO, fs::read(&path)?));
        }
        Ok(Self { folder: folder.to_owned(), files })
    }
}

/// A network with random weights.
pub(crate) fn network(architecture: Architecture) -> Network {
    initial_parameters(architecture, &preset::Preset::Homework.hyperparameters()).network
}

impl Reader for Models {
    fn case(&self, random: &mut Random) -> Case {
        let (name, file) = &self.files[random.below(self.files.len())];
        safetensors::case(random, name, file)
    }

    fn read(&self, case: &Case) -> Verdict {
        let path = self.folder.join(&case.name);
        if let Err(error) = fs::write(&path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        let copy = self.folder.join("copy.safetensors");
        let result = match case.name == STUDIO {
            true => Model::load(&path).map(|model| require_studio_model(&model, &copy)),
            false => model_file::load(&path).map(|model| require_digits_model(&model, &copy)),
        };
        match result {
            Err(error) => Verdict::rejected(error, path.display()),
            Ok(Ok(())) => Verdict::Accepted,
            Ok(Err(wrong)) => Verdict::Wrong(wrong),
        }
    }
}

/// Checks a promise.
pub(super) fn require(holds: bool, promise: &'static str, detail: impl Into<String>) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(Wrong { promise, detail: detail.into() }) }
}

/// Checks that weights and biases are finite, and that a prediction has the right length.
pub(super) fn require_usable_network(network: &Network) -> Result<(), Wrong> {
    let weights = network.weights().iter().flatten().chain(network.biases().iter().flatten());
    require(weights.into_iter().all(|weight| weight.is_finite()), "weights are finite", "a weight is not")?;
    let inputs = vec![0.5; network.architecture().inputs()];
    let outputs = Predictor::new(network).predict(&inputs).len();
    require(outputs == network.architecture().outputs(), "a network predicts", format!("{outputs} outputs"))
}

fn require_digits_model(model: &model_file::Model, copy: &Path) -> Result<(), Wrong> {
    require_usable_network(&model.network)?;
    let again = model_file::save(copy, model).and_then(|()| model_file::load(copy));
    let is_same = again.as_ref().is_ok_and(|again| again == model);
    require(is_same, "what is written again is read again", again.err().map_or(String::new(), |e| e.to_string()))
}

pub(super) fn require_studio_model(model: &Model, copy: &Path) -> Result<(), Wrong> {
    if let Trained::Layers { network, neuron } = &model.network {
        require_usable_network(network)?;
        require_usable_network(&neuron.fold(network))
            .map_err(|wrong| Wrong { promise: "folded weights are finite", ..wrong })?;
    }
    let _predicted = model.predict(&studio::table());
    let again = model.save(copy).and_then(|()| Model::load(copy));
    let is_same = again.as_ref().is_ok_and(|again| again == model);
    require(is_same, "what is written again is read again", again.err().map_or(String::new(), |e| e.to_string()))
}
