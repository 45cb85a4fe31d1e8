//! Hints by degree, in each part's hints.txt. The degrees that were given are remembered in the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::part::Part;
use crate::printed::say;

/// Hints of a function.
const DEGREES: usize = 3;

/// A hints.txt that does not have the expected form.
#[derive(Debug, PartialEq, Eq)]
pub struct HintsError(String);

impl std::error::Error for HintsError {}

impl std::fmt::Display for HintsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hints of each function, the mildest first: `[max_cpu]`, then three lines.
///
/// # Errors
/// If a function does not have three hints.
pub fn parse(text: &str) -> Result<Vec<(&str, Vec<&str>)>, HintsError> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')), all.last_mut()) {
            (Some(name), _) => all.push((name, Vec::new())),
            (None, Some((_, hints))) => hints.push(line),
            (None, None) => return Err(HintsError(format!("a hint is for no function: {line}"))),
        }
    }
    match all.iter().find(|(_, hints)| hints.len() != DEGREES) {
        Some((name, hints)) => Err(HintsError(format!("{name} has {} hints, expected {DEGREES}", hints.len()))),
        None => Ok(all),
    }
}

/// Prints the next hint on a function, or all.
pub(crate) fn give(root: &Path, parts: &[Part], name: &str, all: bool) -> Result<ExitCode> {
    let mut texts = Vec::new();
    for part in parts {
        if let Ok(text) = fs::read_to_string(root.join(part.package).join("hints.txt")) {
            texts.push((*part, text));
        }
    }
    let (mut known, mut found) = (Vec::new(), None);
    for (part, text) in &texts {
        let hints = parse(text).with_context(|| format!("{}/hints.txt", part.package))?;
        let wanted = if is_name_of(*part, name) { first_to_write(root, *part, &hints)? } else { name };
        found =
            found.or(hints.iter().find(|(block, _)| function(block) == wanted).cloned().map(|hints| (*part, hints)));
        known.extend(hints.iter().map(|(block, _)| function(block)));
    }
    if known.is_empty() {
        bail!("there are no hints in this workspace: its parts have no hints.txt");
    }
    let Some((part, (block, hints))) = found else {
        bail!("there are no hints on {name}: choose one of {}", known.join(", "))
    };
    let place =
        Part::file_in(root, &hinted(part.sources(root)?), function(block)).map(|file| format!(" ({})", file.display()));
    let place = place.unwrap_or_default();
    let mut given = Given::read()?;
    let degree = if all { DEGREES } else { DEGREES.min(given.degree(block) + 1) };
    for (index, hint) in hints.iter().enumerate().take(degree).skip(if all { 0 } else { degree - 1 }) {
        say!("Hint {} of {DEGREES} on {block}{place}: {hint}", index + 1);
    }
    if degree < DEGREES {
        say!("The same command again gives the next one.");
    }
    given.remember(block, degree)?;
    Ok(ExitCode::SUCCESS)
}

/// The sources that hints are for. Puzzles, some of which have a kernel's name, have theirs in the kernel lab.
fn hinted(mut sources: Vec<PathBuf>) -> Vec<PathBuf> {
    sources.retain(|source| !source.ends_with("learn/src/puzzles.rs"));
    sources
}

/// The function of a block: the last word of "the launch in max_gpu".
fn function(block: &str) -> &str {
    block.rsplit(' ').next().unwrap_or(block)
}

/// Whether a part is meant: "part1", "part 1", "activation".
fn is_name_of(part: Part, name: &str) -> bool {
    part.name.replace(' ', "") == name.replace(' ', "") || part.package == name
}

/// The first function of a part that is not written.
fn first_to_write<'a>(root: &Path, part: Part, hints: &[(&'a str, Vec<&str>)]) -> Result<&'a str> {
    let sources = hinted(part.sources(root)?);
    let text: String = sources.iter().filter_map(|path| fs::read_to_string(root.join(path)).ok()).collect();
    let is_open = |block: &str| text.contains(&format!("not_written!(\"{block}\")"));
    match hints.iter().find(|(block, _)| is_open(block)) {
        Some((block, _)) => Ok(function(block)),
        None => {
            let names: Vec<&str> = hints.iter().map(|(block, _)| function(block)).collect();
            bail!("all of {} is written: for a hint choose one of {}", part.name, names.join(", "))
        }
    }
}

/// The degrees of the hints that were given: a line "2 sigmoid" each.
struct Given {
    file: PathBuf,
    text: String,
}

impl Given {
    fn read() -> Result<Self> {
        // The program is target/debug/check_homework.
        let program = std::env::current_exe().context("cannot find the target folder")?;
        let target = program.ancestors().nth(2).context("cannot find the target folder")?;
        let file = target.join("homework-hints.txt");
        Ok(Self { text: fs::read_to_string(&file).unwrap_or_default(), file })
    }

    fn degree(&self, block: &str) -> usize {
        let lines = self.text.lines().filter_map(|line| line.split_once(' '));
        let degrees = lines.filter(|(_, name)| *name == block).filter_map(|(degree, _)| degree.parse().ok());
        degrees.max().unwrap_or(0)
    }

    fn remember(&mut self, block: &str, degree: usize) -> Result<()> {
        self.text.push_str(&format!("{degree} {block}\n"));
        fs::write(&self.file, &self.text).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_three_hints() {
        let hints = parse("[sigmoid]\na\nb\nc\n\n[the launch in max_gpu]\nd\ne\nf\n").unwrap();
        assert_eq!(hints, [("sigmoid", vec!["a", "b", "c"]), ("the launch in max_gpu", vec!["d", "e", "f"])]);
        assert_eq!(function(hints[1].0), "max_gpu");
        for wrong in ["a\n", "[sigmoid]\na\nb\n", "[sigmoid]\na\nb\nc\nd\n"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hint_is_for_the_kernel_and_not_for_the_puzzle_of_its_name() {
        let root = tempfile::tempdir().unwrap();
        let part = Part { name: "learn", package: "learn" };
        fs::create_dir_all(root.path().join("learn/src")).unwrap();
        let write = |file: &str, text: &str| fs::write(root.path().join("learn/src").join(file), text).unwrap();
        for file in ["puzzles.rs", "step01_index.rs", "step02_grid_stride.rs"] {
            let kernel = if file.starts_with("step02") { "saxpy" } else { "double" };
            write(file, &format!("pub fn {kernel}(x) {{ not_written!(\"{kernel}\") }}"));
        }
        let hints = [("double", Vec::new()), ("saxpy", Vec::new())];
        assert_eq!(first_to_write(root.path(), part, &hints).unwrap(), "double");
        let file = Part::file_in(root.path(), &hinted(part.sources(root.path()).unwrap()), "double");
        assert_eq!(file.as_deref(), Some(Path::new("learn/src/step01_index.rs")));
        write("step01_index.rs", "pub fn double(x) {}");
        assert_eq!(first_to_write(root.path(), part, &hints).unwrap(), "saxpy");
    }

    #[test]
    fn the_highest_degree_counts() {
        let given = Given { file: PathBuf::new(), text: "1 sigmoid\n1 the launch in max_gpu\n2 sigmoid\n".to_owned() };
        assert_eq!(["sigmoid", "the launch in max_gpu", "max_cpu"].map(|block| given.degree(block)), [2, 1, 0]);
    }
}
