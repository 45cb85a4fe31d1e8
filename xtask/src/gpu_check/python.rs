//! The scripts that do the programs' work in Python's libraries on the same GPU. What is not installed is skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use timing::say;

use crate::capture::{last_line, stdout_of};

/// Where the scripts lie in the folder.
pub(super) const FOLDER: &str = "peers";

/// All files that the scripts need.
const FILES: [(&str, &str); 8] = [
    ("gpu_activation.py", include_str!("../../peers/gpu_activation.py")),
    ("gpu_matmul.py", include_str!("../../peers/gpu_matmul.py")),
    ("gpu_max.py", include_str!("../../peers/gpu_max.py")),
    ("gpu_network.py", include_str!("../../peers/gpu_network.py")),
    ("gpu_peer.py", include_str!("../../peers/gpu_peer.py")),
    ("mnist.py", include_str!("../../peers/mnist.py")),
    ("numpy_network.py", include_str!("../../peers/numpy_network.py")),
    ("peer.py", include_str!("../../peers/peer.py")),
];

/// The scripts to run, by the name of the program's run that does the same.
const RUNS: [(&str, &str, &[&str]); 6] = [
    ("max", "gpu_max.py", &[]),
    ("matmul_f32", "gpu_matmul.py", &[]),
    ("matmul_f64", "gpu_matmul.py", &["--dtype", "f64"]),
    ("activation", "gpu_activation.py", &[]),
    ("activation_100_million", "gpu_activation.py", &["-n", "100000000", "--repeats", "5"]),
    ("network", "gpu_network.py", &[]),
];

/// The JSON object that a script prints.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptOutput {
    /// The names and versions of all peers that it timed, joined by commas.
    pub(super) peer: String,
    /// The times in seconds, by what was timed and by peer.
    pub(super) seconds: BTreeMap<String, BTreeMap<String, Times>>,
    /// The peers without times, each with the reason.
    pub(super) skipped: BTreeMap<String, String>,
    /// What a copy within the GPU reads and writes in a second, by peer.
    #[serde(default)]
    pub(super) copy_bytes_per_second: BTreeMap<String, f64>,
}

/// How long something took over several repeats, as our programs print it too.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Times {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) repeats: usize,
}

/// Puts the scripts into the folder.
pub(super) fn carry(folder: &Path) -> Result<()> {
    let folder = folder.join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Runs the scripts in `scripts` by `$PYTHON`, else `python3`, and returns what they print, by name. A script that cannot be
/// run has `skipped` only; whatever happens is no failure of ours.
pub(super) fn run(scripts: &Path, mnist: Option<&Path>) -> Map<String, Value> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut results = Map::new();
    for (name, script, arguments) in RUNS {
        let mut command = Command::new(&python);
        command.arg(scripts.join(script)).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
        command.envs(mnist.map(|directory| ("MNIST_DIR", directory)));
        let result = stdout_of(&mut command).and_then(|text| object_in(&text));
        let result = result.unwrap_or_else(
            |error| json!({ "peer": "", "seconds": {}, "skipped": { "Python": format!("{script}: {error:#}") } }),
        );
        for (label, reason) in ScriptOutput::deserialize(&result).map(|output| output.skipped).into_iter().flatten() {
            say!("[*] skipped: {name}, {label}: {reason}");
        }
        results.insert(name.to_owned(), result);
    }
    results
}

/// The object in the last line of what a script prints; a library may print lines before it.
fn object_in(text: &str) -> Result<Value> {
    let line = last_line(text).context("it printed nothing")?;
    let value: Value = serde_json::from_str(line).context("it printed something else than its JSON object")?;
    ScriptOutput::deserialize(&value).context("it printed something else than its JSON object")?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_check_reads_a_scripts_last_line() {
        let value =
            object_in("a warning\n{\"peer\": \"\", \"seconds\": {}, \"skipped\": {\"CuPy\": \"no\"}}\n\n").unwrap();
        assert_eq!(value["skipped"]["CuPy"], "no");
        for text in ["", "ready", "{}", r#"{"peer": "", "seconds": {"kernel": {"CuPy": 1.0}}, "skipped": {}}"#] {
            assert!(object_in(text).is_err(), "{text}");
        }
    }

    #[test]
    fn gpu_check_carries_every_script_that_it_runs() {
        let carried = FILES.map(|(name, _)| name);
        assert!(RUNS.iter().all(|(_, script, _)| carried.contains(script)));
    }

    #[test]
    fn gpu_check_skips_scripts_that_cannot_run() {
        let results = run(Path::new("/nonexistent"), None);
        for (name, _, _) in RUNS {
            let output = ScriptOutput::deserialize(&results[name]).unwrap();
            assert_eq!(output.skipped.keys().collect::<Vec<_>>(), ["Python"]);
            assert!(output.seconds.is_empty());
        }
    }
}
