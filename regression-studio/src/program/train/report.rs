//! The results of a training run, as text.

use std::path::Path;

use command_line::{counted, say};
use regression_studio::results::{Ending, Metrics, Results};
use regression_studio::run_folder;
use regression_studio::session::State;
use regression_studio::settings::NetworkKind;

use crate::program::{number, r_squared};

/// Number of features with a printed importance.
const SHOWN_FEATURES: usize = 10;

/// Prints the results of a run with this kind of network. The run ended in this state and is saved
/// in `folder`.
pub(super) fn print(results: &Results, state: &State, kind: NetworkKind, folder: &Path) {
    let why = match state {
        State::Finished(Ending::EarlyStopped) => "the validation error no longer decreases",
        State::Finished(Ending::Stopped) => "interrupted",
        _ => "all epochs done",
    };
    let epochs = counted(results.epochs, "epoch");
    say!("{epochs}, {:.2} s of training: {why}. Best epoch: {}.", results.seconds, results.best_epoch);
    let is_complete = matches!(state, State::Finished(Ending::AllEpochs));
    if results.best_epoch == results.epochs && kind == NetworkKind::Layers && is_complete {
        say!("The best epoch is the last: with more of them (--epochs) the error may fall further.");
    }
    print_metrics(results);
    if let Some(intervals) = &results.intervals {
        say!("{}", intervals.in_words(number));
    }
    print_importance(results, folder);
}

fn print_metrics(results: &Results) {
    let is_log = results.parts[0].network.r2_log.is_some();
    let log_column = if is_log { format!("{:>11}", "R² of logs") } else { String::new() };
    say!("{:<11}{:>9}  {:<8}{:>12}{:>12}{:>10}{log_column}", "part", "rows", "model", "RMSE", "MAE", "R²");
    for part in &results.parts {
        for (model, metrics) in part.models() {
            let log = metrics.r2_log.map(|r2| format!("{:>11}", r_squared(r2))).unwrap_or_default();
            let Metrics { rmse, mae, r2, .. } = *metrics;
            let (name, rows) = (&part.name, part.rows);
            let [rmse, mae, r2] = [number(rmse), number(mae), r_squared(r2)];
            say!("{name:<11}{rows:>9}  {model:<8}{rmse:>12}{mae:>12}{r2:>10}{log}");
        }
    }
    if results.parts.iter().any(|part| part.network.r2.is_nan()) {
        say!("R² needs at least two different values of the target.");
    }
    let [.., test] = &results.parts;
    if let Some(typical) = test.network.relative_error {
        say!("Half of the predictions of the test part are within {:.2} % of the true value.", 100.0 * typical);
    }
}

fn print_importance(results: &Results, folder: &Path) {
    if results.importance.is_empty() {
        return;
    }
    say!("Importance, by the error if a feature's values are exchanged between rows:");
    for feature in results.importance.iter().take(SHOWN_FEATURES) {
        say!("  {} × {:.2}", feature.column, feature.error_factor);
    }
    let more = results.importance.len().saturating_sub(SHOWN_FEATURES);
    if more > 0 {
        say!("  and {more} more: see {}", folder.join(run_folder::CARD).display());
    }
}
