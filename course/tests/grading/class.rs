//! A synthetic class in Moodle's format: correct submissions with other names and comments,
//! mistakes, cheats, copies, late submissions, manually set points, and a second grading after one
//! student has handed in again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Change::Replace;
use super::{Change, LISTS, MAX_CPU, Submission, cheats, files_below, hostile, mistakes, not_rust, others};

/// Size of a block of students with one student of each kind.
const BLOCK: usize = 20;

const DUE: &str = "due = 2026-11-20T23:59:00+01:00\ngrace_minutes = 15\n\
    factors = [{ hours = 24, factor = 0.9 }, { hours = 48, factor = 0.5 }]\n\n[extensions]\n";

/// Variable names that a student uses in place of the solution's.
const NAMES: [[(&str, &str); 6]; 4] = [
    [
        ("rows", "rows"),
        ("columns", "columns"),
        ("sum", "sum"),
        ("cell", "cell"),
        ("batch", "batch"),
        ("bound", "bound"),
    ],
    [("rows", "m"), ("columns", "n"), ("sum", "acc"), ("cell", "index"), ("batch", "part"), ("bound", "limit")],
    [("rows", "height"), ("columns", "width"), ("sum", "total"), ("cell", "at"), ("batch", "slice"), ("bound", "r")],
    [
        ("rows", "row_count"),
        ("columns", "col_count"),
        ("sum", "s"),
        ("cell", "pos"),
        ("batch", "of"),
        ("bound", "edge"),
    ],
];
const RENAMED: [&str; 6] = [
    MAX_CPU,
    "matmul_functions/src/trivial.rs",
    "matmul_functions/src/parallel.rs",
    "matmul_functions/src/kernel.rs",
    "utils/src/batches.rs",
    "utils/src/weights.rs",
];

/// When a student hands in, in Moodle's words, and the expected lateness.
struct HandIn {
    time: &'static str,
    /// Hours in the table of grades.
    hours: &'static str,
    factor: f64,
}

/// Expected results of a student.
pub(super) struct Student {
    pub(super) name: String,
    number: usize,
    submission: Submission,
    hand_in: HandIn,
    /// A total set by a person.
    total: Option<f64>,
    /// The original student, if this submission is a disguised copy.
    copied_from: Option<usize>,
}

/// The changes and lost points of a submission, without its name.
fn kind(index: usize) -> Submission {
    let (block, place) = (index / BLOCK, index % BLOCK);
    let of = |mut all: Vec<Submission>, nth: usize| all.swap_remove(nth % all.len());
    match place {
        11 | 12 => of(mistakes(), 2 * block + place - 11),
        13 => of(not_rust(), block),
        14 => of(hostile(), block),
        15..=17 => of(cheats::all(), 3 * block + place - 15),
        18 => of(others(), block + 1),
        _ => Submission { name: "right", changes: Vec::new(), lost: &[], feedback: &[" of 100 points"] },
    }
}

fn hand_in(index: usize) -> HandIn {
    let of = |time, hours, factor| HandIn { time, hours, factor };
    match index % BLOCK {
        1 | 12 => of("Saturday, 21 November 2026, 1:59 AM", "2", 0.9),
        2 => of("Sunday, 22 November 2026, 5:59 AM", "30", 0.5),
        3 => of("Monday, 23 November 2026, 11:59 AM", "60", 0.0),
        4 => of("Saturday, 21 November 2026, 12:10 AM", "0", 1.0),
        // This student has an extension.
        5 => of("Monday, 23 November 2026, 11:59 AM", "0", 1.0),
        6 => of("-", "", 1.0),
        _ => of("Friday, 20 November 2026, 6:30 PM", "0", 1.0),
    }
}

/// Creates a class of students.
pub(super) fn students(count: usize) -> Vec<Student> {
    let of = |index| Student {
        name: format!("Student {index}_{}_assignsubmission_file", 1000 + index),
        number: index,
        submission: kind(index),
        hand_in: hand_in(index),
        total: (index % BLOCK == 7).then_some(55.5),
        copied_from: (index % BLOCK == 10).then(|| index - 10),
    };
    (0..count).map(of).collect()
}

