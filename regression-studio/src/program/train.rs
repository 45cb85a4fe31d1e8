//! `regression-studio train`: a training run without the window.

mod report;
mod search;
mod times;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use command_line::say;
use command_line::{CHECK_FAILED, counted};
use regression_studio::cross_validation::Repeats;
use regression_studio::other_kind::{self, Comparison};
use regression_studio::results::{Ending, Results};
use regression_studio::run_folder::{self, RunFolder};
use regression_studio::search::{SearchError, is_in};
use regression_studio::session::State;
use regression_studio::settings::{Settings, Source, TrainingSettings};
use regression_studio::{SavedRun, Session, Table, trees};

use self::times::Times;
use self::watch::Watch;
use super::arguments::TrainArguments;
use super::cross_validation;

/// Exit code of an interrupted run: 128 + SIGINT, as in shells.
const INTERRUPTED: u8 = 130;

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode> {
    let mut times = Times::start();
    let mut settings = settings(arguments)?;
    let folds = arguments.folds.map(|folds| Repeats::Folds(folds.into()));
    let repeats = folds.or(arguments.seeds.map(|seeds| Repeats::Seeds(seeds.into())));
    if let Some(repeats) = repeats {
        return cross_validation::run(arguments, settings, repeats);
    }
    if let Some(runs) = arguments.search {
        return search::run(arguments, settings, runs.into());
    }
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(arguments.name()));
    require_other_files(arguments, &settings, &folder)?;
    let run_folder = RunFolder::lock(&folder)?;
    let run = run_to_resume(&folder, &settings, arguments.resume)?;
    let table = Arc::new(settings.data.table()?);
    times.end("to read the table");
    match &run {
        Some(run) => settings.training.fill_in_from(&run.settings.training),
        None => settings.fill_in_by_rows(&table),
    }
    if let Some(problem) = settings.problems(Some(&table)).first() {
        bail!("{}: {problem}", arguments.name().display());
    }
    let is_text = !arguments.json;
    if is_text {
        let (rows, columns) = (counted(table.rows(), "row"), counted(table.columns().len(), "column"));
        say!("{}: {rows}, {columns}", table.source());
    }

    let (shown, kind) = (run.as_ref().map_or(0, |run| run.history.len()), settings.network.kind);
    let to_compare = (arguments.compare_kinds || arguments.trees).then(|| Arc::clone(&table));
    let session = match run {
        Some(run) => Session::resume(table, SavedRun { settings, ..run }),
        None => Session::start(table, settings),
    };
    let watch = Watch { folder: &run_folder, times: &mut times, shown, is_text };
    let snapshot = watch.until_end(session)?;
    match &snapshot.state {
        State::Failed(message) => bail!("{message}"),
        State::Diverged(message) => {
            command_line::note!("error: {message}");
            // Without a complete epoch there is nothing to resume, and the folder must accept a new
            // run.
            if snapshot.history.is_empty() && run_folder::holds_run(&folder) {
                run_folder.remove()?;
            }
            return Ok(ExitCode::from(CHECK_FAILED));
        }
        _ => {}
    }
    let is_interrupted = matches!(snapshot.state, State::Finished(Ending::Stopped));
    let mut run = snapshot.run.clone();
    if let Some(run) = &run {
        run_folder.save(run)?;
    }
    times.end("to save the run");
    let to_compare = to_compare.filter(|_| !is_interrupted);
    if let (Some(table), Some(run), true) = (&to_compare, &mut run, arguments.trees) {
        *run = Arc::new(trees::add(table, run).map_err(anyhow::Error::msg)?);
        run_folder.save(run)?;
        times.end("for the trees");
    }
    let results = run.as_ref().and_then(|run| run.ended.as_ref()).map(|(_, results)| results);
    if let Some(results) = results.filter(|_| is_text) {
        report::print(results, &snapshot.state, kind, &folder);
        say!("saved to {}", folder.display());
    }
    let comparison = match (&to_compare, &run) {
        (Some(table), Some(run)) if arguments.compare_kinds => compared(table, run)?,
        _ => None,
    };
    if arguments.compare_kinds {
        times.end("for the other kind of network");
    }
    if is_text {
        if let Some(comparison) = comparison {
            print_comparison(&comparison)?;
        }
        say!("{}", times.in_words());
    } else if let Some(results) = results {
        print_json(results, comparison.as_ref(), &times)?;
    }
    if is_interrupted {
        command_line::note!("interrupted: repeat the command with --resume to continue");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file's settings, overridden by the command line.
fn settings(arguments: &TrainArguments) -> Result<Settings> {
    let mut values = arguments.set.clone();
    values.extend(arguments.epochs.map(|epochs| format!("training.epochs={epochs}")));
    values.extend(arguments.seed.map(|seed| format!("training.seed={seed}")));
    let mut settings = arguments
        .config
        .as_deref()
        .map_or_else(|| Ok(Settings::demo()), Settings::read)?
        .with_values(&values)
        .map_err(anyhow::Error::msg)?;
    if arguments.sheet.is_some() {
        settings.data.sheet.clone_from(&arguments.sheet);
    }
    require_valid(&settings)?;
    Ok(settings)
}

/// Checks that the run does not overwrite a file that it reads.
fn require_other_files(arguments: &TrainArguments, settings: &Settings, folder: &Path) -> Result<()> {
    let table = match &settings.data.source {
        Source::File(table) => Some(table.as_path()),
        Source::Demo { .. } | Source::Synthetic { .. } => None,
    };
    // A resumed run may read its own settings file, because that is written back unchanged.
    let config = arguments.config.as_deref().filter(|_| !arguments.resume);
    Ok(run_folder::require_other_files(folder, "--out", &table.into_iter().chain(config).collect::<Vec<_>>())?)
}

fn print_json(results: &Results, comparison: Option<&Comparison>, times: &Times) -> Result<()> {
    let mut results = serde_json::to_value(results)?;
    results["elapsed_seconds"] = times.in_all().as_secs_f64().into();
    if let Some(comparison) = comparison {
        results["comparison"] = serde_json::to_value(comparison)?;
    }
    say!("{results}");
    Ok(())
}

fn print_comparison(comparison: &Comparison) -> Result<()> {
    say!("{}", comparison.in_words());
    if comparison.is_other_better() {
        let other = serde_json::to_string(&comparison.kind.other())?;
        say!("To train it: --set network.kind={other} --out FOLDER.");
    }
    Ok(())
}

/// Trains the other kind of network and compares it with the run.
fn compared(table: &Arc<Table>, run: &SavedRun) -> Result<Option<Comparison>> {
    let other = other_kind::train(table, &run.settings, &AtomicBool::new(false), |_| ());
    Ok(other.map_err(anyhow::Error::msg)?.and_then(|other| Comparison::of(run, &other)))
}

/// Fails with all problems that do not depend on the table, in one line.
fn require_valid(settings: &Settings) -> Result<()> {
    let problems: Vec<String> = settings.problems(None).iter().map(ToString::to_string).collect();
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("; ")) }
}

