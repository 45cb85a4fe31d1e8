//! The machine that the checks run on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sysinfo::System;

/// Time limit for nvidia-smi, which may hang on a faulty GPU.
const NVIDIA_SMI_LIMIT: Duration = Duration::from_secs(10);
/// Time limit for a program that prints its device's name.
const DEVICE_LIMIT: Duration = Duration::from_secs(20);

/// The host.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) processor: String,
    /// Number of hardware threads that this process may use.
    pub(super) threads: usize,
    pub(super) memory: String,
    /// The system's own version line, which reveals a sandbox such as gVisor.
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

/// Name, driver, compute capability and memory of the first GPU. If `program`, which is
/// max_functions, finds the emulated driver, only the device's name.
pub(super) fn gpu(program: &Path) -> String {
    emulated_device(program).unwrap_or_else(|| nvidia_smi("name,driver_version,compute_cap,memory.total"))
}

fn emulated_device(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.args(["--size", "1", "1", "--repeats", "1", "--device", "cuda", "--json"]);
    // The GPU's driver must not cache the kernel, since its compilation is timed later.
    command.env("CUDA_CACHE_DISABLE", "1");
    let output = output_of(&mut command, DEVICE_LIMIT).ok()?;
    let output: serde_json::Value = serde_json::from_str(&output).ok()?;
    output.get("device")?.as_str().filter(|name| gpu::is_emulated(name)).map(str::to_owned)
}

/// The GPU's current clocks, temperature and power.
pub(super) fn clocks() -> String {
    nvidia_smi("clocks.sm,clocks.mem,temperature.gpu,power.draw")
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

fn nvidia_smi(query: &str) -> String {
    let mut command = Command::new("nvidia-smi");
    command.args([&format!("--query-gpu={query}"), "--format=csv,noheader", "--id=0"]);
    match output_of(&mut command, NVIDIA_SMI_LIMIT) {
        Ok(output) => output.trim().to_owned(),
        Err(reason) => format!("unknown: {reason}"),
    }
}

/// A program's output, or the reason why it failed.
fn output_of(command: &mut Command, limit: Duration) -> Result<String, String> {
    let name = Path::new(command.get_program()).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    match child_process::run(command, limit, &name, &folder.path().join("log")) {
        Ok(Ok(finished)) if finished.is_success() => Ok(finished.stdout),
        Ok(Ok(finished)) => Err(format!("{name}: {}", finished.ending())),
        Ok(Err(reason)) => Err(reason),
        Err(error) => Err(format!("{error:#}")),
    }
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
