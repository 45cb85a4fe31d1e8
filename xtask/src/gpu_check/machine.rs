//! The machine that the checks run on.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sysinfo::System;

/// Time limit of nvidia-smi: a GPU in trouble may let it hang.
const NVIDIA_SMI_LIMIT: Duration = Duration::from_secs(10);

/// The host.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) processor: String,
    /// Hardware threads that this process may use.
    pub(super) threads: usize,
    pub(super) memory: String,
    /// The system's own line about its version, which names a sandbox such as gVisor.
    pub(super) system: String,
}

impl Machine {
    pub(super) fn this() -> Self {
        Self {
            processor: processor(),
            threads: std::thread::available_parallelism().map_or(0, usize::from),
            memory: memory(),
            system: match std::fs::read_to_string("/proc/version") {
                Ok(text) => text.trim().to_owned(),
                Err(_) => System::long_os_version().unwrap_or_else(unknown),
            },
        }
    }
}

/// Name, driver, compute capability and memory of the first GPU.
pub(super) fn gpu() -> String {
    nvidia_smi("name,driver_version,compute_cap,memory.total")
}

/// Its clocks, temperature and power at this moment.
pub(super) fn clocks() -> String {
    nvidia_smi("clocks.sm,clocks.mem,temperature.gpu,power.draw")
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

fn nvidia_smi(query: &str) -> String {
    let log = std::env::temp_dir().join(format!("gpu-check-nvidia-smi-{}", std::process::id()));
    let mut command = Command::new("nvidia-smi");
    command.args([&format!("--query-gpu={query}"), "--format=csv,noheader", "--id=0"]);
    let line = match child_process::run(&mut command, NVIDIA_SMI_LIMIT, "nvidia-smi", &log) {
        Ok(Ok(finished)) if finished.is_success() => finished.stdout.trim().to_owned(),
        Ok(Ok(finished)) => format!("unknown: nvidia-smi: {}", finished.ending()),
        Ok(Err(reason)) => format!("unknown: {reason}"),
        Err(error) => format!("unknown: {error:#}"),
    };
    // It is of no use to anyone, and may not exist.
    let _ = std::fs::remove_file(log);
    line
}

fn processor() -> String {
    let mut system = System::new();
    system.refresh_cpu_all();
    let name = system.cpus().first().map(|processor| processor.brand().trim().to_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(unknown)
}

fn memory() -> String {
    let mut system = System::new();
    system.refresh_memory();
    format!("{:.1} GiB", system.total_memory() as f64 / f64::from(1 << 30))
}

fn unknown() -> String {
    "unknown".to_owned()
}
