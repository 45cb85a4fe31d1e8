//! Saved networks of `neural-net` and of the regression studio, and the studio's runs. These are
//! safetensors files, with the header's length in 8 bytes, the header as JSON, and the tensors'
//! bytes.

use std::fs;
use std::path::Path;

use neural_net::engine::Parameters;
use neural_net::training::initial_parameters;
use neural_net::{Activation, Architecture, Network, Predictor, checksum, model_file, preset::Preset};
use regression_studio::saved_run::TrainingState;
use regression_studio::settings::NetworkKind;
use regression_studio::trained::Trained;
use regression_studio::{Model, SavedRun, run_folder};
use serde_json::{Value, json};

use crate::cases::{Answer, rejected, scratch};
use crate::edits::{Input, edit_bytes, edit_text, edit_words, pick};
use crate::studio::{small_settings, small_table, trained};

/// An accepted network predicts, and survives being written and read again.
pub(crate) fn digits_model() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    let copy = folder.path().join("copy.safetensors");
    let valid = [
        (vec![4, 3, 10], Activation::Sigmoid, Activation::Sigmoid),
        (vec![2, 2], Activation::Relu, Activation::Softmax),
        (vec![16, 8, 4, 10], Activation::Tanh, Activation::Identity),
    ];
    let valid = valid.map(|(sizes, hidden, output)| {
        let architecture = Architecture::new(sizes, hidden, output).unwrap();
        let network = initial_parameters(architecture, &Preset::Homework.hyperparameters()).network;
        let dataset = "built-in digits".to_owned();
        model_file::save(&copy, &model_file::Model { network, dataset, convention: Default::default() }).unwrap();
        fs::read(&copy).unwrap()
    });
    move |input| {
        let (path, copy) = (Path::new("digits.safetensors"), folder.path().join("copy.safetensors"));
        let model = match model_file::parse(path, edited(input, &valid)) {
            Ok(loaded) => loaded.content,
            Err(error) => return rejected(error, path),
        };
        require_usable(&model.network);
        model_file::save(&copy, &model).unwrap();
        assert!(model_file::load(&copy).unwrap() == model, "what is written is read again");
        Answer::Accepted
    }
}

/// The same checks as in [`digits_model`].
pub(crate) fn studio_model() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    let valid = both_kinds(folder.path(), "model.safetensors");
    move |input| {
        let path = Path::new("studio.safetensors");
        match Model::parse(path, edited(input, &valid)) {
            Err(error) => rejected(error, path),
            Ok(loaded) => {
                require_usable_model(&loaded.content, &folder.path().join("copy.safetensors"));
                Answer::Accepted
            }
        }
    }
}

/// An accepted run is consistent, and survives being written and read again.
pub(crate) fn studio_run() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    let valid = both_kinds(folder.path(), "checkpoint.safetensors");
    move |input| {
        let path = Path::new("checkpoint.safetensors");
        let run = match run_folder::parse(path, edited(input, &valid)) {
            Ok(loaded) => loaded.content,
            Err(error) => return rejected(error, path),
        };
        require_usable_model(&run.model, &folder.path().join("copy.safetensors"));
        if let TrainingState::Layers(parameters) = &run.checkpoint.state {
            require_usable(&parameters.network);
            require_finite(parameters);
        }
        let numbers = run.history.iter().flat_map(|record| [record.seconds, record.train_rmse, record.validation_rmse]);
        let mut numbers = numbers.chain([run.checkpoint.progress.loss, run.checkpoint.progress.seconds]);
        assert!(numbers.all(f64::is_finite), "numbers of a run are finite");
        // Writing all its files takes far longer than reading them.
        if input.place.is_multiple_of(16) {
            let copy = folder.path().join("copy");
            run_folder::save(&copy, &run).unwrap();
            // A result may be NaN, so compare the debug texts.
            let shown = |run: &SavedRun| {
                let settings = run_folder::with_full_path(&run.settings);
                format!("{settings:?} {:?} {:?} {:?}", run.model, run.checkpoint, run.ended)
            };
            assert_eq!(shown(&run_folder::open(&copy).unwrap()), shown(&run), "what is written is read again");
        }
        Answer::Accepted
    }
}

