//! NVIDIA's command-line tools: finds them, and parses Nsight Compute's output.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::capture::last_line;
use child_process::Finished;

/// Folder of the CUDA toolkit if `CUDA_PATH` does not name it, which its Windows installer sets.
const TOOLKIT: &str = "/usr/local/cuda";
/// The tools' folders inside it.
const FOLDERS: [&str; 2] = ["bin", "compute-sanitizer"];
/// The endings of a tool's file name: a program, or a script that starts it.
const ENDINGS: &[&str] = if cfg!(windows) { &[".exe", ".bat"] } else { &[""] };

/// The kernel metrics to keep, by their names on Nsight Compute's details page.
const METRICS: [&str; 12] = [
    "Elapsed Cycles",
    "SM Frequency",
    "Duration",
    "Registers Per Thread",
    "Dynamic Shared Memory Per Block",
    "Executed Ipc Active",
    "Issued Ipc Active",
    "L1/TEX Hit Rate",
    "L2 Hit Rate",
    "DRAM Throughput",
    "No Eligible",
    "Warp Cycles Per Issued Instruction",
];

/// Finds the tool with that name, on the path or in the toolkit's folder.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let toolkit = PathBuf::from(std::env::var_os("CUDA_PATH").unwrap_or_else(|| TOOLKIT.into()));
    let folders = std::env::split_paths(&path).chain(FOLDERS.map(|folder| toolkit.join(folder)));
    let files = folders.flat_map(|folder| ENDINGS.iter().map(move |ending| folder.join(format!("{name}{ending}"))));
    files.into_iter().find(|file| file.is_file())
}

/// The metrics in Nsight Compute's output, each with its unit, and its remarks on bank conflicts
/// and stalls.
pub(super) fn value(finished: &Finished) -> Value {
    let lines = || finished.stdout.lines().chain(finished.stderr.lines());
    let refusal = lines().find(|line| line.contains("==ERROR=="));
    let metrics = metrics_in(&finished.stdout);
    if metrics.is_empty() {
        let ending = finished.ending();
        // A refusal to count, for example for a user without the permission, is not our failure.
        return match refusal {
            Some(line) if line.contains("ERR_NVGPUCTRPERM") => json!({ "skipped": line.trim() }),
            Some(line) => json!({ "failed": format!("{ending}: {}", line.trim()) }),
            None => {
                json!({ "failed": format!("{ending}: {}", last_line(&finished.stderr).unwrap_or("it counted nothing").trim()) })
            }
        };
    }
    let is_remark = |line: &&str| line.contains("bank conflict") || line.contains("stalled");
    let remarks: Vec<&str> = finished.stdout.lines().filter(is_remark).map(str::trim).collect();
    json!({ "metrics": metrics, "remarks": remarks })
}

/// Parses lines such as "Elapsed Cycles   cycle   10,649": name, unit and value, separated by two
/// or more spaces.
fn metrics_in(text: &str) -> Map<String, Value> {
    let metric = |line: &str| {
        let line = line.trim();
        let name =
            METRICS.into_iter().find(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with("  ")))?;
        let mut columns = line[name.len()..].split_whitespace();
        let value = columns.next_back()?.replace(',', "").parse::<f64>().ok()?;
        let unit = columns.collect::<Vec<_>>().join(" ");
        Some((name.to_owned(), json!({ "value": value, "unit": unit })))
    };
    text.lines().filter_map(metric).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// An excerpt in the format of the details page.
    const DETAILS: &str = "\
  network_train_cluster (16, 1, 1)x(256, 1, 1), Context 1, Stream 13, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    DRAM Frequency                  Ghz         2.61
    SM Frequency                    Ghz         1.75
    Elapsed Cycles                cycle       10,649
    Duration                         us         6.08
    Executed Ipc Active       inst/cycle        0.83
    ----------------------- ----------- ------------
    OPT   The memory access pattern for shared loads might not be optimal and causes on average a 2.1 - way bank conflict
    Registers Per Thread             register/thread             209
";

    fn finished(stdout: &str, stderr: &str) -> Finished {
        let status = std::process::Command::new("true").status().ok();
        Finished { status, elapsed: Duration::ZERO, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    #[test]
    fn gpu_check_reads_nsight_computes_details() {
        let value = value(&finished(DETAILS, ""));
        assert_eq!(value["metrics"]["Elapsed Cycles"], json!({ "value": 10649.0, "unit": "cycle" }));
        assert_eq!(value["metrics"]["Registers Per Thread"]["value"], 209.0);
        assert_eq!(value["metrics"].as_object().unwrap().len(), 5);
        assert_eq!(value["remarks"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn gpu_check_tells_a_refusal_to_count_from_a_failure() {
        let refused =
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters";
        assert_eq!(value(&finished(refused, ""))["skipped"], refused);
        let failed = value(&finished("", "error: no GPU\n"));
        assert!(failed["failed"].as_str().unwrap().ends_with("error: no GPU"), "{failed}");
        let failed = value(&finished("==ERROR== The application returned an error code (2).", ""));
        assert!(failed["failed"].as_str().unwrap().contains("error code (2)"), "{failed}");
    }
}
