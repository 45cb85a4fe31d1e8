use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::work::{EPOCH_IMAGES, Work};
use crate::capture::stdout_of;
use crate::cargo::build_executable;
use crate::workspace_root;

/// The programs of the workspace, each built as `cargo run --package` builds it. None for one that does not build.
pub(super) struct Executables(BTreeMap<&'static str, Option<PathBuf>>);

impl Executables {
    /// Builds the packages; the compiler's messages go to stderr. That one does not build, or has no program, is no
    /// error here: [`Executables::time`] reports it.
    ///
    /// # Errors
    /// If cargo cannot be started.
    pub(super) fn build(packages: BTreeSet<&'static str>) -> Result<Self> {
        let find = |package| Ok((package, build_executable(&["build", "--package", package], package)?));
        Ok(Self(packages.into_iter().map(find).collect::<Result<_>>()?))
    }

    /// Runs our program for a work and returns its seconds.
    ///
    /// # Errors
    /// If there is no such program, it fails, or it does not print the JSON object that is expected.
    pub(super) fn time(&self, work: &Work, threads: NonZeroUsize) -> Result<f64> {
        let program = work.program;
        let Some(path) = self.0.get(program).and_then(Option::as_ref) else {
            bail!("cargo build --package {program} makes no program of that name")
        };
        let mut command = Command::new(path);
        command.args(&work.program_arguments).args(["--json", "-c", &threads.to_string()]);
        let json = stdout_of(command.current_dir(workspace_root())).with_context(|| format!("{program} failed"))?;
        (work.read_seconds)(&json).with_context(|| format!("{program} --json printed something else"))
    }
}

/// The fastest call of the parallel version, from the JSON of `max_functions` and `matmul_functions`.
pub(super) fn seconds_of_rayon(json: &str) -> Result<f64> {
    seconds_of("rayon", json)
}

/// The fastest call of the parallel version in one pass, from the JSON of `activation_functions`.
pub(super) fn seconds_of_rayon_fused(json: &str) -> Result<f64> {
    seconds_of("rayon_fused", json)
}

/// The fastest call of the GPU's fused version with its copies, from the same JSON.
pub(super) fn seconds_of_cuda_fused(json: &str) -> Result<f64> {
    seconds_of("cuda_fused", json)
}

/// The fastest run of the GPU's fused kernel alone, from the same JSON.
pub(super) fn seconds_of_cuda_fused_kernel(json: &str) -> Result<f64> {
    seconds_of("cuda_fused_kernel", json)
}

/// The fastest call of the GPU's version with its copies, from the JSON of `max_functions` and `matmul_functions`.
pub(super) fn seconds_of_cuda(json: &str) -> Result<f64> {
    seconds_of("cuda", json)
}

/// The fastest run of the GPU's kernel alone, from the same JSON.
pub(super) fn seconds_of_cuda_kernel(json: &str) -> Result<f64> {
    seconds_of("cuda_kernel", json)
}

fn seconds_of(version: &str, json: &str) -> Result<f64> {
    #[derive(Deserialize)]
    struct Output {
        seconds: BTreeMap<String, Fastest>,
    }
    #[derive(Deserialize)]
    struct Fastest {
        min: f64,
    }
    let output: Output = serde_json::from_str(json)?;
    let fastest = output.seconds.get(version).with_context(|| format!("there is no time of {version:?}"))?;
    positive(fastest.min)
}

/// The fastest epoch, from the JSON of `neural-net`, scaled to [`EPOCH_IMAGES`].
pub(super) fn seconds_of_epoch(json: &str) -> Result<f64> {
    #[derive(Deserialize)]
    struct Output {
        train_images: u32,
        epochs: Vec<Epoch>,
    }
    #[derive(Deserialize)]
    struct Epoch {
        seconds: f64,
    }
    let output: Output = serde_json::from_str(json)?;
    let fastest = output.epochs.iter().map(|epoch| epoch.seconds).min_by(f64::total_cmp).context("no epoch")?;
    positive(fastest / f64::from(output.train_images) * EPOCH_IMAGES)
}

/// A time that can be divided by.
pub(super) fn positive(seconds: f64) -> Result<f64> {
    ensure!(seconds.is_finite() && seconds > 0.0, "{seconds} seconds is no time");
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_our_time_is_the_fastest_parallel_call() {
        let json = r#"{"cores":1,"seconds":{"cpu":{"median":9.0,"min":8.0,"repeats":2},"rayon":{"median":3.0,"min":2.0,"repeats":2}}}"#;
        assert_eq!(seconds_of_rayon(json).unwrap(), 2.0);
    }

    #[test]
    fn peers_the_gpus_two_times_are_told_apart() {
        let json = r#"{"seconds":{"rayon":{"min":3.0},"cuda":{"min":2.0},"cuda_kernel":{"min":1.0}}}"#;
        assert_eq!((seconds_of_cuda(json).unwrap(), seconds_of_cuda_kernel(json).unwrap()), (2.0, 1.0));
        assert!(seconds_of_cuda(r#"{"seconds":{"rayon":{"min":3.0}}}"#).is_err());
    }

    #[test]
    fn peers_the_fused_times_are_told_from_the_others() {
        let json = r#"{"seconds":{"rayon":{"min":5.0},"rayon_fused":{"min":4.0},"cuda_fused":{"min":3.0},
            "cuda_fused_kernel":{"min":2.0},"cuda_fused_fast":{"min":1.0}}}"#;
        let times = [seconds_of_rayon_fused, seconds_of_cuda_fused, seconds_of_cuda_fused_kernel];
        assert_eq!(times.map(|read| read(json).unwrap()), [4.0, 3.0, 2.0]);
    }

    #[test]
    fn peers_our_epoch_is_scaled_to_60000_images() {
        let json = r#"{"dataset":"mnist","train_images":50000,"epochs":[{"epoch":1,"seconds":1.5,"accuracy":0.9},{"epoch":2,"seconds":1.0,"accuracy":0.9}]}"#;
        assert!((seconds_of_epoch(json).unwrap() - 1.2).abs() < 1e-12);
    }

    #[test]
    fn peers_what_is_no_time_of_ours_is_refused() {
        for json in ["", "Epoch 1, accuracy 92.61 %.", "{}", r#"{"seconds":{"rayon":{"min":0.0}}}"#] {
            assert!(seconds_of_rayon(json).is_err(), "{json}");
        }
        for json in [r#"{"train_images":50000,"epochs":[]}"#, r#"{"train_images":0,"epochs":[{"seconds":1.0}]}"#] {
            assert!(seconds_of_epoch(json).is_err(), "{json}");
        }
    }
}
