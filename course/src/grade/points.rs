//! The tests and their points, from `grading/points.toml` or a teacher's file.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::starter::{Part, read_text};
use crate::workspace_root;

/// A test with its points.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) part: Part,
    pub(super) program: Program,
    pub(super) name: String,
    pub(super) points: f64,
    /// Whether the test compares times. Such a test needs more than one core.
    pub(super) is_timed: bool,
}

/// The test program that a test belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// The students' own tests, and the tests in `grading/PACKAGE/hidden.rs`.
    Source,
    /// `grading/PACKAGE/ptx.rs`, which tests the kernels' PTX and needs a PTX toolchain.
    Ptx,
}

/// The tests of the parts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "1")]
    one: Vec<Row>,
    #[serde(default, rename = "2")]
    two: Vec<Row>,
    #[serde(default, rename = "3")]
    three: Vec<Row>,
    #[serde(default)]
    activation: Vec<Row>,
    #[serde(default)]
    augmentation: Vec<Row>,
    #[serde(default)]
    filters: Vec<Row>,
    #[serde(default)]
    distributed: Vec<Row>,
    #[serde(default)]
    learn: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    test: String,
    points: f64,
    needs: Option<Need>,
}

/// Requirement of a test on the grading machine.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Need {
    Cores,
    Ptx,
}

/// Returns the tests of `file`, or of `grading/points.toml`.
///
/// # Errors
/// If the file cannot be read, names a test that does not exist, names one twice, or has points
/// that are not above 0.
pub(super) fn tests(file: Option<&Path>) -> Result<Vec<Test>> {
    let own = workspace_root().join("course/grading/points.toml");
    let file = file.unwrap_or(&own);
    of_text(&read_text(file)?).with_context(|| file.display().to_string())
}

fn of_text(text: &str) -> Result<Vec<Test>> {
    let File { one, two, three, activation, augmentation, filters, distributed, learn } = toml::from_str(text)?;
    let parts = [
        (Part::One, one),
        (Part::Two, two),
        (Part::Three, three),
        (Part::Activation, activation),
        (Part::Augmentation, augmentation),
        (Part::Filters, filters),
        (Part::Distributed, distributed),
        (Part::Learn, learn),
    ];
    let mut tests: Vec<Test> = Vec::new();
    for (part, rows) in parts {
        let known = names(part)?;
        for Row { test: name, points, needs } in rows {
            let program = if needs == Some(Need::Ptx) { Program::Ptx } else { Program::Source };
            if !known.contains(&(program, name.clone())) {
                let other = if program == Program::Ptx { Program::Source } else { Program::Ptx };
                match known.contains(&(other, name.clone())) {
                    true if other == Program::Ptx => bail!("{name} needs = \"ptx\""),
                    true => bail!("{name} does not need \"ptx\""),
                    false => bail!("{} has no test {name}", part.package()),
                }
            }
            ensure!(points > 0.0 && points.is_finite(), "{name} has {points} points: they must be above 0");
            ensure!(!tests.iter().any(|test| (test.part, &test.name) == (part, &name)), "{name} is there twice");
            tests.push(Test { part, program, name, points, is_timed: needs == Some(Need::Cores) });
        }
    }
    ensure!(!tests.is_empty(), "it has no tests");
    Ok(tests)
}

/// The tests of a part.
fn names(part: Part) -> Result<Vec<(Program, String)>> {
    let package = part.package();
    let files = [
        (Program::Source, "", format!("starter/{package}/tests/public.rs")),
        (Program::Source, "hidden::", format!("grading/{package}/hidden.rs")),
        (Program::Ptx, "", format!("grading/{package}/ptx.rs")),
    ];
    let mut found = Vec::new();
    for (program, module, file) in files {
        let file = workspace_root().join("course").join(file);
        if file.exists() {
            let text = read_text(&file)?;
            let names = text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next());
            found.extend(names.map(|name| (program, format!("{module}{name}"))));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starter::Assignment;

    /// Every test of the starter and of the grader has points.
    #[test]
    fn grade_gives_points_for_every_test_and_100_for_an_assignment() {
        let tests = tests(None).unwrap();
        for assignment in Assignment::ALL {
            let graded = tests.iter().filter(|test| assignment.parts().contains(&test.part));
            assert_eq!(graded.map(|test| test.points).sum::<f64>(), 100.0, "{assignment:?}");
        }
        for part in Part::ALL {
            let graded = tests.iter().filter(|test| test.part == part).count();
            assert_eq!(graded, names(part).unwrap().len(), "{}", part.package());
        }
    }

    #[test]
    fn grade_names_what_is_wrong_in_a_file_of_points() {
        for (text, message) in [
            ("2 = [{ test = \"max_gpu_is_wrong\", points = 3 }]", "max_functions has no test max_gpu_is_wrong"),
            ("2 = [{ test = \"max_cpu_is_right\", points = 0 }]", "max_cpu_is_right has 0 points"),
            ("2 = [{ test = \"max_cpu_is_right\", points = nan }]", "max_cpu_is_right has NaN points"),
            ("2 = [{ test = \"max_kernels_ptx_is_right\", points = 1 }]", "max_kernels_ptx_is_right needs = \"ptx\""),
            ("2 = [{ test = \"max_cpu_is_right\", points = 1, needs = \"ptx\" }]", "does not need \"ptx\""),
            (
                "2 = [{ test = \"max_cpu_is_right\", points = 1 }, { test = \"max_cpu_is_right\", points = 1 }]",
                "max_cpu_is_right is there twice",
            ),
            ("2 = [{ test = \"max_cpu_is_right\", point = 1 }]", "unknown field `point`"),
            ("4 = []", "unknown field `4`"),
            ("", "it has no tests"),
        ] {
            let error = format!("{:#}", of_text(text).unwrap_err());
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
