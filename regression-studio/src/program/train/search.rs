//! `regression-studio train --search`: a random search for settings, followed by the best run.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use command_line::{CHECK_FAILED, counted, say};
use regression_studio::run_folder::{self, RunFolder};
use regression_studio::search::{self, Search, Tried};
use regression_studio::{Session, Settings};

use super::{INTERRUPTED, default_folder, report, require_other_files};
use crate::program::arguments::TrainArguments;
use crate::program::{number, r_squared};

/// Number of runs printed at the end.
const SHOWN: usize = 10;

/// Tries `runs` settings, trains the best as an ordinary run, and saves everything to the folder.
pub(super) fn run(arguments: &TrainArguments, mut settings: Settings, runs: usize) -> Result<ExitCode> {
    let start = Instant::now();
    let named = |message: String| anyhow::anyhow!("{}: {message}", arguments.name().display());
    search::require_valid(&settings).map_err(|error| named(error.to_string()))?;
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(arguments.name()));
    require_other_files(arguments, &settings, &folder)?;
    let run_folder = RunFolder::lock(&folder)?;
    if !arguments.resume && !search::is_in(&folder) && run_folder::holds_run(&folder) {
        bail!("{}: the folder contains a run: choose another folder with --out", folder.display());
    }
    let table = Arc::new(settings.data.table()?);
    settings.fill_in_by_rows(&table);
    if let Some(problem) = settings.problems(Some(&table)).first() {
        return Err(named(problem.to_string()));
    }
    let is_text = !arguments.json;
    let warn = |warning: String| command_line::warn(format_args!("{warning}"));
    let mut search = Search::open(&folder, &table, &settings, arguments.resume, warn)?;
    if is_text {
        let (rows, columns) = (counted(table.rows(), "row"), counted(table.columns().len(), "column"));
        say!("{}: {rows}, {columns}", table.source());
        search.findings.iter().for_each(|finding| say!("finding: {finding}"));
        search.notes.iter().for_each(|note| say!("note: {note}"));
        let done = search.ranked(runs).len();
        if done > 0 {
            say!("{done} of {} done before", counted(runs, "run"));
        }
    }
    let cancel = Arc::new(AtomicBool::new(false));
    cancel_on_interrupt(Arc::clone(&cancel))?;
    let is_complete = search.train(&table, runs, &cancel, |tried| {
        if is_text {
            let Tried { run, .. } = tried;
            say!("Run {run} of {runs}: {}: {}.", settings_in_words(tried), error_in_words(tried));
        }
    })?;
    search.save(runs)?;
    if !is_complete {
        return Ok(interrupted(search.ranked(runs).len(), runs));
    }
    let ranked = search.ranked(runs);
    let Some(best) = ranked.first().filter(|best| best.validation.is_some()) else {
        command_line::note!("error: all {runs} runs diverged: choose smaller learning rates");
        return Ok(ExitCode::from(CHECK_FAILED));
    };
    search.save_best(best)?;
    let session = Session::start(Arc::clone(&table), search.settings_of(best));
    let Some(last) = session.wait_unless(&cancel, |_| ()) else { return Ok(interrupted(runs, runs)) };
    let (Some(run), Some(results)) = (&last.run, &last.results) else {
        bail!("the best run cannot be repeated: {:?}", last.state);
    };
    run_folder.save(run)?;
    let seconds = start.elapsed().as_secs_f64();
    if is_text {
        print_ranking(&ranked);
        say!(
            "{runs} settings were tried. The best was chosen by its validation error, which is therefore a little too good. The test part was \
             not used for the choice."
        );
        say!("The best run, trained again and measured on the test part:");
        report::print(results, &last.state, settings.network.kind, &folder);
        say!("saved to {}, with {}, {} and {}", folder.display(), search::RUNS, search::PLOT, search::BEST);
        say!("{seconds:.1} s in all");
    } else {
        let mut json = serde_json::to_value(&**results)?;
        let own = ranked.iter().position(|tried| tried.run == 1).map(|rank| rank + 1);
        json["search"] = serde_json::json!({ "tried": runs, "best": best, "rank_of_first": own, "runs": ranked });
        json["elapsed_seconds"] = seconds.into();
        say!("{json}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Sets `cancel` on Ctrl-C. A second Ctrl-C ends the program.
fn cancel_on_interrupt(cancel: Arc<AtomicBool>) -> Result<()> {
    ctrlc::set_handler(move || {
        if cancel.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    Ok(())
}

fn interrupted(done: usize, runs: usize) -> ExitCode {
    command_line::note!("interrupted: {done} of {runs} runs are done; repeat the command with --resume to continue");
    ExitCode::from(INTERRUPTED)
}

fn settings_in_words(tried: &Tried) -> String {
    format!("hidden {:?}, learning rate {}, regularization {}", tried.hidden, tried.learning_rate, tried.regularization)
}

fn error_in_words(tried: &Tried) -> String {
    match tried.validation {
        Some(of) => format!("validation RMSE {}, R² {}", number(of.rmse_in_unit), r_squared(of.r2)),
        None => "diverged".to_owned(),
    }
}

/// Prints the best runs, and the first run, which has the file's settings.
fn print_ranking(ranked: &[&Tried]) {
    say!(
        "{:>4}{:>5}  {:<20}{:>14}{:>16}{:>12}{:>17}{:>15}{:>9}",
        "rank",
        "run",
        "hidden layers",
        "learning rate",
        "regularization",
        "best epoch",
        "validation RMSE",
        "validation R²",
        "seconds"
    );
    for (index, tried) in ranked.iter().enumerate().filter(|(index, tried)| *index < SHOWN || tried.run == 1) {
        let Tried { run, hidden, learning_rate, regularization, seconds, validation, .. } = tried;
        let hidden = format!("{hidden:?}");
        let (epoch, rmse, r2) = match validation {
            Some(of) => (of.best_epoch.to_string(), number(of.rmse_in_unit), r_squared(of.r2)),
            None => ("–".to_owned(), "diverged".to_owned(), "–".to_owned()),
        };
        let own = if *run == 1 { "  the file's settings" } else { "" };
        say!(
            "{:>4}{run:>5}  {hidden:<20}{learning_rate:>14}{regularization:>16}{epoch:>12}{rmse:>17}{r2:>15}{seconds:>9.2}{own}",
            index + 1
        );
    }
}
