//! The program makes a report from figures, now or later.

use std::path::PathBuf;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use report::Figures;

use crate::figures::with_recorded_gpu;
use crate::program::{names_in, run, run_with_cargo};
use crate::{assignment2, distributed};

/// The Cargo that runs this test.
fn cargo() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[test]
#[ignore = "builds Typst"]
fn figures_become_a_report_a_page_an_archive_and_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("notes.md"), "# Why\nBecause.").unwrap();
    let (given, out, notes) = (path("figures.json"), path("new/folder/my report.pdf"), path("notes.md"));
    for (assignment, figures) in [
        ("1", serde_json::to_string(&with_recorded_gpu()).unwrap()),
        ("2", serde_json::to_string(&assignment2::figures()).unwrap()),
        ("3", serde_json::to_string(&distributed::figures()).unwrap()),
    ] {
        std::fs::write(path("figures.json"), &figures).unwrap();
        let arguments = ["--figures", &given, "--out", &out, "--html", "--zip", "--json", "--notes", &notes];
        let (code, stdout, stderr) =
            run_with_cargo(&cargo(), &[&["--assignment", assignment], &arguments[..]].concat());
        assert_eq!(code, Some(0), "{stderr}");
        let path = |name: &str| path(&format!("new/folder/{name}"));
        assert_eq!(names_in(&folder.path().join("new/folder")), ["my report.html", "my report.pdf", "my report.zip"]);
        assert_eq!(stdout.trim_end(), figures);
        assert!(std::fs::read(path("my report.pdf")).unwrap().starts_with(b"%PDF-"));
        assert!(std::fs::read_to_string(path("my report.html")).unwrap().contains("Because."));
        let zip = std::fs::File::open(path("my report.zip")).unwrap();
        assert!(zip::ZipArchive::new(zip).unwrap().by_name(&format!("hw{assignment}.pdf")).is_ok());
        std::fs::remove_dir_all(folder.path().join("new")).unwrap();
    }
}

/// Takes half a minute, since it measures the homework.
#[test]
#[ignore = "builds Typst"]
fn without_cargo_the_figures_are_saved_and_one_command_finishes_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, saved) = (path("hw1.pdf"), path("hw1.figures.json"));
    let (code, stdout, stderr) =
        run(&["--quick", "--no-python", "--json", "--out", &out, "--author", "Ada O'Student", "--html"]);
    assert_eq!(code, Some(1), "{stderr}");
    let figures = std::fs::read_to_string(&saved).unwrap();
    assert_eq!(stdout.trim_end(), figures);
    assert!(serde_json::from_str::<Figures>(&figures).unwrap().made.quick);
    assert_eq!(names_in(folder.path()), ["hw1.figures.json"]);

    let position = |words: &str| stderr.lines().position(|line| line.contains(words)).unwrap();
    let told = position(&format!("[*] Only the figures will be written, to {saved}: /nowhere/cargo does not start ("));
    assert!(told < position(" s, checking every version"), "it is told before anything is measured: {stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.starts_with(&format!("error: {out} is not written: /nowhere/cargo does not start (")), "{stderr}");
    assert!(last.contains(&format!(". The figures are in {saved}. ")), "{stderr}");
    let (_, command) = last.split_once(" this makes the report of them: cargo run ").unwrap();
    let (_, options) = command.split_once("-p report -- ").unwrap();
    if cfg!(windows) {
        return;
    }
    let program = cargo_bin!("report");
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &format!("{} {options}", program.display())]).env("CARGO", cargo());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names_in(folder.path()), ["hw1.figures.json", "hw1.html", "hw1.pdf"]);
    assert!(std::fs::read_to_string(path("hw1.html")).unwrap().contains("<p>Ada O"));
    assert_eq!(std::fs::read_to_string(&saved).unwrap(), figures);
}