/// A file from a finished run of each kind of network.
fn both_kinds(folder: &Path, file: &str) -> [Vec<u8>; 2] {
    [NetworkKind::Layers, NetworkKind::Table].map(|kind| {
        let mut settings = small_settings();
        (settings.network.kind, settings.training.epochs, settings.training.threads) = (kind, 3, Some(1));
        let snapshot = trained(small_table(40, 1), settings);
        let mut run = SavedRun::clone(snapshot.run.as_ref().expect("the run has a result"));
        // Its times differ each time, but the cases must not.
        run.history.iter_mut().for_each(|record| record.seconds = 0.5);
        run.checkpoint.progress.seconds = 0.0;
        if let Some((_, results)) = &mut run.ended {
            results.seconds = 1.5;
        }
        run_folder::save(&folder.join("run"), &run).unwrap();
        fs::read(folder.join("run").join(file)).unwrap()
    })
}

/// Checks that weights are finite and a prediction has the right length.
pub(crate) fn require_usable(network: &Network) {
    let mut weights = network.weights().iter().flatten().chain(network.biases().iter().flatten());
    assert!(weights.all(|weight| weight.is_finite()), "weights are finite");
    let inputs = vec![0.5; network.architecture().inputs()];
    assert_eq!(Predictor::new(network).predict(&inputs).len(), network.architecture().outputs());
}

/// Checks that the optimizer's state is finite.
pub(crate) fn require_finite(parameters: &Parameters) {
    let state = parameters.velocities.iter().chain(&parameters.squares).flatten();
    let mut all = state.flat_map(|(weights, biases)| weights.iter().chain(biases));
    assert!(all.all(|value| value.is_finite()), "the optimizer's state is finite");
}

/// Like [`require_usable`], also with the sigmoid's gain folded into the weights. The model must
/// also survive being written and read again.
fn require_usable_model(model: &Model, copy: &Path) {
    if let Trained::Layers { network, neuron } = &model.network {
        require_usable(network);
        require_usable(&neuron.fold(network));
    }
    let _predicted = model.predict(&small_table(3, 1));
    model.save(copy).unwrap();
    assert!(Model::load(copy).unwrap() == *model, "what is written is read again");
}

/// Changes one of the valid safetensors files, usually with a corrected checksum.
pub(crate) fn edited(input: &Input, valid: &[Vec<u8>]) -> Vec<u8> {
    let (length, rest) = pick(valid, input.file).split_first_chunk::<8>().expect("a valid file has a length");
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let (mut header, mut data): (Value, _) = (serde_json::from_slice(header).expect("a header is JSON"), data.to_vec());
    let mut text = serde_json::to_vec_pretty(&header).expect("a header is written again");
    match input.choice % 4 {
        // One member per line: line edits then edit members.
        0 => edit_text(input, &mut text, &[b"", b"null, ", b"\"a\": "]),
        1 => edit_bytes(&input.bytes, &mut data),
        2 => {
            // A whole element, so only its value changes.
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, -0.0, 1e30];
            let at = usize::from(input.place) % (data.len() / 4) * 4;
            data[at..at + 4].copy_from_slice(&pick(&odd, input.choice / 4).to_le_bytes());
        }
        // A metadata value, which is JSON or text.
        _ => {
            let metadata = header["__metadata__"].as_object_mut().expect("a valid file has metadata");
            let which = usize::from(input.place) % metadata.len();
            let value = metadata.values_mut().nth(which).expect("the index is below their number");
            let mut changed = value.as_str().unwrap_or_default().as_bytes().to_vec();
            edit_words(&input.words, &mut changed);
            *value = json!(String::from_utf8_lossy(&changed));
            text = header.to_string().into_bytes();
        }
    }
    // Without spaces if it is still JSON, since the checksum is only found in that form.
    let mut header = serde_json::from_slice(&text).map_or(text, |header: Value| header.to_string().into_bytes());
    // The tensors begin at a multiple of 8 bytes.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    if input.choice.is_multiple_of(7) {
        edit_bytes(&input.bytes, &mut file);
    }
    if input.choice < 224 {
        checksum::seal(&mut file);
    }
    file
}
