//! Results kept from one grading of a class to the next. Only tests that have changed, and tests of
//! parts that have changed, run again.
//!
//! A result is found by the fingerprint of everything it depends on: the grader, the test, the
//! part's files, the seed and the limits. Points, lateness and manual changes are applied to it
//! each time.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use command_line::counted;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use whole_files::write_privately;

use super::GradedPart;
use super::points::{Program, Test};
use super::results::{Grade, Item};
use super::sheet::to_csv;
use super::submission::Form;
use crate::starter::{files_below, read_text};
use crate::workspace_root;

/// Options for kept results and the changes since then.
#[derive(Args)]
pub(super) struct Options {
    /// With --all: file in which results are kept; only what has changed since then runs again
    #[arg(long, value_name = "FILE.json", requires = "all")]
    keep: Option<PathBuf>,
    /// With --keep: a table of the submissions and tests with changed points
    #[arg(long, value_name = "FILE.csv", requires = "keep")]
    changes: Option<PathBuf>,
}

/// The results of earlier gradings.
pub(super) struct Kept {
    file: PathBuf,
    changes: Option<PathBuf>,
    old: File,
    /// Whether `old` comes from another grader version, which requires running all tests again.
    is_other_grader: bool,
    /// Fingerprint of the grader.
    grader: String,
    seed: u32,
    /// Fingerprint of everything else that all results share.
    settings: String,
    /// Fingerprints of the tests, by package and name.
    tests: BTreeMap<(&'static str, String), String>,
    recalled: Cell<usize>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    grader: String,
    /// The seed of the tests' inputs.
    #[serde(default)]
    seed: Option<u32>,
    /// Feedback by the result's fingerprint; empty if the test passed.
    results: BTreeMap<String, String>,
    class: BTreeMap<String, Points>,
}

/// Points of a submission: the final points, and the points of each test, out of 100.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Points {
    points: f64,
    tests: BTreeMap<String, f64>,
}

impl Options {
    /// Files that are not submissions.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.keep.iter().chain(&self.changes).map(PathBuf::as_path)
    }

    /// Output files, each with its option.
    pub(super) fn outputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let options = [("--keep", &self.keep), ("--changes", &self.changes)];
        options.into_iter().filter_map(|(option, file)| Some((option, file.as_deref()?)))
    }

    /// Seed of earlier gradings, if there are any.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn seed(&self) -> Result<Option<u32>> {
        Ok(self.file()?.and_then(|file| file.seed))
    }

    /// Reads the kept results; `None` if the file does not exist.
    fn file(&self) -> Result<Option<File>> {
        let Some(file) = self.keep.as_deref().filter(|file| file.exists()) else { return Ok(None) };
        let kept = serde_json::from_str(&read_text(file)?)
            .with_context(|| format!("{} has no kept results: delete it or name another file", file.display()))?;
        Ok(Some(kept))
    }

    /// Reads the results of earlier gradings; `None` if no results are kept. `dependencies` are the
    /// crates that tests and submissions are compiled with. `settings` is everything else that
    /// results depend on, including the seed.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn read(
        &self,
        dependencies: &[PathBuf],
        seed: u32,
        settings: &str,
        tests: &[Test],
    ) -> Result<Option<Kept>> {
        let Some(file) = &self.keep else { return Ok(None) };
        let old = self.file()?.unwrap_or_default();
        let grader = grader(dependencies)?;
        let mut fingerprints = BTreeMap::new();
        for test in tests {
            let texts = texts_of(test)?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            fingerprints.insert((test.part.package(), test.name.clone()), fingerprint(&texts));
        }
        Ok(Some(Kept {
            is_other_grader: file.exists() && old.grader != grader,
            file: file.clone(),
            changes: self.changes.clone(),
            old,
            grader,
            seed,
            settings: settings.to_owned(),
            tests: fingerprints,
            recalled: Cell::new(0),
        }))
    }
}

impl Kept {
    /// A line that explains why all tests run again, if they do.
    pub(super) fn note(&self) -> Option<String> {
        let line = || format!("the grader has changed since {}: all tests are run again", self.file.display());
        self.is_other_grader.then(line)
    }

