//! Results of a submission, and their output formats.

use std::fmt;

use anyhow::Result;
use serde_json::json;

use super::lateness::HandIn;
use super::points::Test;
use super::sheet::to_csv;
use crate::starter::Part;

/// The result of a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) package: &'static str,
    pub(super) name: String,
    pub(super) points: f64,
    pub(super) maximum: f64,
    /// Empty if it passed.
    pub(super) feedback: String,
}

impl Item {
    pub(super) fn passed(test: &Test) -> Self {
        Self { points: test.points, ..Self::failed(test, "") }
    }

    pub(super) fn failed(test: &Test, feedback: &str) -> Self {
        let Test { part, name, points, .. } = test;
        let (name, feedback) = (name.clone(), shortened(feedback));
        Self { package: part.package(), name, points: 0.0, maximum: *points, feedback }
    }
}

/// A graded submission.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grade {
    pub(super) items: Vec<Item>,
    /// Points of all tests of the graded parts, including tests that this machine cannot run. This
    /// sum is shown as 100.
    pub(super) whole: f64,
    /// Findings for a person to look at.
    pub(super) findings: Vec<String>,
    /// Time of handing in; `None` if lateness does not count.
    pub(super) hand_in: Option<HandIn>,
    /// Points that a person has set.
    pub(super) by_hand: Vec<ByHand>,
    /// Seed of the tests' inputs, with which the inputs can be reproduced.
    pub(super) seed: Option<u32>,
    /// Whether the grader has failed, which makes the points meaningless.
    pub(super) is_error_of_grader: bool,
}

/// Points set by a person, which replace the points of the tests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByHand {
    pub(super) target: Target,
    /// Points out of 100, as shown.
    pub(super) points: f64,
    /// The replaced points.
    before: f64,
    /// Who set the points, and why.
    why: String,
}

/// Target of manually set points, in the order in which they are set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// A test's package and name.
    Test(&'static str, String),
    /// A part's package.
    Part(&'static str),
    /// The sum of all points, after lateness is deducted.
    Total,
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(_, name) => formatter.write_str(name),
            Self::Part(package) => formatter.write_str(package),
            Self::Total => formatter.write_str("total"),
        }
    }
}

impl fmt::Display for ByHand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, points, before, why } = self;
        write!(formatter, "{target}: {points} points in place of {before}, set by {why}")
    }
}

impl Grade {
    pub(super) fn new(items: Vec<Item>, whole: f64, findings: Vec<String>) -> Self {
        Self { items, whole, findings, hand_in: None, by_hand: Vec::new(), seed: None, is_error_of_grader: false }
    }

    /// Final points: the earned points minus the loss for lateness.
    pub(super) fn points(&self) -> f64 {
        let total = self.by_hand.iter().find(|set| set.target == Target::Total);
        let factor = self.hand_in.map_or(1.0, HandIn::factor);
        total.map_or_else(|| self.scaled(self.sum() * factor), |total| total.points)
    }

    /// The points before lateness.
    pub(super) fn earned(&self) -> f64 {
        self.scaled(self.sum())
    }

    /// Sum over all tests and over the parts with manually set points, not scaled.
    fn sum(&self) -> f64 {
        let is_of_tests = |item: &&Item| self.set_for(item.package).is_none();
        let of_tests: f64 = self.items.iter().filter(is_of_tests).map(|item| item.points).sum();
        let of_parts = self.by_hand.iter().filter(|set| matches!(set.target, Target::Part(_)));
        of_tests + of_parts.map(|set| set.points * self.whole / 100.0).sum::<f64>()
    }

    /// Points that a person has set for a part.
    fn set_for(&self, package: &str) -> Option<f64> {
        let set = self.by_hand.iter().find(|set| matches!(set.target, Target::Part(part) if part == package));
        set.map(|set| set.points)
    }

