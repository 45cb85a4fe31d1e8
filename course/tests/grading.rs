//! Grades a class of submissions, most of them wrong, hostile, broken or cheating. Each must get
//! the expected points and findings.
//!
//! The test takes minutes and needs bubblewrap: `cargo test --manifest-path course/Cargo.toml
//! --test grading -- --ignored`.

#![cfg(unix)]

#[path = "grading/assignment2.rs"]
mod assignment2;
#[path = "grading/assignment3.rs"]
mod assignment3;
#[path = "grading/attacks.rs"]
mod attacks;
#[path = "grading/cheats.rs"]
mod cheats;
#[path = "grading/class.rs"]
mod class;
#[path = "support/files.rs"]
mod files;
#[path = "grading/learn.rs"]
mod learn;
#[path = "grading/platforms.rs"]
mod platforms;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use files::files_below;
use flate2::Compression;
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;

/// A submission: the solutions with changes, and the expected results.
#[derive(Clone)]
struct Submission {
    name: &'static str,
    changes: Vec<Change>,
    /// The tests that lose their points. A package's name stands for all of its tests.
    lost: &'static [&'static str],
    /// Excerpts of the feedback.
    feedback: &'static [&'static str],
}

#[derive(Clone)]
enum Change {
    /// Replaces the first text with the second in a file.
    Replace(&'static str, &'static str, &'static str),
    /// Writes a file with this text.
    Write(&'static str, &'static str),
    /// Removes a file or folder.
    Remove(&'static str),
    /// Uses the starter's sources.
    Given,
}

use Change::{Remove, Replace, Write as WriteFile};

const MAX_CPU: &str = "max_functions/src/trivial.rs";
const MAX_RAYON: &str = "max_functions/src/parallel.rs";
const MAX_KERNEL: &str = "max_functions/src/kernel.rs";
const MAX_GPU: &str = "max_functions/src/on_gpu.rs";
const TRIVIAL_PRODUCT: &str = "matmul_functions/src/trivial.rs";
const PRODUCT_KERNEL: &str = "matmul_functions/src/kernel.rs";
const NORMALIZE: &str = "activation_functions/src/trivial.rs";
const LISTS: &str = "utils/src/lists.rs";

/// Beginning of max_cpu's body, and the names of the tests that call it.
const CHECK: &str = "    ShapeMismatch::check(a.dim(), b.dim())?;\n    let (rows";
const MAX_CPU_TESTS: &[&str] = &["max_cpu_is_right", "different_shapes_are_rejected"];

/// Inserts code at the beginning of max_cpu.
fn at_max_cpu(code: &'static str) -> Vec<Change> {
    vec![Replace(MAX_CPU, CHECK, code)]
}

/// X·Xᵀ with a row in shared memory, without a barrier between writing and reading it.
const WITHOUT_BARRIER: &str = "\
use cuda_std::{GlobalMut, kernel, shared_array, thread};

#[kernel]
pub fn matmul_kernel(x: &[f32], out: GlobalMut<f32>, rows: u32, columns: u32) {
    let (rows, columns) = (rows as usize, columns as usize);
    let row = shared_array![f32; 1024];
    let t = thread::thread_idx_x() as usize;
    let mut i = 0;
    while i < rows {
        if t < columns {
            row.set(t, x[i * columns + t]);
        }
        let mut j = t;
        while j < rows {
            let mut sum = 0.0;
            let mut k = 0;
            while k < columns {
                sum += row.get(k) * x[j * columns + k];
                k += 1;
            }
            out.set(i * rows + j, sum);
            j += 1024;
        }
        thread::sync_threads();
        i += 1;
    }
}
";

fn mistakes() -> Vec<Submission> {
    let one = |name, change, lost, feedback| Submission { name, changes: vec![change], lost, feedback };
    vec![
        one(
            "off_by_one",
            Replace(MAX_CPU, "in 0..columns", "in 1..columns"),
            &["max_cpu_is_right"],
            &["max_cpu: c[0][0] is 0, expected"],
        ),
        one(
            "missing_barrier",
            WriteFile(PRODUCT_KERNEL, WITHOUT_BARRIER),
            &[
                "matmul_transpose_gpu_is_right_on_the_simulator",
                "hidden::matmul_transpose_gpu_launches_one_block_of_1024_threads",
                "hidden::matmul_transpose_gpu_reads_no_more_than_three_loops",
                "matmul_kernels_ptx_is_right",
            ],
            &[
                "race: reads element 0 of the shared array",
                "matmul_functions/src/kernel.rs:18",
                "matmul_functions_ptx/src/kernel.rs:18",
            ],
        ),
        one(
            "race",
            Replace(MAX_KERNEL, "thread::index_1d() as usize", "0"),
            &[
                "max_gpu_is_right_on_the_simulator",
                "max_gpu_takes_the_homeworks_matrices",
                "hidden::max_gpu_launches_1000_blocks_of_1000_threads",
                "hidden::max_gpu_reads_and_writes_each_element_once",
                "max_kernels_ptx_is_right",
            ],
            &["race: writes element 0 of `out`"],
        ),
        one(
            "wrong_shape",
            Replace(MAX_RAYON, "Ok(c)", "Ok(c.slice(ndarray::s![.., ..c.ncols() / 2]).to_owned())"),
            &["max_rayon_is_right"],
            &["max_rayon: the result is "],
        ),
        one(
            "transposed",
            Replace(MAX_RAYON, "Ok(c)", "Ok(c.reversed_axes())"),
            &["max_rayon_is_right"],
            &["max_rayon: the result is "],
        ),
        one(
            "integer_overflow",
            Replace(MAX_RAYON, "if a > b { a } else { b }", "(a + b + (a - b).abs()) / 2"),
            &["max_rayon_is_right"],
            &["max_rayon: attempt to subtract with overflow"],
        ),
        one(
            "ignores_the_remainder",
            Replace(
                MAX_RAYON,
                "and(b).par_for_each(|c, &a, &b| *c = if a > b { a } else { b });",
                "and(b).par_for_each(|c, &a, &b| *c = if a > b { a } else { b });\n    let rest = c.len() / 8 * 8;\n    c.iter_mut().skip(rest).for_each(|c| *c = 0);",
            ),
            &["max_rayon_is_right"],
            &["max_rayon: c[0][0] is 0, expected"],
        ),
        one(
            "copies_the_library",
            Replace(MAX_CPU, "if a[[i, j]] > b[[i, j]] { a[[i, j]] } else { b[[i, j]] }", "a[[i, j]].max(b[[i, j]])"),
            &[],
            &["max_cpu: it calls max, where loops were asked for"],
        ),
        one(
            "sleeps",
            Replace(MAX_CPU, "let (rows", "std::thread::sleep(std::time::Duration::from_millis(1));\n    let (rows"),
            &[],
            &["sleep: it waits"],
        ),
        one(
            "hard_coded",
            Replace(TRIVIAL_PRODUCT, "    c\n}", "    c.fill(0.5);\n    c\n}"),
            &["matmul_transpose_trivial_is_right"],
            &["matmul_transpose_trivial: c[0][0] is 0.5, expected"],
        ),
    ]
}

fn hostile() -> Vec<Submission> {
    let at_max_cpu =
        |name, code, feedback| Submission { name, changes: at_max_cpu(code), lost: MAX_CPU_TESTS, feedback };
    vec![
        Submission {
            name: "endless",
            changes: vec![Replace(
                TRIVIAL_PRODUCT,
                "let (rows, columns) = x.dim();",
                "let (rows, columns): (usize, usize) = loop {};",
            )],
            lost: &["matmul_transpose_trivial_is_right"],
            feedback: &["stopped after 10 s: does it end?"],
        },
        at_max_cpu(
            "memory",
            "    std::hint::black_box(vec![1_u8; 100 << 30]);\n    let (rows",
            &["it needs more memory than it may have"],
        ),
        at_max_cpu(
            "forks",
            "    loop { drop(std::process::Command::new(\"/proc/self/exe\").spawn()); }\n    #[allow(unreachable_code)]\n    let (rows",
            &["Command: it starts programs"],
        ),
        at_max_cpu(
            "reads_outside",
            "    std::fs::read_to_string(\"/etc/passwd\").unwrap();\n    let (rows",
            &["max_cpu: called `Result::unwrap()` on an `Err` value", "fs: it opens files"],
        ),
        at_max_cpu(
            "writes_outside",
            "    std::fs::write(\"/usr/escaped\", \"x\").unwrap();\n    let (rows",
            &["max_cpu: called `Result::unwrap()` on an `Err` value", "fs: it opens files"],
        ),
        at_max_cpu(
            "prints",
            "    loop { println!(\"{}\", \"x\".repeat(1000)); }\n    #[allow(unreachable_code)]\n    let (rows",
            &["it prints more than 1 MiB"],
        ),
        Submission {
            name: "build_script",
            changes: vec![WriteFile("max_functions/build.rs", "fn main() { loop {} }")],
            lost: &[],
            feedback: &["max_functions/build.rs: it would run while cargo compiles, and is not taken"],
        },
        at_max_cpu(
            "exits",
            "    std::process::exit(0);\n    #[allow(unreachable_code)]\n    let (rows",
            &["exit: it ends the program"],
        ),
        at_max_cpu(
            "recursion",
            "    fn deeper(n: u64) -> u64 { std::hint::black_box(deeper(n + 1)) + 1 }\n    deeper(0);\n    let (rows",
            &["its recursion does not end: the stack overflows"],
        ),
        at_max_cpu(
            "network",
            "    std::net::TcpStream::connect(\"192.0.2.1:80\").unwrap();\n    let (rows",
            &["net: it opens connections"],
        ),
    ]
}

fn not_rust() -> Vec<Submission> {
    let maximum = |name, change| Submission {
        name,
        changes: vec![change],
        lost: &["max_functions"],
        feedback: &["it does not compile:", "error"],
    };
    let activation = |name, change| Submission {
        name,
        changes: vec![change],
        lost: &["activation_functions"],
        feedback: &["it does not compile:", "error"],
    };
    let utils = |name, change| Submission {
        name,
        changes: vec![change],
        lost: &["utils"],
        feedback: &["it does not compile:", "error"],
    };
    vec![
        maximum("wrong_type", Replace(MAX_CPU, "Ok(c)", "Ok(0)")),
        maximum("no_semicolon", Replace(MAX_CPU, "a.dim();", "a.dim()")),
        maximum("open_brace", Replace(MAX_RAYON, "Ok(c)\n}", "Ok(c)\n")),
        maximum("unknown_function", Replace(MAX_GPU, "device.uninitialized(", "device.allocate(")),
        maximum("unknown_crate", Replace(MAX_CPU, "use crate", "use nalgebra::DMatrix;\nuse crate")),
        activation("missing_file", Remove(NORMALIZE)),
        activation(
            "other_signature",
            Replace(NORMALIZE, "values: &[f32], weights: &[f32]", "values: Vec<f32>, weights: &[f32]"),
        ),
        utils("defined_twice", Replace(LISTS, "use ndarray::Array2;", "use ndarray::Array2;\nuse ndarray::Array2;")),
        utils(
            "moved",
            Replace(
                LISTS,
                "a.iter()",
                "drop(a.to_vec());\n    let (c, d) = (vec![1], 2);\n    drop(c);\n    drop((c, d));\n    a.iter()",
            ),
        ),
        utils("compile_error", Replace(LISTS, "use ndarray", "compile_error!(\"stop\");\nuse ndarray")),
    ]
}

fn others() -> Vec<Submission> {
    vec![
        Submission { name: "solved", changes: vec![], lost: &[], feedback: &[" of 100 points"] },
        Submission {
            name: "as_given",
            changes: vec![Change::Given],
            lost: ALL_PACKAGES,
            feedback: &["0 of 100 points"],
        },
        Submission {
            name: "part_missing",
            changes: vec![Remove("utils")],
            lost: &["utils"],
            feedback: &["the submission does not have this part"],
        },
        Submission {
            name: "other_launch",
            changes: vec![Replace(MAX_GPU, "THREADS: usize = 1000", "THREADS: usize = 256")],
            lost: &["hidden::max_gpu_launches_1000_blocks_of_1000_threads"],
            feedback: &["has 3907 blocks of 256 threads, expected 1000 blocks of 1000 threads"],
        },
        Submission {
            name: "slow_rayon",
            changes: vec![Replace(
                "max_functions/src/parallel.rs",
                "    Ok(c)",
                "    for _ in 0..20 { c = Array2::from_shape_fn(a.dim(), |i| if a[i] > b[i] { a[i] } else { b[i] }); std::hint::black_box(&mut c); }\n    Ok(c)",
            )],
            lost: &["hidden::max_rayon_is_faster_than_two_loops"],
            feedback: &["max_rayon: it takes"],
        },
        Submission {
            name: "kernel_of_two_files",
            changes: vec![
                Replace(MAX_KERNEL, "use cuda_std", "use crate::shape::larger;\nuse cuda_std"),
                Replace(MAX_KERNEL, "if a[i] > b[i] { a[i] } else { b[i] }", "larger(a[i], b[i])"),
                Replace(
                    "max_functions/src/shape.rs",
                    "/// Checks every",
                    "pub fn larger(a: i32, b: i32) -> i32 {\n    if a > b { a } else { b }\n}\n\n/// Checks every",
                ),
            ],
            lost: &["max_kernels_ptx_is_right"],
            feedback: &["the kernels, with the files that they use, do not compile to PTX"],
        },
    ]
}

const ALL_PACKAGES: &[&str] = &["utils", "max_functions", "matmul_functions", "activation_functions"];

const ARCHIVES: [Archive; 16] = [
    ("archive.zip", &[], &["100 of 100 points"]),
    ("two_levels.ZIP", &[], &["100 of 100 points"]),
    ("archive.tar.gz", &[], &["100 of 100 points"]),
    ("archive.tgz", &[], &["100 of 100 points"]),
    ("archive.tar", &[], &["100 of 100 points"]),
    ("student_1236_assignsubmission_file", &[], &["100 of 100 points"]),
    (
        "old_copy.zip",
        &[],
        &["to look at: not taken, since a copy nearer the top counts: backup/max_functions", "100 of 100 points"],
    ),
    ("latin1.zip", &["utils"], &["utils/src/lists.rs, line 1: byte 0xfc is not UTF-8", "75 of 100 points"]),
    ("crlf.zip", &[], &["100 of 100 points"]),
    ("bomb.zip", ALL_PACKAGES, &["the sources are larger than"]),
    ("path_outside.zip", ALL_PACKAGES, &["activation_functions/src/….rs; it has ../../max_functions/"]),
    ("broken.zip", ALL_PACKAGES, &["broken.zip: "]),
    ("link.zip", ALL_PACKAGES, &["it has max_functions/src/trivial.rs (a link)"]),
    ("homework.7z", ALL_PACKAGES, &["a 7z archive: ask for a ZIP file"]),
    ("hw1.pdf", ALL_PACKAGES, &["a PDF file: ask for a ZIP file"]),
    ("nothing.zip", ALL_PACKAGES, &["it has hw1.pdf"]),
];

fn write_archive(solved: &Path, file: &Path, name: &str) {
    let solution = || files_below(solved).into_iter().map(|path| (path.strip_prefix(solved).unwrap().to_owned(), path));
    match name {
        "broken.zip" => return std::fs::write(file, "PK\u{3}\u{4} and no more").unwrap(),
        "homework.7z" => return std::fs::write(file, b"7z\xbc\xaf\x27\x1c").unwrap(),
        "hw1.pdf" => return std::fs::write(file, "%PDF-1.7").unwrap(),
        "student_1236_assignsubmission_file" => {
            std::fs::create_dir(file).unwrap();
            return write_archive(solved, &file.join("homework.zip"), "archive.zip");
        }
        "archive.tar.gz" | "archive.tgz" | "archive.tar" => {
            let mut archive = tar::Builder::new(Vec::new());
            for (name, path) in solution() {
                archive.append_path_with_name(path, Path::new("homework").join(name)).unwrap();
            }
            let archive = archive.into_inner().unwrap();
            if name == "archive.tar" {
                return std::fs::write(file, archive).unwrap();
            }
            let mut compressed = GzEncoder::new(File::create(file).unwrap(), Compression::fast());
            compressed.write_all(&archive).unwrap();
            compressed.finish().unwrap();
            return;
        }
        _ => {}
    }
    let mut archive = zip::ZipWriter::new(File::create(file).unwrap());
    let options = SimpleFileOptions::default();
    let mut add = |name: &Path, bytes: &[u8]| {
        archive.start_file(name.to_str().unwrap(), options).unwrap();
        archive.write_all(bytes).unwrap();
    };
    match name {
        "bomb.zip" => add(Path::new(MAX_CPU), &vec![b' '; 200 << 20]),
        "path_outside.zip" => add(&Path::new("../..").join(MAX_CPU), b"fn f() {}"),
        "link.zip" => archive.add_symlink(MAX_CPU, "/etc/passwd", options).unwrap(),
        "nothing.zip" => add(Path::new("hw1.pdf"), b"%PDF-1.7"),
        _ => {
            let root = if name == "two_levels.ZIP" { "hw1/homework" } else { "" };
            for (path, file) in solution() {
                let mut bytes = std::fs::read(file).unwrap();
                if name == "latin1.zip" && path == Path::new(LISTS) {
                    bytes.splice(0..0, *b"// gr\xfc\xdfe\n");
                }
                if name == "crlf.zip" {
                    let text = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
                    bytes = format!("\u{feff}{text}").into_bytes();
                }
                add(&Path::new(root).join(path), &bytes);
            }
            if name == "old_copy.zip" {
                add(Path::new("backup/max_functions/src/trivial.rs"), b"fn old() {}");
            }
            if name == "two_levels.ZIP" {
                add(Path::new("__MACOSX/hw1/homework/utils/src/._lists.rs"), b"\xff");
            }
        }
    }
    archive.finish().unwrap();
}

fn course() -> Command {
    Command::new(env!("CARGO_BIN_EXE_course"))
}

fn write_submission(solved: &Path, given: &Path, class: &Path, submission: &Submission) {
    let folder = class.join(submission.name);
    let source = if matches!(submission.changes[..], [Change::Given]) { given } else { solved };
    for path in files_below(source) {
        let copy = folder.join(path.strip_prefix(source).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(&path, copy).unwrap();
    }
    for change in &submission.changes {
        match change {
            Replace(file, from, to) => {
                let path = folder.join(file);
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.contains(from), "{}: {file} does not have {from}", submission.name);
                std::fs::write(path, text.replacen(from, to, 1)).unwrap();
            }
            WriteFile(file, text) => {
                std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
                std::fs::write(folder.join(file), text).unwrap();
            }
            Change::Given => {}
            Remove(path) if folder.join(path).is_dir() => std::fs::remove_dir_all(folder.join(path)).unwrap(),
            Remove(path) => std::fs::remove_file(folder.join(path)).unwrap(),
        }
    }
}

/// An archive's name, the tests that lose their points (as in [`Submission`]), and the feedback.
type Archive = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Grades submissions of an assignment, and archives of the assignment's solutions.
fn check_class(assignment: &str, submissions: &[Submission], archives: &[Archive]) {
    let _grader = lock();
    let folder = tempfile::tempdir().unwrap();
    let [solved, given, class, feedback] =
        ["solved", "given", "class", "feedback"].map(|name| folder.path().join(name));
    let starter = |folder: &Path, more: &[&str]| {
        let status = course().arg("starter").arg(folder).args(["--assignment", assignment]).args(more).status();
        assert!(status.unwrap().success());
    };
    starter(&solved, &["--solutions"]);
    starter(&given, &[]);
    for submission in submissions {
        write_submission(&solved, &given, &class, submission);
    }
    for (name, ..) in archives {
        write_archive(&solved, &class.join(name), name);
    }
    let csv = folder.path().join("grades.csv");
    let grade = course()
        .args(["grade", "--assignment", assignment, "--limit", "10", "--all"])
        .args([&class])
        .arg("--csv")
        .arg(&csv)
        .arg("--feedback")
        .arg(&feedback)
        .arg("--page")
        .arg(folder.path().join("class.html"))
        .status();
    assert!(grade.unwrap().success());
    assert!(!Path::new("/usr/escaped").exists());
    let page = std::fs::read_to_string(folder.path().join("class.html")).unwrap();
    assert!(page.contains(&format!("<h1>{} submissions</h1>", submissions.len() + archives.len())), "{page}");

    let mut wrong = Vec::new();
    let folders = submissions.iter().map(|submission| (submission.name, submission.lost, submission.feedback));
    for (name, expected, feedback_parts) in folders.chain(archives.iter().copied()) {
        let (mut lost, text) = results(&feedback, name);
        let is_expected =
            |(package, name): &(String, String)| expected.iter().any(|lost| lost == package || lost == name);
        // On a busy machine, a correct function may be too slow.
        lost.retain(|test| !test.1.contains("is_faster") || is_expected(test));
        let expected = all_tests(&feedback).into_iter().filter(is_expected).collect();
        if lost != expected {
            wrong.push(format!("{name}: lost {lost:?}, expected {expected:?}\n{text}"));
        }
        for part in feedback_parts {
            if !text.contains(part) {
                wrong.push(format!("{name}: no {part:?} in\n{text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), submissions.len() + archives.len() + 1);
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn a_class_gets_the_points_and_findings_that_it_should() {
    let submissions = [mistakes(), hostile(), not_rust(), others(), cheats::all()];
    let submissions: Vec<Submission> = submissions.into_iter().flatten().collect();
    check_class("1", &submissions, &ARCHIVES);
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn wrong_submissions_of_assignment_2_lose_their_points() {
    const GIVEN: &[&str] =
        &["not written yet: rotate", "not written yet: put", "not written yet: correlation_kernel", "0 of 100 points"];
    check_class("2", &[with_ends(&["augmentation", "filters"], GIVEN), assignment2::all()].concat(), &[]);
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn wrong_submissions_of_assignment_3_lose_their_points() {
    const GIVEN: &[&str] = &["not written yet: naive_allreduce", "not written yet: run_master", "0 of 100 points"];
    check_class("3", &[with_ends(&["distributed_functions"], GIVEN), assignment3::all()].concat(), &[]);
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn wrong_submissions_of_the_extra_assignment_lose_their_points() {
    const GIVEN: &[&str] = &["not written yet: map", "not written yet: sum_by_halves", "0 of 100 points"];
    check_class("learn", &[with_ends(&["learn"], GIVEN), learn::all()].concat(), &[]);
}

/// The solutions, and the unchanged starter.
fn with_ends(packages: &'static [&'static str], feedback_of_given: &'static [&'static str]) -> Vec<Submission> {
    vec![
        Submission { name: "solved", changes: vec![], lost: &[], feedback: &["100 of 100 points"] },
        Submission { name: "as_given", changes: vec![Change::Given], lost: packages, feedback: feedback_of_given },
    ]
}

#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn the_reports_archive_of_this_projects_own_crates_gets_100_points() {
    let _grader = lock();
    let folder = tempfile::tempdir().unwrap();
    let pdf = folder.path().join("hw1.pdf");
    let report = Command::new(env!("CARGO"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["run", "-q", "-p", "report", "--", "--zip", "--quick", "--no-python", "--out"])
        .arg(&pdf)
        .status();
    assert!(report.unwrap().success());
    let grade = course().args(["grade", "--part", "1,2,3"]).arg(pdf.with_extension("zip")).output().unwrap();
    let text = String::from_utf8_lossy(&grade.stdout);
    assert!(text.trim_end().ends_with("\n100 of 100 points"), "{text}{}", String::from_utf8_lossy(&grade.stderr));
    assert!(text.contains("to look at: its kernels-cpu and kernels-gpu are this project's"), "{text}");
}

/// Only one grader at a time compiles in the project's folder.
fn lock() -> MutexGuard<'static, ()> {
    static GRADER: Mutex<()> = Mutex::new(());
    GRADER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The class has 20 students or the number in `GRADING_CLASS`, at least 9. The ninth hands in
/// again.
#[test]
#[ignore = "takes minutes, and needs bubblewrap"]
fn a_class_gets_its_points_and_is_graded_again() {
    let _grader = lock();
    let count = std::env::var("GRADING_CLASS").map_or(20, |count| count.parse().unwrap());
    assert!(count >= 9, "GRADING_CLASS is 9 or more");
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let [solved, given] = ["solved", "given"].map(|name| folder.join(name));
    assert!(course().arg("starter").arg(&solved).arg("--solutions").status().unwrap().success());
    assert!(course().arg("starter").arg(&given).status().unwrap().success());
    let students = class::students(count);
    class::write(&solved, &given, folder, &students);
    let grade = || {
        let output = course()
            .current_dir(folder)
            .args(["grade", "--all", "class", "--limit", "10", "--csv", "grades.csv", "--feedback", "feedback"])
            .args([
                "--page",
                "class.html",
                "--points",
                "points.toml",
                "--late",
                "late.toml",
                "--moodle",
                "worksheet.csv",
            ])
            .args(["--overrides", "overrides.csv", "--keep", "kept.json", "--changes", "changes.csv"])
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{messages}");
        String::from_utf8(output.stdout).unwrap()
    };
    let said = grade();
    assert!(said.contains("without a submission, left as they were: Absent Student\n"), "{said}");
    let (wrong, before) = class::wrong(folder, &students);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    eprintln!("{count} submissions: median {:?} each", class::median_time(&folder.join("feedback"), &students));

    // Only the resubmitted part runs again, and manually set points stay.
    let name = class::hand_in_again(folder, &students);
    let said = grade();
    let run = said.lines().find_map(|line| line.strip_prefix("kept.json: ")?.split_once(" tests run, ")).unwrap();
    let of_part =
        tests_of(&folder.join("feedback"), &name, |_| true).iter().filter(|test| test.0 == "max_functions").count();
    assert_eq!(run.0, of_part.to_string(), "{said}");
    let grades = std::fs::read_to_string(folder.join("grades.csv")).unwrap();
    assert!(grades.contains("\",\"55.5\",\""), "{grades}");
    let changes = std::fs::read_to_string(folder.join("changes.csv")).unwrap();
    let rows: Vec<&str> = changes.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{changes}");
    assert!(rows[0].starts_with(&format!("\"{name}\",\"max_functions: max_cpu_is_right\",")), "{changes}");
    assert!(rows[1].starts_with(&format!("\"{name}\",\"points\",\"{}\",", before[&name])), "{changes}");
}

/// Packages and names of the tests in a results file that `has` selects.
fn tests_of(feedback: &Path, name: &str, has: impl Fn(&serde_json::Value) -> bool) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(feedback.join(format!("{name}.json"))).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tests = results["tests"].as_array().unwrap().iter().filter(|test| has(test));
    let names = tests.map(|test| test["name"].as_str().unwrap().split_once(": ").unwrap());
    names.map(|(package, name)| (package.to_owned(), name.to_owned())).collect()
}

fn all_tests(feedback: &Path) -> BTreeSet<(String, String)> {
    tests_of(feedback, "solved", |_| true)
}

/// The tests that a submission has lost, and the text that the student reads.
fn results(feedback: &Path, name: &str) -> (BTreeSet<(String, String)>, String) {
    let lost = tests_of(feedback, name, |test| test["score"] != test["max_score"]);
    (lost, std::fs::read_to_string(feedback.join(format!("{name}.txt"))).unwrap())
}
