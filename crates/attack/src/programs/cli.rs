//! Random command lines of every program, with valid and odd values.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::Result;

use super::process::{Ended, Running};
use super::sandbox::{self, Sandbox};
use super::{Attack, Defect, Outcome, Programs};
use crate::random::Random;
use crate::{supervisor, system};

/// Limit of a program's private memory, in KiB.
const MEMORY_KIBIBYTES: u64 = 1 << 20;

pub(super) struct CommandLines<'a> {
    programs: Programs<'a>,
}

/// Values that an option takes.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    /// One of these, all of which cause little work.
    One(&'static [&'static str]),
    /// Two of these.
    Two(&'static [&'static str]),
    /// A file or folder to read.
    Input,
    /// A file or folder to write.
    Output,
}

/// An option and its values; a positional argument has an empty name.
type Spec = (&'static str, Takes);

/// A program's subcommand, with arguments that keep its work small, and the options to choose from.
struct Form {
    program: &'static str,
    /// Arguments of every command line.
    base: &'static [&'static str],
    options: &'static [Spec],
}

const COUNTS: &[&str] = &["1", "2", "3"];
const SIZES: &[&str] = &["1", "2", "7", "33"];
const SEEDS: &[&str] = &["0", "1", "4294967296", "18446744073709551615"];
const DEVICES: &[&str] = &["auto", "simulator", "ptx", "cuda"];

const HOMEWORK: &[Spec] = &[
    ("--cores", Takes::One(COUNTS)),
    ("-c", Takes::One(COUNTS)),
    ("--repeats", Takes::One(COUNTS)),
    ("--seed", Takes::One(SEEDS)),
    ("--json", Takes::Nothing),
    ("--device", Takes::One(DEVICES)),
    ("--size", Takes::Two(SIZES)),
    ("--dtype", Takes::One(&["f32", "f64"])),
    ("--ladder", Takes::Nothing),
    ("--help", Takes::Nothing),
];

const TRAIN: &[Spec] = &[
    ("--preset", Takes::One(&["homework", "notebook"])),
    ("--cores", Takes::One(COUNTS)),
    ("--device", Takes::One(&["auto", "cpu", "cuda"])),
    ("--gpu-path", Takes::One(&["auto"])),
    ("--save", Takes::Output),
    ("--checkpoint", Takes::Output),
    ("--resume", Takes::Nothing),
    ("--target-accuracy", Takes::One(&["0", "50", "100"])),
    ("--json", Takes::Nothing),
    ("--layers", Takes::One(&["64,10", "64,3,10", "784,10", "64,1,1,10"])),
    ("--activation", Takes::One(&["sigmoid", "relu", "tanh", "identity", "softmax"])),
    ("--output-activation", Takes::One(&["sigmoid", "softmax", "identity"])),
    ("--loss", Takes::One(&["squared-error", "cross-entropy"])),
    ("--optimizer", Takes::One(&["sgd", "adam"])),
    ("--learning-rate", Takes::One(&["0.1", "1e-300", "1e300"])),
    ("--schedule", Takes::One(&["constant", "cosine"])),
    ("--momentum", Takes::One(&["0", "0.5", "0.999"])),
    ("--weight-decay", Takes::One(&["0", "0.1", "1e300"])),
    ("--batch-size", Takes::One(&["1", "7", "full", "18446744073709551615"])),
    ("--gradient", Takes::One(&["sum", "mean"])),
    ("--epochs", Takes::One(COUNTS)),
    ("--shuffle", Takes::One(&["true", "false"])),
    ("--report-every", Takes::One(&["1", "2", "18446744073709551615"])),
    ("--stop-at", Takes::One(&["0", "50", "100"])),
    ("--check-every", Takes::One(&["1", "20", "18446744073709551615"])),
    ("--initialization", Takes::One(&["xavier", "normal"])),
    ("--seed", Takes::One(SEEDS)),
    ("--train-images", Takes::One(&["1", "40", "41"])),
    ("--validation-images", Takes::One(&["0", "1", "10"])),
    ("--data", Takes::Input),
];

