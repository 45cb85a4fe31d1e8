//! The model card: one page for the users of a network (M. Mitchell et al., "Model Cards for Model
//! Reporting", FAT* 2019).

use std::fmt::Write;

use neural_net::training::Optimizer;
use table_network::TableNetwork;

use crate::importance::Importance;
use crate::intervals::MeasuredIntervals;
use crate::prepared::Input;
use crate::results::{Ending, Metrics, PartResult, Results};
use crate::saved_run::SavedRun;
use crate::settings::{NetworkKind, SplitOrder};
use crate::table::date;
use crate::trained::Trained;
use crate::{Model, Settings};

/// A tabular network, in words.
fn table_network(network: &TableNetwork) -> String {
    let hidden: Vec<String> = network.hidden().iter().map(ToString::to_string).collect();
    let share = match network.linear_share() {
        0.0 => String::new(),
        share => format!(", {:.0} % of whose prediction is that of linear least squares", 100.0 * share),
    };
    let (members, hidden) = (network.members(), hidden.join(" and "));
    format!(
        "made for tables{share}: {members} members that share layers of {hidden} units, each number embedded by pieces"
    )
}

/// How the network was trained, in words.
fn rule(settings: &Settings) -> String {
    let training = &settings.training;
    let name = match (settings.network.kind, training.optimizer) {
        (NetworkKind::Table, _) => return format!("AdamW in batches of {}", training.batch_size),
        (_, Optimizer::Sgd) => "stochastic gradient descent",
        (_, Optimizer::Adam) => "Adam",
    };
    format!(
        "{name} in batches of {}, learning rate {} ({}), momentum {}, regularization {}",
        training.batch_size,
        training.learning_rate,
        training.schedule.name(),
        training.momentum,
        training.regularization,
    )
}

/// The card of a finished run, as Markdown.
pub(super) fn text(run: &SavedRun, ending: Ending, results: &Results) -> String {
    let mut text = String::new();
    let target = escaped(&run.model.transform.target);
    summary(&mut text, run, ending, results);
    errors(&mut text, &target, &results.parts);
    if let Some(measured) = &results.intervals {
        intervals(&mut text, measured);
    }
    if !results.importance.is_empty() {
        importance(&mut text, &results.importance);
    }
    inputs(&mut text, &run.model);
    limits(&mut text, run, &target);
    text
}

/// What was trained, how, and on which data.
fn summary(text: &mut String, run: &SavedRun, ending: Ending, results: &Results) {
    let (settings, transform) = (&run.settings, &run.model.transform);
    let network = match &run.model.network {
        Trained::Layers { network, .. } => {
            let sizes: Vec<String> = network.architecture().sizes().iter().map(ToString::to_string).collect();
            format!("{} units per layer, {}", sizes.join("-"), settings.network.activation_in_words())
        }
        Trained::Table(network) => table_network(network),
    };
    let target = escaped(&transform.target);
    let logarithm = if transform.target_scale.log { ", learned as its logarithm" } else { "" };
    let how_ended = match ending {
        Ending::AllEpochs => "all epochs were trained",
        Ending::EarlyStopped => "stopped early, since the validation error no longer decreased",
        Ending::Stopped => "stopped by the user",
    };
    let order = match settings.split.order {
        SplitOrder::Shuffled => format!("drawn at random (seed {})", settings.split.seed),
        SplitOrder::Time => "in the table's order, the test part last".to_owned(),
    };
    let training = &settings.training;
    _ = write!(
        text,
        "# A network that predicts {target}\n\n\
         - **Predicts** {target}{logarithm}, from the columns below; by regression-studio {}.\n\
         - **Network**: {network}, {} weights and biases.\n\
         - **Training**: {}, \
         seed {}, on {}. {} epochs; {how_ended}. The weights are those of epoch {}, whose validation error was the smallest.\n\
         - **Data**: {}; {} rows for training, {} for validation, {} for the test, {order}.\n",
        env!("CARGO_PKG_VERSION"),
        run.model.network.parameters(),
        rule(settings),
        training.seed,
        escaped(results.device.split(" (").next().unwrap_or_default()),
        results.epochs,
        results.best_epoch,
        escaped(&settings.data.source.name()),
        results.parts[0].rows,
        results.parts[1].rows,
        results.parts[2].rows,
    );
    for note in results.findings.iter().chain(&results.notes) {
        _ = writeln!(text, "- {}.", escaped(note));
    }
}

