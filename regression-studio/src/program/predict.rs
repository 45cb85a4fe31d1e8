//! `regression-studio predict`: applies a trained network to a new table.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use neural_net::files::write_atomically;
use regression_studio::settings::Source;
use regression_studio::{Model, run_folder};

use super::arguments::PredictArguments;
use super::with_warning;

pub(crate) fn run(arguments: &PredictArguments) -> Result<ExitCode> {
    let PredictArguments { model, csv, out } = arguments;
    let model = if model.is_dir() { &model.join(run_folder::MODEL) } else { model };
    let model = with_warning(Model::read(model)?);
    let table = Source::File(csv.clone()).table()?;
    let predictions = model.predict(&table)?;
    let skipped = predictions.iter().filter(|prediction| prediction.is_none()).count();

    let mut text = format!("row,{}\n", csv_cell(&model.transform.target));
    for (row, prediction) in (1..).zip(&predictions) {
        match prediction {
            Some(value) => writeln!(text, "{row},{value}")?,
            None => writeln!(text, "{row},")?,
        }
    }
    match out {
        Some(path) => {
            write_atomically(path, text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
        }
        None => timing::program::print_line(format_args!("{}", text.trim_end_matches('\n'))),
    }
    if skipped > 0 {
        timing::note!(
            "{skipped} of {} rows have no prediction: a feature is missing or not a number",
            predictions.len()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A text as a CSV cell, quoted if necessary.
fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