    /// Sets points, out of 100, by hand. Callers set points of tests first, then of parts, then the
    /// total.
    pub(super) fn set(&mut self, target: &Target, points: f64, why: &str) {
        let before = match target {
            Target::Test(package, name) => {
                let raw = points * self.whole / 100.0;
                let mut items = self.items.iter_mut().filter(|item| item.package == *package && item.name == *name);
                let Some(item) = items.next() else { return };
                let before = std::mem::replace(&mut item.points, if raw > item.maximum { item.maximum } else { raw });
                item.feedback = format!("set by {why}\n{}", item.feedback).trim_end().to_owned();
                self.scaled(before)
            }
            Target::Part(package) => {
                self.scaled(self.items.iter().filter(|item| item.package == *package).map(|item| item.points).sum())
            }
            Target::Total => self.points(),
        };
        self.by_hand.push(ByHand { target: target.clone(), points, before, why: why.to_owned() });
    }

    /// Lines about lateness and manually set points.
    pub(super) fn notes(&self) -> Vec<String> {
        let lateness = match self.hand_in {
            Some(HandIn::Unknown) => Some("the time of handing in is unknown: graded as in time".to_owned()),
            Some(HandIn::Late { hours, factor }) => {
                Some(format!("{} hours late: {} points × {factor}", hundredths(hours), self.earned()))
            }
            Some(HandIn::InTime) | None => None,
        };
        lateness.into_iter().chain(self.by_hand.iter().map(ByHand::to_string)).collect()
    }

    pub(super) fn maximum(&self) -> f64 {
        self.scaled(self.items.iter().map(|item| item.maximum).sum())
    }

    /// Points of one part; `None` if the part is not graded.
    fn points_of(&self, part: Part) -> f64 {
        let of_tests = || self.items.iter().filter(|item| item.package == part.package()).map(|item| item.points).sum();
        self.set_for(part.package()).unwrap_or_else(|| self.scaled(of_tests()))
    }

    /// Scales points as shown: out of 100, with two decimals. A sum is exact if it is scaled as a
    /// whole.
    pub(super) fn scaled(&self, points: f64) -> f64 {
        hundredths(points * 100.0 / self.whole)
    }

