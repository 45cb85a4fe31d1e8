//! Attacks on the grader: on its secrets, its machine, and a class's other submissions. Each attack
//! costs only the attacker's points.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zip::write::SimpleFileOptions;

use super::Change::{Replace, Write};
use super::{
    CHECK, LISTS, MAX_CPU, MAX_CPU_TESTS, MAX_KERNEL, Submission, course, files_below, lock, results, write_submission,
};

/// A secret in the grader's environment.
const SECRET: &str = "a-secret-of-the-grader";

fn attacks() -> Vec<Submission> {
    let of = |name, changes, lost, feedback| Submission { name, changes, lost, feedback };
    let in_lists = |name, code: &'static str, feedback| {
        of(name, vec![Replace(LISTS, "use ndarray", code)], &["utils"] as &[&str], feedback)
    };
    let at_max_cpu = |name, code, feedback| of(name, vec![Replace(MAX_CPU, CHECK, code)], MAX_CPU_TESTS, feedback);
    vec![
        in_lists(
            "variable_in_an_error",
            "compile_error!(env!(\"GRADING_SECRET\"));\nuse ndarray",
            &["it does not compile:", "utils/src/lists.rs:1:"],
        ),
        in_lists(
            "environment_in_an_error",
            "compile_error!(include_str!(\"/proc/self/environ\"));\nuse ndarray",
            &["it does not compile:", "error: the macro compile_error! fails"],
        ),
        at_max_cpu(
            "environment_of_the_compiler",
            "    panic!(\"{}\", String::from_utf8_lossy(include_bytes!(\"/proc/self/environ\")));\n    #[allow(unreachable_code)]\n    let (rows",
            &["CARGO_PKG_NAME"],
        ),
        at_max_cpu(
            "environment_of_all_processes",
            "    let of = |process| std::fs::read(format!(\"/proc/{process}/environ\")).unwrap_or_default();\n    let all: Vec<u8> = (1..100).flat_map(of).collect();\n    panic!(\"<{}>\", String::from_utf8_lossy(&all));\n    #[allow(unreachable_code)]\n    let (rows",
            &["max_cpu: <"],
        ),
        in_lists(
            "memory_of_the_compiler",
            "pub static A: [u8; 1 << 33] = [1; 1 << 33];\nuse ndarray",
            &["it does not compile:"],
        ),
        of(
            "deep_brackets",
            vec![Write(MAX_KERNEL, format!("const X: u32 = {}1{};", "(".repeat(500_000), ")".repeat(500_000)).leak())],
            &["max_functions"],
            &["max_functions/src/kernel.rs, line 1: brackets in more than 200 others"],
        ),
        in_lists(
            "solutions_of_the_project",
            "pub const A: &str = include_str!(\"../../../../../crates/kernels-cpu/src/maximum.rs\");\nuse ndarray",
            &["it does not compile:", "utils/src/lists.rs:1:"],
        ),
        in_lists(
            "solutions_of_the_grader",
            "pub const A: &str = include_str!(\"../../../../../course/starter/utils/src/lists.rs\");\nuse ndarray",
            &["it does not compile:", "utils/src/lists.rs:1:"],
        ),
        in_lists(
            "program_of_another_submission",
            "pub const A: &[u8] = include_bytes!(\"../../../submissions/debug/max_functions_runner\");\nuse ndarray",
            &["it does not compile:", "utils/src/lists.rs:1:"],
        ),
        in_lists(
            "kernels_of_another_submission",
            "pub const A: &str = include_str!(\"../../../submissions/max_functions.ptx\");\nuse ndarray",
            &["it does not compile:", "utils/src/lists.rs:1:"],
        ),
        at_max_cpu(
            "long_message",
            "    panic!(\"{}\", \"x\".repeat(200 << 20));\n    #[allow(unreachable_code)]\n    let (rows",
            &["max_cpu: xxx", "… (cut: it is longer than 4 KiB)"],
        ),
        at_max_cpu(
            "huge_result",
            "    return Ok(Array2::zeros((1 << 13, 1 << 13)));\n    #[allow(unreachable_code)]\n    let (rows",
            &["its result is too large: 671088"],
        ),
        at_max_cpu(
            "sleeps_forever",
            "    loop { std::thread::sleep(std::time::Duration::from_secs(1)); }\n    #[allow(unreachable_code)]\n    let (rows",
            &["stopped after 5 s: does it end?"],
        ),
        at_max_cpu(
            "another_process",
            "    std::process::Command::new(\"/proc/self/exe\").spawn().unwrap();\n    let (rows",
            &["max_cpu: called `Result::unwrap()` on an `Err` value", "Operation not permitted"],
        ),
        at_max_cpu(
            "fills_the_temporary_folder",
            "    for i in 0.. { std::fs::write(format!(\"/tmp/{i}\"), vec![1; 1 << 20]).unwrap(); }\n    let (rows",
            &["max_cpu: called `Result::unwrap()` on an `Err` value"],
        ),
    ]
}

