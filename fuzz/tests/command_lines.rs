//! Tries odd command lines of the programs. No program may panic, be killed by a signal or print
//! control characters. A rejected command line produces one line, or clap's usage, and no files.
//!
//! These tests are here because no test of a single package builds the programs of a whole
//! workspace. `COMMAND_LINES=N` tries N command lines.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use child_process::Finished;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use tempfile::TempDir;

#[path = "../../report/tests/report/figures.rs"]
#[allow(dead_code, reason = "one of its figures is enough")]
mod figures;

/// Time limit of a program. Typesetting a report takes the longest.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Limit for a program's private memory, in KiB.
const MEMORY: u64 = 1 << 20;

/// A program's subcommand with arguments that keep its work small, followed by the arguments to
/// try. N is a number, IN a file to read, OUT a file to write. An option replaces an earlier one
/// with the same name.
const FORMS: [&str; 14] = [
    "max_functions --repeats 1 --size 3 5 | -c N | --repeats N | --seed N | --json | --device auto/simulator/ptx/cuda | --size N N | --help",
    "matmul_functions --repeats 1 --size 3 5 | -c N | --repeats N | --seed N | --size N N | --dtype f32/f64 | --ladder | --json",
    "filters --repeats 1 --size 3 5 | -c N | --repeats N | --size N N | --image IN | --json | --out OUT",
    "activation_functions --repeats 1 --size 100 | -c N | --repeats N | --size N | --seed N | --json | --device auto/simulator",
    "neural-net --data digits --layers 64,4,10 --train-images 40 --validation-images 0 --epochs 2 | --preset homework/notebook | -c N \
     | --device auto/cpu/cuda | --save OUT | --checkpoint OUT | --resume | --target-accuracy 0/50/100 | --json | --data IN | --seed N \
     | --layers 64,10/64,3,10/784,10/64,,10/64,0,10 | --activation sigmoid/relu/tanh/identity/softmax | --output-activation softmax/identity \
     | --loss squared-error/cross-entropy | --optimizer sgd/adam | --learning-rate 0.1/1e-300/1e300/0 | --schedule constant/cosine \
     | --momentum 0/0.5/0.999/1 | --weight-decay 0/0.1/1e300 | --batch-size 1/7/full/N | --gradient sum/mean | --epochs 1/3/0 | --shuffle true/false \
     | --report-every N | --stop-at 0/50/100 | --check-every N | --initialization xavier/normal | --train-images 1/40/51 | --validation-images N",
    "neural-net evaluate model.safetensors --data digits | IN | --data IN | -c N | --json",
    "neural-net predict model.safetensors sheet.png --data digits | IN | N | --background auto/dark/light | --data IN | --json",
    "neural-net predict | IN | IN | --data IN | --json",
    "neural-net digits new.png | --seed N | OUT",
    "compute-shader --repeats 1 --model model.safetensors --data digits | --repeats N | -c N | --seed N | --model IN | --data IN | --plot OUT | --json",
    "regression-studio train settings.toml --out kept | IN | --out OUT | --resume | --folds N | --seeds N | --search N",
    "regression-studio predict | IN | IN | --out OUT | --explain",
    "report --figures missing --out hw1.pdf | --figures IN | --out OUT | --author A/#set | --notes IN | --html | --json | --quick | --seed N",
    "xtask ptx profile | max_kernel/matmul_kernel_f32/no_kernel | --check",
];

/// Files of the folder, valid or odd, in addition to missing ones.
const INPUTS: &str = "table.csv|settings.toml|model.safetensors|sheet.png|figures.json|digits|digits/train-images-idx3-ubyte|folder|empty|zeros|missing\
    |missing/deeper|dangling|name\u{1b}[31m|table.csv/below-a-file|.|";
const OUTPUTS: &str =
    "out|out.pdf|out/deeper/file|folder|folder/|folder/out|table.csv|table.csv/below-a-file|dangling|new\u{1b}[31m|.|";
const ODD: &str = "| |0|-1|-0|+1|01|1.5|1e3|0x10|1_000|NaN|inf|-inf|1e-400|1e400|18446744073709551615|18446744073709551616\
    |99999999999999999999999999|４|\u{1b}[31mred|two\nlines|\u{202e}|--|--json|-|,|4294967296|9223372036854775808";

type Random = ChaCha8Rng;

