//! `regression-studio train --folds` and `--seeds`: repeated runs that are not saved.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use command_line::{counted, say};
use regression_studio::Settings;
use regression_studio::cross_validation::{self, Repeats, Spread};
use regression_studio::results::{Metrics, Results};

use super::arguments::TrainArguments;
use super::{number, r_squared};

/// Trains all runs, and prints the mean and standard deviation of their test metrics.
pub(super) fn run(arguments: &TrainArguments, mut settings: Settings, repeats: Repeats) -> Result<ExitCode> {
    let table = Arc::new(settings.data.table()?);
    settings.fill_in_by_rows(&table);
    if let Some(problem) = settings.problems(Some(&table)).first() {
        bail!("{}: {problem}", arguments.name().display());
    }
    let is_text = !arguments.json;
    let cancel = AtomicBool::new(false);
    let results = cross_validation::run(&table, &settings, repeats, &cancel, |index, results| {
        let [.., test] = &results.parts;
        if is_text {
            let (rows, r2) = (counted(test.rows, "test row"), r_squared(test.network.r2));
            say!("{}: {rows}, R² {r2}, RMSE {}.", capitalized(&repeats.name(index)), number(test.network.rmse));
        }
    });
    let results = results.map_err(|message| anyhow::anyhow!("{}: {message}", arguments.name().display()))?;
    let results = results.unwrap_or_default();
    match (is_text, repeats) {
        (true, _) => show(&results, repeats),
        (false, Repeats::Folds(_)) => say!("{}", serde_json::json!({ "folds": results })),
        (false, Repeats::Seeds(_)) => say!("{}", serde_json::json!({ "seeds": results })),
    }
    Ok(ExitCode::SUCCESS)
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn show(results: &[Results], repeats: Repeats) {
    let what = match repeats {
        Repeats::Folds(count) => counted(count, "fold"),
        Repeats::Seeds(count) => counted(count, "seed"),
    };
    say!("Mean ± standard deviation over {what}:");
    say!("{:<8}{:>26}{:>26}{:>20}", "model", "RMSE", "MAE", "R²");
    let models = results.first().map(|first| first.parts[2].models().len()).unwrap_or_default();
    for index in 0..models {
        let spread = |of: fn(&Metrics) -> f64, shown: fn(f64) -> String| {
            let Spread { mean, deviation } = Spread::of_tests(results, |test| of(test.models()[index].1));
            format!("{} ± {}", shown(mean), shown(deviation))
        };
        let name = results[0].parts[2].models()[index].0;
        let [rmse, mae] = [spread(|of| of.rmse, number), spread(|of| of.mae, number)];
        say!("{name:<8}{rmse:>26}{mae:>26}{:>20}", spread(|of| of.r2, r_squared));
    }
    if let Some(Spread { mean, deviation }) = Spread::of_coverages(results) {
        let [mean, deviation] = [mean, deviation].map(|share| 100.0 * share);
        say!("The 90 % intervals contain the true value in {mean:.1} ± {deviation:.1} % of the test rows.");
    }
    if let Repeats::Seeds(_) = repeats {
        let Spread { mean, deviation } = Spread::of_tests(results, |test| test.network.rmse);
        let (deviation, percent) = (number(deviation), 100.0 * deviation / mean);
        say!(
            "The seed alone changes the network's RMSE by ± {deviation} ({percent:.1} %): a smaller difference between two runs on this split \
             may be luck."
        );
    }
}
