//! The program in a directory of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

use super::{small_dataset, write_dataset};

/// A training of five steps an epoch, little enough for the simulator.
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

/// The arguments of such a training, and `more`.
pub(crate) fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL, more].concat()
}

/// A directory that is the program's current one, its home and its cache. A small data set is in `digits`.
pub(crate) struct Place(TempDir);

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self::empty();
        write_dataset(&place.path("digits"), &small_dataset());
        place
    }

    /// Without the data set.
    pub(crate) fn empty() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program, ready to start: it sees nothing of the user's files and settings.
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
        // Without a GPU, so that a test is about the same engine on every machine.
        command.env("CUDA_VISIBLE_DEVICES", "-1");
        let directory = self.0.path();
        command.current_dir(directory).env("HOME", directory).env("XDG_CACHE_HOME", directory.join("cache"))
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Run {
        Run::of(self.command(arguments).output().unwrap())
    }

    /// Trains for `epochs` on 500 of the small data set's images, measured on 100, with more arguments.
    pub(crate) fn train(&self, epochs: usize, more: &[&str]) -> Run {
        self.run(&training(epochs, more))
    }

    /// The message of a program that refused its input: exit code 2 and one error on stderr.
    pub(crate) fn refusal<A: AsRef<OsStr>>(&self, arguments: &[A]) -> String {
        self.run(arguments).refusal()
    }

    /// Saves a network that was trained a little to `model.safetensors`.
    pub(crate) fn save_model(&self) -> Run {
        self.train(3, &["--save", "model.safetensors", "--target-accuracy", "0"]).success()
    }

    /// Writes what is no file of MNIST over one of the small data set.
    pub(crate) fn damage(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path("digits").join(name), bytes).unwrap();
    }
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self
    }

    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", self.stderr);
        assert!(!self.stdout.contains("Network:"), "it refuses before it trains: {}", self.stdout);
        errors[0].to_owned()
    }
}

/// The arguments of a short training.
pub(crate) fn training(epochs: usize, more: &[&str]) -> Vec<String> {
    let epochs = epochs.to_string();
    let short = ["--data", "digits", "--train-images", "500", "--validation-images", "100", "--epochs", &epochs];
    short.iter().chain(more).map(ToString::to_string).collect()
}