/// Entries that cannot be in a folder with the solutions, and the beginning of the reason.
fn entries() -> [(String, &'static str); 3] {
    let entry = |name: &str, reason| (format!("max_functions/src/{name}.rs"), reason);
    [
        entry("trivial.rs/more", "max_functions/src/trivial.rs: it is both a file and a folder"),
        entry("nul\0", "max_functions/src: a file in it has a name"),
        entry(&"a".repeat(300), "max_functions/src: a file in it has a name"),
    ]
}

/// Writes a ZIP file with a part's solutions and one more entry.
fn write_zip(solved: &Path, file: &Path, entry: &str) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(file).unwrap());
    let mut add = |name: &str, bytes: &[u8]| {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, bytes).unwrap();
    };
    for path in files_below(solved) {
        let name = path.strip_prefix(solved).unwrap().to_str().unwrap().to_owned();
        add(&name, &std::fs::read(path).unwrap());
    }
    add(entry, b"");
    archive.finish().unwrap();
}

/// Creates the solutions, the starter and a class's folder within a folder.
fn folders(folder: &Path) -> [PathBuf; 3] {
    let [solved, given, class] = ["solved", "given", "class"].map(|name| folder.join(name));
    for (folder, more) in [(&solved, &["--solutions"][..]), (&given, &[])] {
        assert!(course().arg("starter").arg(folder).args(more).status().unwrap().success());
    }
    std::fs::create_dir(&class).unwrap();
    [solved, given, class]
}