/// Writes the students' submissions and the teacher's files to a folder.
pub(super) fn write(solved: &Path, given: &Path, folder: &Path, students: &[Student]) {
    let class = folder.join("class");
    let mut worksheet =
        "Identifier,\"Full name\",\"Email address\",Status,Grade,\"Maximum grade\",\"Grade can be changed\",\
        \"Last modified (submission)\",\"Last modified (grade)\",\"Feedback comments\"\n"
            .to_owned();
    let (mut late, mut overrides) = (DUE.to_owned(), "name,test,points,reason,by\n".to_owned());
    for student in students {
        let Student { name, number, submission, hand_in, total, copied_from } = student;
        super::write_submission(solved, given, &class, submission);
        std::fs::rename(class.join(submission.name), class.join(name)).unwrap();
        personalise(&class.join(name), *number, copied_from.unwrap_or(*number), submission);
        worksheet.push_str(&format!(
            "Participant {},Student {number},{number}@example.org,Submitted,,100.00,Yes,\"{}\",-,\n",
            1000 + number,
            hand_in.time
        ));
        if number % BLOCK == 5 {
            late.push_str(&format!("\"{name}\" = 2026-11-27T23:59:00+01:00\n"));
        }
        if let Some(total) = total {
            overrides.push_str(&format!("{name},total,{total},oral exam,lecturer\n"));
        }
    }
    worksheet.push_str("Participant 999,Absent Student,n@example.org,No submission,,100.00,Yes,-,-,\n");
    std::fs::write(folder.join("worksheet.csv"), worksheet).unwrap();
    std::fs::write(folder.join("late.toml"), late).unwrap();
    std::fs::write(folder.join("overrides.csv"), overrides).unwrap();
    std::fs::write(folder.join("points.toml"), points()).unwrap();
}

/// The tests except those that compare times: timings depend on the machine's other load.
fn points() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("grading/points.toml");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter(|line| !line.contains("needs = \"cores\"")).map(|line| format!("{line}\n")).collect()
}

/// The points of tests, by package and name.
fn points_of_tests() -> BTreeMap<(String, String), f64> {
    let (mut package, mut tests) = ("", BTreeMap::new());
    for line in points().lines() {
        package = match line.split_once(" = [").map(|(part, _)| part) {
            Some("1") => "utils",
            Some("2") => "max_functions",
            Some("3") => "matmul_functions",
            Some("activation") => "activation_functions",
            _ => package,
        };
        if let Some((name, rest)) =
            line.split_once("{ test = \"").and_then(|(_, rest)| rest.split_once("\", points = "))
        {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            tests.insert((package.to_owned(), name.to_owned()), digits.parse().unwrap());
        }
    }
    tests
}

/// Makes each student's files different. A correct submission gets the student's variable names,
/// comments, and a function of `author` with a unique structure. Any other submission gets a
/// comment in each file.
fn personalise(folder: &Path, student: usize, author: usize, submission: &Submission) {
    if submission.changes.is_empty() {
        for file in RENAMED {
            let file = folder.join(file);
            let text = std::fs::read_to_string(&file).unwrap();
            let text = NAMES[student % NAMES.len()].iter().fold(text, |text, (from, to)| renamed(&text, from, to));
            std::fs::write(file, text).unwrap();
        }
    }
    let packages = super::ALL_PACKAGES.iter().map(|package| folder.join(package).join("src"));
    for file in packages.filter(|folder| folder.is_dir()).flat_map(|folder| files_below(&folder)) {
        if let Ok(mut text) = std::fs::read_to_string(&file) {
            text.push_str(&format!("// Student {student}.\n"));
            if file.ends_with(LISTS) && submission.changes.is_empty() {
                text.push_str(&own_function(author, &format!("own_{student}")));
            }
            std::fs::write(file, text).unwrap();
        }
    }
}

