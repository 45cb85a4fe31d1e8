//! `regression-studio train`: a training run without the window.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use command_line::say;
use command_line::{CHECK_FAILED, counted};
use indicatif::{ProgressBar, ProgressStyle};
use regression_studio::other_kind::{self, Comparison};
use regression_studio::results::Ending;
use regression_studio::results::{Metrics, Results};
use regression_studio::run_folder::{self, RunFolder};
use regression_studio::session::State;
use regression_studio::settings::{NetworkKind, Settings, Source, TrainingSettings};
use regression_studio::{SavedRun, Session, Snapshot, Table, trees};

use super::arguments::TrainArguments;
use super::{folds, number};

/// Exit code of an interrupted run: 128 + SIGINT, as in shells.
const INTERRUPTED: u8 = 130;
/// What a run does after its epochs.
const AFTER_EPOCHS: &str = "for metrics, intervals and importance";

/// What the time of a run is spent on: all that the user waits for.
struct Times {
    start: Instant,
    /// The end of each part, since the start, and what it was for.
    parts: Vec<(Duration, &'static str)>,
}

impl Times {
    fn start() -> Self {
        Self { start: Instant::now(), parts: Vec::new() }
    }

    /// Ends a part now, which began at the end of the one before. Parts of the same name that follow each other are one.
    fn end(&mut self, part: &'static str) {
        if self.parts.last().is_some_and(|(_, of)| *of == part) {
            self.parts.pop();
        }
        self.parts.push((self.start.elapsed(), part));
    }

    fn in_all(&self) -> Duration {
        self.start.elapsed()
    }

    /// As "5.1 s in all: 1.0 s to read the table, …".
    fn in_words(&self) -> String {
        let mut before = Duration::ZERO;
        let part = |&(end, part): &(Duration, &str)| {
            let seconds = (end - std::mem::replace(&mut before, end)).as_secs_f64();
            format!("{seconds:.2} s {part}")
        };
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        format!("{:.2} s in all: {}.", self.in_all().as_secs_f64(), parts.join(", "))
    }
}

/// Interval between checkpoints.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode> {
    let mut times = Times::start();
    let mut values = arguments.set.clone();
    values.extend(arguments.epochs.map(|epochs| format!("training.epochs={epochs}")));
    values.extend(arguments.seed.map(|seed| format!("training.seed={seed}")));
    let mut settings = Settings::read(&arguments.config)?.with_values(&values).map_err(anyhow::Error::msg)?;
    require_valid(&settings)?;
    if let Some(folds) = arguments.folds {
        return folds::run(arguments, settings, folds.into());
    }
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(&arguments.config));
    let table = match &settings.data.source {
        Source::File(table) => Some(table.as_path()),
        Source::Synthetic { .. } => None,
    };
    // A run is resumed by its own settings, too, which are written back as they are.
    let config = (!arguments.resume).then_some(arguments.config.as_path());
    run_folder::require_other_files(&folder, "--out", &table.into_iter().chain(config).collect::<Vec<_>>())?;
    let run_folder = RunFolder::lock(&folder)?;
    let run = run_to_resume(&folder, &settings, arguments.resume)?;
    let table = Arc::new(settings.data.table()?);
    times.end("to read the table");
    match &run {
        Some(run) => settings.training.fit_to_run(&run.settings.training),
        None => settings.fit_to(&table),
    }
    let problems = settings.problems(Some(&table));
    if let Some(problem) = problems.first() {
        bail!("{}: {problem}", arguments.config.display());
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
    let snapshot = watch(session, &run_folder, shown, is_text, &mut times)?;
    let code = match &snapshot.state {
        State::Failed(message) => bail!("{message}"),
        State::Diverged(message) => {
            command_line::note!("error: {message}");
            // Without a complete epoch there is nothing to resume; the folder must accept a new run.
            if snapshot.history.is_empty() && run_folder::holds_run(&folder) {
                run_folder.remove()?;
            }
            return Ok(ExitCode::from(CHECK_FAILED));
        }
        State::Finished(Ending::Stopped) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::SUCCESS,
    };
    let mut run = snapshot.run.clone();
    if let Some(run) = &run {
        run_folder.save(run)?;
    }
    times.end("to save the run");
    let to_compare = to_compare.filter(|_| code == ExitCode::SUCCESS);
    if let (Some(table), Some(of_run), true) = (&to_compare, &mut run, arguments.trees) {
        *of_run = Arc::new(trees::add(table, of_run).map_err(anyhow::Error::msg)?);
        run_folder.save(of_run)?;
        times.end("for the trees");
    }
    let results = run.as_ref().and_then(|run| run.ended.as_ref()).map(|(_, results)| results);
    if let Some(results) = results.filter(|_| is_text) {
        show(results, &snapshot.state, kind, &folder);
        say!("saved to {}", folder.display());
    }
    let comparison = match (&to_compare, &run) {
        (Some(table), Some(run)) if arguments.compare_kinds => compared(table, run)?,
        _ => None,
    };
    if arguments.compare_kinds {
        times.end("for the other kind of network");
    }
    if let Some(results) = results.filter(|_| !is_text) {
        let mut results = serde_json::to_value(results)?;
        results["elapsed_seconds"] = times.in_all().as_secs_f64().into();
        if let Some(comparison) = comparison {
            results["comparison"] = serde_json::to_value(comparison)?;
        }
        say!("{results}");
    }
    if let Some(comparison) = comparison.filter(|_| is_text) {
        say!("{}", comparison.in_words());
        if comparison.is_other_better() {
            let other = serde_json::to_string(&comparison.kind.other())?;
            say!("To train it: --set network.kind={other} --out FOLDER.");
        }
    }
    if is_text {
        say!("{}", times.in_words());
    }
    if code == ExitCode::from(INTERRUPTED) {
        command_line::note!("interrupted: repeat the command with --resume to continue");
    }
    Ok(code)
}

