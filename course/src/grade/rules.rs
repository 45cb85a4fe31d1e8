//! Rules besides the tests: lateness, and manually set points. Both are read again at each grading,
//! so they survive it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use command_line::counted;
use serde::Deserialize;

use super::lateness::{Moment, Policy};
use super::points::Test;
use super::results::{Grade, Target};
use super::sheet::Sheet;
use super::worksheets::Worksheet;
use crate::starter::{Part, read_text};

/// The files about lateness and manually set points.
#[derive(Args)]
pub(super) struct Options {
    /// Due date, grace period and the factors for late submissions, in the format described in
    /// docs/grading-reference.md
    #[arg(long, value_name = "FILE.toml")]
    late: Option<PathBuf>,
    /// With --late: a table of the submissions' names and hand-in times
    #[arg(long, value_name = "FILE.csv", requires = "late")]
    times: Option<PathBuf>,
    /// With --late: Gradescope's submission_metadata.json, which contains the due date and the
    /// hand-in time
    #[arg(long, value_name = "FILE.json", requires = "late", conflicts_with_all = ["all", "times"])]
    metadata: Option<PathBuf>,
    /// A table of manually set points: name, test, points, reason, by
    #[arg(long, value_name = "FILE.csv")]
    overrides: Option<PathBuf>,
}

/// Rules that count besides the tests.
pub(super) struct Rules {
    policy: Option<Policy>,
    times: BTreeMap<String, Moment>,
    /// Hand-in time of submissions that are not in `times`.
    time: Option<Moment>,
    overrides: Vec<Override>,
    /// Locations of overrides for tests or parts that are not graded in this run.
    not_graded: Vec<String>,
}

/// A row of the table of manually set points.
struct Override {
    /// Location in the table.
    place: String,
    /// The submission's name.
    name: String,
    target: Target,
    points: f64,
    /// Who set the points, and the reason.
    why: String,
}

impl Options {
    /// Files that are not submissions.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.late, &self.times, &self.metadata, &self.overrides].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Reads the files. `graded` are the tests of the graded parts, `all` the tests of all parts.
    ///
    /// # Errors
    /// If a file is invalid.
    pub(super) fn read(&self, all: &[Test], graded: &[Test]) -> Result<Rules> {
        let metadata = self.metadata.as_deref().map(Metadata::read).transpose()?;
        let due = metadata.as_ref().and_then(Metadata::due);
        let policy = self.late.as_deref().map(|file| Policy::read(file, due)).transpose()?;
        let time = match (&policy, &metadata, &self.metadata) {
            (Some(policy), Some(Metadata { created_at, .. }), Some(file)) => {
                let time = policy.time(created_at);
                let invalid = || format!("{}: created_at is {created_at:?}, expected a time", file.display());
                Some(time.with_context(invalid)?)
            }
            _ => None,
        };
        let times = match (&policy, &self.times) {
            (Some(policy), Some(file)) => policy.times(file)?,
            _ => BTreeMap::new(),
        };
        let mut rules = Rules { policy, times, time, overrides: Vec::new(), not_graded: Vec::new() };
        if let Some(file) = &self.overrides {
            rules.read_overrides(&Sheet::read(file)?, all, graded)?;
        }
        Ok(rules)
    }
}

impl Rules {
    fn read_overrides(&mut self, sheet: &Sheet, all: &[Test], graded: &[Test]) -> Result<()> {
        let [name, test, points, reason, by] = sheet.columns(["name", "test", "points", "reason", "by"])?;
        let whole: f64 = graded.iter().map(|test| test.points).sum();
        let mut known = BTreeSet::new();
        for row in &sheet.rows {
            let [name, test, points, reason, by] =
                [name, test, points, reason, by].map(|column| row.cells[column].trim());
            let place = sheet.place(row);
            for (column, cell) in [("name", name), ("reason", reason), ("by", by)] {
                ensure!(!cell.is_empty(), "{place}: {column} is empty");
            }
            let target = target_of(test, all).with_context(|| place.clone())?;
            ensure!(known.insert((name.to_owned(), target.clone())), "{place}: {test} of {name:?} is there twice");
            let of_target = |test: &&Test| match &target {
                Target::Test(package, name) => test.part.package() == *package && test.name == *name,
                Target::Part(package) => test.part.package() == *package,
                Target::Total => true,
            };
            let maximum: f64 = graded.iter().filter(of_target).map(|test| test.points * 100.0 / whole).sum();
            if maximum == 0.0 {
                self.not_graded.push(format!("{place}: {test} is not graded"));
                continue;
            }
            let points: f64 = points
                .replace(',', ".")
                .parse()
                .ok()
                .with_context(|| format!("{place}: {points:?} points are no number"))?;
            // The maximum of a test is shown with two decimals.
            let is_possible = (0.0..=maximum + 0.005).contains(&points);
            ensure!(is_possible, "{place}: {points} points, but {test} has 0 to {maximum:.2}");
            let (name, why) = (name.to_owned(), format!("{by}: {reason}"));
            self.overrides.push(Override { place, name, target, points, why });
        }
        // Tests before parts, the total last.
        self.overrides.sort_by(|a, b| a.target.cmp(&b.target));
        Ok(())
    }

