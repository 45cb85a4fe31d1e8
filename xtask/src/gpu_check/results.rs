//! The results file: its schema, and how it is stored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use timing::Measurement;

use super::machine::Machine;
use super::plan::{Item, items};
use super::python::Times;

/// The name of the results file, and of the log next to it with the full output of all items.
pub(super) const FILE: &str = "gpu-check.json";
pub(super) const LOG: &str = "gpu-check.log";
/// The version of the schema, which docs/results/README.md describes.
pub(super) const SCHEMA: u32 = 4;

/// All results of a folder on a machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct Results {
    pub(super) schema: u32,
    /// Time of the last write, in seconds since 1970.
    pub(super) unix_time: u64,
    /// Name, driver, compute capability and memory, as printed by nvidia-smi, or the name of the
    /// emulated driver's device.
    pub(super) gpu: String,
    pub(super) machine: Machine,
    pub(super) made: Made,
    /// Whether none of the items that ran failed.
    pub(super) all_passed: bool,
    /// The first run and the runs that resumed it.
    pub(super) runs: Vec<RunFacts>,
    /// The items that the deadline prevented or ended, in their order.
    pub(super) not_run: Vec<String>,
    /// The seconds of each program's two starts, or an object with the single key "failed" or "skipped".
    pub(super) starts: Map<String, Value>,
    pub(super) tests: BTreeMap<String, Outcome>,
    /// Each program's own JSON, or an object with the single key "failed" or "skipped".
    pub(super) programs: Map<String, Value>,
    /// Each script's own JSON.
    pub(super) peers: Map<String, Value>,
    pub(super) ratios: Vec<Value>,
    /// In the same form as `programs`.
    pub(super) sweep: Map<String, Value>,
    /// Nsight Compute's metrics by kernel, each with its unit. Otherwise, in the same form as `programs`.
    pub(super) counters: Map<String, Value>,
    pub(super) sanitizer: BTreeMap<String, Outcome>,
}

/// The inputs of the folder.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Made {
    /// The commit, followed by "-dirty" if files had changes.
    pub(super) commit: String,
    /// The SHA-256 of each architecture's PTX.
    pub(super) ptx: BTreeMap<String, String>,
    /// The images that the networks train on: "MNIST" or "built-in digits".
    pub(super) images: String,
}

/// Facts about a run.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct RunFacts {
    /// Seconds from the program's start to the deadline, if there was one.
    pub(super) within: Option<f64>,
    pub(super) seconds: f64,
    /// Clocks, temperature and power, as printed by nvidia-smi.
    pub(super) before: String,
    pub(super) after: String,
}

/// How an item ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub(super) enum Outcome {
    Passed { seconds: f64 },
    Failed { seconds: f64, reason: String },
    Skipped { reason: String },
}

impl Outcome {
    /// The outcome of an item with a JSON result. It failed or was skipped if "failed" or "skipped"
    /// is the only key.
    pub(super) fn of_value(value: &Value, seconds: f64) -> Self {
        let reason = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        match (reason("failed"), reason("skipped")) {
            (Some(reason), _) => Self::Failed { seconds, reason },
            (None, Some(reason)) => Self::Skipped { reason },
            (None, None) => Self::Passed { seconds },
        }
    }

    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// The sign in front of its line.
    pub(super) fn sign(&self) -> &'static str {
        match self {
            Self::Passed { .. } => "[+]",
            Self::Failed { .. } => "[-]",
            Self::Skipped { .. } => "[*]",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Passed { seconds } => write!(f, "passed in {seconds:.1} s"),
            Self::Failed { reason, .. } => write!(f, "failed: {reason}"),
            Self::Skipped { reason } => write!(f, "skipped: {reason}"),
        }
    }
}

impl Results {
    pub(super) fn new(gpu: String, machine: Machine, made: Made) -> Self {
        Self {
            schema: SCHEMA,
            unix_time: 0,
            gpu,
            machine,
            made,
            all_passed: true,
            runs: Vec::new(),
            not_run: items().into_iter().map(Item::name).collect(),
            starts: Map::new(),
            tests: BTreeMap::new(),
            programs: Map::new(),
            peers: Map::new(),
            ratios: Vec::new(),
            sweep: Map::new(),
            counters: Map::new(),
            sanitizer: BTreeMap::new(),
        }
    }