const FORMS: &[Form] = &[
    Form { program: "max_functions", base: &["--repeats", "1", "--size", "3", "5"], options: HOMEWORK },
    Form { program: "matmul_functions", base: &["--repeats", "1", "--size", "3", "5"], options: HOMEWORK },
    Form { program: "filters", base: &["--repeats", "1", "--size", "3", "5"], options: HOMEWORK },
    Form {
        program: "activation_functions",
        base: &["--repeats", "1", "--size", "100"],
        options: &[
            ("--cores", Takes::One(COUNTS)),
            ("--repeats", Takes::One(COUNTS)),
            ("--size", Takes::One(SIZES)),
            ("--seed", Takes::One(SEEDS)),
            ("--json", Takes::Nothing),
            ("--device", Takes::One(DEVICES)),
        ],
    },
    Form {
        program: "neural-net",
        base: &[
            "--data",
            "digits",
            "--layers",
            "64,4,10",
            "--train-images",
            "40",
            "--validation-images",
            "0",
            "--epochs",
            "2",
        ],
        options: TRAIN,
    },
    Form {
        program: "neural-net",
        base: &["evaluate", "model.safetensors", "--data", "digits"],
        options: &[
            ("", Takes::Input),
            ("--data", Takes::Input),
            ("--cores", Takes::One(COUNTS)),
            ("--json", Takes::Nothing),
        ],
    },
    Form {
        program: "neural-net",
        base: &["predict", "model.safetensors", "digit.png", "--data", "digits"],
        options: &[
            ("", Takes::Input),
            ("", Takes::One(&["0", "19", "20", "18446744073709551615", "18446744073709551616"])),
            ("--background", Takes::One(&["auto", "dark", "light", ""])),
            ("--data", Takes::Input),
            ("--json", Takes::Nothing),
        ],
    },
    Form {
        program: "neural-net",
        base: &["predict"],
        options: &[("", Takes::Input), ("", Takes::Input), ("--data", Takes::Input), ("--json", Takes::Nothing)],
    },
    Form {
        program: "neural-net",
        base: &["digits", "sheet.png"],
        options: &[("--seed", Takes::One(SEEDS)), ("", Takes::Output)],
    },
    Form {
        program: "compute-shader",
        base: &["--repeats", "1", "--model", "model.safetensors", "--data", "digits"],
        options: &[
            ("--repeats", Takes::One(COUNTS)),
            ("--cores", Takes::One(COUNTS)),
            ("--seed", Takes::One(SEEDS)),
            ("--model", Takes::Input),
            ("--data", Takes::Input),
            ("--plot", Takes::Output),
            ("--json", Takes::Nothing),
            ("--keep-on-device", Takes::Nothing),
            ("--help", Takes::Nothing),
        ],
    },
    Form {
        program: "regression-studio",
        base: &["train", "settings.toml", "--out", "kept"],
        options: &[("", Takes::Input), ("--out", Takes::Output), ("--resume", Takes::Nothing)],
    },
    Form {
        program: "regression-studio",
        base: &["train"],
        options: &[("", Takes::Input), ("--out", Takes::Output), ("--resume", Takes::Nothing)],
    },
    Form {
        program: "regression-studio",
        base: &["predict"],
        options: &[("", Takes::Input), ("", Takes::Input), ("--out", Takes::Output)],
    },
    Form { program: "regression-studio", base: &["example-config"], options: &[("", Takes::Input)] },
    Form {
        program: "report",
        base: &["--figures", "missing", "--out", "hw1.pdf"],
        options: &[
            ("--figures", Takes::Input),
            ("--out", Takes::Output),
            ("--author", Takes::One(&["A. Uthor", "#set page", "\u{1b}[31m", ""])),
            ("--notes", Takes::Input),
            ("--html", Takes::Nothing),
            ("--json", Takes::Nothing),
            ("--quick", Takes::Nothing),
            ("--seed", Takes::One(SEEDS)),
        ],
    },
    Form {
        program: "xtask",
        base: &["ptx", "profile"],
        options: &[
            ("", Takes::One(&["max_kernel", "matmul_kernel_f32", "no_kernel", "\u{1b}[31m"])),
            ("--check", Takes::Nothing),
        ],
    },
    Form {
        program: "xtask",
        base: &["peers", "--help"],
        options: &[("", Takes::Input), ("--cores", Takes::One(COUNTS)), ("--only", Takes::Input)],
    },
];

/// Values that few or no options accept.
const ODD: [&str; 28] = [
    "",
    " ",
    "0",
    "-1",
    "-0",
    "+1",
    "01",
    "1.5",
    "1e3",
    "0x10",
    "1_000",
    "NaN",
    "inf",
    "-inf",
    "1e-400",
    "1e400",
    "18446744073709551616",
    "99999999999999999999999999",
    "４",
    "\u{1b}[31mred",
    "two\nlines",
    "\u{202e}",
    "--",
    "--json",
    "-",
    ",",
    "784,,10",
    "64,0,10",
];

/// Integers too large for a number of threads, sizes or repeats on any machine. Options that accept them, such as
/// seeds, cause no more work for them.
const HUGE: [&str; 4] = ["4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615"];

/// Options whose work a huge value makes endless.
const ENDLESS: [&str; 1] = ["--epochs"];

const INPUTS: [&str; 22] = [
    "table.csv",
    "settings.toml",
    "model.safetensors",
    "digit.png",
    "figures.json",
    "digits",
    "digits/train-images-idx3-ubyte",
    "folder",
    "empty",
    "zeros",
    "missing",
    "missing/deeper",
    "dangling",
    "name\u{1b}[31m",
    "table.csv/below-a-file",
    ".",
    "/",
    "/dev/null",
    "/dev/full",
    "/proc/self/mem",
    "/proc/self/cmdline",
    "",
];

const OUTPUTS: [&str; 14] = [
    "out",
    "out.pdf",
    "out/deeper/file",
    "folder",
    "folder/",
    "folder/out",
    "table.csv/below-a-file",
    "dangling",
    "/dev/full",
    "/dev/null",
    "/proc/out",
    "new\u{1b}[31m",
    "",
    ".",
];

