//! `regression-studio train --folds`: cross-validation.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use command_line::{counted, say};
use regression_studio::Settings;
use regression_studio::cross_validation::{self, Spread};
use regression_studio::results::{Metrics, PartResult, Results};

use super::arguments::TrainArguments;
use super::number;
use super::train::share;

/// Trains on each fold, and prints mean and standard deviation over the folds' test parts.
pub(super) fn run(arguments: &TrainArguments, mut settings: Settings, folds: usize) -> Result<ExitCode> {
    let table = Arc::new(settings.data.table()?);
    settings.fit_to(&table);
    if let Some(problem) = settings.problems(Some(&table)).first() {
        bail!("{}: {problem}", arguments.config.display());
    }
    let is_text = !arguments.json;
    let results = cross_validation::run(&table, &settings, folds, |index, results| {
        let [.., test] = &results.parts;
        if is_text {
            let (rows, r2) = (counted(test.rows, "test row"), share(test.network.r2));
            say!("Fold {} of {folds}: {rows}, R² {r2}, RMSE {}.", index + 1, number(test.network.rmse));
        }
    });
    let results = results.map_err(|message| anyhow::anyhow!("{}: {message}", arguments.config.display()))?;
    match is_text {
        true => show(&results),
        false => say!("{}", serde_json::json!({ "folds": results })),
    }
    Ok(ExitCode::SUCCESS)
}

/// The metrics of a model on a part.
type MetricsOf = fn(&PartResult) -> &Metrics;

fn show(results: &[Results]) {
    let tests: Vec<&PartResult> = results.iter().map(|results| &results.parts[2]).collect();
    say!("Mean ± standard deviation over {} folds:", results.len());
    say!("{:<8}{:>26}{:>26}{:>20}", "model", "RMSE", "MAE", "R²");
    let models: [(&str, MetricsOf); 3] =
        [("network", |part| &part.network), ("linear", |part| &part.linear), ("mean", |part| &part.mean)];
    for (name, metrics) in models {
        let spread = |of: fn(&Metrics) -> f64, shown: fn(f64) -> String| {
            let values: Vec<f64> = tests.iter().map(|part| of(metrics(part))).collect();
            let Spread { mean, deviation } = Spread::of(&values);
            format!("{} ± {}", shown(mean), shown(deviation))
        };
        let [rmse, mae] = [spread(|of| of.rmse, number), spread(|of| of.mae, number)];
        say!("{name:<8}{rmse:>26}{mae:>26}{:>20}", spread(|of| of.r2, share));
    }
    let coverages: Vec<f64> =
        results.iter().filter_map(|results| results.intervals.as_ref()?.coverage).map(|of| 100.0 * of).collect();
    if coverages.len() == results.len() {
        let Spread { mean, deviation } = Spread::of(&coverages);
        say!("The 90 % intervals contain the true value in {mean:.1} ± {deviation:.1} % of the test rows.");
    }
}