/// The arguments for a form, some of them odd.
fn arguments(random: &mut Random, form: &str) -> Vec<OsString> {
    let (base, options) = form.split_once(" | ").expect("a form has options");
    let mut arguments: Vec<OsString> = base.split(' ').skip(1).map(OsString::from).collect();
    let options: Vec<&str> = options.split(" | ").collect();
    for _ in 0..random.random_range(0..5) {
        let mut words = options.choose(random).expect("there are some").split_whitespace().peekable();
        if let Some(name) = words.next_if(|word| word.starts_with('-')) {
            // Repeating an option is an error, which is also tried.
            if let Some(at) = arguments.iter().position(|argument| argument == name)
                && random.random_range(0..10) > 0
            {
                arguments.drain(at..(at + 1 + words.clone().count()).min(arguments.len()));
            }
            arguments.push(name.into());
        }
        arguments.extend(words.map(|word| value(random, word)));
    }
    arguments
}

/// A value for an option, usually a valid one.
fn value(random: &mut Random, word: &str) -> OsString {
    let mut one_of = |values: &str, separator| -> OsString {
        let values: Vec<&str> = values.split(separator).collect();
        (*values.choose(random).expect("a split text has a part")).into()
    };
    match (one_of("valid|valid|valid|valid|valid|valid|odd|odd", '|').to_str(), word) {
        (Some("odd"), _) => match one_of("odd|odd|odd|not Unicode|long", '|').to_str() {
            Some("odd") => one_of(ODD, '|'),
            Some("long") => "9".repeat(100_000).into(),
            _ => OsString::from_vec(b"not\xffUTF-8\xfe".to_vec()),
        },
        (_, "N") => one_of("1|2|3|7|33", '|'),
        (_, "IN") => one_of(INPUTS, '|'),
        (_, "OUT") => one_of(OUTPUTS, '|'),
        _ => one_of(word, '/'),
    }
}

/// The folder of the programs, built as the tests of their own workspaces build them.
fn programs() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root is above");
    let (of_studio, of_root): (Vec<&str>, Vec<&str>) = FORMS
        .into_iter()
        .map(|form| form.split(' ').next().expect("a form begins with its program"))
        .partition(|program| *program == "regression-studio");
    for (workspace, programs) in [(root.to_owned(), of_root), (root.join("regression-studio"), of_studio)] {
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--quiet", "--bins", "--target-dir"]).arg(root.join("target")).current_dir(workspace);
        command.args(programs.into_iter().flat_map(|program| ["--package", program]));
        assert!(command.status().expect("cargo starts").success(), "the programs do not build");
    }
    root.join("target/debug")
}

/// A folder with small valid files and odd ones.
fn sandbox(programs: &Path) -> TempDir {
    let sandbox = TempDir::new().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(sandbox.path().join(name), content).unwrap();
    fs::create_dir(sandbox.path().join("digits")).unwrap();
    fs::create_dir(sandbox.path().join("folder")).unwrap();
    for (subset, count) in [("train", 50_u8), ("t10k", 20)] {
        let (images, labels) = ([0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 8, 0, 0, 0, 8], [0, 0, 8, 1, 0, 0, 0, count]);
        let pixel = |index: usize| if index % 64 == index / 64 % 10 { 200 } else { 0 };
        let pixels: Vec<u8> = (0..64 * usize::from(count)).map(pixel).collect();
        write(&format!("digits/{subset}-images-idx3-ubyte"), &[&images[..], &pixels].concat());
        let digits: Vec<u8> = (0..count).map(|image| image % 10).collect();
        write(&format!("digits/{subset}-labels-idx1-ubyte"), &[&labels[..], &digits].concat());
    }
    let row = |row: usize| format!("{},{},{}\n", row * 7 % 11, ["north", "south"][row % 2], row * 7 % 11 * 3 + row % 5);
    write("table.csv", ("size,side,price\n".to_owned() + &(0..60).map(row).collect::<String>()).as_bytes());
    let data = "[data]\nsource = { file = \"table.csv\" }\nfeatures = [\"size\", \"side\"]\ntarget = \"price\"\n";
    write("settings.toml", format!("{data}[network]\nhidden = [3]\n[training]\nepochs = 2\nthreads = 1\n").as_bytes());
    write("figures.json", json!(figures::without_gpu()).to_string().as_bytes());
    write("empty", b"");
    write("zeros", &[0; 4096]);
    write("name\u{1b}[31m", b"a,b\n1,2\n");
    std::os::unix::fs::symlink("nowhere", sandbox.path().join("dangling")).unwrap();
    let train = "--data digits --layers 64,4,10 --train-images 50 --validation-images 0 --epochs 1 --target-accuracy 0 --save model.safetensors";
    for line in [train, "digits sheet.png"] {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let finished = run(&programs.join("neural-net"), &arguments, sandbox.path(), "");
        assert!(finished.is_success(), "{line}: {}", finished.stderr);
    }
    sandbox
}

