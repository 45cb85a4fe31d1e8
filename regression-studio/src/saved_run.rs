//! A training run in its saved form: settings, results so far, and the state to resume from.

use std::sync::Arc;

use neural_net::engine::Parameters;
use neural_net::training::{InvalidValue, PartOfEpoch};
use serde::{Deserialize, Serialize};
use table_network::State;

use crate::results::{Ending, EpochErrors, Predicted, Results, TableRows};
use crate::settings::NetworkKind;
use crate::sigmoid::Neuron;
use crate::trained::Trained;
use crate::{Model, Settings};

/// A training run in its saved form, ended or not.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedRun {
    /// The settings.
    pub settings: Settings,
    /// One record per complete epoch.
    pub history: Vec<EpochErrors>,
    /// The best epoch's network.
    pub model: Model,
    /// True and predicted values of the best epoch.
    pub predicted: Predicted,
    /// The ending and the results; `None` before the run has ended.
    pub ended: Option<(Ending, Results)>,
    /// The table's rows; `None` before the run has ended, or if an earlier version saved it.
    pub rows: Option<Arc<TableRows>>,
    /// The state to resume from.
    pub checkpoint: Checkpoint,
}

/// The state of a training run.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The weights and the optimizer's state.
    pub state: TrainingState,
    /// Epochs and steps done.
    pub progress: RunProgress,
    /// [`crate::Prepared::checksum`] of the data.
    pub data_checksum: u32,
}

/// The weights and the optimizer's state.
#[derive(Clone, Debug, PartialEq)]
pub enum TrainingState {
    /// For an MLP: the folded network W', b' and the optimizer's state; see [`crate::sigmoid`].
    Layers(Parameters),
    /// For a tabular network.
    Table(State),
}

/// Epochs and steps done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunProgress {
    /// Number of complete epochs.
    pub epoch: usize,
    /// Steps completed in the next epoch.
    pub step: usize,
    /// The summed loss of these steps.
    pub loss: f64,
    /// Training time of these steps, in seconds.
    pub seconds: f64,
    /// The epoch with the smallest validation error, counted from 1; 0 before the first epoch.
    pub best_epoch: usize,
}

impl RunProgress {
    /// The completed steps of the next epoch.
    pub(crate) fn part_of_epoch(&self) -> PartOfEpoch {
        PartOfEpoch { step: self.step, loss: self.loss, seconds: self.seconds }
    }
}

impl SavedRun {
    /// Checks that the run is consistent.
    ///
    /// # Errors
    /// The first value that is out of range or inconsistent with others.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let require = InvalidValue::unless;
        let Self { settings, history, model, checkpoint: Checkpoint { progress, .. }, .. } = self;
        match &model.network {
            Trained::Layers { network, neuron } => {
                let sizes = network.architecture().sizes();
                let hidden = &sizes[1..sizes.len() - 1];
                let of_settings = &settings.network;
                let is_kind = of_settings.kind == NetworkKind::Layers;
                let is_network = is_kind && of_settings.hidden == hidden && Neuron::of(of_settings) == *neuron;
                require(is_network, "network", &format_args!("{hidden:?} hidden units"), "that of the settings")?;
            }
            Trained::Table(_) => {
                let is_table = settings.network.kind == NetworkKind::Table;
                require(is_table, "network", &"a network made for tables", "that of the settings")?;
            }
        }
        let RunProgress { epoch, best_epoch, loss, seconds, .. } = progress;
        require(*epoch == history.len(), "progress.epoch", epoch, &format!("the {} epochs recorded", history.len()))?;
        let is_best = *best_epoch <= *epoch && (*best_epoch > 0 || *epoch == 0);
        require(is_best, "progress.best_epoch", best_epoch, &format!("one of the {epoch} epochs recorded"))?;
        let is_sum = |value: f64| value.is_finite() && value >= 0.0;
        require(loss.is_finite(), "progress.loss", loss, "finite")?;
        require(is_sum(*seconds), "progress.seconds", seconds, "0 or more and finite")?;
        for (index, record) in history.iter().enumerate() {
            let EpochErrors { epoch, seconds, train_rmse, validation_rmse, .. } = record;
            let name = |field: &str| format!("history[{index}].{field}");
            require(*epoch == index + 1, &name("epoch"), epoch, &format!("{}", index + 1))?;
            let values = [("seconds", seconds), ("train_rmse", train_rmse), ("validation_rmse", validation_rmse)];
            for (field, value) in values {
                require(is_sum(*value), &name(field), value, "0 or more and finite")?;
            }
        }
        if let Some(rows) = &self.rows {
            rows.validate()?;
        }
        let best_epoch = self.ended.as_ref().map_or(0, |(_, results)| results.best_epoch);
        require(best_epoch <= *epoch, "results.best_epoch", &best_epoch, &format!("one of the {epoch} epochs recorded"))
    }
}