    /// The kept result of a test on a part, if there is one.
    pub(super) fn recall(&self, test: &Test, part: &GradedPart) -> Option<Item> {
        let feedback = self.old.results.get(&self.fingerprint(test.part.package(), &test.name, part)?)?;
        self.recalled.set(self.recalled.get() + 1);
        Some(if feedback.is_empty() { Item::passed(test) } else { Item::failed(test, feedback) })
    }

    /// The fingerprint of a result.
    fn fingerprint(&self, package: &'static str, name: &str, part: &GradedPart) -> Option<String> {
        let test = self.tests.get(&(package, name.to_owned()))?;
        let paths: Vec<String> = part.files.iter().map(|(path, _)| path.display().to_string()).collect();
        let form = match part.form {
            Form::Starter => "starter",
            Form::Project => "project",
        };
        let mut texts = vec![&*self.grader, &*self.settings, package, name, test, form];
        texts.extend(paths.iter().zip(&part.files).flat_map(|(path, (_, text))| [path.as_str(), text]));
        Some(fingerprint(&texts))
    }

    /// Keeps the results of a class, and writes the table of changes. `parts` are the results that
    /// were recalled or computed. The returned lines say how many.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn write<'a>(
        &self,
        parts: impl IntoIterator<Item = (&'a GradedPart, &'a Vec<Item>)>,
        grades: &[(String, Grade)],
    ) -> Result<Vec<String>> {
        let mut results = if self.is_other_grader { BTreeMap::new() } else { self.old.results.clone() };
        let mut count = 0;
        for (part, items) in parts {
            for item in items {
                count += 1;
                let fingerprint = self.fingerprint(item.package, &item.name, part);
                results.extend(fingerprint.map(|fingerprint| (fingerprint, item.feedback.clone())));
            }
        }
        let points = |grade: &Grade| {
            let tests = grade.items.iter();
            let tests = tests.map(|item| (format!("{}: {}", item.package, item.name), grade.scaled(item.points)));
            Points { points: grade.points(), tests: tests.collect() }
        };
        let class: BTreeMap<_, _> = grades.iter().map(|(name, grade)| (name.clone(), points(grade))).collect();
        let recalled = self.recalled.get();
        let mut lines =
            vec![format!("{}: {} run, {recalled} recalled", self.file.display(), counted(count - recalled, "test"))];
        if let Some(file) = &self.changes {
            let rows = changes(&self.old.class, &class);
            let names: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
            let header = ["submission", "test", "before", "after"].map(str::to_owned);
            let table = to_csv(b',', std::iter::once(&header).chain(&rows))?;
            write_privately(file, table.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
            lines.push(format!("{}: {} changed", file.display(), counted(names.len(), "submission")));
        }
        let text = serde_json::to_string(&File { grader: self.grader.clone(), seed: Some(self.seed), results, class })?;
        write_privately(&self.file, text.as_bytes())
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        Ok(lines)
    }
}

/// Points that differ: the submission, the test or `points`, the old value, and the new value. A
/// value is empty if the submission or test exists only on the other side.
fn changes(old: &BTreeMap<String, Points>, new: &BTreeMap<String, Points>) -> Vec<[String; 4]> {
    let written = |points: Option<f64>| points.map_or_else(String::new, |points| points.to_string());
    let mut rows = Vec::new();
    for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let (before, after) = (old.get(name), new.get(name));
        let mut add = |test: &str, before: Option<f64>, after: Option<f64>| {
            if before != after {
                rows.push([name.clone(), test.to_owned(), written(before), written(after)]);
            }
        };
        if let (Some(before), Some(after)) = (before, after) {
            for test in before.tests.keys().chain(after.tests.keys()).collect::<BTreeSet<_>>() {
                add(test, before.tests.get(test).copied(), after.tests.get(test).copied());
            }
        }
        add("points", before.map(|submission| submission.points), after.map(|submission| submission.points));
    }
    rows
}

/// SHA-256 of several texts, encoded without ambiguity about where each ends.
fn fingerprint(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hex::encode(hash.finalize())
}

