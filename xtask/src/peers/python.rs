use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::rust_program::{EPOCH_IMAGES, OurTime, positive};
use super::workload::Workload;
use crate::capture::{last_line, stdout_of};

/// Environment variables from which BLAS, OpenMP and Numba take their number of threads at load time.
const THREAD_VARIABLES: [&str; 5] =
    ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"];

/// Label of a script's time from the start of the Python process to its end.
const WHOLE_PROCESS: &str = "NumPy whole process";

/// A Python interpreter that has NumPy.
pub(super) struct Python(OsString);

impl Python {
    /// The interpreter at `path`, otherwise the one from [`command_line::python`].
    ///
    /// # Errors
    /// If it cannot be started or has no NumPy. The message names the package to install.
    pub(super) fn find(path: Option<OsString>) -> Result<Self> {
        let python = Self(path.unwrap_or_else(command_line::python));
        let name = python.0.display();
        if let Err(error) = Command::new(&python.0).arg("--version").output() {
            bail!("cannot start {name} ({error}): install Python 3, or name an interpreter with --python PATH");
        }
        if let Err(error) = stdout_of(Command::new(&python.0).args(["-c", "import numpy"])) {
            let install = python.install("numpy numba");
            bail!("{name} cannot import NumPy ({error}): {install}, or name another interpreter with --python PATH");
        }
        Ok(python)
    }

    /// The command that installs packages.
    pub(super) fn install(&self, packages: &str) -> String {
        format!("{} -m pip install {packages}", self.0.display())
    }

    /// Runs a workload's script and returns its output. If our process is timed as a whole, so is
    /// the script's process.
    ///
    /// # Errors
    /// If it fails, or does not print the expected JSON object.
    pub(super) fn time(&self, work: &Workload, threads: NonZeroUsize, round: usize) -> Result<ScriptOutput> {
        let (script, threads) = (work.script, threads.to_string());
        let mut command = Command::new(&self.0);
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script))
            .args(&work.script_arguments)
            .args(work.seed(round))
            .args(["--threads", &threads])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(THREAD_VARIABLES.map(|variable| (variable, &threads)))
            .envs(crate::programs::mnist_variable());
        // A peer chooses its kernels for the processor, as it does for most users.
        for variable in ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS", "NPY_DISABLE_CPU_FEATURES"]
        {
            command.env_remove(variable);
        }
        let start = Instant::now();
        let stdout = stdout_of(&mut command).with_context(|| format!("{script} failed"))?;
        let process = start.elapsed().as_secs_f64();
        // A library may print its own lines before the object.
        let mut output = ScriptOutput::parse(last_line(&stdout).unwrap_or_default())
            .with_context(|| format!("{script} did not print its JSON object"))?;
        if work.time == OurTime::Process {
            output.seconds.insert(WHOLE_PROCESS.to_owned(), Fastest { min: process });
        }
        Ok(output)
    }
}

/// The JSON object that a script prints.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptOutput {
    /// Names and versions of all timed peers, joined by commas.
    pub(super) peer: String,
    seconds: BTreeMap<String, Fastest>,
    /// The peers that are not installed, each with the package to install.
    #[serde(default)]
    pub(super) missing: BTreeMap<String, String>,
    /// The peers that are installed but cannot be timed, each with its error in one line.
    #[serde(default)]
    pub(super) failed: BTreeMap<String, String>,
    /// Number of images per epoch, if the times are for epochs.
    images: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Fastest {
    min: f64,
}

impl ScriptOutput {
    pub(super) fn parse(json: &str) -> Result<Self> {
        let output: Self = serde_json::from_str(json)?;
        for (_, seconds) in output.times() {
            positive(seconds)?;
        }
        Ok(output)
    }

    /// Each peer's fastest call in seconds. Times for epochs are scaled to [`EPOCH_IMAGES`].
    pub(super) fn times(&self) -> impl Iterator<Item = (&str, f64)> {
        let scale = self.images.map_or(1.0, |images| EPOCH_IMAGES / f64::from(images));
        self.seconds.iter().map(move |(label, fastest)| (label.as_str(), fastest.min * scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_every_label_of_a_script_has_its_time() {
        let json = r#"{"peer": "NumPy 2.4.6 (OpenBLAS 0.3.31), Numba 0.68.1", "seconds": {
            "NumPy": {"min": 0.001, "median": 0.002, "repeats": 20}, "Numba": {"min": 0.003, "median": 0.004, "repeats": 20}}}"#;
        let output = ScriptOutput::parse(json).unwrap();
        assert_eq!(output.times().collect::<Vec<_>>(), [("NumPy", 0.001), ("Numba", 0.003)]);
        assert_eq!(output.peer, "NumPy 2.4.6 (OpenBLAS 0.3.31), Numba 0.68.1");
        assert!(output.missing.is_empty());
    }

    #[test]
    fn peers_a_scripts_epoch_is_scaled_to_60000_images() {
        let json = r#"{"peer": "NumPy 2.4.6", "images": 6000, "missing": {"PyTorch": "torch"},
            "seconds": {"NumPy": {"min": 0.25, "median": 0.5, "repeats": 3}}}"#;
        let output = ScriptOutput::parse(json).unwrap();
        assert_eq!(output.times().collect::<Vec<_>>(), [("NumPy", 2.5)]);
        assert_eq!(output.missing["PyTorch"], "torch");
    }

    #[test]
    fn peers_invalid_times_of_a_script_are_rejected() {
        for json in [
            "",
            "ready",
            r#"{"peer": "NumPy"}"#,
            r#"{"peer": "NumPy", "seconds": {"NumPy": {"min": NaN}}}"#,
            r#"{"peer": "NumPy", "seconds": {"NumPy": {"min": 0.0}}}"#,
            r#"{"peer": "NumPy", "seconds": {"NumPy": {"min": 1.0}}, "images": 0}"#,
        ] {
            assert!(ScriptOutput::parse(json).is_err(), "{json}");
        }
    }
}
