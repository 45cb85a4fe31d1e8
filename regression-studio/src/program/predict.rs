//! `regression-studio predict`: applies a trained network to a new table.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use command_line::say;
use neural_net::files::require_distinct;
use regression_studio::results::Metrics;
use regression_studio::settings::Source;
use regression_studio::table::csv;
use regression_studio::{Model, Predictions, run_folder};

use super::arguments::PredictArguments;
use super::explanation;

pub(crate) fn run(arguments: &PredictArguments) -> Result<ExitCode> {
    let PredictArguments { model, csv: path, sheet, decimal_mark, accept_units, out, interval, explain } = arguments;
    let file = if model.is_dir() { &model.join(run_folder::MODEL) } else { model };
    let of_run = file.parent().filter(|_| file.ends_with(run_folder::MODEL)).map(run_folder::files_read);
    let inputs: Vec<&PathBuf> = [file, path].into_iter().chain(of_run.iter().flatten()).collect();
    require_distinct(out.as_deref().map(|out| ("--out", out)), &inputs)?;
    // If no run can be read, the training rows are unknown. The model can still predict.
    let run =
        file.parent().filter(|_| file.ends_with(run_folder::MODEL)).and_then(|folder| run_folder::open(folder).ok());
    let rows = run.and_then(|run| run.rows);
    let model = Model::read(file)?.into_content(command_line::warn);
    let decimal_mark = decimal_mark.map(Into::into);
    let declared = csv::Declared { decimal_mark, sheet: sheet.clone(), ..model.transform.declared() };
    let table = Source::File(path.clone()).table_with(&declared, &|_| (), &AtomicBool::new(false))?;
    if !accept_units {
        model.transform.check_units(&table).map_err(|error| anyhow::anyhow!("{error}: --accept-units"))?;
    }
    let predictions = Predictions::with_intervals(&model, rows.as_deref(), &table, *interval)?;
    let explanation = explain.map(|row| explanation::text(&model, &table, &predictions, row)).transpose()?;
    match out {
        Some(path) => predictions.save_csv(path, &table, &declared)?,
        None if explanation.is_some() => {}
        None => {
            let mut text = Printer::default();
            predictions.write_csv(&table, &declared, &mut text)?;
            text.flush()?;
        }
    }
    if let Some(explanation) = explanation {
        explanation.lines().for_each(|line| say!("{line}"));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(Metrics { rmse, mae, r2, .. }) = predictions.metrics {
        let (rmse, mae, over) = (super::number(rmse), super::number(mae), predictions.measured_rows());
        match r2.is_nan() {
            false => command_line::note!("RMSE {rmse}, MAE {mae}, R² {r2:.4} over {over}"),
            true => command_line::note!("RMSE {rmse}, MAE {mae} over {over}; R² needs at least two different values"),
        }
    }
    let percent = predictions.percent;
    match (&predictions.why_no_intervals, predictions.coverage) {
        (Some(reason), _) => command_line::note!("note: {reason}"),
        (None, Some(coverage)) => {
            let over = predictions.measured_rows();
            command_line::note!(
                "the {percent} % intervals contain the true value in {:.1} % of {over}",
                100.0 * coverage
            );
        }
        (None, None) => {}
    }
    let columns = model.columns();
    table.notes_on(|name| columns.contains(&name)).for_each(|note| command_line::note!("note: {note}"));
    predictions.notes().iter().for_each(command_line::warn);
    Ok(ExitCode::SUCCESS)
}

/// Prints whole lines to stdout in batches.
#[derive(Default)]
struct Printer {
    text: Vec<u8>,
}

/// Minimum number of bytes printed at once.
const PRINTED: usize = 1 << 16;

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() >= PRINTED && bytes.ends_with(b"\n") {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Text with nothing to escape is written directly, which is several times faster.
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        let text = String::from_utf8_lossy(&self.text);
        if self.text.iter().all(is_plain) {
            match io::stdout().lock().write_all(&self.text) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
                _ => {}
            }
        } else if !text.is_empty() {
            command_line::print_line(format_args!("{}", text.trim_end_matches('\n')));
        }
        self.text.clear();
        Ok(())
    }
}
