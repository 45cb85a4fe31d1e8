//! Attacks on whole programs: odd command lines, kills, and two processes in one folder.

mod cli;
mod kill;
mod process;
mod sandbox;
mod training;
mod two;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::finding::{Finding, Kind};
use crate::random::Random;
use crate::supervisor::Plan;
use crate::table::Counts;
use crate::targets::Target;

/// The packages whose programs are attacked; each program has its package's name.
pub(crate) const PACKAGES: [&str; 9] = [
    "activation_functions",
    "compute-shader",
    "filters",
    "matmul_functions",
    "max_functions",
    "neural-net",
    "regression-studio",
    "report",
    "xtask",
];

/// The folder of the programs' executables.
#[derive(Clone, Copy)]
struct Programs<'a>(&'a Path);

impl Programs<'_> {
    /// The program's executable.
    fn path(self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// Outcome of a case.
struct Outcome {
    /// Number of cases that it counts as: a training run may be killed several times.
    cases: u64,
    /// Whether the program rejected its input.
    is_rejected: bool,
    /// Peak memory of a process, in bytes.
    peak: u64,
    /// The defect that the case showed.
    defect: Option<Defect>,
}

/// Behaviour that no program may show.
struct Defect {
    kind: Kind,
    place: String,
    detail: String,
}

impl Defect {
    fn wrong(place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind: Kind::Wrong, place: place.into(), detail: detail.into() }
    }
}

/// An attack on programs.
trait Attack: Sync {
    /// Runs a case.
    ///
    /// # Errors
    /// If the case cannot run, for example because its folder cannot be created.
    fn case(&self, random: &mut Random) -> Result<Outcome>;
}

fn attack<'a>(target: Target, programs: Option<&'a Path>) -> Result<Box<dyn Attack + 'a>> {
    let programs =
        programs.context("the folder of the programs is not given: start the attack with cargo xtask attack")?;
    let programs = Programs(programs);
    Ok(match target {
        Target::Cli => Box::new(cli::CommandLines::new(programs)?),
        Target::Kill => Box::new(kill::Kills::new(programs)?),
        Target::Two => Box::new(two::Two::new(programs)?),
        _ => bail!("{} runs no programs", target.name()),
    })
}

/// Runs the cases of a target on all cores, and passes each finding to `found`.
///
/// # Errors
/// If the attack cannot run.
pub(crate) fn run(
    target: Target,
    plan: Plan,
    programs: Option<&Path>,
    found: &(dyn Fn(Finding) + Sync),
) -> Result<Counts> {
    let attack = attack(target, programs)?;
    let (begin, next, all) = (Instant::now(), AtomicU64::new(0), Mutex::new(Counts::default()));
    let work = || -> Result<()> {
        loop {
            let index = next.fetch_add(1, SeqCst);
            if index >= plan.cases || begin.elapsed() >= plan.time {
                return Ok(());
            }
            let shown = attack.case(&mut Random::of(plan.seed, target.name(), index))?;
            let mut all = all.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            all.cases += shown.cases;
            all.peak_bytes = all.peak_bytes.max(shown.peak);
            match shown.defect {
                Some(Defect { kind, place, detail }) => {
                    all.count(kind);
                    drop(all);
                    found(Finding { index, kind, place, detail });
                }
                None if shown.is_rejected => all.rejected += shown.cases,
                None => all.accepted += shown.cases,
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<Result<()>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().map(|handle| handle.join().expect("a thread of the attack does not panic")).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    let mut counts = all.into_inner().unwrap_or_default();
    counts.seconds = begin.elapsed().as_secs_f64();
    Ok(counts)
}

/// Runs one case, and returns its finding.
///
/// # Errors
/// If the attack cannot run.
pub(crate) fn run_one(target: Target, plan: Plan, index: u64, programs: Option<&Path>) -> Result<Option<Finding>> {
    let shown = attack(target, programs)?.case(&mut Random::of(plan.seed, target.name(), index))?;
    Ok(shown.defect.map(|Defect { kind, place, detail }| Finding { index, kind, place, detail }))
}
