//! GPU times recorded on other machines. `cargo xtask gpu-check` writes these files; they are
//! stored in docs/results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use activation_functions::Version;
use matmul_functions::Rung;
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;

use crate::Times;
use crate::figures::{
    FailedProgram, Gpu, GpuActivation, GpuFacts, GpuMaximum, GpuProduct, GpuRun, GpuTraining, OnThreads, Point,
    RungTimes,
};

/// A file that was skipped, with the reason.
#[derive(Debug, thiserror::Error)]
#[error("{} was skipped: {reason}", path.display())]
pub struct SkippedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Reason why it was skipped.
    pub reason: String,
}

/// The folder of recorded results in the workspace that this program was built in.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results")
}

/// The newest results in a folder, if any, and the skipped files: those that are invalid, failed a
/// check or have no times.
pub fn newest(folder: &Path) -> (Option<Gpu>, Vec<SkippedFile>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return (None, Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let (mut newest, mut skipped) = (None::<(i64, Gpu)>, Vec::new());
    for path in paths {
        match read(&path) {
            Ok((seconds, _)) if newest.as_ref().is_some_and(|(known, _)| *known > seconds) => {}
            Ok(found) => newest = Some(found),
            Err(reason) => skipped.push(SkippedFile { path, reason }),
        }
    }
    (newest.map(|(_, gpu)| gpu), skipped)
}

/// The part of `cargo xtask gpu-check`'s output that the report uses.
#[derive(Deserialize)]
struct Results {
    unix_time: i64,
    /// nvidia-smi's line: name, driver, compute capability, memory.
    gpu: String,
    programs: Value,
    /// Each test program's outcome.
    #[serde(default)]
    tests: BTreeMap<String, Value>,
}

/// The programs with times in the report: gpu-check's name, the program, and the test program that
/// checks its kernels.
const PROGRAMS: [(&str, &str, &str); 4] = [
    ("max", "max_functions", "max_gpu_is_right"),
    ("matmul_f32", "matmul_functions", "matmul_gpu_is_right"),
    ("activation", "activation_functions", "activation_gpu_is_right"),
    ("network", "neural-net", "part1_gpu_engine"),
];

impl Results {
    /// Removes the programs that failed or have a failed test, and returns them with the reasons.
    fn remove_failed(&mut self) -> Vec<FailedProgram> {
        let mut failed = Vec::new();
        for (name, program, test) in PROGRAMS {
            let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
            let of_program = self.programs.get(name).and_then(|value| text(value, "failed").or(text(value, "skipped")));
            let outcome = self.tests.get(test).filter(|test| text(test, "outcome").as_deref() == Some("failed"));
            let of_test = outcome
                .map(|outcome| format!("its test {test} failed: {}", text(outcome, "reason").unwrap_or_default()));
            if let Some(reason) = of_test.or(of_program) {
                if let Some(programs) = self.programs.as_object_mut() {
                    programs.remove(name);
                }
                failed.push(FailedProgram { program: program.to_owned(), reason });
            }
        }
        failed
    }
}

/// Reads the file's time in Unix seconds, and its figures.
fn read(path: &Path) -> Result<(i64, Gpu), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut results: Results =
        serde_json::from_str(&text).map_err(|error| format!("it is not a result of gpu-check ({error})"))?;
    if gpu::is_emulated(&results.gpu) {
        return Err("it was recorded on the emulated driver, so its times are not a GPU's".to_owned());
    }
    let failed = results.remove_failed();
    let programs = Programs(&results.programs);
    let run = GpuRun {
        gpu: facts(&results.gpu),
        maximum: programs.maximum(),
        product: programs.product(),
        activation: programs.activation(),
        training: programs.training(),
        failed,
    };
    if (&run.maximum, &run.product, &run.activation, &run.training) == (&None, &None, &None, &None) {
        let reasons: Vec<String> =
            run.failed.iter().map(|failed| format!("; {}: {}", failed.program, failed.reason)).collect();
        return Err(format!("it has no times{}", reasons.concat()));
    }
    let date = OffsetDateTime::from_unix_timestamp(results.unix_time).map_err(|_| "it has no date".to_owned())?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((results.unix_time, Gpu::Recorded { file, date: date.date().to_string(), run }))
}

