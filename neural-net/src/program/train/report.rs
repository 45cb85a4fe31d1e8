//! The results of a training run, as text or JSON.

use std::process::ExitCode;

use command_line::CHECK_FAILED;
use neural_net::data::Dataset;
use neural_net::training::EpochRecord;
use serde_json::json;

use crate::program::settings::Settings;

/// The results of a finished training run.
pub(super) struct TrainingReport<'a> {
    pub(super) settings: &'a Settings,
    pub(super) dataset: &'a Dataset,
    pub(super) history: &'a [EpochRecord],
    /// The record that reached the target of `--stop-at`.
    pub(super) reached: Option<&'a EpochRecord>,
    pub(super) accuracy: f64,
    pub(super) threads: usize,
}

impl TrainingReport<'_> {
    /// Prints the results: one JSON object, or lines of text.
    pub(super) fn print(&self, as_json: bool, device: &str) {
        if as_json {
            return command_line::say!("{}", self.to_json(device));
        }
        let (percent, dataset) = (100.0 * self.accuracy, self.dataset);
        command_line::say!("Time to train: {:.2} seconds", self.seconds());
        command_line::say!("Test Accuracy: {percent:.2} % ({}, {} images)", dataset.name, dataset.test.len());
    }

    fn seconds(&self) -> f64 {
        self.history.iter().map(|record| record.seconds).sum()
    }

    fn to_json(&self, device: &str) -> serde_json::Value {
        let Settings { preset, architecture, hyperparameters, images, augment } = self.settings;
        json!({
            "program": "neural-net",
            "preset": preset,
            "dataset": self.dataset.name,
            "train_images": images.train,
            "validation_images": images.validation,
            "test_images": self.dataset.test.len(),
            "sizes": architecture.sizes(),
            "hidden_activation": architecture.hidden_activation(),
            "output_activation": architecture.output_activation(),
            "hyperparameters": hyperparameters,
            "augment": augment,
            "device": device,
            "cores": self.threads,
            "epochs": self.history,
            "stopped_at": self.reached.map(|record| self.stopped_at(record)),
            "seconds": self.seconds(),
            "test_accuracy": self.accuracy,
        })
    }

    /// The epoch, the accuracy, and the number of images since the start of the run.
    fn stopped_at(&self, record: &EpochRecord) -> serde_json::Value {
        let images = self.settings.images.train;
        let seen = (record.epoch.saturating_sub(1)).saturating_mul(images) + record.samples.unwrap_or(images);
        json!({ "epoch": record.epoch, "images_seen": seen, "accuracy": record.accuracy })
    }

    /// Success, unless the test accuracy is below the target: `requested`, or the preset's target
    /// on MNIST.
    pub(super) fn verdict(&self, requested: Option<f64>) -> ExitCode {
        let of_preset = self.dataset.is_mnist.then(|| self.settings.preset.target_accuracy());
        match requested.or(of_preset) {
            Some(target) if self.accuracy < target => {
                let (reached, target) = (100.0 * self.accuracy, 100.0 * target);
                command_line::note!("The test accuracy of {reached:.2} % is below the target of {target:.2} %.");
                ExitCode::from(CHECK_FAILED)
            }
            _ => ExitCode::SUCCESS,
        }
    }
}
