//! Runs the program without Cargo, so no report is typeset. Invalid input is rejected with one line
//! and exit code 2, and a failure to typeset loses nothing but the report.

use std::path::Path;

use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use report::Figures;
use report::figures::Counts;

use super::figures::with_recorded_gpu;

/// A cargo that does not exist.
const NO_CARGO: &str = "/nowhere/cargo";

/// Exit code, stdout and stderr of the program, run without Cargo.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    run_with_cargo(NO_CARGO.as_ref(), arguments)
}

/// Exit code, stdout and stderr of the program, run with another program as Cargo.
pub(crate) fn run_with_cargo(cargo: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cargo_bin_cmd!("report").env("CARGO", cargo).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn without_cargo_given_figures_are_printed_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let figures = with_recorded_gpu();
    std::fs::write(path("figures.json"), serde_json::to_string(&figures).unwrap()).unwrap();
    let (given, out) = (path("figures.json"), path("hw1.pdf"));
    // This program rejects Cargo's options.
    let fails = cargo_bin!("report");
    for (cargo, reason) in [
        (NO_CARGO.as_ref(), format!("{NO_CARGO} does not start (")),
        (fails, "cargo cannot build report/typeset, for the reason above".to_owned()),
    ] {
        let (code, stdout, stderr) =
            run_with_cargo(cargo, &["--figures", &given, "--out", &out, "--html", "--zip", "--json"]);
        assert_eq!(code, Some(1), "{stderr}");
        assert_eq!(serde_json::from_str::<Figures>(&stdout).unwrap(), figures);
        let last = stderr.lines().last().unwrap();
        assert!(last.starts_with(&format!("error: {out} is not written: {reason}")), "{stderr}");
        assert_eq!(names_in(folder.path()), ["figures.json"]);
    }
}

/// Figures may come from a file: no counts in it may cause an overflow.
#[test]
fn extreme_figures_do_not_overflow() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (mut figures, max) = (with_recorded_gpu(), usize::MAX);
    figures.maximum.size = [max; 2];
    figures.product.size = [max; 2];
    figures.activation.values = max;
    figures.training.images = [max; 3];
    (figures.training.epochs, figures.training.batch, figures.made.rounds) = (max, max, max);
    figures.training.sizes = vec![max; 3];
    (figures.machine.cores, figures.machine.memory) = (max, Some(u64::MAX));
    figures.machine.caches.iter_mut().for_each(|cache| (cache.bytes, cache.shared_by) = (u64::MAX, max));
    figures.roofs.iter_mut().for_each(|roofs| roofs.threads = max);
    figures.maximum.rayon.iter_mut().for_each(|on| on.threads = max);
    if let Counts::Counted(counts) = &mut figures.counts {
        counts.size = [max; 2];
        for rung in &mut counts.rungs {
            (rung.thread_instructions, rung.warp_instructions, rung.loaded_sectors) = (u64::MAX, u64::MAX, u64::MAX);
        }
    }
    std::fs::write(path("figures.json"), serde_json::to_string(&figures).unwrap()).unwrap();
    let (code, _, stderr) = run(&["--figures", &path("figures.json"), "--out", &path("absurd.pdf")]);
    let last = stderr.lines().last().unwrap();
    assert!(code == Some(1) && last.contains(&format!("is not written: {NO_CARGO} ")), "{code:?}: {stderr}");
}

#[test]
fn no_file_that_is_read_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let figures = serde_json::to_string(&with_recorded_gpu()).unwrap();
    std::fs::write(path("figures.json"), &figures).unwrap();
    std::fs::write(path("hw1.html"), "notes").unwrap();
    std::fs::write(path("hw1.figures.json"), "notes").unwrap();
    let same = folder.path().join("./figures.json").to_str().unwrap().to_owned();
    for (arguments, flag) in [
        (vec!["--figures", &path("figures.json"), "--out", &same], "--out"),
        // The file of measured figures.
        (vec!["--out", &path("hw1.pdf"), "--notes", &path("hw1.figures.json")], "--out"),
        (
            vec!["--figures", &path("figures.json"), "--out", &path("hw1.pdf"), "--notes", &path("hw1.html"), "--html"],
            "--html",
        ),
    ] {
        let (code, stdout, stderr) = run(&arguments);
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(stderr.contains(&format!("error: {flag} ")) && stderr.contains("which is read"), "{stderr}");
    }
    assert_eq!(std::fs::read_to_string(path("figures.json")).unwrap(), figures);
    assert_eq!(names_in(folder.path()), ["figures.json", "hw1.figures.json", "hw1.html"]);
}

#[test]
fn invalid_input_is_rejected_in_one_line_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("bad.json"), "{\"made\": 3}").unwrap();
    let mut zero = serde_json::to_value(with_recorded_gpu()).unwrap();
    zero["maximum"]["cpu"]["min"] = 0.0.into();
    std::fs::write(path("zero.json"), zero.to_string()).unwrap();
    std::fs::write(path("good.json"), serde_json::to_string(&with_recorded_gpu()).unwrap()).unwrap();
    std::fs::write(path("long.md"), "words ".repeat(20_000)).unwrap();
    let before = names_in(folder.path());
    let (below_file, out, good) = (path("bad.json/hw1.pdf"), path("new/hw1.pdf"), path("good.json"));
    let (missing_notes, long_notes) = (path("missing.md"), path("long.md"));
    // Windows phrases the error differently.
    let no_such_file = if cfg!(windows) { "missing.md: " } else { "missing.md: No such file" };
    let cases: [(&[&str], &str); 10] = [
        (&["--figures", &path("missing.json"), "--out", &out], "cannot read the figures in"),
        (&["--figures", &path("bad.json"), "--out", &out], "is not the output of --assignment 1 --json"),
        (&["--figures", &path("zero.json"), "--out", &out], "are not valid times"),
        (&["--figures", &good, "--out", &below_file], "choose another path with --out"),
        (&["--figures", &good, "--out", folder.path().to_str().unwrap()], "choose another path with --out"),
        (&["--figures", &good, "--out", &out, "--author", "\u{1b}[31m"], "--author has a control character"),
        (&["--figures", &good, "--out", &out, "--notes", &missing_notes], no_such_file),
        (&["--figures", &good, "--out", &out, "--notes", &long_notes], "long.md is larger than 64 KiB"),
        (&["--figures", &path("zero.json"), "--out", &path("hw1.zip")], "give --out a name that ends in .pdf"),
        (&["--data", &path("missing"), "--out", &out], "missing"),
    ];
    for (arguments, words) in cases {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1 && stderr.contains(words), "{stderr}");
        assert_eq!(names_in(folder.path()), before);
    }
    let (code, _, stderr) = run(&["--figures", "x.json", "--quick"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("cannot be used with"), "{stderr}");
}
