//! The file that the checks write: its schema, and how it is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::machine::Machine;

/// The file's name, and that of the full output of all items beside it.
pub(super) const FILE: &str = "gpu-check.json";
pub(super) const LOG: &str = "gpu-check.log";
/// The version of the schema; docs/results/README.md describes it.
pub(super) const SCHEMA: u32 = 3;

/// All results of a folder on a machine. A call that runs again replaces its part.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct Results {
    pub(super) schema: u32,
    /// Seconds since 1970 of the last write.
    pub(super) unix_time: u64,
    /// Name, driver, compute capability and memory, as nvidia-smi prints them; the name of the emulated driver's device.
    pub(super) gpu: String,
    pub(super) machine: Machine,
    pub(super) made: Made,
    /// Whether no item failed, of those that ran.
    pub(super) all_passed: bool,
    /// The calls that ran to their end.
    pub(super) calls: BTreeMap<String, CallFacts>,
    /// The seconds of each program's two starts, or an object with the one key "failed" or "skipped".
    pub(super) starts: Map<String, Value>,
    pub(super) tests: BTreeMap<String, Outcome>,
    /// Each program's own JSON, or an object with the one key "failed" or "skipped".
    pub(super) programs: Map<String, Value>,
    /// Each script's own JSON.
    pub(super) peers: Map<String, Value>,
    pub(super) ratios: Vec<Value>,
    /// As `programs`.
    pub(super) sweep: Map<String, Value>,
    /// Nsight Compute's metrics by kernel, each with its unit; else as `programs`.
    pub(super) counters: Map<String, Value>,
    pub(super) sanitizer: BTreeMap<String, Outcome>,
}

/// What the folder was made of.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Made {
    /// The commit, with "-dirty" where files had changes.
    pub(super) commit: String,
    /// The SHA-256 of each architecture's PTX.
    pub(super) ptx: BTreeMap<String, String>,
    /// The images that the networks train on: "MNIST" or "built-in digits".
    pub(super) images: String,
}

/// What is known of a call.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct CallFacts {
    pub(super) seconds: f64,
    /// Clocks, temperature and power, as nvidia-smi prints them.
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
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
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
            calls: BTreeMap::new(),
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

    /// Reads a file of this schema.
    ///
    /// # Errors
    /// If it cannot be read, or is no such file.
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

    /// Whether the driver was the emulator: no time is a GPU's.
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

/// The results and the folders that they are written to.
pub(super) struct Kept {
    pub(super) results: Results,
    folders: Vec<PathBuf>,
}

impl Kept {
    /// Continues the results in `folder` if the same folder wrote them on the same GPU, else begins new ones. They are also
    /// written to the folder that the environment variable `OUT` names.
    pub(super) fn open(folder: &Path, fresh: Results) -> Self {
        let out = std::env::var_os("OUT").filter(|out| !out.is_empty()).map(PathBuf::from);
        Self::with_folders(fresh, std::iter::once(folder.to_path_buf()).chain(out).collect())
    }

    fn with_folders(fresh: Results, folders: Vec<PathBuf>) -> Self {
        let earlier = Results::read(&folders[0].join(FILE)).ok();
        let earlier = earlier.filter(|earlier| earlier.made == fresh.made && earlier.gpu == fresh.gpu);
        Self { results: earlier.unwrap_or(fresh), folders }
    }

    /// The file that collects the items' output.
    pub(super) fn log(&self) -> PathBuf {
        self.folders[0].join(LOG)
    }

    /// Writes the results, each file under a temporary name first, and copies the log.
    ///
    /// # Errors
    /// If the first folder cannot be written to. A failure of the second is said and is no error.
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
    fn gpu_check_writes_into_both_folders_and_continues_there() {
        let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = || vec![folder.path().to_path_buf(), out.path().to_path_buf()];
        let mut kept = Kept::with_folders(results("H200"), folders());
        kept.results.tests.insert("a".to_owned(), Outcome::Passed { seconds: 1.0 });
        kept.results.programs.insert("max".to_owned(), serde_json::json!({ "failed": "crashed" }));
        std::fs::write(kept.log(), "output").unwrap();
        kept.write().unwrap();
        assert!(!kept.results.all_passed);
        for path in folders() {
            assert_eq!(Results::read(&path.join(FILE)).unwrap(), kept.results);
            assert_eq!(std::fs::read_to_string(path.join(LOG)).unwrap(), "output");
        }
        assert_eq!(Kept::with_folders(results("H200"), folders()).results, kept.results);
        assert!(Kept::with_folders(results("another GPU"), folders()).results.tests.is_empty());
        // A folder that is not there costs its copy only.
        let mut kept = Kept::with_folders(results("H200"), vec![folder.path().into(), out.path().join("absent")]);
        kept.write().unwrap();
        let mut kept = Kept::with_folders(results("H200"), vec![out.path().join("absent")]);
        assert!(kept.write().is_err());
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
            (r#"{"schema": 3}"#, "does not have the schema 3"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = format!("{:#}", Results::read(&file).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
