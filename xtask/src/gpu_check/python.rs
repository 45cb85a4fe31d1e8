//! Scripts that do the programs' work with Python's libraries on the same GPU. Missing libraries
//! are skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use timing::Measurement;

use crate::capture::last_line;
use child_process::Finished;

/// Name of the scripts' folder.
pub(super) const FOLDER: &str = "peers";

/// All files that the scripts need.
const FILES: [(&str, &str); 11] = [
    ("cupy_regressor.py", include_str!("../../peers/cupy_regressor.py")),
    ("gpu_activation.py", include_str!("../../peers/gpu_activation.py")),
    ("gpu_matmul.py", include_str!("../../peers/gpu_matmul.py")),
    ("gpu_max.py", include_str!("../../peers/gpu_max.py")),
    ("gpu_network.py", include_str!("../../peers/gpu_network.py")),
    ("gpu_peer.py", include_str!("../../peers/gpu_peer.py")),
    ("gpu_regressor.py", include_str!("../../peers/gpu_regressor.py")),
    ("mnist.py", include_str!("../../peers/mnist.py")),
    ("numpy_network.py", include_str!("../../peers/numpy_network.py")),
    ("numpy_regressor.py", include_str!("../../peers/numpy_regressor.py")),
    ("peer.py", include_str!("../../peers/peer.py")),
];

/// A script and the run it belongs to.
#[derive(Debug)]
pub(super) struct Script {
    /// The name of our program's run that does the same work.
    pub(super) name: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
    pub(super) limit: Duration,
}

const fn script(name: &'static str, file: &'static str, arguments: &'static [&'static str]) -> Script {
    Script { name, file, arguments, limit: Duration::from_secs(60) }
}

/// The scripts to run.
pub(super) static RUNS: [Script; 6] = [
    script("max", "gpu_max.py", &[]),
    script("activation", "gpu_activation.py", &[]),
    script("matmul_f32", "gpu_matmul.py", &[]),
    script("matmul_f64", "gpu_matmul.py", &["--dtype", "f64"]),
    // These scripts compile graphs and train.
    Script { limit: Duration::from_secs(120), ..script("regressor", "gpu_regressor.py", &[]) },
    Script { limit: Duration::from_secs(100), ..script("network", "gpu_network.py", &[]) },
];

impl Script {
    /// The command that runs it with [`command_line::python`].
    pub(super) fn command(&self, scripts: &Path) -> Command {
        let mut command = Command::new(command_line::python());
        command.arg(scripts.join(self.file)).args(self.arguments).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// The text of the script that does the work with that name.
#[cfg(test)]
pub(super) fn text_of(name: &str) -> Option<&'static str> {
    let script = RUNS.iter().find(|script| script.name == name)?;
    FILES.iter().find(|(file, _)| *file == script.file).map(|(_, text)| *text)
}

/// The JSON object that a script prints.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptOutput {
    /// The names and versions of all peers that it timed, joined by commas.
    pub(super) peer: String,
    /// The times in seconds, by work and by peer.
    pub(super) seconds: BTreeMap<String, BTreeMap<String, Times>>,
    /// The peers without times, each with the reason.
    pub(super) skipped: BTreeMap<String, String>,
}

/// The time of something over several repeats, in the same format as our programs'.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Times {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) repeats: usize,
}

impl Times {
    /// The measurement, if it is valid as a divisor.
    pub(super) fn measurement(&self) -> Option<Measurement> {
        let Self { min, median, repeats } = *self;
        let positive = |seconds: f64| seconds.is_finite() && seconds > 0.0;
        (positive(min) && positive(median)).then_some(Measurement { min, median, repeats })
    }
}

/// Copies the scripts to the folder.
pub(super) fn carry(folder: &Path) -> Result<()> {
    let folder = folder.join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// The last object that a script printed. A script prints one after each time. If the script
/// failed, the reason is among `skipped`: nothing that happens there is our failure.
pub(super) fn value(script: &Script, outcome: Result<Finished, String>) -> Value {
    let (object, reason) = match outcome {
        Err(reason) => (None, Some(reason)),
        Ok(finished) => {
            let failed = || match finished.status {
                Some(_) => {
                    let reason = last_line(&finished.stderr).unwrap_or("no message").trim();
                    format!("{}: {reason}", finished.ending())
                }
                None => finished.ending(),
            };
            let reason = (!finished.is_success()).then(failed);
            match object_in(&finished.stdout) {
                Ok(object) => (Some(object), reason),
                Err(error) => (None, Some(reason.unwrap_or_else(|| format!("{error:#}")))),
            }
        }
    };
    let mut object = object.unwrap_or_else(|| json!({ "peer": "", "seconds": {}, "skipped": {} }));
    if let Some(reason) = reason {
        object["skipped"]["Python"] = format!("{}: {reason}", script.file).into();
    }
    object
}

/// The peers that a script did not time, each with the reason.
pub(super) fn skipped(value: &Value) -> BTreeMap<String, String> {
    ScriptOutput::deserialize(value).map(|output| output.skipped).unwrap_or_default()
}

/// The last line that is a script's object. A library may print other lines, and a killed script an
/// incomplete one.
fn object_in(text: &str) -> Result<Value> {
    let object = |line: &str| -> Option<Value> {
        let value = serde_json::from_str(line).ok()?;
        ScriptOutput::deserialize(&value).is_ok().then_some(value)
    };
    let nothing =
        || if text.trim().is_empty() { "it printed nothing" } else { "it printed something else than its JSON object" };
    text.lines().rev().find_map(object).with_context(nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_check_reads_a_scripts_last_line() {
        let value =
            object_in("a warning\n{\"peer\": \"\", \"seconds\": {}, \"skipped\": {\"CuPy\": \"no\"}}\n\n").unwrap();
        assert_eq!(value["skipped"]["CuPy"], "no");
        let lines = "{\"peer\": \"\", \"seconds\": {}, \"skipped\": {\"CuPy\": \"first\"}}\n{\"peer\": \"\", \"seco";
        assert_eq!(object_in(lines).unwrap()["skipped"]["CuPy"], "first");
        for text in ["", "ready", "{}", r#"{"peer": "", "seconds": {"kernel": {"CuPy": 1.0}}, "skipped": {}}"#] {
            assert!(object_in(text).is_err(), "{text}");
        }
    }

    #[test]
    fn gpu_check_carries_every_script_that_it_runs() {
        let carried = FILES.map(|(name, _)| name);
        assert!(RUNS.iter().all(|script| carried.contains(&script.file)));
    }

    #[test]
    fn gpu_check_skips_scripts_that_cannot_run() {
        let value = value(&RUNS[0], Err("cannot start python3".to_owned()));
        let output = ScriptOutput::deserialize(&value).unwrap();
        assert!(output.seconds.is_empty());
        assert_eq!(skipped(&value)["Python"], "gpu_max.py: cannot start python3");
    }

    #[test]
    fn gpu_check_keeps_what_a_killed_script_has_timed() {
        let stdout = r#"{"peer": "CuPy 1", "seconds": {"kernel": {"CuPy": {"min": 1.0, "median": 1.0, "repeats": 2}}}, "skipped": {}}"#;
        let elapsed = Duration::from_secs(60);
        let killed = Finished { status: None, elapsed, stdout: stdout.to_owned(), stderr: String::new() };
        let value = value(&RUNS[0], Ok(killed));
        assert_eq!(value["seconds"]["kernel"]["CuPy"]["min"], 1.0);
        assert_eq!(skipped(&value)["Python"], "gpu_max.py: killed at its time limit, after 60 s");
    }
}
