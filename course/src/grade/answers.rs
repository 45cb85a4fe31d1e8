//! `cargo course answers`: collects a class's answers.md files on a page with the answer key and
//! the grading criteria, and writes a table for the marks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use command_line::{counted, one_of, say};
use serde::Deserialize;
use whole_files::{require_distinct, write_privately};

use super::results::escaped;
use super::sheet::to_csv;
use super::{class, class_page, name_of, submission, without_panic};
use crate::starter::{Assignment, Part, answers_template, read_text, section_of};
use crate::workspace_root;

/// Options of `cargo course answers`.
#[derive(Args)]
pub struct Options {
    /// Folder of the submissions, as for `grade --all`
    #[arg(value_name = "DIR")]
    submissions: PathBuf,
    /// Assignment of the submissions
    #[arg(long, default_value = "1", value_parser = one_of(&Assignment::ALL, Assignment::name, Assignment::description))]
    assignment: Assignment,
    /// The table for the marks, which must not exist yet
    #[arg(long, value_name = "FILE")]
    csv: PathBuf,
    /// A page with the key, the grading criteria, and all answers
    #[arg(long, value_name = "FILE.html")]
    page: PathBuf,
}

/// Placeholder for an explanation in the template.
const BLANK: &str = "(your explanation)";

/// Key to the answer for one part.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    /// The content of a good answer.
    key: String,
    criteria: Vec<Criterion>,
}

/// A criterion that gets points.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Criterion {
    label: String,
    points: u32,
    text: String,
}

/// A part's section of answers.md.
struct Question {
    package: &'static str,
    heading: String,
    /// Lines that students are given.
    given: BTreeSet<String>,
    question: String,
    key: Key,
}

/// Answers of a submission.
enum Answers {
    /// The text of answers.md.
    Text(String),
    /// Why there is no answers.md.
    None(String),
}