fn default_folder(config: &Path) -> PathBuf {
    let mut name = config.file_stem().unwrap_or_default().to_owned();
    name.push("-run");
    PathBuf::from(name)
}

/// The run in the folder if `resume` is set, otherwise `None`. An existing run is never
/// overwritten.
fn run_to_resume(folder: &Path, settings: &Settings, resume: bool) -> Result<Option<SavedRun>> {
    if !resume {
        if is_in(folder) {
            return Err(SearchError::Exists { path: folder.to_path_buf() }.into());
        }
        let is_run = run_folder::holds_run(folder);
        return if is_run {
            bail!(
                "{}: the folder contains a run: resume it with --resume, or choose another folder with --out",
                folder.display()
            )
        } else {
            Ok(None)
        };
    }
    let run = run_folder::read(folder)?.into_content(command_line::warn);
    if let Some(section) = difference(&run.settings, settings) {
        bail!("{}: its run has another {section}: start a new run with another --out", folder.display());
    }
    Ok(Some(run))
}

/// The first section with a difference that prevents resuming. Epochs, patience, device and threads
/// may differ.
fn difference(kept: &Settings, wanted: &Settings) -> Option<&'static str> {
    let full = |settings: &Settings| run_folder::with_full_path(settings);
    let (kept, wanted) = (full(kept), full(wanted));
    let mut wanted_training = wanted.training;
    wanted_training.fill_in_from(&kept.training);
    let TrainingSettings { epochs, patience, device, threads, .. } = wanted_training;
    let training = TrainingSettings { epochs, patience, device, threads, ..kept.training };
    let same = [
        ("[data]", kept.data == wanted.data),
        ("[split]", kept.split == wanted.split),
        ("[network]", kept.network == wanted.network),
        ("[training]", training == wanted_training),
    ];
    same.into_iter().find(|(_, is_same)| !is_same).map(|(name, _)| name)
}
