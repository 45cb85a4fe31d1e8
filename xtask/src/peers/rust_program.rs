use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// Number of images per epoch in the table. Times of runs on fewer images are scaled to it.
pub(super) const EPOCH_IMAGES: f64 = 60_000.0;

/// Source of our time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OurTime {
    /// The fastest call under this key in `seconds` of the program's JSON.
    Call(&'static str),
    /// The fastest call for a batch of this size, in the JSON of the example that times predictions.
    Batch(usize),
    /// The fastest epoch of `neural-net`, scaled to [`EPOCH_IMAGES`].
    Epoch,
    /// The fastest iteration of `neural-net`: the minimum over all records of the mean since the
    /// previous record.
    Iteration,
    /// The time from the start of the process to its end, whatever its output.
    Process,
}

/// The parallel version, in the JSON of `max_functions` and `matmul_functions`.
pub(super) const RAYON: OurTime = OurTime::Call("rayon");
/// The parallel version in one pass, in the JSON of `activation_functions`.
pub(super) const RAYON_FUSED: OurTime = OurTime::Call("rayon_fused");
/// The GPU version with its copies, and only its kernel.
pub(super) const CUDA: [OurTime; 2] = [OurTime::Call("cuda"), OurTime::Call("cuda_kernel")];
/// The fused GPU version with its copies, and only its kernel.
pub(super) const CUDA_FUSED: [OurTime; 2] = [OurTime::Call("cuda_fused"), OurTime::Call("cuda_fused_kernel")];

impl OurTime {
    /// The time in seconds, from the program's JSON and its process's elapsed seconds.
    pub(crate) fn read(self, json: &str, process: f64) -> Result<f64> {
        match self {
            Self::Call(key) => call_of(key, json),
            Self::Batch(batch) => call_of(&format!("batch_{batch}"), json),
            Self::Epoch => epoch_of(json),
            Self::Iteration => iteration_of(json),
            Self::Process => positive(process),
        }
    }
}

fn call_of(key: &str, json: &str) -> Result<f64> {
    #[derive(Deserialize)]
    struct Output {
        seconds: BTreeMap<String, Fastest>,
    }
    #[derive(Deserialize)]
    struct Fastest {
        min: f64,
    }
    let output: Output = serde_json::from_str(json)?;
    let fastest = output.seconds.get(key).with_context(|| format!("there is no time for {key:?}"))?;
    positive(fastest.min)
}

/// The JSON of `neural-net`.
#[derive(Deserialize)]
struct TrainingOutput {
    train_images: u32,
    epochs: Vec<Record>,
}

/// A record after an epoch, counted from 1, with the seconds since the previous record.
#[derive(Clone, Copy, Deserialize)]
struct Record {
    epoch: u32,
    seconds: f64,
}

fn epoch_of(json: &str) -> Result<f64> {
    let output: TrainingOutput = serde_json::from_str(json)?;
    Ok(fastest_epoch(&output.epochs)? / f64::from(output.train_images) * EPOCH_IMAGES)
}

fn iteration_of(json: &str) -> Result<f64> {
    fastest_epoch(&serde_json::from_str::<TrainingOutput>(json)?.epochs)
}

/// The minimum over all records of the mean seconds per epoch since the previous record.
fn fastest_epoch(records: &[Record]) -> Result<f64> {
    let before = std::iter::once(0).chain(records.iter().map(|record| record.epoch));
    let each = records.iter().zip(before);
    let each = each.map(|(record, before)| record.seconds / f64::from(record.epoch.saturating_sub(before)));
    positive(each.min_by(f64::total_cmp).context("no epoch")?)
}

/// Returns the time if it is finite and positive.
pub(super) fn positive(seconds: f64) -> Result<f64> {
    ensure!(seconds.is_finite() && seconds > 0.0, "{seconds} seconds is not a positive time");
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(time: OurTime, json: &str) -> Result<f64> {
        time.read(json, 7.0)
    }

    #[test]
    fn peers_our_time_is_the_fastest_parallel_call() {
        let json = r#"{"cores":1,"seconds":{"cpu":{"median":9.0,"min":8.0,"repeats":2},"rayon":{"median":3.0,"min":2.0,"repeats":2}}}"#;
        assert_eq!(read(RAYON, json).unwrap(), 2.0);
    }

    #[test]
    fn peers_the_two_gpu_times_are_distinguished() {
        let json = r#"{"seconds":{"rayon":{"min":3.0},"cuda":{"min":2.0},"cuda_kernel":{"min":1.0}}}"#;
        assert_eq!(CUDA.map(|time| read(time, json).unwrap()), [2.0, 1.0]);
        assert!(read(CUDA[0], r#"{"seconds":{"rayon":{"min":3.0}}}"#).is_err());
    }

    #[test]
    fn peers_the_fused_times_are_distinguished_from_the_others() {
        let json = r#"{"seconds":{"rayon":{"min":5.0},"rayon_fused":{"min":4.0},"cuda_fused":{"min":3.0},
            "cuda_fused_kernel":{"min":2.0},"cuda_fused_fast":{"min":1.0}}}"#;
        assert_eq!(read(RAYON_FUSED, json).unwrap(), 4.0);
        assert_eq!(CUDA_FUSED.map(|time| read(time, json).unwrap()), [3.0, 2.0]);
    }

    #[test]
    fn peers_our_epoch_is_scaled_to_60000_images() {
        let json = r#"{"dataset":"mnist","train_images":50000,"epochs":[{"epoch":1,"seconds":1.5,"accuracy":0.9},{"epoch":2,"seconds":1.0,"accuracy":0.9}]}"#;
        assert!((read(OurTime::Epoch, json).unwrap() - 1.2).abs() < 1e-12);
    }

    #[test]
    fn peers_an_iteration_is_the_mean_since_the_last_record() {
        let json = r#"{"train_images":10000,"epochs":[{"epoch":10,"seconds":5.0},{"epoch":20,"seconds":2.5},{"epoch":25,"seconds":2.0}]}"#;
        assert_eq!(read(OurTime::Iteration, json).unwrap(), 0.25);
    }

    #[test]
    fn peers_a_process_is_timed_from_outside() {
        assert_eq!(read(OurTime::Process, "{}").unwrap(), 7.0);
    }

    #[test]
    fn peers_invalid_times_of_our_programs_are_rejected() {
        for json in ["", "Epoch 1, accuracy 92.61 %.", "{}", r#"{"seconds":{"rayon":{"min":0.0}}}"#] {
            assert!(read(RAYON, json).is_err(), "{json}");
        }
        for records in ["", r#"{"epoch":0,"seconds":1.0}"#, r#"{"epoch":1,"seconds":0.0}"#] {
            let json = format!(r#"{{"train_images":10000,"epochs":[{records}]}}"#);
            assert!(read(OurTime::Iteration, &json).is_err() && read(OurTime::Epoch, &json).is_err(), "{json}");
        }
    }
}
