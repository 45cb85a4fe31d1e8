//! Lower bounds on the time of any program, computed from measurements on the same GPU.

use std::fmt;

use serde_json::Value;

use super::plan::{COPIES, LATENCY, RATES};
use super::results::{Results, time};

/// The labels of the sweep's times that the limits use.
const LAUNCH: &str = "empty launch of many";
const EXCHANGE: &str = "exchange of 256 bytes with each, 16 blocks";
const MEMORY: &str = "byte of memory";
const DOUBLE: &str = "multiply-add of f64";
const PRODUCT: &str = "product of bf16, 16×16 by 16×8";
const UPLOAD: &str = "upload 4 MB of page-locked memory";
const DOWNLOAD: &str = "download 4 MB to page-locked memory";

/// What limits a time from below.
#[derive(Clone, Debug)]
pub(super) enum Limit {
    /// The largest of these bounds, which may overlap.
    Largest(&'static [Bound]),
    /// The sum of these bounds, repeated this many times.
    InARow(u32, &'static [Bound]),
}

/// A part of the work, with a minimum time on the GPU.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// A launch queued behind another one.
    Launch,
    /// Bytes to and from the GPU's memory.
    Memory(f64),
    /// Bytes to the GPU and back.
    Link { up: f64, down: f64 },
    /// Multiply-adds of f32, on all multiprocessors or on one.
    Singles(f64, Multiprocessors),
    /// Multiply-adds of f64 on one multiprocessor.
    Doubles(f64),
    /// Tile products in bf16 on one multiprocessor, 16 × 16 by 16 × 8.
    Products(f64),
    /// Exchanges among a cluster's 16 blocks.
    Exchanges(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiprocessors {
    One,
    All,
}

impl Limit {
    /// Its seconds on the GPU of the results. `None` if the results lack a measurement that it needs.
    pub(super) fn seconds(&self, results: &Results) -> Option<f64> {
        let of = |bounds: &[Bound]| -> Option<Vec<f64>> { bounds.iter().map(|bound| bound.seconds(results)).collect() };
        match self {
            Self::Largest(bounds) => of(bounds)?.into_iter().max_by(f64::total_cmp),
            Self::InARow(times, bounds) => Some(f64::from(*times) * of(bounds)?.into_iter().sum::<f64>()),
        }
    }
}

impl Bound {
    fn seconds(self, results: &Results) -> Option<f64> {
        let least = |part: &str, label: &str| Some(time(&results.sweep, part, label)?.min);
        let copied = |label: &str| Some(least(COPIES, label)? / 4e6);
        Some(match self {
            Self::Launch => least(LATENCY, LAUNCH)?,
            Self::Memory(bytes) => bytes * least(RATES, MEMORY)?,
            Self::Link { up, down } => up * copied(UPLOAD)? + down * copied(DOWNLOAD)?,
            Self::Singles(count, multiprocessors) => {
                let rates = results.sweep.get(RATES)?;
                let number = match multiprocessors {
                    Multiprocessors::One => 1.0,
                    Multiprocessors::All => rates.get("multiprocessors").and_then(Value::as_f64)?,
                };
                let per_second = single_lanes(&results.gpu)? * rates.get("clock_hz").and_then(Value::as_f64)?;
                count / (number * per_second)
            }
            Self::Doubles(count) => count * least(RATES, DOUBLE)?,
            Self::Products(count) => count * least(RATES, PRODUCT)?,
            Self::Exchanges(count) => count * least(LATENCY, EXCHANGE)?,
        })
    }
}

/// Multiply-adds of f32 per multiprocessor and cycle, for the compute capability in nvidia-smi's
/// line. Source: the table "Throughput of native arithmetic instructions" in the CUDA C++
/// Programming Guide.
fn single_lanes(gpu: &str) -> Option<f64> {
    match gpu.split(", ").nth(2)? {
        "7.5" | "8.0" => Some(64.0),
        "8.6" | "8.9" | "9.0" | "10.0" | "12.0" => Some(128.0),
        _ => None,
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bounds, separator) = match self {
            Self::Largest(bounds) => (bounds, " or "),
            Self::InARow(1, bounds) => (bounds, " and "),
            Self::InARow(times, bounds) => return write!(f, "{times} times {}", Self::InARow(1, bounds)),
        };
        bounds.iter().enumerate().try_for_each(|(index, bound)| {
            f.write_str(if index > 0 { separator } else { "" })?;
            bound.fmt(f)
        })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6).replace(".0 MB", " MB");
        let millions = |count: f64| match count {
            1e6.. => format!("{:.1} · 10⁶", count / 1e6),
            _ => format!("{:.1} · 10³", count / 1e3),
        };
        match *self {
            Self::Launch => f.write_str("a launch in a row"),
            Self::Memory(bytes) => write!(f, "{} of memory", megabytes(bytes)),
            Self::Link { up, down } => write!(f, "{} up and {} down", megabytes(up), megabytes(down)),
            Self::Singles(count, Multiprocessors::One) => {
                write!(f, "{} multiply-adds of one multiprocessor", millions(count))
            }
            Self::Singles(count, Multiprocessors::All) => write!(f, "{} multiply-adds of all", millions(count)),
            Self::Doubles(count) => write!(f, "{} multiply-adds of f64 of one multiprocessor", millions(count)),
            Self::Products(count) => write!(f, "{count} products of tiles"),
            Self::Exchanges(1.0) => f.write_str("an exchange of 16 blocks"),
            Self::Exchanges(count) => write!(f, "{count} exchanges of 16 blocks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Results of a GPU on which a launch takes 2 µs and memory moves 10¹² bytes per second.
    fn results() -> Results {
        let mut results =
            Results::new("NVIDIA H200, 580, 9.0, 1 MiB".to_owned(), Default::default(), Default::default());
        let times = |seconds: f64| json!({ "min": seconds, "median": 2.0 * seconds, "repeats": 3 });
        let latency = json!({ "seconds": {
            "empty_launch_of_many": times(2e-6), "exchange_of_256_bytes_with_each__16_blocks": times(5e-7),
        } });
        let rates = json!({ "clock_hz": 1e9, "multiprocessors": 100, "seconds": {
            "byte_of_memory": times(1e-12), "multiply-add_of_f64": times(1e-11),
            "product_of_bf16__16x16_by_16x8": times(1e-9),
        } });
        let copies = json!({ "seconds": {
            "upload_4_mb_of_page-locked_memory": times(4e-4), "download_4_mb_to_page-locked_memory": times(8e-4),
        } });
        for (part, value) in [(LATENCY, latency), (RATES, rates), (COPIES, copies)] {
            results.sweep.insert(part.to_owned(), value);
        }
        results
    }

    /// If the sweep lost a label, a limit would silently have no time. Without a GPU, nothing else
    /// would reveal it.
    #[test]
    fn gpu_checks_limits_are_made_of_times_that_the_sweep_has() {
        let folder = crate::workspace_root().join("neural-net/examples/gpu_sweep");
        let source = |part: &str| std::fs::read_to_string(folder.join(part).with_extension("rs")).unwrap();
        let exchange = EXCHANGE.replace("16", "{blocks}");
        for (part, labels) in [
            (LATENCY, &[LAUNCH, exchange.as_str()][..]),
            (RATES, &[MEMORY, DOUBLE, PRODUCT]),
            (COPIES, &[UPLOAD, DOWNLOAD]),
        ] {
            for label in labels {
                assert!(source(part).contains(&format!("\"{label}\"")), "{part}.rs has no time \"{label}\"");
            }
        }
    }

    #[test]
    fn gpu_check_derives_limits_from_the_same_gpus_measurements() {
        let seconds = |limit: Limit| limit.seconds(&results()).unwrap();
        let is = |limit: Limit, expected: f64| {
            let found = seconds(limit.clone());
            assert!((found / expected - 1.0).abs() < 1e-12, "{limit}: {found}");
        };
        is(Limit::Largest(&[Bound::Launch, Bound::Memory(1e6)]), 2e-6);
        is(Limit::Largest(&[Bound::Launch, Bound::Memory(12e6)]), 12e-6);
        is(Limit::Largest(&[Bound::Link { up: 8e6, down: 4e6 }]), 8e-4 + 8e-4);
        is(Limit::Largest(&[Bound::Singles(128e6, Multiprocessors::One)]), 1e-3);
        is(Limit::Largest(&[Bound::Singles(128e6, Multiprocessors::All)]), 1e-5);
        is(Limit::Largest(&[Bound::Doubles(1e6)]), 1e-5);
        is(Limit::InARow(10, &[Bound::Exchanges(2.0), Bound::Products(245.0)]), 10.0 * (1e-6 + 2.45e-7));
        let mut lacking = results();
        lacking.sweep.remove(RATES);
        assert!(Limit::Largest(&[Bound::Launch, Bound::Memory(12e6)]).seconds(&lacking).is_none());
        let unknown = Results { gpu: "NVIDIA X, 700, 20.0, 1 MiB".to_owned(), ..results() };
        assert!(Limit::Largest(&[Bound::Singles(1.0, Multiprocessors::One)]).seconds(&unknown).is_none());
    }
}
