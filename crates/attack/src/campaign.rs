//! An attack on the chosen targets: the time of each, the defects found, and the files kept of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use command_line::CHECK_FAILED;
use serde_json::json;

use crate::AttackArguments;
use crate::finding::{Case, Expected, Finding};
use crate::programs;
use crate::random::Random;
use crate::shrink::shrink;
use crate::supervisor::{self, Examiner, Plan, kept_folder};
use crate::table::{Counts, table};
use crate::targets::Target;

/// Default duration of an attack, in minutes.
const MINUTES: f64 = 2.0;

/// A distinct defect: its first case, and the number of cases that showed it.
struct DistinctDefect {
    first: Finding,
    cases: u64,
}

/// The targets in `only`, or all targets if it is empty.
pub(crate) fn chosen(only: &[Target]) -> Vec<Target> {
    if only.is_empty() { Target::ALL.to_vec() } else { only.to_vec() }
}

/// Runs the attack, or runs one case or reads one kept file again.
///
/// # Errors
/// If the attack itself cannot run.
pub(crate) fn run(arguments: &AttackArguments) -> Result<ExitCode> {
    if let Some(file) = &arguments.file {
        return read_again(single_target(&arguments.only)?, file);
    }
    if let Some(case) = arguments.case {
        return run_again(single_target(&arguments.only)?, arguments, case);
    }
    let targets = chosen(&arguments.only);
    let time = match (arguments.minutes, arguments.cases) {
        (None, Some(_)) => Duration::MAX,
        (minutes, _) => Duration::from_secs_f64(60.0 * minutes.unwrap_or(MINUTES) / targets.len() as f64),
    };
    let plan = Plan { seed: arguments.seed, cases: arguments.cases.unwrap_or(u64::MAX), time };
    let (mut all, mut defects) = (vec![], vec![]);
    for target in targets {
        eprintln!("[*] {}", target.name());
        let (counts, found) = attack(target, arguments, plan)?;
        for defect in found {
            let kept = keep(target, arguments.seed, &defect.first)?;
            let Finding { index, kind, place, detail } = &defect.first;
            let (name, kind, cases) = (target.name(), kind.name(), defect.cases);
            eprintln!("[!] {name}: {kind} in {cases} cases: {place}: {} (case {index})", printable(detail));
            eprintln!("    kept in {}", kept.display());
            defects.push(json!({
                "target": name, "kind": kind, "place": place, "detail": detail, "cases": cases, "case": index, "kept": kept,
            }));
        }
        all.push((target.name(), counts));
    }
    if arguments.json {
        let counts: BTreeMap<&str, &Counts> = all.iter().map(|(name, counts)| (*name, counts)).collect();
        command_line::say!("{}", json!({ "seed": arguments.seed, "targets": counts, "defects": defects }));
    } else {
        table(&all).iter().for_each(|line| command_line::say!("{line}"));
    }
    let found: u64 = all.iter().map(|(_, counts)| counts.found()).sum();
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// Runs a target's cases, and returns each distinct defect once.
fn attack(target: Target, arguments: &AttackArguments, plan: Plan) -> Result<(Counts, Vec<DistinctDefect>)> {
    let defects = Mutex::new(Vec::<DistinctDefect>::new());
    let found = |finding: Finding| {
        let mut defects = defects.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match defects.iter_mut().find(|defect| defect.first.is_same_defect(&finding)) {
            Some(defect) => {
                defect.cases += 1;
                if finding.index < defect.first.index {
                    defect.first = finding;
                }
            }
            None => defects.push(DistinctDefect { first: finding, cases: 1 }),
        }
    };
    let counts = match target.runs_programs() {
        true => programs::run(target, plan, arguments.programs.as_deref(), &found)?,
        false => supervisor::run(target, plan, &found)?,
    };
    Ok((counts, defects.into_inner().unwrap_or_default()))
}

fn single_target(only: &[Target]) -> Result<Target> {
    match only {
        [target] => Ok(*target),
        _ => bail!("--case and --file need exactly one target: name it with --only"),
    }
}

/// Case `index` of a target that reads files.
fn case_of(target: Target, seed: u64, index: u64) -> Result<Case> {
    let folder = supervisor::scratch()?;
    Ok(target.reader(folder.path())?.case(&mut Random::of(seed, target.name(), index)))
}

/// Writes the first case of a defect, shrunk as far as it still shows the defect, and a note beside it. Returns the
/// path of the case, or of the note if the target runs programs.
fn keep(target: Target, seed: u64, finding: &Finding) -> Result<PathBuf> {
    let folder = kept_folder(target.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let stem = format!("{}-{:08x}", finding.kind.name(), crc32fast::hash(finding.place.as_bytes()));
    let note = folder.join(format!("{stem}.txt"));
    let Finding { index, kind, place, detail } = finding;
    let name = target.name();
    let mut text = format!(
        "{}: {place}\n{detail}\nThe whole case: cargo xtask attack --only {name} --seed {seed} --case {index}\n",
        kind.name()
    );
    let mut kept = note.clone();
    if !target.runs_programs() {
        let case = case_of(target, seed, *index)?;
        let bytes = match case.expected {
            Expected::Any => shrunk(target, &case, finding)?,
            // A single flipped bit is its only fault, so there is nothing to shrink.
            Expected::Rejected => case.bytes.clone(),
        };
        kept = folder.join(format!("{stem}.{}", case.name.replace('/', "+")));
        fs::write(&kept, &bytes)?;
        if case.expected == Expected::Any {
            text += &format!(
                "{} bytes of {}: cargo xtask attack --only {name} --file {}\n",
                bytes.len(),
                case.bytes.len(),
                kept.display()
            );
        }
    }
    fs::write(&note, text)?;
    Ok(kept)
}

fn shrunk(target: Target, case: &Case, finding: &Finding) -> Result<Vec<u8>> {
    let mut examiner = Examiner::new(target)?;
    let mut shows = |bytes: &[u8]| {
        let shown = examiner.examine(&case.name, bytes);
        shown.is_ok_and(|shown| shown.is_some_and(|shown| shown.is_same_defect(finding)))
    };
    // A defect that depends on earlier cases is not reproducible, so its case is kept whole.
    Ok(if shows(&case.bytes) { shrink(&case.bytes, &mut shows) } else { case.bytes.clone() })
}

fn run_again(target: Target, arguments: &AttackArguments, index: u64) -> Result<ExitCode> {
    if target.runs_programs() {
        let plan = Plan { seed: arguments.seed, cases: index + 1, time: Duration::MAX };
        let found = programs::run_one(target, plan, index, arguments.programs.as_deref())?;
        return shown(found);
    }
    // In a worker process, which knows whether the case must be rejected.
    let plan = Plan { seed: arguments.seed, cases: index + 1, time: Duration::MAX };
    let first = Mutex::new(None);
    supervisor::run_share(target, plan, (index, 1), &|finding| {
        *first.lock().expect("no thread panics while it holds the lock") = Some(finding);
    })?;
    let found = first.into_inner().unwrap_or_default();
    if let Some(finding) = &found {
        command_line::say!("kept in {}", keep(target, arguments.seed, finding)?.display());
    }
    shown(found)
}

/// Reads a file that [`keep`] wrote. The name of its case follows the first full stop of the file's name.
fn read_again(target: Target, file: &Path) -> Result<ExitCode> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split_once('.').map_or(&*name, |(_, name)| name).replace('+', "/");
    shown(Examiner::new(target)?.examine(&name, &bytes)?)
}

fn shown(found: Option<Finding>) -> Result<ExitCode> {
    match found {
        None => {
            command_line::say!("no defect");
            Ok(ExitCode::SUCCESS)
        }
        Some(Finding { kind, place, detail, .. }) => {
            command_line::say!("{}: {place}: {}", kind.name(), printable(&detail));
            Ok(ExitCode::from(CHECK_FAILED))
        }
    }
}

/// The text's first 300 characters, with control characters escaped.
fn printable(text: &str) -> String {
    let short: String = text.chars().take(300).collect();
    short
        .chars()
        .flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] })
        .collect()
}