    /// Takes hand-in times from a platform's table for submissions without one.
    ///
    /// # Errors
    /// If a time is invalid.
    pub(super) fn take_times(&mut self, worksheet: &Worksheet, names: &[String]) -> Result<()> {
        let Some(policy) = &self.policy else { return Ok(()) };
        for name in names {
            if let Some(time) = worksheet.time_of(name, policy)? {
                self.times.entry(name.clone()).or_insert(time);
            }
        }
        Ok(())
    }

    /// Lines about unused entries, for a class with submissions of these names.
    ///
    /// # Errors
    /// If points or a due date refer to a submission that does not exist.
    pub(super) fn unused(&self, names: &[String]) -> Result<Vec<String>> {
        let is_unknown = |name: &str| !names.iter().any(|known| known == name);
        if let Some(unknown) = self.overrides.iter().find(|set| is_unknown(&set.name)) {
            bail!("{}: there is no submission {:?}", unknown.place, unknown.name);
        }
        if let Some(unknown) = self.policy.iter().flat_map(Policy::extended).find(|name| is_unknown(name)) {
            bail!("the file of --late has a due date of {unknown:?}, but there is no such submission");
        }
        let mut lines = self.not_graded.clone();
        let unused: Vec<&str> = self.times.keys().map(String::as_str).filter(|name| is_unknown(name)).collect();
        if !unused.is_empty() {
            lines.push(format!(
                "times of {} that do not exist: {}",
                counted(unused.len(), "submission"),
                unused.join("; ")
            ));
        }
        Ok(lines)
    }

    /// Applies lateness and manually set points to a submission's results.
    pub(super) fn apply(&self, name: &str, mut grade: Grade) -> Grade {
        grade.hand_in = self.policy.as_ref().map(|policy| policy.of(name, self.times.get(name).copied().or(self.time)));
        for set in self.overrides.iter().filter(|set| set.name == name) {
            grade.set(&set.target, set.points, &set.why);
        }
        grade
    }
}

/// The fields used from Gradescope's submission_metadata.json.
#[derive(Deserialize)]
struct Metadata {
    created_at: String,
    assignment: Assignment,
    #[serde(default)]
    users: Vec<User>,
}

#[derive(Deserialize)]
struct Assignment {
    due_date: Option<String>,
}

/// A student, who may have an extension.
#[derive(Deserialize)]
struct User {
    assignment: Option<Assignment>,
}

impl Metadata {
    fn read(file: &Path) -> Result<Self> {
        let text = read_text(file)?;
        serde_json::from_str(&text).with_context(|| format!("{} is no submission_metadata.json", file.display()))
    }

    /// Due date of the student who hands in, or otherwise of the assignment.
    fn due(&self) -> Option<&str> {
        let own = self.users.first().and_then(|user| user.assignment.as_ref()?.due_date.as_deref());
        own.or(self.assignment.due_date.as_deref())
    }
}

