//! `regression-studio predict`: applies a trained network to a new table.

use std::process::ExitCode;

use anyhow::{Context, Result};
use neural_net::files::write_atomically;
use regression_studio::results::Metrics;
use regression_studio::settings::Source;
use regression_studio::{Model, Predictions, run_folder};

use super::arguments::PredictArguments;
use super::with_warning;

pub(crate) fn run(arguments: &PredictArguments) -> Result<ExitCode> {
    let PredictArguments { model, csv, out } = arguments;
    let model = if model.is_dir() { &model.join(run_folder::MODEL) } else { model };
    let model = with_warning(Model::read(model)?);
    let table = Source::File(csv.clone()).table()?;
    let predictions = Predictions::of(&model, &table)?;
    let text = predictions.to_csv();
    match out {
        Some(path) => {
            write_atomically(path, text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
        }
        None => command_line::print_line(format_args!("{}", text.trim_end_matches('\n'))),
    }
    if let Some(Metrics { rmse, mae, r2, .. }) = predictions.metrics {
        let number = super::number;
        command_line::note!("RMSE {}, MAE {}, R² {r2:.4} over the rows with a true value", number(rmse), number(mae));
    }
    predictions.notes().iter().for_each(|note| command_line::note!("warning: {note}"));
    Ok(ExitCode::SUCCESS)
}
