//! `regression-studio train`: a training without a window.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use regression_studio::results::{Metrics, Results};
use regression_studio::run_folder::{self, RunFolder};
use regression_studio::session::{Ending, State};
use regression_studio::settings::{Settings, TrainingSettings};
use regression_studio::{Run, Session, Snapshot};
use timing::program::CHECK_FAILED;
use timing::say;

use super::arguments::TrainArguments;
use super::with_warning;

/// The exit code of an interrupted training, as shells have it for SIGINT.
const INTERRUPTED: u8 = 130;
/// How often a training that goes on is kept.
const KEEP_EVERY: Duration = Duration::from_secs(5);

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode> {
    let settings = Settings::read(&arguments.config)?;
    require_right(&settings)?;
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(&arguments.config));
    let run_folder = RunFolder::lock(&folder)?;
    let run = run_to_go_on_with(&folder, &settings, arguments.resume)?;
    let table = Arc::new(settings.data.source.table()?);
    let problems = settings.problems(Some(&table));
    if let Some(problem) = problems.first() {
        bail!("{}: {problem}", arguments.config.display());
    }
    say!("{}: {} rows, {} columns", table.source(), table.rows(), table.columns().len());

    let shown = run.as_ref().map_or(0, |run| run.history.len());
    let session = match run {
        Some(run) => Session::resume(table, Run { settings, ..run }),
        None => Session::start(table, settings),
    };
    let snapshot = watch(session, &run_folder, shown)?;
    let code = match &snapshot.state {
        State::Failed(message) => bail!("{message}"),
        State::Diverged(message) => {
            timing::note!("error: {message}");
            // There is nothing to resume: the same command trains again, with other settings.
            if snapshot.history.is_empty() && run_folder::holds_run(&folder) {
                run_folder.remove()?;
            }
            return Ok(ExitCode::from(CHECK_FAILED));
        }
        State::Finished(Ending::Stopped) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::SUCCESS,
    };
    if let Some(run) = &snapshot.run {
        run_folder.save(run)?;
    }
    if let Some(results) = &snapshot.results {
        show(results, &snapshot.state);
    }
    say!("kept in {}", folder.display());
    if code == ExitCode::from(INTERRUPTED) {
        timing::note!("interrupted: the same command with --resume goes on");
    }
    Ok(code)
}

/// All problems that can be seen without the table, one line.
fn require_right(settings: &Settings) -> Result<()> {
    let problems: Vec<String> = settings.problems(None).iter().map(ToString::to_string).collect();
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("; ")) }
}

fn default_folder(config: &Path) -> PathBuf {
    let mut name = config.file_stem().unwrap_or_default().to_owned();
    name.push("-run");
    PathBuf::from(name)
}

/// The run in the folder, if it is to go on. Nothing that is there is overwritten otherwise.
fn run_to_go_on_with(folder: &Path, settings: &Settings, resume: bool) -> Result<Option<Run>> {
    if !resume {
        let is_run = run_folder::holds_run(folder);
        return if is_run {
            bail!("{}: there is a training already: --resume goes on with it, another --out keeps it", folder.display())
        } else {
            Ok(None)
        };
    }
    let run = with_warning(run_folder::read(folder)?);
    if let Some(what) = difference(&run.settings, settings) {
        bail!("{}: the training there has another {what}: begin a new one by another --out", folder.display());
    }
    Ok(Some(run))
}

/// The first part in which settings differ that must not. Only how long and where it is trained may be changed.
fn difference(kept: &Settings, wanted: &Settings) -> Option<&'static str> {
    let full = |settings: &Settings| run_folder::with_full_path(settings);
    let (kept, wanted) = (full(kept), full(wanted));
    let TrainingSettings { epochs, patience, device, threads, .. } = wanted.training;
    let training = TrainingSettings { epochs, patience, device, threads, ..kept.training };
    let same = [
        ("[data]", kept.data == wanted.data),
        ("[split]", kept.split == wanted.split),
        ("[network]", kept.network == wanted.network),
        ("[training]", training == wanted.training),
    ];
    same.into_iter().find(|(_, is_same)| !is_same).map(|(name, _)| name)
}

/// Shows the training until it has ended, from epoch `shown` on, keeps it now and then, and stops it on Ctrl-C.
fn watch(session: Session, folder: &RunFolder, mut shown: usize) -> Result<Arc<Snapshot>> {
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
        if let Ok(sender) = on_interrupt.lock() {
            let _ = sender.send(true);
        }
    })?;
    let style = ProgressStyle::with_template("training {wide_bar} {percent} %, {msg}");
    let bar = ProgressBar::new(1).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let (mut kept, mut said): (Option<Instant>, _) = (None, false);
    loop {
        // The time limit is for what was published before the wake was set.
        match receiver.recv_timeout(Duration::from_millis(200)) {
            Ok(true) => session.stop(),
            Ok(false) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(session.wait()),
        }
        let snapshot = session.snapshot();
        if !said && !snapshot.device.is_empty() {
            said = true;
            snapshot.notes.iter().for_each(|note| say!("note: {note}"));
            say!("{}, {} inputs", snapshot.device, snapshot.inputs.len());
        }
        for record in &snapshot.history[shown.min(snapshot.history.len())..] {
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
        shown = snapshot.history.len();
        bar.set_length((snapshot.epochs * snapshot.steps).max(1) as u64);
        bar.set_position((snapshot.epoch * snapshot.steps + snapshot.step) as u64);
        bar.set_message(snapshot.seconds_left.map(|seconds| format!("{seconds:.0} s left")).unwrap_or_default());
        if snapshot.state.has_ended() {
            bar.finish_and_clear();
            return Ok(snapshot);
        }
        // The first time as soon as the training begins: whenever the process is killed, there is a run to resume.
        let is_due = kept.is_none_or(|kept| kept.elapsed() >= KEEP_EVERY);
        if let Some(run) = snapshot.run.as_ref().filter(|_| is_due) {
            folder.save(run)?;
            kept = Some(Instant::now());
        }
    }
}

fn show(results: &Results, state: &State) {
    let why = match state {
        State::Finished(Ending::EarlyStopped) => "the validation error no longer becomes smaller",
        State::Finished(Ending::Stopped) => "interrupted",
        _ => "all epochs are done",
    };
    say!(
        "{} epochs, {:.2} s of training: {why}. Kept are the weights of epoch {}.",
        results.epochs,
        results.seconds,
        results.best_epoch
    );
    let is_log = results.parts[0].network.r2_log.is_some();
    let log_column = if is_log { format!("{:>12}", "R² of logs") } else { String::new() };
    say!("{:<12}{:>9}  {:<22}{:>14}{:>14}{:>14}{log_column}", "part", "rows", "by", "RMSE", "MAE", "R²");
    for part in &results.parts {
        let rows: [(&str, &Metrics); 3] =
            [("the network", &part.network), ("linear least squares", &part.linear), ("the mean", &part.mean)];
        for (by, metrics) in rows {
            let log = metrics.r2_log.map(|r2| format!("{r2:>12.4}")).unwrap_or_default();
            let Metrics { rmse, mae, r2, .. } = metrics;
            say!(
                "{:<12}{:>9}  {by:<22}{:>14}{:>14}{:>14}{log}",
                part.name,
                part.rows,
                number(*rmse),
                number(*mae),
                number(*r2)
            );
        }
    }
}

/// Five digits, whatever the size.
fn number(value: f64) -> String {
    if value == 0.0 || (0.001..1e6).contains(&value.abs()) { format!("{value:.4}") } else { format!("{value:.4e}") }
}
