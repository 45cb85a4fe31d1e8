//! Runs the program in a temporary directory.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

use super::{small_dataset, write_dataset};

/// Arguments of a training run with five steps per epoch, small enough for the simulator.
const SMALL: [&str; 12] = [
    "--data",
    "digits",
    "--layers",
    "784,6,10",
    "--train-images",
    "70",
    "--validation-images",
    "20",
    "--target-accuracy",
    "0",
    "--momentum",
    "0.5",
];

/// [`SMALL`] followed by `more` arguments.
pub(crate) fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL, more].concat()
}

/// A temporary directory that serves as the program's current directory, home and cache. It has a
/// small data set in `digits`.
pub(crate) struct Sandbox(TempDir);

/// The exit code and the output of a run of the program.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self::empty();
        write_dataset(&sandbox.path("digits"), &small_dataset());
        sandbox
    }

    /// A directory without the data set.
    pub(crate) fn empty() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command that runs the program without access to the user's files and settings.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(cargo_bin!("neural-net"));
        self.isolate(&mut command).args(arguments);
        command
    }

    pub(crate) fn isolate<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for variable in
            ["MNIST_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        {
            command.env_remove(variable);
        }
        // No GPU, so a test uses the same engine on every machine.
        command.env("CUDA_VISIBLE_DEVICES", "-1");
        let directory = self.0.path();
        command.current_dir(directory).env("HOME", directory).env("XDG_CACHE_HOME", directory.join("cache"))
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> ProgramRun {
        ProgramRun::of(self.command(arguments).output().unwrap())
    }

    /// Trains for `epochs` on 500 images of the small data set, with 100 validation images and `more` arguments.
    pub(crate) fn train(&self, epochs: usize, more: &[&str]) -> ProgramRun {
        self.run(&training(epochs, more))
    }

    /// The error message of a run with invalid input. See [`ProgramRun::rejection`].
    pub(crate) fn rejection<A: AsRef<OsStr>>(&self, arguments: &[A]) -> String {
        self.run(arguments).rejection()
    }

    /// Saves a network to `model.safetensors` after a short training run.
    pub(crate) fn save_model(&self) -> ProgramRun {
        self.train(3, &["--save", "model.safetensors", "--target-accuracy", "0"]).success()
    }

    /// Overwrites a file of the small data set.
    pub(crate) fn damage(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path("digits").join(name), bytes).unwrap();
    }
}

impl ProgramRun {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self
    }

    /// The error message on stderr. Checks that the exit code is 2, with one error and no training.
    #[track_caller]
    pub(crate) fn rejection(self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", self.stderr);
        assert!(!self.stdout.contains("Network:"), "it fails before it trains: {}", self.stdout);
        errors[0].to_owned()
    }
}

/// The arguments of a short training run, followed by `more`.
pub(crate) fn training(epochs: usize, more: &[&str]) -> Vec<String> {
    let epochs = epochs.to_string();
    let short = ["--data", "digits", "--train-images", "500", "--validation-images", "100", "--epochs", &epochs];
    short.iter().chain(more).map(ToString::to_string).collect()
}