/// Writes the table and the page.
///
/// # Errors
/// If the assignment has no questions, the table exists, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let Options { submissions, assignment, csv, page } = options;
    // A page of an earlier run may be among the submissions.
    let mut inputs = class::submissions_in(submissions, &[])?;
    inputs.retain(|path| submission::has_name_of_archive(path));
    require_distinct([("--csv", csv.as_path()), ("--page", page.as_path())], &inputs)?;
    ensure!(!csv.exists(), "{} exists, and may have marks: choose another file, or remove it", csv.display());
    let questions = questions(*assignment)?;
    ensure!(!questions.is_empty(), "assignment {} has no questions in answers.md", assignment.name());
    let paths = class::submissions_in(submissions, &[page])?;
    let answers: Vec<(String, Answers)> =
        paths.iter().map(|path| (name_of(path), answers_of(path, *assignment))).collect();
    for (file, text) in [(csv, table(&questions, &answers)?), (page, html(&questions, &answers))] {
        write_privately(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let points: u32 = questions.iter().map(|question| question.points()).sum();
    say!(
        "{}: {}, {points} points; the answers and the key are in {}",
        csv.display(),
        counted(answers.len(), "submission"),
        page.display()
    );
    Ok(ExitCode::SUCCESS)
}

fn answers_of(path: &Path, assignment: Assignment) -> Answers {
    let read = without_panic(|| submission::read(path, assignment)).and_then(|read| read);
    match read.map(|sources| sources.answers) {
        Ok(Some(text)) => Answers::Text(text),
        Ok(None) => Answers::None("it has no answers.md that can be read".to_owned()),
        Err(reason) => Answers::None(reason),
    }
}

/// Returns the questions of an assignment, with their keys.
fn questions(assignment: Assignment) -> Result<Vec<Question>> {
    let file = workspace_root().join("course/grading/answers.toml");
    let mut keys: BTreeMap<String, Key> =
        toml::from_str(&read_text(&file)?).with_context(|| file.display().to_string())?;
    let template = answers_template()?;
    let mut questions = Vec::new();
    for package in assignment.parts().iter().copied().map(Part::package) {
        let Some(section) = section_of(&template, package) else { continue };
        let key = keys.remove(package).with_context(|| format!("{} has no key for {package}", file.display()))?;
        let heading =
            section.lines().find(|line| line.starts_with("## ")).context("a section has a heading")?.to_owned();
        let is_question = |line: &&str| !line.starts_with("## ") && !line.starts_with("<!--") && *line != BLANK;
        let question = section.lines().filter(is_question).collect::<Vec<_>>().join("\n").trim().to_owned();
        let given = section.lines().map(|line| line.trim().to_owned()).collect();
        questions.push(Question { package, heading, given, question, key });
    }
    Ok(questions)
}

impl Question {
    fn points(&self) -> u32 {
        self.key.criteria.iter().map(|criterion| criterion.points).sum()
    }

    /// Returns what a student has written, including the measured table: the section's lines that
    /// were not given. `None` if the section's heading is gone.
    fn answer(&self, text: &str, others: &[Question]) -> Option<String> {
        let mut lines = text.lines().skip_while(|line| line.trim() != self.heading);
        lines.next()?;
        let own = lines.take_while(|line| !others.iter().any(|other| line.trim() == other.heading));
        let own: Vec<&str> = own.filter(|line| line.trim().is_empty() || !self.given.contains(line.trim())).collect();
        Some(own.join("\n").trim().to_owned())
    }
}

/// Whether a student has written nothing besides the measured table.
fn is_blank(answer: &str) -> bool {
    let is_of_table = |line: &str| line.is_empty() || line.starts_with('|') || line.starts_with("Measured on ");
    answer.lines().all(|line| is_of_table(line.trim()))
}

/// Returns the table: a row for each submission, a column for each criterion, and a spreadsheet
/// formula for their sum. Blank answers get 0.
fn table(questions: &[Question], answers: &[(String, Answers)]) -> Result<String> {
    let mut header = vec!["submission".to_owned()];
    for Question { package, key, .. } in questions {
        header.extend(key.criteria.iter().map(|of| format!("{package}: {} (of {})", of.label, of.points)));
    }
    let last = column(header.len() - 1);
    header.push(format!("sum (of {})", questions.iter().map(Question::points).sum::<u32>()));
    header.push("remark".to_owned());
    let mut rows = vec![header];
    for (index, (name, answers)) in answers.iter().enumerate() {
        let (mut row, mut remarks) = (vec![name.clone()], Vec::new());
        for question in questions {
            let answer = match answers {
                Answers::Text(text) => question.answer(text, questions),
                Answers::None(_) => Some(String::new()),
            };
            let is_missing = answer.as_deref().is_some_and(is_blank);
            let mark = if is_missing { "0" } else { "" };
            row.extend(question.key.criteria.iter().map(|_| mark.to_owned()));
            match (answers, answer) {
                (Answers::Text(_), None) => remarks.push(format!("{}: its heading is gone", question.package)),
                (Answers::Text(_), Some(_)) if is_missing => remarks.push(format!("{}: blank", question.package)),
                _ => {}
            }
        }
        if let Answers::None(reason) = answers {
            remarks.push(reason.clone());
        }
        // The header is line 1.
        row.push(format!("=SUM(B{0}:{last}{0})", index + 2));
        row.push(remarks.join("; "));
        rows.push(row);
    }
    to_csv(b',', rows)
}

/// Returns the letters of a spreadsheet column, from index 0: A, B, …, Z, AA, AB, ….
fn column(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    if index < 26 { letter.to_string() } else { format!("{}{letter}", column(index / 26 - 1)) }
}

/// Returns the page: each question with its key, its criteria, and all answers.
fn html(questions: &[Question], answers: &[(String, Answers)]) -> String {
    let mut page = class_page::HEAD.replace("<title>Grades</title>", "<title>Answers</title>");
    let _ = writeln!(page, "<h1>Answers of {}</h1>", counted(answers.len(), "submission"));
    for question in questions {
        let Question { heading, question: text, key: Key { key, criteria }, .. } = question;
        let _ = writeln!(page, "<h2>{}</h2>\n<p>{}</p>", escaped(heading.trim_start_matches("## ")), escaped(text));
        let _ = writeln!(page, "<details open>\n<summary>Key</summary>\n<pre>{}</pre>\n<table>", escaped(key.trim()));
        for Criterion { label, points, text } in criteria {
            let _ = writeln!(page, "<tr><td>{}<td class=\"number\">{points}<td>{}", escaped(label), escaped(text));
        }
        page.push_str("</table>\n</details>\n");
        for (name, answers) in answers {
            let shown = match answers {
                Answers::None(reason) => reason.clone(),
                // If the student has not kept the template's form, the whole text is shown.
                Answers::Text(text) => question.answer(text, questions).unwrap_or_else(|| text.clone()),
            };
            let _ = writeln!(page, "<h3>{}</h3>\n<pre>{}</pre>", escaped(name), escaped(&shown));
        }
    }
    page + "</html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filled-in answers.md of the first assignment.
    fn filled(explanation: &str) -> String {
        let mut text = "# Answers\n\n".to_owned();
        for package in ["max_functions", "matmul_functions", "activation_functions"] {
            text.push_str(section_of(&answers_template().unwrap(), package).unwrap());
        }
        text.replacen(BLANK, explanation, 1)
    }

    #[test]
    fn grade_has_a_key_and_a_rubric_for_each_question() {
        let template = answers_template().unwrap();
        let mut count = 0;
        for assignment in Assignment::ALL {
            for question in questions(assignment).unwrap() {
                let Question { package, question: text, key: Key { key, criteria }, .. } = &question;
                assert!(text.ends_with(['?', '.']) && key.trim().len() > 100 && question.points() > 0, "{package}");
                let labels: BTreeSet<&str> = criteria.iter().map(|criterion| criterion.label.as_str()).collect();
                assert_eq!(labels.len(), criteria.len(), "{package}");
                assert!(
                    criteria.iter().all(|criterion| criterion.points > 0 && !criterion.text.is_empty()),
                    "{package}"
                );
                count += 1;
            }
        }
        assert_eq!(count, template.matches(BLANK).count());
        let keys = read_text(&workspace_root().join("course/grading/answers.toml")).unwrap();
        assert_eq!(count, keys.matches("\nkey = ").count());
    }

    #[test]
    fn grade_reads_an_answer_without_what_was_given() {
        let questions = questions(Assignment::One).unwrap();
        let text = filled("The memory is **full**.\n\n## By the way\n\n| a | table |");
        let answer = |question: &Question, text: &str| question.answer(text, &questions);
        let [maximum, product, _] = &questions[..] else { panic!("three questions") };
        let expected = "The memory is **full**.\n\n## By the way\n\n| a | table |";
        assert_eq!(answer(maximum, &text).as_deref(), Some(expected));
        assert_eq!(answer(product, &text).as_deref(), Some(""));
        assert_eq!(answer(maximum, "my own form"), None);
        let measured = "Measured on a machine with 2 cores.\n\n| threads | CPU |\n|---|---|\n| 1 | 2 ms |\n";
        assert!(is_blank(measured) && is_blank("") && !is_blank(expected));
    }

    #[test]
    fn grade_writes_a_table_for_marks_and_a_page_with_the_key() {
        let questions = questions(Assignment::One).unwrap();
        let answers = [
            ("=ann".to_owned(), Answers::Text(filled("Because of <memory>."))),
            ("bob".to_owned(), Answers::None("it has no files".to_owned())),
            ("cai".to_owned(), Answers::Text("My own form.".to_owned())),
        ];
        let table = table(&questions, &answers).unwrap().replace('"', "");
        let rows: Vec<&str> = table.lines().collect();
        assert!(
            rows[0].starts_with("submission,max_functions: figure (of 1),max_functions: memory (of 2),"),
            "{table}"
        );
        assert!(rows[0].ends_with(",sum (of 11),remark"), "{table}");
        assert!(
            rows[1].contains(",,,,0,0,0,0,0,=SUM(B2:I2),matmul_functions: blank; activation_functions: blank"),
            "{table}"
        );
        assert!(rows[1].starts_with("'=ann,"), "{table}");
        assert_eq!(rows[2], "bob,0,0,0,0,0,0,0,0,=SUM(B3:I3),it has no files");
        assert!(rows[3].starts_with("cai,,,,,,,,,=SUM(B4:I4),max_functions: its heading is gone;"), "{table}");
        let page = html(&questions, &answers);
        for part in [
            "<h1>Answers of 3 submissions</h1>",
            "<h3>=ann</h3>\n<pre>Because of &lt;memory&gt;.</pre>",
            "<summary>Key</summary>\n<pre>An element costs one comparison",
            "<h3>cai</h3>\n<pre>My own form.</pre>",
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
    }

    #[test]
    fn grade_names_columns_as_spreadsheets_do() {
        assert_eq!([0, 8, 25, 26, 27, 52].map(column), ["A", "I", "Z", "AA", "AB", "BA"]);
    }

    #[test]
    fn grade_does_not_write_over_marks() {
        let folder = tempfile::tempdir().unwrap();
        let class = folder.path().join("class");
        let source = class.join("ann/max_functions/src/trivial.rs");
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        std::fs::write(source, "pub fn max_cpu() {}\n").unwrap();
        std::fs::write(class.join("ann/answers.md"), filled("Memory.")).unwrap();
        let options = Options {
            submissions: class,
            assignment: Assignment::One,
            csv: folder.path().join("marks.csv"),
            page: folder.path().join("answers.html"),
        };
        run(&options).unwrap();
        let marks = std::fs::read_to_string(&options.csv).unwrap();
        assert!(marks.contains("\n\"ann\",\"\",\"\",\"\",\"0\","), "{marks}");
        assert!(std::fs::read_to_string(&options.page).unwrap().contains("<pre>Memory.</pre>"));
        std::fs::write(&options.csv, "marks").unwrap();
        let error = run(&options).unwrap_err().to_string();
        assert!(error.contains("exists, and may have marks"), "{error}");
        assert_eq!(std::fs::read_to_string(&options.csv).unwrap(), "marks");
        let none = Options { assignment: Assignment::Learn, csv: folder.path().join("other.csv"), ..options };
        assert_eq!(run(&none).unwrap_err().to_string(), "assignment learn has no questions in answers.md");
    }
}
