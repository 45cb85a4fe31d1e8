//! A worker process that runs cases, and that a case may crash.

use std::fs::File;
use std::io::{BufRead, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::finding::{Case, Expected, Finding, Kind, Verdict};
use crate::memory;
use crate::random::Random;
use crate::targets::{Reader, Target};

/// Exit code of a worker whose case exceeded the time limit.
pub(crate) const TOO_LONG: u8 = 97;

/// The cases of one worker.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Share {
    #[arg(long)]
    pub(crate) target: Target,
    #[arg(long)]
    pub(crate) seed: u64,
    /// Index of the first case.
    #[arg(long)]
    pub(crate) first: u64,
    /// Distance from one case's index to the next.
    #[arg(long)]
    pub(crate) step: u64,
    /// One past the index of the last case.
    #[arg(long)]
    pub(crate) end: u64,
    /// Milliseconds after which no further case starts.
    #[arg(long)]
    pub(crate) milliseconds: u64,
    /// The worker's own folder.
    #[arg(long)]
    pub(crate) folder: PathBuf,
}

/// A worker's progress, kept in a file so that the supervisor can read it after a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// One more than the index of the running or last case; 0 before the first case and after the last.
    pub(crate) begun: u64,
    pub(crate) cases: u64,
    pub(crate) rejected: u64,
    pub(crate) accepted: u64,
    /// Peak memory of a case, in bytes.
    pub(crate) peak: u64,
}

impl Done {
    /// Name of the file in the worker's folder.
    const FILE: &'static str = "done";

    fn write(&self, mut file: &File) -> std::io::Result<()> {
        let words = [self.begun, self.cases, self.rejected, self.accepted, self.peak].map(u64::to_le_bytes);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(words.as_flattened())
    }

    /// Progress of the worker in `folder`; zeros if it wrote none.
    pub(crate) fn read(folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join(Self::FILE)).unwrap_or_default();
        match bytes.as_chunks::<8>().0 {
            &[begun, cases, rejected, accepted, peak] => {
                let [begun, cases, rejected, accepted, peak] =
                    [begun, cases, rejected, accepted, peak].map(u64::from_le_bytes);
                Self { begun, cases, rejected, accepted, peak }
            }
            _ => Self::default(),
        }
    }
}

/// Runs the worker's cases, and writes each finding as one line of JSON to stdout.
pub(crate) fn run(share: &Share) -> Result<ExitCode> {
    let reader = prepare(share.target, &share.folder)?;
    let file = File::create(share.folder.join(Done::FILE)).context("cannot create the progress file")?;
    let (begin, limit) = (Instant::now(), Duration::from_millis(share.milliseconds));
    let mut done = Done::default();
    let mut index = share.first;
    while index < share.end && begin.elapsed() < limit {
        let case = reader.case(&mut Random::of(share.seed, share.target.name(), index));
        done.begun = index + 1;
        done.write(&file)?;
        let finding = examine(&*reader, &case);
        done.cases += 1;
        done.peak = done.peak.max(memory::peak_of_case() as u64);
        match finding {
            Ok(true) => done.accepted += 1,
            Ok(false) => done.rejected += 1,
            Err(finding) => write_finding(&Finding { index, ..finding })?,
        }
        index += share.step;
    }
    done.begun = 0;
    done.write(&file)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads lines of `NAME`, a tab and `PATH` from stdin, and answers each with one line of JSON: a finding, or null.
pub(crate) fn serve(target: Target, folder: &Path) -> Result<ExitCode> {
    let reader = prepare(target, folder)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (name, path) = line.split_once('\t').context("a line of stdin is not a name, a tab and a path")?;
        let case = Case { name: name.to_owned(), bytes: std::fs::read(path)?, expected: Expected::Any };
        match examine(&*reader, &case) {
            Ok(_) => write_line("null")?,
            Err(finding) => write_finding(&finding)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn prepare(target: Target, folder: &Path) -> Result<Box<dyn Reader>> {
    // Parallel readers use this thread only, since there is a worker for each core.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let reader = target.reader(folder)?;
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("an unknown place".to_owned(), |place| {
            format!("{}:{}", without_registry(place.file()), place.line())
        });
        let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
        if TRANSITIONS.load(SeqCst).is_multiple_of(2) {
            eprintln!("the attack itself panicked at {place}: {message}");
        }
        *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (place, message);
    }));
    std::thread::spawn(move || watch(target.time_limit()));
    Ok(reader)
}

/// A source file's path relative to the package registry or the workspace.
fn without_registry(path: &str) -> &str {
    let registry = path.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    registry.map_or(path, |(_, rest)| rest)
}

/// Source line and message of the last panic.
static PANIC: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));
/// Number of times that a case began or ended: odd while one runs.
static TRANSITIONS: AtomicU64 = AtomicU64::new(0);

/// Runs one case: `Ok` says whether it was accepted, `Err` has the defect.
fn examine(reader: &dyn Reader, case: &Case) -> Result<bool, Finding> {
    memory::begin_case();
    TRANSITIONS.fetch_add(1, SeqCst);
    let verdict = catch_unwind(AssertUnwindSafe(|| reader.read(case)));
    TRANSITIONS.fetch_add(1, SeqCst);
    let found = |kind, place, detail| Err(Finding { index: 0, kind, place, detail });
    match verdict.map(|verdict| verdict.judged(case.expected)) {
        Ok(Verdict::Accepted) => Ok(true),
        Ok(Verdict::Rejected { .. }) => Ok(false),
        Ok(Verdict::Wrong(wrong)) => found(Kind::Wrong, wrong.promise.to_owned(), wrong.detail),
        Err(_) => {
            let (place, message) = PANIC.lock().map(|panic| panic.clone()).unwrap_or_default();
            found(Kind::Panic, place, message)
        }
    }
}

/// Wall-clock time that a case may take, in multiples of its limit of processor time: a deadlock needs no processor.
const MAX_WAITING: u32 = 60;

/// Ends the process if a case takes too long: by processor time, so that other load on the machine is no defect.
fn watch(limit: Duration) {
    let (mut seen, mut since, mut busy_before) = (0, Instant::now(), busy());
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let transitions = TRANSITIONS.load(SeqCst);
        if transitions != seen {
            (seen, since, busy_before) = (transitions, Instant::now(), busy());
            continue;
        }
        let elapsed = since.elapsed();
        let worked = busy().zip(busy_before).map_or(elapsed, |(now, before)| now.saturating_sub(before));
        if transitions % 2 == 1 && (worked > limit || elapsed > limit * MAX_WAITING) {
            std::process::exit(TOO_LONG.into());
        }
    }
}

/// The processor time of the main thread, which runs the cases; `None` if the system does not report it.
fn busy() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn write_finding(finding: &Finding) -> Result<()> {
    write_line(&serde_json::to_string(finding)?)
}

fn write_line(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}
