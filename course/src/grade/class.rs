//! Grading of a class: grades every submission in a folder, and writes the table, the feedback, the
//! page and the platforms' tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use command_line::{counted, note, printable_line, say};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use whole_files::write_privately;

use super::kept::Kept;
use super::results::Grade;
use super::similarity::Files;
use super::{Grader, Options, class_page, name_of, results, similarity, submission, without_panic, workspace};

/// Grades every submission in a folder, sorted by name, and writes the table.
pub(super) fn grade(folder: &Path, csv: &Path, options: &Options) -> Result<ExitCode> {
    let (feedback, page) = (options.feedback.as_deref(), options.page.as_deref());
    // Errors in a table are found before grading, which takes minutes.
    let worksheets = options.worksheets.read()?;
    let tables = options.worksheets.files();
    let others = [Some(csv), feedback, page].into_iter().flatten().chain(tables.iter().map(PathBuf::as_path));
    let submissions =
        submissions_in(folder, &others.chain(options.rules.files()).chain(options.kept.files()).collect::<Vec<_>>())?;
    let names: Vec<String> = submissions.iter().map(|path| name_of(path)).collect();
    let mut rules = options.rules()?;
    worksheets.iter().try_for_each(|worksheet| rules.take_times(worksheet, &names))?;
    let unused = rules.unused(&names)?;
    let grader = Grader::new(options)?;
    if let Some(feedback) = feedback {
        std::fs::create_dir_all(feedback).with_context(|| format!("cannot create {}", feedback.display()))?;
    }
    let kept = grader.kept.as_ref();
    grader.notes().into_iter().chain(unused).chain(kept.and_then(Kept::note)).for_each(|line| note!("{line}"));
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len}, {eta} left: {msg}");
    let bar = ProgressBar::new(submissions.len() as u64).with_style(style.expect("the template is well-formed"));
    let mut grades = Vec::new();
    let write_table = |grades: &[(String, Grade)]| {
        let table = results::table(&grader.parts, grades)?;
        write_privately(csv, table.as_bytes()).with_context(|| format!("cannot write {}", csv.display()))
    };
    for (path, name) in submissions.iter().zip(names) {
        show(&bar, &name);
        let grade = rules.apply(&name, grader.grade_or_error(path));
        let (points, maximum, reason) = (grade.points(), grade.maximum(), grade.reason());
        let why: Vec<String> = (!reason.is_empty()).then_some(reason).into_iter().chain(grade.notes()).collect();
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        bar.suspend(|| note!("{name}: {points} of {maximum}{why}"));
        bar.inc(1);
        if let Some(feedback) = feedback {
            for (extension, text) in [("txt", grade.to_text()), ("json", grade.to_gradescope())] {
                let file = feedback.join(format!("{}.{extension}", feedback_name(path)));
                write_privately(&file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        grades.push((name, grade));
        // Written after each submission, so results survive if the grader is interrupted.
        write_table(&grades)?;
    }
    bar.finish_and_clear();
    say!("{}: {}", csv.display(), counted(submissions.len(), "submission"));
    if let Some(kept) = kept {
        kept.write(&*grader.graded.borrow(), &grades)?.into_iter().for_each(|line| say!("{}", printable_line(&line)));
    }
    for worksheet in worksheets {
        worksheet.write(&grades)?.into_iter().for_each(|line| say!("{}", printable_line(&line)));
    }
    if let Some(page) = page {
        write_page(page, &grader, &submissions, &grades)?;
    }
    let failed = grades.iter().filter(|(_, grade)| grade.is_error_of_grader).count();
    if failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    note!("{} could not be graded: see the reasons in {}", counted(failed, "submission"), csv.display());
    Ok(ExitCode::FAILURE)
}

/// Shows the submission being graded. A student chooses its name, so it must not contain terminal
/// control sequences.
fn show(bar: &ProgressBar, name: &str) {
    bar.set_message(printable_line(name).into_owned());
}

/// Writes the page about the class.
fn write_page(page: &Path, grader: &Grader, submissions: &[PathBuf], grades: &[(String, Grade)]) -> Result<()> {
    // Unreadable submissions get no points, and there is nothing to compare.
    let sources = |path: &PathBuf| {
        let read = without_panic(|| submission::read(path, grader.assignment));
        read.flatten().map(|sources| sources.files).unwrap_or_default()
    };
    let names = grades.iter().map(|(name, _)| name.clone());
    let submissions: Vec<_> = names.zip(submissions.iter().map(sources)).collect();
    let published = workspace::published_solutions(&grader.parts)?;
    let found = similarity::likeness(&submissions, grader.workspace.starter_sources(), &published);
    let sources: BTreeMap<&str, &Files> = submissions
        .iter()
        .map(|(name, files)| (name.as_str(), files))
        .chain([(similarity::PUBLISHED, &published)])
        .collect();
    let text = class_page::html(grades, &found, &sources);
    write_privately(page, text.as_bytes()).with_context(|| format!("cannot write {}", page.display()))?;
    say!(
        "{}: {} alike, {} like the published solution, {} in many submissions",
        page.display(),
        counted(found.pairs.len(), "pair"),
        counted(found.published.len(), "submission"),
        counted(found.clusters.len(), "cluster")
    );
    Ok(())
}

/// Maximum length in bytes of a feedback file's name, without the extension and the suffix of
/// temporary files.
const MAX_NAME: usize = 180;

/// Name of a submission's feedback files: the submission's name, or its beginning and a fingerprint
/// if it is not valid as a file name.
fn feedback_name(submission: &Path) -> String {
    let (name, own) = (name_of(submission), submission.file_name().unwrap_or_default());
    if name.len() <= MAX_NAME && own.to_str().is_some() {
        return name;
    }
    let fingerprint = hex::encode(&Sha256::digest(own.as_encoded_bytes())[..8]);
    format!("{}-{fingerprint}", &name[..name.floor_char_boundary(MAX_NAME)])
}

/// Entries of a folder, sorted, without hidden ones and without `others`, which the teacher or an
/// earlier run has put there.
pub(super) fn submissions_in(folder: &Path, others: &[&Path]) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut submissions = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let others: Vec<PathBuf> = others.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    submissions.retain(|path| !is_hidden(path) && path.canonicalize().map_or(true, |path| !others.contains(&path)));
    submissions.sort();
    ensure!(!submissions.is_empty(), "{} has no submissions", folder.display());
    Ok(submissions)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn grade_shows_no_control_character_of_a_name() {
        let bar = ProgressBar::hidden();
        show(&bar, "ann\u{1b}]0;title\u{7}\r\n\u{202e}piz.\u{9b}2J");
        assert_eq!(bar.message(), "ann\\u001b]0;title\\u0007\\u000d\\n\\u202epiz.\\u009b2J");
    }

    #[test]
    fn grade_finds_a_files_name_for_each_submission() {
        for name in ["ann.zip", "Student A_101_assignsubmission_file", "Jürgen"] {
            assert_eq!(feedback_name(&Path::new("class").join(name)), name);
        }
        let names: Vec<String> = [
            OsStr::new(&"a".repeat(255)).to_owned(),
            OsStr::new(&format!("{}b", "a".repeat(254))).to_owned(),
            OsStr::new(&"ü".repeat(127)).to_owned(),
            OsStr::from_bytes(b"gr\xfc\xdfe").to_owned(),
            OsStr::from_bytes(b"gr\xfd\xdfe").to_owned(),
        ]
        .iter()
        .map(|name| feedback_name(Path::new(name)))
        .collect();
        let folder = tempfile::tempdir().unwrap();
        for name in &names {
            write_privately(&folder.path().join(format!("{name}.json")), b"").unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), names.len(), "{names:?}");
    }
}