    /// Reads a file with this schema.
    ///
    /// # Errors
    /// If it cannot be read or is not such a file.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let value: Value = serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))?;
        let schema = value.get("schema").and_then(Value::as_u64);
        ensure!(
            schema == Some(SCHEMA.into()),
            "{} is no result of gpu-check with schema {SCHEMA}, but {}",
            file.display(),
            schema.map_or_else(|| "without a schema".to_owned(), |schema| format!("schema {schema}"))
        );
        serde_json::from_value(value).with_context(|| format!("{} does not have the schema {SCHEMA}", file.display()))
    }

    /// Whether the driver was the emulator. Its times are not a GPU's.
    pub(super) fn is_emulated(&self) -> bool {
        gpu::is_emulated(&self.gpu)
    }

    /// Whether no item failed.
    pub(super) fn have_passed(&self) -> bool {
        let failed = |values: &Map<String, Value>| values.values().any(|value| value.get("failed").is_some());
        let outcomes = self.tests.values().chain(self.sanitizer.values());
        let maps = [&self.starts, &self.programs, &self.sweep, &self.counters];
        !outcomes.into_iter().any(Outcome::is_failure) && !maps.into_iter().any(failed)
    }
}

/// The time with this label in a program's results.
pub(super) fn time(programs: &Map<String, Value>, run: &str, label: &str) -> Option<Measurement> {
    measured(&programs.get(run)?["seconds"][timing::key(label)])
}

/// The measurement in a program's JSON, if it is valid as a divisor.
pub(super) fn measured(times: &Value) -> Option<Measurement> {
    Times::deserialize(times).ok()?.measurement()
}

/// The results and the folders they are written to.
pub(super) struct Kept {
    pub(super) results: Results,
    folders: Vec<PathBuf>,
}

impl Kept {
    /// Starts new results in `folder` and in the folder named by the environment variable `OUT`.
    /// Earlier results stay there under another name.
    ///
    /// # Errors
    /// If they cannot be renamed.
    pub(super) fn begin(folder: &Path, fresh: Results) -> Result<Self> {
        if folder.join(FILE).exists() {
            let earlier = Results::read(&folder.join(FILE)).map_or(0, |earlier| earlier.unix_time);
            for name in [FILE, LOG].map(|name| folder.join(name)).iter().filter(|name| name.exists()) {
                let extension = name.extension().unwrap_or_default().to_string_lossy();
                let renamed = name.with_extension(format!("{earlier}.{extension}"));
                std::fs::rename(name, &renamed).with_context(|| format!("cannot rename {}", name.display()))?;
                command_line::say!("[*] {} is now {}", name.display(), renamed.display());
            }
        }
        Ok(Self { results: fresh, folders: folders(folder) })
    }

    /// Continues the results in `folder`.
    ///
    /// # Errors
    /// If there are none, or they come from another folder's programs, another GPU or another driver.
    pub(super) fn resume(folder: &Path, fresh: &Results) -> Result<Self> {
        let results = Results::read(&folder.join(FILE)).context("there is nothing to resume; run without --resume")?;
        ensure!(
            results.made == fresh.made,
            "{FILE} is of other programs (commit {}, here {}): move it away, and run without --resume",
            results.made.commit,
            fresh.made.commit
        );
        ensure!(
            results.gpu == fresh.gpu,
            "{FILE} is of another GPU or driver ({}, here {}): move it away, and run without --resume",
            results.gpu,
            fresh.gpu
        );
        Ok(Self { results, folders: folders(folder) })
    }

    /// The file that collects the items' output.
    pub(super) fn log(&self) -> PathBuf {
        self.folders[0].join(LOG)
    }

