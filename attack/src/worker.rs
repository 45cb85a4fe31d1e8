//! A process that runs cases, and may die of one.

use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::fs::FileExt;
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

/// The exit code of a worker whose case took longer.
pub(crate) const TOO_LONG: u8 = 97;

/// What a worker is to do.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Share {
    #[arg(long)]
    pub(crate) target: Target,
    #[arg(long)]
    pub(crate) seed: u64,
    /// The first case.
    #[arg(long)]
    pub(crate) first: u64,
    /// From one case to the next.
    #[arg(long)]
    pub(crate) step: u64,
    /// One past the last case.
    #[arg(long)]
    pub(crate) end: u64,
    /// Milliseconds after which no further case begins.
    #[arg(long)]
    pub(crate) milliseconds: u64,
    /// A folder of the worker's own.
    #[arg(long)]
    pub(crate) folder: PathBuf,
}

/// What a worker has done, kept in a file so that it is known after the worker's death.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// One more than the case that runs or ran last; 0 before the first.
    pub(crate) begun: u64,
    pub(crate) cases: u64,
    pub(crate) rejected: u64,
    pub(crate) accepted: u64,
    /// The most bytes that a case held.
    pub(crate) peak: u64,
}

impl Done {
    /// The file's name in the worker's folder.
    const FILE: &'static str = "done";

    fn write(&self, file: &File) -> std::io::Result<()> {
        let words = [self.begun, self.cases, self.rejected, self.accepted, self.peak].map(u64::to_le_bytes);
        file.write_all_at(words.as_flattened(), 0)
    }

    /// What the worker in `folder` has done.
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

/// Runs the worker's cases. Each finding is one line of JSON on stdout.
pub(crate) fn run(share: &Share) -> Result<ExitCode> {
    let reader = prepare(share.target, &share.folder)?;
    let file = File::create(share.folder.join(Done::FILE)).context("cannot keep the count")?;
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
            Err(finding) => tell(&Finding { index, ..finding })?,
        }
        index += share.step;
    }
    done.begun = 0;
    done.write(&file)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads lines `NAME`, a tab and `PATH` from stdin, and answers each by a line: a finding, or null.
pub(crate) fn serve(target: Target, folder: &Path) -> Result<ExitCode> {
    let reader = prepare(target, folder)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (name, path) = line.split_once('\t').context("a line is a name, a tab and a path")?;
        let case = Case { name: name.to_owned(), bytes: std::fs::read(path)?, expected: Expected::Any };
        match examine(&*reader, &case) {
            Ok(_) => say("null")?,
            Err(finding) => tell(&finding)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn prepare(target: Target, folder: &Path) -> Result<Box<dyn Reader>> {
    // Readers that work in parallel do so on this thread alone: there is a worker for each core.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let reader = target.reader(folder)?;
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("an unknown place".to_owned(), |place| {
            format!("{}:{}", without_registry(place.file()), place.line())
        });
        let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
        if TURNS.load(SeqCst).is_multiple_of(2) {
            eprintln!("the attack itself panicked at {place}: {message}");
        }
        *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = (place, message);
    }));
    std::thread::spawn(move || watch(target.time_limit()));
    Ok(reader)
}

/// A source file's path from the registry's folder or the workspace's on.
fn without_registry(path: &str) -> &str {
    let registry = path.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    registry.map_or(path, |(_, rest)| rest)
}

/// Where the last panic was, and what it said.
static PANIC: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));
/// How many cases have begun or ended: odd while one runs.
static TURNS: AtomicU64 = AtomicU64::new(0);

/// Runs one case: whether it was accepted, or what it showed.
fn examine(reader: &dyn Reader, case: &Case) -> Result<bool, Finding> {
    memory::begin_case();
    TURNS.fetch_add(1, SeqCst);
    let verdict = catch_unwind(AssertUnwindSafe(|| reader.read(case)));
    TURNS.fetch_add(1, SeqCst);
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

/// Ends the process if a case takes too long.
fn watch(limit: Duration) {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let turns = TURNS.load(SeqCst);
        if turns != seen {
            (seen, since) = (turns, Instant::now());
        } else if turns % 2 == 1 && since.elapsed() > limit {
            std::process::exit(TOO_LONG.into());
        }
    }
}

fn tell(finding: &Finding) -> Result<()> {
    say(&serde_json::to_string(finding)?)
}

fn say(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}
