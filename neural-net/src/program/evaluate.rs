//! `neural-net evaluate`: measures a saved network's accuracy on the test images.

use std::process::ExitCode;

use anyhow::Result;
use command_line::with_worker_threads;
use neural_net::data::ToSamples;
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::model_file;
use neural_net::preset::Preset;
use serde_json::json;

use super::arguments::EvaluateArguments;
use super::dataset;

pub(crate) fn run(arguments: &EvaluateArguments) -> Result<ExitCode> {
    let model = model_file::read(&arguments.model)?.into_content(command_line::warn);
    let parameters = Parameters::new(model.network);
    let (dataset, origin, evaluation) = with_worker_threads(arguments.cores, |_| -> Result<_> {
        let (dataset, origin) = dataset::load(&arguments.data)?;
        dataset::require_fit(&dataset, parameters.network.architecture())?;
        let test = dataset.test.samples(0, dataset.test.len());
        // The engine needs hyperparameters, but only evaluates here.
        let mut engine = CpuEngine::new(&test, &parameters, &Preset::Homework.hyperparameters());
        let evaluation = engine.evaluate_training_samples()?;
        Ok((dataset, origin, evaluation))
    })??;
    dataset::warn_of_other_convention(model.convention, &dataset);
    if model.dataset != dataset.name {
        let (trained, tested) = (&model.dataset, &dataset.name);
        command_line::note!(
            "warning: the network was trained on {trained}, but the test images are {tested}: give --data DIR"
        );
    }
    if arguments.json {
        let object = json!({
            "program": "neural-net evaluate",
            "trained_on": model.dataset,
            "dataset": dataset.name,
            "test_images": evaluation.count,
            "sizes": parameters.network.architecture().sizes(),
            "test_accuracy": evaluation.accuracy(),
        });
        command_line::say!("{object}");
    } else {
        command_line::say!("{origin}");
        command_line::say!("Trained on: {}", model.dataset);
        let percent = 100.0 * evaluation.accuracy();
        command_line::say!("Test Accuracy: {percent:.2} % ({}, {} images)", dataset.name, evaluation.count);
    }
    Ok(ExitCode::SUCCESS)
}