fn run(program: &Path, arguments: &[OsString], folder: &Path, redirection: &str) -> Finished {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -c 0; ulimit -d {MEMORY}; exec \"$0\" \"$@\" {redirection}")]).arg(program);
    command.args(arguments).current_dir(folder).env("HOME", folder).env("CUDA_VISIBLE_DEVICES", "-1");
    for variable in ["MNIST_DIR", "STOCKS_CSV", "DISPLAY", "WAYLAND_DISPLAY", "RUST_BACKTRACE", "XDG_RUNTIME_DIR"] {
        command.env_remove(variable);
    }
    let outputs = TempDir::new().unwrap();
    child_process::run(&mut command, TIME_LIMIT, "", &outputs.path().join("log")).unwrap().unwrap()
}

/// The files of a folder and of those in it, except caches.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let entries = entries.filter(|path| !path.ends_with(".cache"));
    entries.flat_map(|path| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] }).collect()
}

/// The promise that a program has broken, if any.
fn broken(finished: &Finished, new: &[PathBuf]) -> Option<&'static str> {
    let code = finished.status.and_then(|status| status.code());
    let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let remarks = ["warning: ", "note: ", "no checkpoint in "];
    let is_remark = |line: &&str| line.is_empty() || remarks.iter().any(|remark| line.starts_with(remark));
    let lines: Vec<&str> = finished.stderr.lines().filter(|line| !is_remark(line)).collect();
    let is_usage = finished.stderr.starts_with("error: ") && finished.stderr.contains("--help");
    let is_temporary = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tmp"));
    let promises = [
        (matches!(code, Some(0 | 1 | 2 | 130)), "it ends by itself with a documented exit code"),
        (!finished.stderr.contains("panicked at"), "it does not panic"),
        (!(finished.stdout.clone() + &finished.stderr).contains(is_control), "it prints no control characters"),
        (!new.iter().any(is_temporary), "no temporary file is left"),
        (code != Some(2) || new.is_empty(), "a rejected call leaves no file"),
        (
            code != Some(2) || is_usage || matches!(lines[..], [line] if line.starts_with("error: ")),
            "a rejected call is answered by one line",
        ),
    ];
    promises.iter().find(|(is_kept, _)| !is_kept).map(|(_, promise)| *promise)
}

#[test]
fn odd_command_lines_are_answered() {
    let count = std::env::var("COMMAND_LINES").map_or(150, |count| count.parse().expect("a number"));
    let (programs, seed) = (programs(), test_support::seed(0));
    let valid = sandbox(&programs);
    let (next, rejected) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        loop {
            let case = next.fetch_add(1, Relaxed);
            if case >= count {
                return;
            }
            let mut random = Random::seed_from_u64(seed.wrapping_add(case as u64));
            let form = FORMS[case % FORMS.len()];
            let (program, arguments) = (form.split(' ').next().unwrap_or(form), arguments(&mut random, form));
            let folder = TempDir::new().unwrap();
            let copied = Command::new("cp").arg("-R").arg(valid.path().join(".")).arg(folder.path()).status();
            assert!(copied.unwrap().success());
            let before = files(folder.path());
            // A program notices a full stdout only after it has written its files.
            let is_full = random.random_range(0..20) == 0;
            let redirection = if is_full { "> /dev/full" } else { "" };
            let finished = run(&programs.join(program), &arguments, folder.path(), redirection);
            rejected.fetch_add(usize::from(finished.status.and_then(|status| status.code()) == Some(2)), Relaxed);
            let new = if is_full { vec![] } else { files(folder.path()) };
            let new: Vec<PathBuf> = new.into_iter().filter(|file| !before.contains(file)).collect();
            if let Some(promise) = broken(&finished, &new) {
                let [stdout, stderr] = [&finished.stdout, &finished.stderr];
                panic!(
                    "case {case}: {promise}: {program} {arguments:?} {redirection}: {}\n{stdout:?}\n{stderr:?}\n{new:?}",
                    finished.ending()
                );
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let rejected = rejected.into_inner();
    assert!(
        rejected > count / 10 && rejected < count - count / 10,
        "both are tried: {rejected} of {count} are rejected"
    );
}