    /// Writes the results, each file under a temporary name first, and copies the log.
    ///
    /// # Errors
    /// If the first folder cannot be written to. A failure to write to the second one is only
    /// reported.
    pub(super) fn write(&mut self) -> Result<()> {
        self.results.all_passed = self.results.have_passed();
        self.results.unix_time = super::machine::now();
        let text = serde_json::to_string_pretty(&self.results)?;
        for (index, folder) in self.folders.iter().enumerate() {
            let outcome = write_into(folder, &text).and_then(|()| copy_log(&self.log(), &folder.join(LOG)));
            match outcome {
                Err(error) if index == 0 => return Err(error),
                Err(error) => command_line::say!("[-] {error:#}"),
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

/// The folder, and the folder named by `OUT`.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let out = std::env::var_os("OUT").filter(|out| !out.is_empty()).map(PathBuf::from);
    std::iter::once(folder.to_path_buf()).chain(out).collect()
}

fn write_into(folder: &Path, text: &str) -> Result<()> {
    let file = folder.join(FILE);
    neural_net::files::write_atomically(&file, text.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))
}

fn copy_log(from: &Path, to: &Path) -> Result<()> {
    if from != to && from.exists() {
        std::fs::copy(from, to).with_context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(gpu: &str) -> Results {
        Results::new(gpu.to_owned(), Machine::default(), Made { commit: "abc".to_owned(), ..Made::default() })
    }

    #[test]
    fn gpu_check_writes_into_both_folders() {
        let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = || vec![folder.path().to_path_buf(), out.path().to_path_buf()];
        let mut kept = Kept { results: results("H200"), folders: folders() };
        kept.results.tests.insert("a".to_owned(), Outcome::Passed { seconds: 1.0 });
        kept.results.programs.insert("max".to_owned(), serde_json::json!({ "failed": "crashed" }));
        std::fs::write(kept.log(), "output").unwrap();
        kept.write().unwrap();
        assert!(!kept.results.all_passed);
        for path in folders() {
            assert_eq!(Results::read(&path.join(FILE)).unwrap(), kept.results);
            assert_eq!(std::fs::read_to_string(path.join(LOG)).unwrap(), "output");
        }
        // A missing folder loses only its copy.
        let absent = out.path().join("absent");
        kept.folders = vec![folder.path().into(), absent.clone()];
        kept.write().unwrap();
        kept.folders = vec![absent];
        assert!(kept.write().is_err());
    }

    #[test]
    fn gpu_check_resumes_results_of_the_same_programs_on_the_same_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let resume = |fresh: &Results| Kept::resume(folder.path(), fresh);
        let reason = |fresh: &Results| format!("{:#}", resume(fresh).err().unwrap());
        assert!(reason(&results("H200")).starts_with("there is nothing to resume"), "{}", reason(&results("H200")));
        let mut kept = Kept::begin(folder.path(), results("H200")).unwrap();
        kept.results.not_run.remove(0);
        std::fs::write(kept.log(), "output").unwrap();
        kept.write().unwrap();
        assert_eq!(resume(&results("H200")).unwrap().results, kept.results);
        assert!(reason(&results("H100")).contains("another GPU or driver (H200, here H100)"));
        let mut other = results("H200");
        other.made.commit = "def".to_owned();
        assert!(reason(&other).contains("other programs (commit abc, here def)"), "{}", reason(&other));
        // New results do not replace existing ones.
        let earlier = kept.results.unix_time;
        Kept::begin(folder.path(), results("H200")).unwrap();
        for name in ["json", "log"].map(|extension| format!("gpu-check.{earlier}.{extension}")) {
            assert!(folder.path().join(&name).exists(), "{name}");
        }
        assert!(!folder.path().join(FILE).exists() && !folder.path().join(LOG).exists());
    }

    #[test]
    fn gpu_checks_kept_results_are_of_gpus() {
        let folder = crate::workspace_root().join("docs/results");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
        assert!(!files.is_empty());
        for file in files {
            assert!(!Results::read(&file).unwrap().is_emulated(), "{}: its times are not a GPU's", file.display());
        }
        assert!(
            results("CUDA emulator (sm_90, interpreted by the CPU)").is_emulated() && !results("H200").is_emulated()
        );
    }

    #[test]
    fn gpu_check_reads_its_own_schema_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        for (text, expected) in [
            ("{}", "without a schema"),
            (r#"{"schema": 1}"#, "schema 1"),
            ("nothing", "is no JSON"),
            (r#"{"schema": 4}"#, "does not have the schema 4"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = format!("{:#}", Results::read(&file).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