/// Fingerprint of the grader: its sources, the starter's sources, and the crates compiled with
/// them. Tests and points are not included.
fn grader(dependencies: &[PathBuf]) -> Result<String> {
    let course = workspace_root().join("course");
    let is_test = |file: &Path| {
        let below = file.strip_prefix(&course).unwrap_or(file);
        let is_of_grading = below.starts_with("grading") && (below.ends_with("hidden.rs") || below.ends_with("ptx.rs"));
        is_of_grading
            || below.starts_with("tests")
            || below.ends_with("tests/public.rs")
            || below.ends_with("points.toml")
    };
    let (mut hash, mut files) = (Sha256::new(), files_below(&course)?);
    files.retain(|file| !is_test(file));
    for dependency in dependencies.iter().filter(|path| path.exists()) {
        match dependency.is_dir() {
            true => files.extend(files_below(dependency)?),
            false => files.push(dependency.clone()),
        }
    }
    let is_built = |file: &Path| file.components().any(|name| name.as_os_str() == "target");
    files.retain(|file| !is_built(file.strip_prefix(workspace_root()).unwrap_or(file)));
    for file in files {
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        hash.update(Sha256::digest(
            file.strip_prefix(workspace_root()).unwrap_or(&file).as_os_str().as_encoded_bytes(),
        ));
        hash.update(Sha256::digest(&bytes));
    }
    Ok(hex::encode(hash.finalize()))
}

/// Texts that a test's result depends on: the test itself, and the code outside tests in the test
/// files.
fn texts_of(test: &Test) -> Result<Vec<String>> {
    let Test { part, program, name, .. } = test;
    let course = workspace_root().join("course");
    let package = part.package();
    let file = |name: String| {
        let file = course.join(name);
        if file.exists() { read_text(&file) } else { Ok(String::new()) }
    };
    Ok(match (program, name.strip_prefix("hidden::")) {
        (Program::Ptx, _) => vec![only(&file(format!("grading/{package}/ptx.rs"))?, Some(name))],
        (Program::Source, hidden) => {
            let public = file(format!("starter/{package}/tests/public.rs"))?;
            let own = hidden.is_none().then_some(name.as_str());
            vec![only(&public, own), only(&file(format!("grading/{package}/hidden.rs"))?, hidden)]
        }
    })
}