/// Parses the GPU from nvidia-smi's line, such as "NVIDIA H200, 570.86, 9.0, 143771 MiB".
fn facts(line: &str) -> GpuFacts {
    let mut fields = line.lines().next().unwrap_or_default().split(',').map(str::trim);
    let name =
        fields.next().filter(|name| !name.is_empty() && !name.starts_with("unknown")).unwrap_or("GPU of unknown name");
    let (driver, capability) = (fields.next(), fields.next());
    let mebibytes = fields.next().and_then(|memory| memory.strip_suffix("MiB")?.trim().parse::<u64>().ok());
    GpuFacts {
        name: name.to_owned(),
        driver: driver.map(str::to_owned),
        compute_capability: capability.map(str::to_owned),
        memory: mebibytes.map(|count| count << 20),
        clock: None,
    }
}

/// Each program's JSON object, under gpu-check's names. A failed program has no times.
struct Programs<'a>(&'a Value);

impl Programs<'_> {
    fn times(&self, program: &str, label: &str) -> Option<Times> {
        Times::deserialize(&self.0.get(program)?["seconds"][timing::key(label)]).ok()
    }

    fn on_threads(&self, program: &str, label: &str) -> Option<OnThreads> {
        let threads = usize::deserialize(&self.0.get(program)?["cores"]).ok()?;
        Some(OnThreads { threads, times: self.times(program, label)? })
    }

    fn maximum(&self) -> Option<GpuMaximum> {
        Some(GpuMaximum {
            kernel: self.times("max", max_functions::label::KERNEL)?,
            with_copies: self.times("max", max_functions::label::WITH_COPIES)?,
            cpu: self.times("max", "cpu")?,
            rayon: self.on_threads("max", "rayon")?,
        })
    }

    fn product(&self) -> Option<GpuProduct> {
        let program = "matmul_f32";
        let rung =
            |rung: Rung| Some(RungTimes { name: rung.name().to_owned(), times: self.times(program, &rung.label())? });
        // A GPU with little shared memory or without tensor cores has no times for the last rungs.
        let rungs: Vec<RungTimes> = Rung::ONE_BLOCK.into_iter().filter_map(rung).collect();
        Some(GpuProduct {
            rungs: Some(rungs).filter(|rungs| rungs.len() + 2 >= Rung::ONE_BLOCK.len())?,
            with_copies: self.times(program, matmul_functions::label::WITH_COPIES)?,
            trivial: self.times(program, "trivial")?,
            rayon: self.on_threads(program, "rayon")?,
        })
    }

    fn activation(&self) -> Option<GpuActivation> {
        let program = "activation";
        Some(GpuActivation {
            three_kernels: self.times(program, &Version::ThreeLaunches.kernel_label())?,
            fused_kernel: self.times(program, &Version::Fused.kernel_label())?,
            fused_with_copies: self.times(program, Version::Fused.label())?,
            copied_after_every_step: self.times(program, activation_functions::label::COPIED)?,
            rayon_fused: self.on_threads(program, "Rayon fused")?,
        })
    }

    fn training(&self) -> Option<GpuTraining> {
        #[derive(Deserialize)]
        struct Epoch {
            epoch: usize,
            seconds: f64,
            accuracy: f64,
        }
        let network = self.0.get("network")?;
        let epochs: Vec<Epoch> = Vec::deserialize(network.get("epochs")?).ok()?;
        let mut spent = 0.0;
        let point = |Epoch { epoch, seconds, accuracy }| {
            spent += seconds;
            Point { epochs: epoch as f64, seconds: spent, accuracy }
        };
        Some(GpuTraining {
            data: String::deserialize(network.get("dataset")?).ok()?,
            curve: epochs.into_iter().map(point).collect(),
            test_accuracy: network.get("test_accuracy")?.as_f64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = r#"{
        "unix_time": 1763683200, "gpu": "NVIDIA Test_GPU #1, 570.86, 9.0, 1024 MiB", "all_passed": false, "peers": {},
        "tests": {"max_gpu_is_right": {"outcome": "passed", "seconds": 2.5},
                  "activation_gpu_is_right": {"outcome": "failed", "seconds": 60.0, "reason": "killed at its time limit, after 60 s"}},
        "programs": {
            "max": {"cores": 16, "seconds": {
                "cpu": {"min": 0.004, "median": 0.005, "repeats": 20}, "rayon": {"min": 0.0002, "median": 0.0003, "repeats": 20},
                "cuda_kernel": {"min": 4e-6, "median": 5e-6, "repeats": 20}, "cuda": {"min": 0.002, "median": 0.003, "repeats": 20}}},
            "matmul_f32": {"failed": "the GPU has fallen off the bus"}, "activation": {"cores": 16, "seconds": {}},
            "network": {"dataset": "MNIST", "test_accuracy": 0.96,
                "epochs": [{"epoch": 1, "seconds": 0.5, "loss": 0.2, "accuracy": 0.92}, {"epoch": 2, "seconds": 0.25, "loss": 0.1, "accuracy": 0.95}]}
        }}"#;

    #[test]
    fn the_newest_results_are_used_and_failed_programs_have_no_times() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("new.json", RESULTS);
        write("old.json", &RESULTS.replace("1763683200", "1763000000").replace("Test_GPU", "Old"));
        let lost =
            r#"{"unix_time": 1764000000, "gpu": "A", "programs": {"max": {"skipped": "the phase's 540 s were over"}}}"#;
        write("zfailed.json", lost);
        write(
            "emulated.json",
            &RESULTS.replace("NVIDIA Test_GPU #1", "CUDA emulator (sm_90)").replace("1763683200", "1765000000"),
        );
        write("other.json", "{}");
        write("notes.txt", "no results");
        let (gpu, skipped) = newest(folder.path());
        let Some(Gpu::Recorded { file, date, run }) = gpu else { panic!("{gpu:?}") };
        assert_eq!((file.as_str(), date.as_str()), ("new.json", "2025-11-21"));
        assert_eq!((run.gpu.name.as_str(), run.gpu.memory), ("NVIDIA Test_GPU #1", Some(1 << 30)));
        assert_eq!(run.maximum.unwrap().rayon.threads, 16);
        assert!(run.product.is_none() && run.activation.is_none());
        let failed: Vec<_> = run.failed.iter().map(|failed| format!("{}: {}", failed.program, failed.reason)).collect();
        let of_test =
            "activation_functions: its test activation_gpu_is_right failed: killed at its time limit, after 60 s";
        assert_eq!(failed, ["matmul_functions: the GPU has fallen off the bus", of_test]);
        let training = run.training.unwrap();
        assert_eq!(training.curve[1], Point { epochs: 2.0, seconds: 0.75, accuracy: 0.95 });
        let reasons: Vec<&str> = skipped.iter().map(|left| left.reason.as_str()).collect();
        assert_eq!(reasons[0], "it was recorded on the emulated driver, so its times are not a GPU's");
        assert!(reasons[1].starts_with("it is not a result of gpu-check"), "{reasons:?}");
        assert_eq!(reasons[2..], ["it has no times; max_functions: the phase's 540 s were over"]);
    }

    #[test]
    fn without_a_folder_there_are_no_results() {
        let (gpu, skipped) = newest(Path::new("/nowhere/results"));
        assert!(gpu.is_none() && skipped.is_empty());
    }
}