/// Renames a variable, but not fields, methods or parts of other names.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let mut parts = text.split(from);
    let mut renamed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_inside = renamed.ends_with(is_part) && !renamed.ends_with("..")
            || part.starts_with(|letter| is_part(letter) && letter != '.');
        renamed.push_str(if is_inside { from } else { to });
        renamed.push_str(part);
    }
    renamed
}

/// A function with operators chosen by a linear congruential generator (Knuth's MMIX) from a seed.
fn own_function(seed: usize, name: &str) -> String {
    const OPERATORS: [&str; 8] = ["+", "-", "*", "/", "%", "^", "&", "|"];
    let mut state = seed as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let terms: String = (0..100).map(|_| format!(" {} {}", OPERATORS[next() % 8], ["a", "b"][next() % 2])).collect();
    format!("#[allow(dead_code)]\nfn {name}(a: u32, b: u32) -> u32 {{\n    a{terms}\n}}\n")
}

/// Returns the errors in the results of a grading, and the points of each student. `folder`
/// contains the files from [`write`] and from the grader.
pub(super) fn wrong(folder: &Path, students: &[Student]) -> (Vec<String>, BTreeMap<String, String>) {
    let feedback = folder.join("feedback");
    let raw = points_of_tests();
    let all = super::tests_of(&feedback, &students[0].name, |_| true);
    let whole: f64 = all.iter().map(|test| raw[test]).sum();
    let hundredths = |points: f64| (points * 100.0).round() / 100.0;
    let graded_of = |file: &str, name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let row = text.lines().find(|line| line.starts_with(&format!("\"{name}\","))).unwrap_or_default().to_owned();
        row.trim_matches('"').split("\",\"").map(str::to_owned).collect()
    };
    let (mut wrong, mut points) = (Vec::new(), BTreeMap::new());
    for Student { name, number, submission, hand_in, total, .. } in students {
        let is_lost =
            |(package, test): &&(String, String)| submission.lost.iter().any(|lost| lost == package || lost == test);
        let (lost, text) = super::results(&feedback, name);
        let expected: BTreeSet<(String, String)> = all.iter().filter(is_lost).cloned().collect();
        if lost != expected {
            wrong.push(format!("{name} ({}): lost {lost:?}, expected {expected:?}\n{text}", submission.name));
        }
        // Mistakes that only timing tests find go unnoticed without these tests.
        let is_timed = !submission.lost.is_empty() && submission.lost.iter().all(|lost| lost.contains("is_faster"));
        let parts =
            submission.feedback.iter().filter(|part| !is_timed && !part.contains("is_faster") && !text.contains(*part));
        // Parts are scored out of 96 points without the timing tests, and lateness applies.
        let parts = parts.filter(|part| !part.contains(" of 100 points") && !part.contains("it takes"));
        wrong.extend(parts.map(|part| format!("{name} ({}): no {part:?} in\n{text}", submission.name)));
        let earned: f64 =
            all.iter().filter(|test| !expected.contains(*test)).fold(0.0, |sum, test| sum + raw[test]) * 100.0 / whole;
        let counted = total.unwrap_or_else(|| hundredths(earned * hand_in.factor));
        let row = graded_of("grades.csv", name);
        let expected =
            [hundredths(earned).to_string(), hand_in.hours.to_owned(), hand_in.factor.to_string(), counted.to_string()];
        if row.get(5..9) != Some(&expected[..]) {
            wrong.push(format!("{name} ({}): the table has {row:?}, expected {expected:?}", submission.name));
        }
        let row = graded_of("worksheet-graded.csv", &format!("Participant {}", 1000 + number));
        if row.get(4) != Some(&counted.to_string()) {
            wrong.push(format!("{name}: the worksheet has {row:?}, expected {counted}"));
        }
        points.insert(name.clone(), counted.to_string());
    }
    let page = std::fs::read_to_string(folder.join("class.html")).unwrap();
    let pairs = page.split("<summary>").skip(1).filter_map(|rest| rest.split_once(" %: ")?.1.split_once("</summary>"));
    let pairs: BTreeSet<String> = pairs.map(|(names, _)| names.to_owned()).collect();
    let copies = students.iter().filter_map(|student| Some((&students[student.copied_from?].name, &student.name)));
    let in_order = |(a, b): (&String, &String)| if a < b { format!("{a} and {b}") } else { format!("{b} and {a}") };
    let copies: BTreeSet<String> = copies.map(in_order).collect();
    // Two students with the same mistake or cheat are similar too; a correct submission is similar
    // only to its copies.
    let is_own =
        |name: &str| students.iter().any(|student| student.name == name && student.submission.changes.is_empty());
    let has_own = |pair: &&String| pair.split_once(" and ").is_none_or(|(a, b)| is_own(a) || is_own(b));
    let others: BTreeSet<String> = pairs.difference(&copies).filter(has_own).cloned().collect();
    if !copies.is_subset(&pairs) || !others.is_empty() {
        wrong.push(format!("alike: {pairs:?}, expected {copies:?}, and no others such as {others:?}"));
    }
    wrong.extend(wrong_of_published(&page, students));
    (wrong, points)
}