/// A test file without comments and without other tests.
fn only(text: &str, test: Option<&str>) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//")).peekable();
    while let Some(line) = lines.next() {
        let name_of = |line: &&str| line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()).map(str::to_owned);
        if line == "#[test]" && lines.peek().and_then(name_of).as_deref() != test {
            // The closing brace of a function is at the beginning of its line.
            lines.by_ref().find(|line| *line == "}");
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::points::tests;
    use crate::grade::results::Target;

    const TESTS: &str = "use a::b;\n\n/// A.\n#[test]\nfn a() {\n    f(1);\n}\n\nfn f(x: i32) {\n    // why\n    g(x);\n}\n\n#[test]\nfn b() -> R {\n    f(2)\n}\n";

    #[test]
    fn grade_reads_a_test_with_what_it_uses_and_without_others() {
        assert_eq!(
            only(TESTS, Some("b")),
            "use a::b;\n\n\nfn f(x: i32) {\n    g(x);\n}\n\n#[test]\nfn b() -> R {\n    f(2)\n}\n"
        );
        assert_eq!(only(TESTS, None), "use a::b;\n\n\nfn f(x: i32) {\n    g(x);\n}\n\n");
        let all = tests(None).unwrap();
        for test in &all {
            let name = test.name.trim_start_matches("hidden::");
            let texts = texts_of(test).unwrap().concat();
            assert_eq!(texts.matches("#[test]").count(), 1, "{name}");
            assert!(texts.contains(&format!("#[test]\nfn {name}(")), "{name}: {texts}");
        }
    }

    fn kept(folder: &Path, grader: &str, settings: &str) -> Kept {
        let file = folder.join("kept.json");
        let options = Options { keep: Some(file), changes: Some(folder.join("changes.csv")) };
        let kept = options.read(&[], 4711, settings, &tests(None).unwrap()).unwrap().unwrap();
        Kept {
            is_other_grader: !kept.old.grader.is_empty() && kept.old.grader != grader,
            grader: grader.to_owned(),
            ..kept
        }
    }

    #[test]
    fn grade_recalls_results_of_the_same_test_part_and_settings() {
        let folder = tempfile::tempdir().unwrap();
        let all = tests(None).unwrap();
        let (first, second) = (&all[0], &all[1]);
        let part = |text: &str, form| {
            let files = vec![("utils/src/lists.rs".into(), text.to_owned())];
            GradedPart { files, form }
        };
        let files = part("fn f() {}", Form::Starter);
        let items = vec![Item::passed(first), Item::failed(second, "it is wrong")];
        let grade = Grade::new(items.clone(), 10.0, Vec::new());
        let new = kept(folder.path(), "1", "s");
        assert_eq!(new.recall(first, &files), None);
        let lines = new.write([(&files, &items)], &[("ann".to_owned(), grade.clone())]).unwrap();
        assert!(
            lines[0].ends_with("kept.json: 2 tests run, 0 recalled") && lines[1].ends_with("1 submission changed"),
            "{lines:?}"
        );

        let again = kept(folder.path(), "1", "s");
        assert_eq!(again.note(), None);
        let options = Options { keep: Some(folder.path().join("kept.json")), changes: None };
        assert_eq!(options.seed().unwrap(), Some(4711));
        assert_eq!(
            [again.recall(first, &files), again.recall(second, &files)],
            [Some(items[0].clone()), Some(items[1].clone())]
        );
        // The points are always the current ones.
        let dearer = Test { points: 9.0, ..first.clone() };
        assert_eq!(again.recall(&dearer, &files).map(|item| item.points), Some(9.0));
        let other = part("fn g() {}", Form::Starter);
        assert_eq!(again.recall(first, &part("fn f() {}", Form::Project)), None);
        assert_eq!((again.recall(first, &other), again.recall(&all[2], &files)), (None, None));
        assert_eq!(kept(folder.path(), "1", "other seed").recall(first, &files), None);
        let mut repaired = kept(folder.path(), "1", "s");
        repaired.tests.insert((first.part.package(), first.name.clone()), "another".to_owned());
        assert_eq!((repaired.recall(first, &files), repaired.recall(second, &files).is_some()), (None, true));
        let new_grader = kept(folder.path(), "2", "s");
        assert!(new_grader.note().unwrap().ends_with("all tests are run again"));
        assert_eq!(new_grader.recall(first, &files), None);

        // The second test is fixed, and a person has set the total of another submission.
        let mut graded = again.recall(first, &files).into_iter().collect::<Vec<_>>();
        graded.push(Item::passed(second));
        let mut other = Grade::new(graded.clone(), 10.0, Vec::new());
        other.set(&Target::Total, 0.0, "K: copied");
        let grades = [("ann".to_owned(), Grade::new(graded.clone(), 10.0, Vec::new())), ("=bob".to_owned(), other)];
        again.write([(&files, &graded)], &grades).unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.path().join("changes.csv")).unwrap().replace('"', ""),
            "submission,test,before,after\n'=bob,points,,0\nann,utils: sigmoid_prime_has_known_values,0,50\nann,points,50,100\n"
        );
        kept(folder.path(), "1", "s").write([], &grades[1..]).unwrap();
        let table = std::fs::read_to_string(folder.path().join("changes.csv")).unwrap();
        assert_eq!(table.replace('"', ""), "submission,test,before,after\nann,points,100,\n");
        std::fs::write(folder.path().join("kept.json"), "{").unwrap();
        let options = Options { keep: Some(folder.path().join("kept.json")), changes: None };
        let error = format!("{:#}", options.read(&[], 4711, "s", &all).err().unwrap());
        assert!(error.contains("has no kept results: delete it or name another file"), "{error}");
    }

    #[test]
    fn grade_has_a_fingerprint_without_tests_and_points() {
        let one = grader(&[]).unwrap();
        assert_eq!(one, grader(&[]).unwrap());
        assert_ne!(one, grader(&[workspace_root().join("Cargo.toml")]).unwrap());
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
    }
}