impl<'a> CommandLines<'a> {
    pub(super) fn new(programs: Programs<'a>) -> Result<Self> {
        Ok(Self { programs })
    }
}

/// A value of an option, usually valid.
fn value(random: &mut Random, name: &str, valid: &[&'static str]) -> OsString {
    match random.below(8) {
        0 => random.pick(&ODD).into(),
        1 if !ENDLESS.contains(&name) => random.pick(&HUGE).into(),
        2 if random.one_in(4) => system::not_unicode(),
        3 if random.one_in(8) => "9".repeat(100_000).into(),
        _ => random.pick(valid).into(),
    }
}

fn arguments(random: &mut Random, form: &Form) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = form.base.iter().map(OsString::from).collect();
    for _ in 0..random.below(5) {
        let (name, takes) = form.options[random.below(form.options.len())];
        // Repeating an option is an error, so the new values usually replace those of the base.
        let values: Vec<OsString> = match takes {
            Takes::Nothing => vec![],
            Takes::One(valid) => vec![value(random, name, valid)],
            Takes::Two(valid) => vec![value(random, name, valid), value(random, name, valid)],
            Takes::Input => vec![value(random, name, &INPUTS)],
            Takes::Output => vec![value(random, name, &OUTPUTS)],
        };
        if let Some(at) = arguments.iter().position(|argument| !name.is_empty() && argument == name) {
            let end = (at + 1 + values.len()).min(arguments.len());
            if random.one_in(10) {
                arguments.push(name.into());
            } else {
                arguments.splice(at + 1..end, values);
                continue;
            }
        } else if !name.is_empty() {
            arguments.push(name.into());
        }
        arguments.extend(values);
    }
    if random.one_in(30) {
        arguments.push(random.pick(&ODD).into());
    }
    arguments
}

impl Attack for CommandLines<'_> {
    fn case(&self, random: &mut Random) -> Result<Outcome> {
        let form = &FORMS[random.below(FORMS.len())];
        let sandbox =
            Sandbox::new()?.with_digits(50)?.with_table(60, &sandbox::settings(2).to_toml())?.with_odd_files()?;
        let arguments = arguments(random, form);
        let line = shown(form.program, &arguments);
        let before = sandbox.files();
        let outputs = Sandbox::new()?;
        let redirection = if random.one_in(20) { "> /dev/full" } else { "" };
        let mut command = supervisor::limited(&self.programs.path(form.program), MEMORY_KIBIBYTES, redirection);
        command.args(&arguments).current_dir(sandbox.path()).env("HOME", sandbox.path());
        for variable in ["MNIST_DIR", "STOCKS_CSV", "DISPLAY", "WAYLAND_DISPLAY", "RUST_BACKTRACE", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        let ended = Running::start(&mut command, outputs.path(), "program")?.end()?;
        // A program notices a full stdout only after it has written its files.
        let is_full = !redirection.is_empty();
        let new: Vec<PathBuf> = if is_full { vec![] } else { sandbox.files() };
        let new: Vec<PathBuf> = new.into_iter().filter(|file| !before.contains(file)).collect();
        let defect = ended.crash(&line).or_else(|| defect(form.program, &line, &ended, &new));
        Ok(Outcome { cases: 1, is_rejected: ended.code() == Some(2), peak: ended.peak, defect })
    }
}

fn shown(program: &str, arguments: &[OsString]) -> String {
    let quoted = arguments.iter().map(|argument| {
        let text: String = argument.to_string_lossy().chars().take(60).collect();
        let is_plain =
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./,".contains(&byte));
        if is_plain { text } else { format!("{text:?}") }
    });
    std::iter::once(program.to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// A broken promise of all programs: no control characters, one line per rejection, no file left by a rejected call.
fn defect(program: &str, line: &str, ended: &Ended, new: &[PathBuf]) -> Option<Defect> {
    let wrong = |promise: &str, detail: String| {
        Some(Defect::wrong(format!("{program}: {promise}"), format!("{line}: {detail}")))
    };
    let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    for (name, output) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        let text = String::from_utf8_lossy(output);
        if text.contains(is_control) {
            let line = text.lines().find(|line| line.contains(is_control)).unwrap_or_default();
            return wrong("no control characters are printed", format!("{name}: {line:?}"));
        }
    }
    let messages = ended.messages();
    if messages.contains("stack backtrace") || messages.contains("RUST_BACKTRACE") {
        return wrong("no backtrace is printed", messages);
    }
    let is_temporary = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tmp"));
    if let Some(left) = new.iter().find(is_temporary) {
        return wrong("no temporary file is left", left.display().to_string());
    }
    if ended.code() != Some(2) {
        return None;
    }
    // clap's messages have the usage below them.
    let is_usage = messages.starts_with("error: ") && messages.contains("--help");
    if !is_usage && let Err(messages) = ended.error_line() {
        return wrong("bad input is one line that begins with error", messages);
    }
    let of_program = |file: &&PathBuf| file.components().all(|component| component.as_os_str() != OsStr::new(".cache"));
    match new.iter().find(of_program) {
        Some(file) => wrong("bad input leaves no file", file.display().to_string()),
        None => None,
    }
}