/// Returns the errors in the page's lists: submissions similar to the published solutions, and code
/// that many submissions share.
fn wrong_of_published(page: &str, students: &[Student]) -> Vec<String> {
    // The correct submissions are renamed copies of the published solutions, in one cluster.
    let right = || students.iter().filter(|student| student.submission.changes.is_empty());
    let is_published = |name: &str| {
        let summary = page.split("<summary>").find(|rest| rest.starts_with(&format!("{name}: ")));
        summary
            .is_some_and(|rest| rest.split("</summary>").next().unwrap_or_default().ends_with("the published solution"))
    };
    let others = right().filter(|student| !is_published(&student.name));
    let mut wrong: Vec<String> =
        others.map(|student| format!("{}: it is not listed as like the published solution", student.name)).collect();
    let clusters = page.split(" submissions, most of it as in the published solution</summary>").skip(1);
    let is_cluster =
        |text: &str| right().all(|student| text.split("</p>").next().unwrap_or_default().contains(&student.name));
    if !clusters.into_iter().any(is_cluster) {
        wrong.push("the page has no cluster of all right submissions".to_owned());
    }
    wrong
}

/// Resubmits one student's work with a mistake, and returns the student's name.
pub(super) fn hand_in_again(folder: &Path, students: &[Student]) -> String {
    let name = students[8].name.clone();
    let file = folder.join("class").join(&name).join(MAX_CPU);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, text.replacen("for j in 0..", "for j in 1..", 1)).unwrap();
    name
}

/// Median time between the results of consecutive submissions.
pub(super) fn median_time(feedback: &Path, students: &[Student]) -> Duration {
    let time = |file: PathBuf| std::fs::metadata(file).unwrap().modified().unwrap();
    let mut times: Vec<SystemTime> =
        students.iter().map(|student| time(feedback.join(format!("{}.json", student.name)))).collect();
    times.sort();
    let mut taken: Vec<Duration> = times.windows(2).map(|pair| pair[1].duration_since(pair[0]).unwrap()).collect();
    taken.sort();
    taken[taken.len() / 2]
}

#[test]
fn students_have_their_own_names_and_functions() {
    assert_eq!(
        renamed("let rows = a.nrows(); 0..rows; x.rows; rows.min(rows_of)", "rows", "m"),
        "let m = a.nrows(); 0..m; x.rows; m.min(rows_of)"
    );
    let structure = |seed| own_function(seed, "f").replace('b', "a");
    assert_ne!(structure(0), structure(1));
    assert_eq!(own_function(3, "f"), own_function(3, "g").replace("fn g", "fn f"));
    let class = students(200);
    assert_eq!(class.iter().filter(|student| student.copied_from.is_some()).count(), 10);
    assert!(class.iter().any(|student| matches!(student.submission.changes[..], [Change::Given])));
    assert!(
        class.iter().all(|student| student
            .submission
            .changes
            .iter()
            .all(|change| !matches!(change, Replace(_, "", _))))
    );
}