fn intervals(text: &mut String, intervals: &MeasuredIntervals) {
    let (words, rows) = (intervals.in_words(number), intervals.rows);
    _ = match intervals.folds {
        None => writeln!(
            text,
            "\n{words} By split conformal prediction, calibrated by the {rows} validation rows, which have also \
             selected the epoch."
        ),
        Some(folds) => writeln!(
            text,
            "\n{words} Calibrated by the {rows} rows of training and validation, each predicted by one of {folds} \
             further networks that was trained without it."
        ),
    };
}

fn importance(text: &mut String, importance: &[Importance]) {
    *text += "\n## What it relies on\n\n\
              The growth of the error on the test part if a column's values are exchanged between rows.\n\n\
              | column | error |\n|---|---:|\n";
    for Importance { column, error_factor } in importance {
        _ = writeln!(text, "| {} | × {} |", escaped(column), number(*error_factor));
    }
}

fn limits(text: &mut String, run: &SavedRun, target: &str) {
    _ = write!(
        text,
        "\n## Limits\n\n\
         The errors above hold for rows like those of the test part. Values far outside the usual ones, categories that did not \
         occur, and times in which the data behave differently are extrapolations, whose error is not known: there, intervals have no \
         guarantee.{}{}\n",
        match run.settings.split.order {
            SplitOrder::Shuffled =>
                " The test part was drawn at random: rows of the same time are in all parts, so that the errors say \
                 nothing about forecasts.",
            SplitOrder::Time => "",
        },
        match &run.model.background {
            Some(background) => format!(
                " model.safetensors contains the columns of {} rows of the training part, without {target}, by which it explains \
                 predictions.",
                background.inputs().nrows()
            ),
            None => String::new(),
        }
    );
}

/// A table of each part's metrics, for the network and its baselines.
fn errors(text: &mut String, target: &str, parts: &[PartResult; 3]) {
    _ = write!(
        text,
        "\n## Errors\n\nRMSE and MAE in the unit of {target}; R² is 1 for perfect predictions and 0 for the mean.\n\n\
         | part | predicted by | R² | RMSE | MAE |\n|---|---|---:|---:|---:|\n"
    );
    for part in parts {
        for (name, &Metrics { r2, rmse, mae, .. }) in part.models() {
            let name = match name {
                "network" => "the network",
                "trees" => "gradient-boosted trees",
                "linear" => "linear least squares",
                _ => "the mean",
            };
            let [r2, rmse, mae] = [r2, rmse, mae].map(number);
            _ = writeln!(text, "| {} | {name} | {r2} | {rmse} | {mae} |", part.name);
        }
    }
    if let Some(error) = parts[2].network.relative_error {
        _ = writeln!(
            text,
            "\nHalf of the test part's predictions are within {:.2} % of the true value.",
            100.0 * error
        );
    }
}

/// A table of the columns with their usual values or their categories.
fn inputs(text: &mut String, model: &Model) {
    *text += "\n## Columns\n\n| column | values in training |\n|---|---|\n";
    for name in model.columns() {
        let of_column = model.transform.inputs.iter().filter(|input| input.column() == name);
        let values: Vec<String> = of_column
            .map(|input| match input {
                Input::Text { text, .. } => escaped(text),
                Input::Number { scale, fill, range, is_date, .. } => {
                    let number = |value: f64| if *is_date == Some(true) { date(value) } else { number(value) };
                    let filled = fill.map(|fill| format!("; {} if missing", number(fill))).unwrap_or_default();
                    let values = match range {
                        Some(range) => range.map(number).join(" to "),
                        // The model is from an earlier version.
                        None => {
                            let [low, high] = [-2.0, 2.0].map(|deviations| number(scale.original(deviations)));
                            let of = if scale.log { " of its logarithm" } else { "" };
                            format!("{low} to {high}: the mean ± 2 standard deviations{of}")
                        }
                    };
                    format!("{values}{filled}")
                }
            })
            .collect();
        _ = writeln!(text, "| {} | {} |", escaped(name), values.join(", "));
    }
}

/// A number with four significant digits.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "–".to_owned(),
        _ if value == 0.0 || (0.001..1e6).contains(&value.abs()) => {
            let digits = 3 - value.abs().max(1e-3).log10().floor() as i32;
            format!("{value:.*}", digits.max(0) as usize)
        }
        _ => format!("{value:.3e}"),
    }
}

/// Escapes external text to one line without Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            _ if character.is_control() => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