/// Resolves a name in the table: a test, a part's package, or `total`.
fn target_of(name: &str, tests: &[Test]) -> Result<Target> {
    if name == "total" {
        return Ok(Target::Total);
    }
    if let Some(part) = Part::ALL.into_iter().find(|part| part.package() == name) {
        return Ok(Target::Part(part.package()));
    }
    let mut found = tests.iter().filter(|test| test.name == name);
    let Some(test) = found.next() else {
        let mut packages: Vec<&str> = tests.iter().map(|test| test.part.package()).collect();
        packages.dedup();
        let packages = packages.join(", ");
        bail!("there is no test {name:?}: it is a name in the file of points, one of {packages}, or total")
    };
    ensure!(found.next().is_none(), "several parts have a test {name:?}");
    Ok(Target::Test(test.part.package(), test.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::lateness::HandIn;
    use crate::grade::points::tests;
    use crate::grade::results::Item;

    fn of_assignment_1() -> Vec<Test> {
        let all = tests(None).unwrap().into_iter();
        all.filter(|test| crate::starter::Assignment::One.parts().contains(&test.part)).collect()
    }

    fn rules(overrides: &str) -> Result<Rules> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("overrides.csv");
        std::fs::write(&file, format!("name,test,points,reason,by\n{overrides}")).unwrap();
        let all = of_assignment_1();
        let graded: Vec<Test> = all.iter().filter(|test| test.part != Part::One).cloned().collect();
        Options { late: None, times: None, metadata: None, overrides: Some(file) }.read(&all, &graded)
    }

    #[test]
    fn grade_sets_points_by_hand_in_any_order_of_their_rows() {
        let rows = "ann,total,70,ill,lecturer\nann,max_functions,\"20,5\",copied,lecturer\nbob,total,0,no show,lecturer\n\
            ann,max_cpu_is_right,1,spelling,lecturer\nann,utils,5,other part,lecturer\n";
        let rules = rules(rows).unwrap();
        let names = ["ann", "bob"].map(str::to_owned);
        assert_eq!(rules.not_graded.len(), 1);
        assert!(rules.unused(&names).unwrap()[0].ends_with("overrides.csv, line 6: utils is not graded"));
        let all = of_assignment_1();
        let items: Vec<Item> = all.iter().filter(|test| test.part != Part::One).map(Item::passed).collect();
        let grade = rules.apply("ann", Grade::new(items.clone(), 75.0, Vec::new()));
        let targets: Vec<String> = grade.by_hand.iter().map(|set| set.target.to_string()).collect();
        assert_eq!(
            (grade.points(), targets),
            (70.0, ["max_cpu_is_right", "max_functions", "total"].map(str::to_owned).to_vec())
        );
        assert_eq!(rules.apply("cai", Grade::new(items, 75.0, Vec::new())).points(), 100.0);
        let error = format!("{:#}", rules.unused(&names[1..]).unwrap_err());
        assert!(error.ends_with("there is no submission \"ann\""), "{error}");
    }

    #[test]
    fn grade_names_what_is_wrong_in_a_table_of_points_by_hand() {
        for (row, message) in [
            ("ann,max_cpu,1,x,y", "line 2: there is no test \"max_cpu\""),
            (",total,1,x,y", "line 2: name is empty"),
            ("ann,total,1,,y", "line 2: reason is empty"),
            ("ann,total,1,x, ", "line 2: by is empty"),
            ("ann,total,many,x,y", "line 2: \"many\" points are no number"),
            ("ann,total,101,x,y", "line 2: 101 points, but total has 0 to 100.00"),
            ("ann,total,-1,x,y", "-1 points"),
            ("ann,total,nan,x,y", "NaN points"),
            ("ann,max_cpu_is_right,7,x,y", "7 points, but max_cpu_is_right has 0 to 6.67"),
            ("ann,total,1,x,y\nann,total,2,x,y", "line 3: total of \"ann\" is there twice"),
            ("ann,total,1,x,y,z", "line 2: 6 cells, but 5 columns"),
        ] {
            let error = format!("{:#}", rules(row).err().unwrap());
            assert!(error.contains(message) && !error.contains('\n'), "{row}: {error}");
        }
    }

    #[test]
    fn grade_takes_gradescopes_times() {
        let folder = tempfile::tempdir().unwrap();
        let [late, metadata] = ["late.toml", "submission_metadata.json"].map(|name| folder.path().join(name));
        std::fs::write(&late, "grace_minutes = 5\nfactors = [{ hours = 24, factor = 0.9 }]\n").unwrap();
        let hours_of = |text: &str| -> Result<Option<HandIn>, String> {
            std::fs::write(&metadata, text).unwrap();
            let options =
                Options { late: Some(late.clone()), times: None, metadata: Some(metadata.clone()), overrides: None };
            let all = of_assignment_1();
            let rules = options.read(&all, &all).map_err(|error| format!("{error:#}"))?;
            Ok(rules.apply("submission", Grade::new(Vec::new(), 100.0, Vec::new())).hand_in)
        };
        let due = "\"due_date\": \"2026-11-20T23:00:00.000000-08:00\"";
        let created = "\"created_at\": \"2026-11-21T01:00:00.365935-08:00\"";
        let of = |assignment: &str, users: &str| {
            hours_of(&format!("{{ {created}, \"assignment\": {{ {assignment} }}, \"users\": [{users}] }}"))
        };
        assert_eq!(of(due, ""), Ok(Some(HandIn::Late { hours: 2.0, factor: 0.9 })));
        assert_eq!(of(due, "{ \"id\": 1 }"), Ok(Some(HandIn::Late { hours: 2.0, factor: 0.9 })));
        let extended = "{ \"assignment\": { \"due_date\": \"2026-11-21T00:58:00-08:00\" } }";
        assert_eq!(of(due, extended), Ok(Some(HandIn::InTime)));
        let error = of("\"due_date\": null", "").unwrap_err();
        assert!(error.contains("there is no due date"), "{error}");
        let error = hours_of(&format!("{{ \"created_at\": \"\", \"assignment\": {{ {due} }} }}")).unwrap_err();
        assert!(error.contains("submission_metadata.json: created_at is \"\", expected a time"), "{error}");
        let error = hours_of("{}").unwrap_err();
        assert!(error.contains("is no submission_metadata.json: missing field `created_at`"), "{error}");
    }
}