    /// Text for a student: the points of each test, and why points are lost.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        // A compile error is the feedback of all tests of a part, so it appears once.
        for group in self.items.chunk_by(|a, b| a.feedback == b.feedback) {
            for item in group {
                let mark = if item.points == item.maximum { "[+]" } else { "[-]" };
                let [points, maximum] = [item.points, item.maximum].map(|points| self.scaled(points));
                text.push_str(&format!("{mark} {points:>5} of {maximum:>5}  {}\n", item.name));
            }
            group[0].feedback.lines().for_each(|line| text.push_str(&format!("                     {line}\n")));
        }
        self.findings.iter().for_each(|finding| text.push_str(&format!("[*] to look at: {finding}\n")));
        self.notes().iter().for_each(|note| text.push_str(&format!("[!] {note}\n")));
        text + &format!("{} of {} points\n", self.points(), self.maximum())
    }

    /// Tests with their feedback. Multi-line feedback appears once; later tests refer to the first
    /// test that has it.
    fn outputs(&self) -> impl Iterator<Item = (&Item, String)> {
        let groups = self.items.chunk_by(|a, b| a.feedback == b.feedback);
        groups.flat_map(|group| {
            let (first, feedback) = (&group[0].name, group[0].feedback.as_str());
            group.iter().enumerate().map(move |(index, item)| match feedback.split_once('\n') {
                Some((line, _)) if index > 0 => (item, format!("see {first}: {}", line.trim_end_matches(':'))),
                _ => (item, feedback.to_owned()),
            })
        })
    }

    /// Why parts have no points, in one line; empty if all parts have some.
    pub(super) fn reason(&self) -> String {
        let parts: Vec<&[Item]> = self.items.chunk_by(|a, b| a.package == b.package).collect();
        let reason_of = |part: &[Item]| {
            let feedback = part.iter().map(|item| item.feedback.as_str()).find(|feedback| !feedback.is_empty());
            let mut lines = feedback.unwrap_or_default().lines();
            let first = lines.next().unwrap_or_default();
            let second = if first.ends_with(':') { lines.next() } else { None };
            second.map_or(first.to_owned(), |second| format!("{first} {second}"))
        };
        let lost = parts.iter().filter(|part| part.iter().all(|item| item.points == 0.0));
        let lost: Vec<(&str, String)> = lost.map(|part| (part[0].package, reason_of(part))).collect();
        match &lost[..] {
            [] => String::new(),
            [(_, reason), rest @ ..] if lost.len() == parts.len() && rest.iter().all(|(_, other)| other == reason) => {
                reason.clone()
            }
            _ => {
                let reasons = lost.iter().map(|(package, reason)| format!("{package}: {reason}"));
                reasons.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// `results.json` of Gradescope's autograder.
    pub(super) fn to_gradescope(&self) -> String {
        let test = |(item, output): (&Item, String)| {
            json!({
                "name": format!("{}: {}", item.package, item.name),
                "score": self.scaled(item.points),
                "max_score": self.scaled(item.maximum),
                "status": if item.points == item.maximum { "passed" } else { "failed" },
                "output": output,
                "visibility": if item.name.starts_with("hidden::") { "after_published" } else { "visible" },
            })
        };
        let tests: Vec<_> = self.outputs().map(test).collect();
        let output = [self.notes(), self.findings.clone()].concat().join("\n");
        let mut results = json!({ "score": self.points(), "output": output, "tests": tests });
        if let Some(seed) = self.seed {
            results["extra_data"] = json!({ "seed": seed });
        }
        format!("{results:#}\n")
    }

    /// JUnit XML according to the schema junit-10.xsd of Jenkins' xUnit plugin.
    pub(super) fn to_junit(&self) -> String {
        let failures = self.items.iter().filter(|item| item.points < item.maximum).count();
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        text.push_str(&format!(
            "<testsuite name=\"homework\" tests=\"{}\" failures=\"{failures}\" errors=\"0\">\n",
            self.items.len()
        ));
        if let Some(seed) = self.seed {
            text.push_str(&format!("  <properties><property name=\"seed\" value=\"{seed}\"/></properties>\n"));
        }
        for (item, output) in self.outputs() {
            text.push_str(&format!("  <testcase classname=\"{}\" name=\"{}\"", item.package, item.name));
            match item.points < item.maximum {
                true => {
                    let feedback = escaped(&output);
                    text.push_str(&format!("><failure message=\"{feedback}\"/></testcase>\n"));
                }
                false => text.push_str("/>\n"),
            }
        }
        text + "</testsuite>\n"
    }
}

/// The table of a class: a row for each submission, with the points of each part. Columns for
/// lateness and manually set points appear only if a submission needs them.
///
/// # Errors
/// If the table cannot be written as CSV.
pub(super) fn table(parts: &[Part], grades: &[(String, Grade)]) -> Result<String> {
    let has_lateness = grades.iter().any(|(_, grade)| grade.hand_in.is_some());
    let has_by_hand = grades.iter().any(|(_, grade)| !grade.by_hand.is_empty());
    let mut header = vec!["submission"];
    header.extend(parts.iter().map(|part| part.package()));
    header.extend(has_lateness.then_some(["earned", "hours late", "late factor"]).iter().flatten());
    header.extend(["points", "maximum"]);
    header.extend(has_by_hand.then_some("set by hand"));
    let has_seed = grades.iter().any(|(_, grade)| grade.seed.is_some());
    header.extend(["reason", "findings"]);
    header.extend(has_seed.then_some("seed"));
    let mut rows: Vec<Vec<String>> = vec![header.into_iter().map(str::to_owned).collect()];
    for (name, grade) in grades {
        let mut row = vec![name.clone()];
        row.extend(parts.iter().map(|&part| grade.points_of(part).to_string()));
        if has_lateness {
            let hours = match grade.hand_in {
                Some(HandIn::Late { hours, .. }) => hundredths(hours).to_string(),
                Some(HandIn::InTime) => "0".to_owned(),
                Some(HandIn::Unknown) | None => String::new(),
            };
            let factor = grade.hand_in.map_or(1.0, HandIn::factor);
            row.extend([grade.earned().to_string(), hours, factor.to_string()]);
        }
        row.extend([grade.points(), grade.maximum()].map(|points| points.to_string()));
        if has_by_hand {
            let set: Vec<String> = grade.by_hand.iter().map(ByHand::to_string).collect();
            row.push(set.join("; "));
        }
        row.extend([grade.reason(), grade.findings.join("; ")]);
        row.extend(has_seed.then(|| grade.seed.map_or_else(String::new, |seed| seed.to_string())));
        rows.push(row);
    }
    to_csv(b',', rows)
}

/// Maximum length in bytes of a test's feedback, and the text appended to feedback that was cut.
const MAX_FEEDBACK: usize = 4 << 10;
const CUT: &str = "… (cut: it is longer than 4 KiB)";

/// Cuts long feedback: a submission controls its length.
fn shortened(feedback: &str) -> String {
    if feedback.len() <= MAX_FEEDBACK {
        return feedback.to_owned();
    }
    let end = feedback.floor_char_boundary(MAX_FEEDBACK - CUT.len());
    format!("{}{CUT}", &feedback[..end])
}

/// Rounds to at most two decimals.
fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Escapes text for an XML attribute, replacing characters that XML does not allow.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::points::{Program, tests};

    /// The fields of Gradescope's autograder specification that are used here; other fields are
    /// errors.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "their types are checked")]
    struct Gradescope {
        score: f64,
        output: String,
        extra_data: serde_json::Map<String, serde_json::Value>,
        tests: Vec<GradescopeTest>,
    }

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "their types are checked")]
    struct GradescopeTest {
        score: f64,
        max_score: f64,
        status: Status,
        name: String,
        output: String,
        visibility: Visibility,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        Passed,
        Failed,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Visibility {
        Hidden,
        AfterDueDate,
        AfterPublished,
        Visible,
    }

    fn test(part: Part, name: &str, points: f64) -> Test {
        Test { part, program: Program::Source, name: name.to_owned(), points, is_timed: false }
    }

    #[test]
    fn grade_is_written_for_gradescope_and_as_junit() {
        let items = vec![
            Item::passed(&test(Part::Two, "good", 7.0)),
            Item::failed(&test(Part::Two, "bad", 3.0), "c[0][1] < \"4\" & \u{1b}[31m"),
        ];
        let grade = Grade { seed: Some(4711), ..Grade::new(items, 100.0, vec!["look".to_owned()]) };
        let documented: Gradescope = serde_json::from_str(&grade.to_gradescope()).unwrap();
        assert!(documented.tests.iter().all(|test| test.score <= test.max_score && !test.name.is_empty()));
        let json: serde_json::Value = serde_json::from_str(&grade.to_gradescope()).unwrap();
        assert_eq!((&json["score"], &json["tests"][1]["status"]), (&json!(7.0), &json!("failed")));
        assert_eq!((&json["tests"][0]["max_score"], &json["extra_data"]["seed"]), (&json!(7.0), &json!(4711)));
        // The student's text does not contain the seed.
        assert!(!grade.to_text().contains("4711"));
        let table = table(&[Part::Two], &[("ann".to_owned(), grade.clone())]).unwrap();
        assert!(table.lines().map(|row| row.rsplit_once(',').unwrap().1).eq(["\"seed\"", "\"4711\""]), "{table}");
        let xml = grade.to_junit();
        assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{xml}");
        assert!(xml.contains("<properties><property name=\"seed\" value=\"4711\"/></properties>\n"), "{xml}");
        assert!(xml.contains("message=\"c[0][1] &lt; &quot;4&quot; &amp; \u{fffd}[31m\""), "{xml}");
    }

    #[test]
    fn grade_writes_only_characters_that_xml_has() {
        // XML 1.0, section 2.2. A tab or a carriage return in an attribute would become a space.
        let is_char =
            |letter: char| matches!(letter, '\n' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        let all: String = (0..=u32::from(char::MAX)).filter_map(char::from_u32).collect();
        let escaped = escaped(&all);
        assert!(escaped.chars().all(is_char) && !escaped.contains(['\n', '<', '"']));
        assert!(escaped.contains("\u{fffd}\u{fffd}\u{fffd}\u{10000}"));
        let (kept, replaced) =
            (all.chars().filter(|&letter| is_char(letter)).count(), escaped.matches('\u{fffd}').count());
        // Characters allowed in XML are kept, except DEL and the Latin-1 control characters, which
        // XML discourages.
        assert_eq!(replaced, all.chars().count() - kept + 33 + 1);
    }

    #[test]
    fn grade_writes_a_compile_error_once() {
        let error = "it does not compile:\nsrc/lib.rs:1:1: error: x";
        let items = vec![
            Item::passed(&test(Part::One, "good", 4.0)),
            Item::failed(&test(Part::Two, "a", 4.0), error),
            Item::failed(&test(Part::Two, "b", 2.0), error),
            Item::failed(&test(Part::Three, "c", 2.0), "c[0][0] is 1"),
            Item::failed(&test(Part::Three, "d", 2.0), "c[0][0] is 1"),
        ];
        let grade = Grade::new(items, 14.0, Vec::new());
        assert_eq!(
            grade.to_text(),
            "[+] 28.57 of 28.57  good
[-]     0 of 28.57  a
[-]     0 of 14.29  b
                     it does not compile:
                     src/lib.rs:1:1: error: x
[-]     0 of 14.29  c
[-]     0 of 14.29  d
                     c[0][0] is 1
28.57 of 100 points
"
        );
        let outputs: Vec<String> = grade.outputs().map(|(_, output)| output).collect();
        assert_eq!(outputs, ["", error, "see a: it does not compile", "c[0][0] is 1", "c[0][0] is 1"]);
        let reason = "max_functions: it does not compile: src/lib.rs:1:1: error: x; matmul_functions: c[0][0] is 1";
        assert_eq!(grade.reason(), reason);
    }

    #[test]
    fn grade_cuts_a_long_feedback_and_says_that() {
        let test = test(Part::One, "a", 50.0);
        for long in ["x".repeat(200 << 20), "ü".repeat(5000)] {
            let feedback = Item::failed(&test, &long).feedback;
            assert!((MAX_FEEDBACK - 1..=MAX_FEEDBACK).contains(&feedback.len()), "{}", feedback.len());
            assert!(feedback.ends_with("… (cut: it is longer than 4 KiB)"));
        }
        let whole = "x".repeat(MAX_FEEDBACK);
        assert_eq!(Item::failed(&test, &whole).feedback, whole);
    }

    #[test]
    fn grade_scales_the_points_of_some_parts_to_100() {
        let all = tests(None).unwrap();
        for parts in [&[Part::One, Part::Two, Part::Three][..], &[Part::Activation], &[Part::Two, Part::Activation]] {
            let tests = || all.iter().filter(|test| parts.contains(&test.part));
            let whole = tests().map(|test| test.points).sum();
            let grade = Grade::new(tests().map(Item::passed).collect(), whole, Vec::new());
            assert!(grade.to_text().ends_with("\n100 of 100 points\n"), "{}", grade.to_text());
            let json: serde_json::Value = serde_json::from_str(&grade.to_gradescope()).unwrap();
            assert_eq!(json["score"], 100.0);
            for item in &grade.items {
                assert!((grade.scaled(item.points) - item.points * 100.0 / whole).abs() <= 0.005);
            }
        }
    }

    #[test]
    fn grade_writes_a_table_that_a_spreadsheet_reads_and_does_not_run() {
        let parts = [Part::One, Part::Two];
        let tests = [test(Part::One, "a", 50.0), test(Part::Two, "b", 50.0)];
        let grade = |items, findings: &[&str]| {
            Grade::new(items, 100.0, findings.iter().map(|&finding| finding.to_owned()).collect())
        };
        let grades = [
            ("=cmd|'/c calc'!A1.zip".to_owned(), grade(tests.iter().map(Item::passed).collect(), &["-x", "y"])),
            (
                "Lovelace, \"Ada\".7z".to_owned(),
                grade(tests.iter().map(|test| Item::failed(test, "a 7z archive")).collect(), &[]),
            ),
            (
                "@b".to_owned(),
                grade(vec![Item::failed(&tests[0], "it does not compile:\nx, y\nz"), Item::passed(&tests[1])], &[]),
            ),
        ];
        assert_eq!(
            table(&parts, &grades).unwrap(),
            "\"submission\",\"utils\",\"max_functions\",\"points\",\"maximum\",\"reason\",\"findings\"
\"'=cmd|'/c calc'!A1.zip\",\"50\",\"50\",\"100\",\"100\",\"\",\"'-x; y\"
\"Lovelace, \"\"Ada\"\".7z\",\"0\",\"0\",\"0\",\"100\",\"a 7z archive\",\"\"
\"'@b\",\"0\",\"50\",\"50\",\"100\",\"utils: it does not compile: x, y\",\"\"
"
        );
    }

    /// A late submission with tests of 20, 30 and 50 points. The first test fails.
    fn late() -> Grade {
        let tests = [("a", Part::One, 2.0), ("b", Part::One, 3.0), ("c", Part::Two, 5.0)];
        let [a, b, c] = tests.map(|(name, part, points)| test(part, name, points));
        let items = vec![Item::failed(&a, "a is wrong"), Item::passed(&b), Item::passed(&c)];
        let hand_in = Some(HandIn::Late { hours: 26.504, factor: 0.9 });
        Grade { hand_in, ..Grade::new(items, 10.0, vec!["look".to_owned()]) }
    }

    #[test]
    fn grade_counts_lateness_after_points_by_hand_and_a_total_last() {
        let mut grade = late();
        assert_eq!((grade.earned(), grade.points()), (80.0, 72.0));
        grade.set(&Target::Test("utils", "a".to_owned()), 10.0, "lecturer: half right");
        assert_eq!((grade.earned(), grade.points(), grade.points_of(Part::One)), (90.0, 81.0, 40.0));
        grade.set(&Target::Part("utils"), 20.0, "lecturer: copied");
        assert_eq!((grade.earned(), grade.points(), grade.points_of(Part::One)), (70.0, 63.0, 20.0));
        let of_parts = grade.clone();
        grade.set(&Target::Total, 64.5, "lecturer: ill");
        assert_eq!((grade.earned(), grade.points(), grade.maximum()), (70.0, 64.5, 100.0));
        assert_eq!(
            grade.to_text(),
            "[-]    10 of    20  a
                     set by lecturer: half right
                     a is wrong
[+]    30 of    30  b
[+]    50 of    50  c
[*] to look at: look
[!] 26.5 hours late: 70 points × 0.9
[!] a: 10 points in place of 0, set by lecturer: half right
[!] utils: 20 points in place of 40, set by lecturer: copied
[!] total: 64.5 points in place of 63, set by lecturer: ill
64.5 of 100 points
"
        );
        let json: serde_json::Value = serde_json::from_str(&grade.to_gradescope()).unwrap();
        assert_eq!((&json["score"], &json["tests"][0]["score"]), (&json!(64.5), &json!(10.0)));
        assert!(
            json["output"].as_str().unwrap().starts_with("26.5 hours late: 70 points × 0.9\na: 10 points"),
            "{json}"
        );

        let in_time = Grade { hand_in: Some(HandIn::InTime), ..Grade::new(late().items, 10.0, Vec::new()) };
        let unknown = Grade { hand_in: Some(HandIn::Unknown), ..in_time.clone() };
        assert!(unknown.to_text().contains("[!] the time of handing in is unknown: graded as in time\n"));
        let grades =
            [("ann", of_parts), ("bob", in_time), ("cai", unknown)].map(|(name, grade)| (name.to_owned(), grade));
        assert_eq!(
            table(&[Part::One, Part::Two], &grades).unwrap().replace('"', ""),
            "submission,utils,max_functions,earned,hours late,late factor,points,maximum,set by hand,reason,findings
ann,20,50,70,26.5,0.9,63,100,a: 10 points in place of 0, set by lecturer: half right; utils: 20 points in place of 40, set by lecturer: copied,,look
bob,30,50,80,0,1,80,100,,,
cai,30,50,80,,1,80,100,,,
"
        );
    }
}