/// Trains the other kind of network, and compares it with the run.
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

/// The run in the folder if `resume`, else `None`; an existing run is never overwritten.
fn run_to_resume(folder: &Path, settings: &Settings, resume: bool) -> Result<Option<SavedRun>> {
    if !resume {
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

/// The first section with a difference that prevents resuming; epochs, patience, device and threads may differ.
fn difference(kept: &Settings, wanted: &Settings) -> Option<&'static str> {
    let full = |settings: &Settings| run_folder::with_full_path(settings);
    let (kept, wanted) = (full(kept), full(wanted));
    let mut wanted_training = wanted.training;
    wanted_training.fit_to_run(&kept.training);
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

/// Prints the run's epochs from `shown` on, if `is_text`, until it ends; saves it periodically, and stops it on Ctrl-C.
fn watch(
    session: Session,
    folder: &RunFolder,
    mut shown: usize,
    is_text: bool,
    times: &mut Times,
) -> Result<Arc<Snapshot>> {
    let (sender, receiver) = channel();
    let on_interrupt = Mutex::new(sender.clone());
    session.set_wake(Box::new(move || {
        let _ = sender.send(false);
    }));
    let mut is_interrupted = false;
    ctrlc::set_handler(move || {
        if std::mem::replace(&mut is_interrupted, true) {
            std::process::exit(INTERRUPTED.into());
        }
        // After the run, which is saved by then, nothing waits for the request.
        if on_interrupt.lock().is_ok_and(|sender| sender.send(true).is_err()) {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    let style = ProgressStyle::with_template("training {wide_bar} {percent} %, {msg}");
    let bar = ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let (mut saved, mut is_announced, mut is_prepared): (Option<Instant>, _, _) = (None, false, false);
    loop {
        // The timeout covers snapshots published before the callback was set.
        match receiver.recv_timeout(Duration::from_millis(200)) {
            Ok(true) => session.stop(),
            Ok(false) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(session.wait()),
        }
        let snapshot = session.snapshot();
        if !is_prepared && !snapshot.device.is_empty() {
            is_prepared = true;
            times.end("to prepare its rows");
        }
        if is_text && !is_announced && !snapshot.device.is_empty() {
            is_announced = true;
            snapshot.findings.iter().for_each(|finding| say!("finding: {finding}"));
            snapshot.notes.iter().for_each(|note| say!("note: {note}"));
            say!("{}, {}", snapshot.device, counted(snapshot.inputs.len(), "input"));
        }
        for record in snapshot.history.iter().skip(shown).filter(|_| is_text) {
            bar.suspend(|| {
                say!(
                    "Epoch {}, training error {:.4}, validation error {:.4}, {:.2} s.",
                    record.epoch,
                    record.train_rmse,
                    record.validation_rmse,
                    record.seconds
                );
            });
        }
        if snapshot.history.len() > shown {
            times.end("for the epochs");
        }
        shown = snapshot.history.len();
        bar.set_length((snapshot.epochs * snapshot.steps).max(1) as u64);
        bar.set_position((snapshot.epoch * snapshot.steps + snapshot.step) as u64);
        bar.set_message(snapshot.seconds_left.map(|seconds| format!("{seconds:.0} s left")).unwrap_or_default());
        if snapshot.state.has_ended() {
            times.end(AFTER_EPOCHS);
            bar.finish_and_clear();
            return Ok(snapshot);
        }
        let is_due = save_is_due(saved.map(|saved| saved.elapsed()));
        if let Some(run) = snapshot.run.as_ref().filter(|_| is_due) {
            folder.save(run)?;
            saved = Some(Instant::now());
        }
    }
}

/// Whether to save the run, if the last save was this long ago. The first one is at the start of training: a process that is killed
/// leaves a run to resume.
fn save_is_due(since_last: Option<Duration>) -> bool {
    since_last.is_none_or(|elapsed| elapsed >= SAVE_INTERVAL)
}

/// Features whose importance is printed.
const SHOWN_FEATURES: usize = 10;

fn show(results: &Results, state: &State, kind: NetworkKind, folder: &Path) {
    let why = match state {
        State::Finished(Ending::EarlyStopped) => "the validation error no longer decreases",
        State::Finished(Ending::Stopped) => "interrupted",
        _ => "all epochs done",
    };
    let epochs = counted(results.epochs, "epoch");
    say!("{epochs}, {:.2} s of training: {why}. Best epoch: {}.", results.seconds, results.best_epoch);
    let is_log = results.parts[0].network.r2_log.is_some();
    let log_column = if is_log { format!("{:>11}", "R² of logs") } else { String::new() };
    if results.best_epoch == results.epochs
        && kind == NetworkKind::Layers
        && matches!(state, State::Finished(Ending::AllEpochs))
    {
        say!("The best epoch is the last: with more of them (--epochs) the error may fall further.");
    }
    say!("{:<11}{:>9}  {:<8}{:>12}{:>12}{:>10}{log_column}", "part", "rows", "model", "RMSE", "MAE", "R²");
    for part in &results.parts {
        for (model, metrics) in part.models() {
            let log = metrics.r2_log.map(|r2| format!("{:>11}", share(r2))).unwrap_or_default();
            let Metrics { rmse, mae, r2, .. } = *metrics;
            let (name, rows) = (&part.name, part.rows);
            let [rmse, mae, r2] = [number(rmse), number(mae), share(r2)];
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
    if let Some(intervals) = &results.intervals {
        say!("{}", intervals.in_words(number));
    }
    if !results.importance.is_empty() {
        say!("Importance, by the error if a feature's values are exchanged between rows:");
        for of in results.importance.iter().take(SHOWN_FEATURES) {
            say!("  {} × {:.2}", of.column, of.error_factor);
        }
        let more = results.importance.len().saturating_sub(SHOWN_FEATURES);
        if more > 0 {
            say!("  and {more} more: see {}", folder.join(run_folder::CARD).display());
        }
    }
}

/// R² with four decimals, or a bound if it is far below 0.
pub(super) fn share(r2: f64) -> String {
    match r2 {
        _ if r2.is_nan() => "–".to_owned(),
        _ if r2 < -99.0 => "< -99".to_owned(),
        // Adding 0 makes a rounded -0.0000 positive.
        _ => format!("{:.4}", (r2 * 1e4).round() / 1e4 + 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_saved_at_its_start_and_then_every_five_seconds() {
        assert!(save_is_due(None));
        assert!(!save_is_due(Some(Duration::from_millis(4999))));
        assert!(save_is_due(Some(Duration::from_secs(5))));
    }
}
