//! The other kind of network, trained on the same split. The validation errors decide between them;
//! the test part is not used for the choice.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use neural_net::device::TrainingDevice;
use serde::Serialize;

use crate::saved_run::SavedRun;
use crate::session::State;
use crate::settings::{ByRows, NetworkKind};
use crate::{Session, Settings, Snapshot, Table};

/// Minimum relative improvement of the error before the other kind is offered. Smaller differences
/// are chance on small tables, and of no use on large ones.
pub const MARGIN: f64 = 0.01;

/// The validation errors of a run and of a run with the other kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The run's kind of network.
    pub kind: NetworkKind,
    /// The run's smallest validation error, standardized.
    pub error: f64,
    /// The other kind's smallest validation error, standardized.
    pub of_other: f64,
}

impl NetworkKind {
    /// The other kind.
    pub fn other(self) -> Self {
        match self {
            Self::Layers => Self::Table,
            Self::Table => Self::Layers,
        }
    }

    /// The kind in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Layers => "network of layers",
            Self::Table => "network made for tables",
        }
    }
}

impl Comparison {
    /// Compares two runs on the same split. `None` if either has no epoch.
    pub fn of(run: &SavedRun, other: &SavedRun) -> Option<Self> {
        let error = |run: &SavedRun| {
            let best = run.checkpoint.progress.best_epoch.checked_sub(1)?;
            run.history.get(best).map(|record| record.validation_rmse)
        };
        Some(Self { kind: run.settings.network.kind, error: error(run)?, of_other: error(other)? })
    }

    /// Whether the other kind is better by [`MARGIN`].
    pub fn is_other_better(&self) -> bool {
        self.of_other < (1.0 - MARGIN) * self.error
    }

    /// One sentence for the user.
    pub fn in_words(&self) -> String {
        let Self { kind, error, of_other } = self;
        let is = if self.is_other_better() { "is better" } else { "is not better" };
        format!(
            "The {} {is} on the validation part: its error there is {of_other:.4}, that of the {} {error:.4}, in standard \
             deviations of the target.",
            kind.other().in_words(),
            kind.in_words()
        )
    }
}

/// The settings for the other kind of network on a table, with that kind's defaults for the number
/// of rows.
pub fn settings(settings: &Settings, table: &Table) -> Settings {
    let mut settings = settings.clone();
    settings.network.kind = settings.network.kind.other();
    let is_on_cpu = matches!(settings.training.device, TrainingDevice::Auto | TrainingDevice::Cpu);
    if settings.network.kind == NetworkKind::Table && !is_on_cpu {
        settings.training.device = TrainingDevice::Auto;
    }
    settings.training.by_rows = ByRows::ALL;
    settings.fill_in_by_rows(table);
    settings
}

/// Trains the other kind of network, not the one in these settings. `None` if `cancel` was set.
///
/// # Errors
/// The message of a run that fails or diverges.
pub fn train(
    table: &Arc<Table>,
    settings: &Settings,
    cancel: &AtomicBool,
    progress: impl FnMut(&Snapshot),
) -> Result<Option<Arc<SavedRun>>, String> {
    let session = Session::start(Arc::clone(table), self::settings(settings, table));
    let Some(snapshot) = session.wait_unless(cancel, progress) else { return Ok(None) };
    let kind = settings.network.kind.other().in_words();
    match (&snapshot.state, &snapshot.run) {
        (State::Failed(message) | State::Diverged(message), _) => Err(format!("{kind}: {message}")),
        (_, Some(run)) => Ok(Some(Arc::clone(run))),
        (_, None) => Err(format!("{kind}: training has not ended")),
    }
}