/// Grades a class in parts 1 and 2.
fn grade(folder: &Path, change: impl FnOnce(&mut Command)) -> Output {
    let mut command = course();
    command.current_dir(folder).args(["grade", "--all", "class", "--part", "1,2", "--limit", "5"]);
    command.args(["--csv", "grades.csv", "--feedback", "feedback"]).env("GRADING_SECRET", SECRET);
    change(&mut command);
    command.output().unwrap()
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn attacks_on_the_grader_cost_their_own_points_alone() {
    let _grader = lock();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [solved, given, class] = folders(folder);
    let solution = Submission { name: "solved", changes: vec![], lost: &[], feedback: &["100 of 100 points"] };
    let submissions = [attacks(), vec![solution]].concat();
    for submission in &submissions {
        write_submission(&solved, &given, &class, submission);
    }
    let entries = entries();
    for (index, (entry, _)) in entries.iter().enumerate() {
        write_zip(&solved, &class.join(format!("entry{index}.zip")), entry);
    }
    let long = "a".repeat(255);
    std::os::unix::fs::symlink(&solved, class.join(&long)).unwrap();
    let output = grade(folder, |command| {
        command.args(["--page", "class.html"]);
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let feedback = folder.join("feedback");
    let mut wrong = Vec::new();
    let zips = entries.iter().enumerate().map(|(index, (_, reason))| {
        (format!("entry{index}.zip"), &["max_functions"] as &[&str], std::slice::from_ref(reason))
    });
    let folders =
        submissions.iter().map(|submission| (submission.name.to_owned(), submission.lost, submission.feedback));
    for (name, expected, parts) in folders.chain(zips) {
        let (mut lost, text) = results(&feedback, &name);
        let is_expected =
            |test: &(String, String)| expected.iter().any(|lost| [&test.0, &test.1].contains(&&(*lost).to_owned()));
        lost.retain(|test| !test.1.contains("is_faster") || is_expected(test));
        let all = super::all_tests(&feedback).into_iter().filter(is_expected).collect();
        if lost != all || parts.iter().any(|part| !text.contains(part)) {
            wrong.push(format!("{name}: lost {lost:?}, expected {all:?} and {parts:?}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let grades = std::fs::read_to_string(folder.join("grades.csv")).unwrap();
    assert_eq!(grades.lines().count(), submissions.len() + entries.len() + 2, "{grades}");
    assert!(grades.contains(&long), "{grades}");
    for file in files_below(&feedback) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(SECRET), "{}: {text}", file.display());
        assert!(text.len() < 1 << 20, "{}", file.display());
    }
}

/// A PATH with a `bwrap` that fails with this argument if a shell condition is true.
fn with_broken_bwrap(folder: &Path, argument: &str, condition: &str) -> std::ffi::OsString {
    use std::os::unix::fs::PermissionsExt;
    let program = folder.join("bwrap");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *{argument}*)\n  if {condition}; then\n    echo 'bwrap: it is broken' >&2\n    exit 1\n  fi\nesac\n\
         PATH=${{PATH#*:}}\nexec bwrap \"$@\"\n"
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    path
}

/// The toolchain is missing, so nothing is graded.
#[test]
fn a_bubblewrap_that_cannot_forbid_user_namespaces_is_used_with_a_warning() {
    let works = Command::new("bwrap").args(["--unshare-all", "--ro-bind", "/", "/", "/usr/bin/true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: bubblewrap does not work here");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = with_broken_bwrap(folder.path(), "--disable-userns", "true");
    let grade =
        course().arg("grade").arg(folder.path()).env("PATH", path).env("RUSTC", "/nonexistent").output().unwrap();
    let said = String::from_utf8_lossy(&grade.stderr);
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    let [warning] = warnings[..] else { panic!("{said}") };
    assert!(warning.contains("(bwrap: it is broken): install bubblewrap 0.8 or later"), "{said}");
    assert!(!said.contains("the sandbox does not work"), "{said}");
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn a_broken_sandbox_takes_no_points() {
    let _grader = lock();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [solved, given, class] = folders(folder);
    for name in ["ann", "bob"] {
        write_submission(&solved, &given, &class, &Submission { name, changes: vec![], lost: &[], feedback: &[] });
    }
    // Before the first submission, a failure means that nothing is graded.
    let path = with_broken_bwrap(folder, "--offline", "true");
    let output = grade(folder, |command| {
        command.env("PATH", &path);
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("bwrap: it is broken"), "{said}");
    assert!(said.contains("nothing is graded"), "{said}");
    assert!(!folder.join("grades.csv").exists());

    // Once grading has started, each submission gets a row.
    let path = with_broken_bwrap(folder, "--offline", &format!("[ -d '{}' ]", folder.join("feedback").display()));
    let output = grade(folder, |command| {
        command.env("PATH", &path);
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("2 submissions could not be graded"), "{said}");
    let grades = std::fs::read_to_string(folder.join("grades.csv")).unwrap();
    let rows: Vec<&str> = grades.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{grades}");
    for row in rows {
        assert!(row.contains("\",\"an error of the grader, not of the submission: "), "{row}");
        assert!(row.contains("bwrap: it is broken"), "{row}");
    }
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn a_toolchain_behind_a_link_compiles_submissions() {
    let _grader = lock();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [solved, given, class] = folders(folder);
    write_submission(&solved, &given, &class, &Submission { name: "ann", changes: vec![], lost: &[], feedback: &[] });
    // Name and folder of the toolchain in use, if rustup installed it.
    let Some(name) = std::env::var_os("RUSTUP_TOOLCHAIN") else { return eprintln!("skipped: there is no rustup") };
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = Path::new(std::str::from_utf8(&sysroot.stdout).unwrap().trim()).canonicalize().unwrap();
    let toolchains = folder.join("rustup/toolchains");
    std::fs::create_dir_all(&toolchains).unwrap();
    std::os::unix::fs::symlink(sysroot, toolchains.join(name)).unwrap();
    let output = grade(folder, |command| {
        command.env("RUSTUP_HOME", folder.join("rustup")).env_remove("CARGO");
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (lost, text) = results(&folder.join("feedback"), "ann");
    assert!(lost.iter().all(|test| test.1.contains("is_faster")), "{text}");
}
