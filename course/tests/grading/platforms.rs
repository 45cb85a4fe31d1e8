//! The platforms' autograders grade a submission in a root file system that contains only the
//! system, Rust, this project and the platform's folder, without network access.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{LISTS, course};

/// The graded part of the homework, and its points for a submission with wrong lists.
const PART: [&str; 2] = ["--part", "1"];
const POINTS: f64 = 92.0;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A folder that a variable names, or a folder in the home folder.
fn home(variable: &str, folder: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| std::env::home_dir().unwrap().join(folder), PathBuf::from)
}

/// A command in its own root file system. It writes only to `folder` and to the grader's folder.
fn isolated(folder: &Path, command: &[&str]) -> Command {
    let (project, course) = (project(), Path::new(env!("CARGO_BIN_EXE_course")));
    let mut bwrap = Command::new("bwrap");
    bwrap.args(["--unshare-net", "--die-with-parent", "--ro-bind", "/usr", "/usr"]);
    // The grader's own sandbox is nested in this one. It needs root's capabilities, which it drops,
    // or a user namespace, a /proc without masked files, and folders that another user may enter.
    bwrap.args(["--perms", "0755", "--dir", "/etc"]);
    match std::fs::metadata("/proc/self").unwrap().uid() {
        0 => bwrap.args(["--cap-add", "ALL"]),
        _ => bwrap.arg("--unshare-user"),
    };
    for path in ["/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"] {
        match std::fs::read_link(path) {
            Ok(target) => bwrap.arg("--symlink").arg(target).arg(path),
            Err(_) => bwrap.args(["--ro-bind-try", path, path]),
        };
    }
    bwrap.args(["--dev", "/dev", "--bind", "/proc", "/proc", "--tmpfs", "/tmp"]);
    let read = [home("CARGO_HOME", ".cargo"), home("RUSTUP_HOME", ".rustup"), project.clone(), course.to_owned()];
    for path in &read {
        bwrap.arg("--ro-bind").args([path, path]);
    }
    let written = [project.join("target/grade"), folder.to_owned()];
    for path in &written {
        bwrap.arg("--bind").args([path, path]);
    }
    bwrap.env("PROJECT", &project).env("COURSE", course).env("AUTOGRADER", folder).args(command);
    bwrap
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn autograder(platform: &str, file: &Path, late: Option<&Path>) {
    let mut command = course();
    command.args(["autograder", platform]).arg(file).args([
        "--git",
        "https://example.org/project.git",
        "--rev",
        "0123abc",
    ]);
    command.args(late.map(|late| [Path::new("--late").to_owned(), late.to_owned()]).into_iter().flatten());
    succeeds(command.arg("--").args(PART));
}

fn results(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn platforms_grade_a_submission_without_a_network() {
    let _grader = super::lock();
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let [source, submission, late] = ["source", "submission", "late.toml"].map(|name| root.join(name));
    succeeds(course().arg("starter").arg(&submission).args(["--solutions", "--part", "1"]));
    let lists = submission.join(LISTS);
    let text = std::fs::read_to_string(&lists).unwrap();
    std::fs::write(&lists, text.replacen("a + b", "a - b", 1)).unwrap();

    // As on Gradescope: the archive's files in source, setup.sh once, then run_autograder for a
    // submission two hours late.
    std::fs::write(&late, "factors = [{ hours = 24, factor = 0.5 }]\n").unwrap();
    autograder("gradescope", &root.join("autograder.zip"), Some(&late));
    let mut archive = zip::ZipArchive::new(std::fs::File::open(root.join("autograder.zip")).unwrap()).unwrap();
    archive.extract(&source).unwrap();
    let metadata = json!({
        "id": 123456,
        "created_at": "2026-11-21T01:00:00.365935-08:00",
        "assignment": { "due_date": "2026-11-20T23:00:00.000000-08:00", "late_due_date": null, "title": "Homework 1" },
        "users": [{ "email": "student@example.com", "id": 1234, "name": "Student User" }],
        "previous_submissions": [],
    });
    std::fs::write(root.join("submission_metadata.json"), metadata.to_string()).unwrap();
    std::fs::create_dir_all(project().join("target/grade")).unwrap();
    succeeds(Command::new(source.join("setup.sh")).env("AUTOGRADER", root).env("PROJECT", project()));
    succeeds(&mut isolated(root, &[source.join("run_autograder").to_str().unwrap()]));
    let graded = results(&root.join("results/results.json"));
    assert_eq!(graded["score"], POINTS / 2.0, "{graded:#}");
    assert_eq!(graded["output"], format!("2 hours late: {POINTS} points × 0.5"));

    // As on Classroom 50, in the student's checkout.
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no python3: Classroom 50's autograder is not run");
        return;
    }
    autograder("classroom50", &root.join("autograder.py"), None);
    let mut python = isolated(root, &["python3", root.join("autograder.py").to_str().unwrap()]);
    for variable in ["CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL"] {
        python.env(variable, variable.to_lowercase());
    }
    succeeds(python.env("CARGO_NET_OFFLINE", "true").current_dir(&submission));
    let result = results(&submission.join("result.json"));
    assert_eq!((&result["schema"], &result["submission"]), (&json!("classroom50/result/v1"), &json!("submission_tag")));
    assert_eq!(
        (&result["review"], &result["score"], &result["max-score"]),
        (&json!("commit_url"), &json!(92), &json!(100))
    );
    let tests = result["tests"].as_array().unwrap();
    let sum = |field: &str| tests.iter().map(|test| test[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("score"), sum("max-score")), (92, 100), "{result:#}");
    assert_eq!(tests.iter().filter(|test| test["passed"] == false).count(), 1, "{result:#}");
}
