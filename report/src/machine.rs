//! The properties of this machine.

use std::path::Path;
use std::process::{Command, Stdio};

use gpu::Device;
use kernels_cpu::InstructionSet;
use sysinfo::System;

use crate::figures::{Cache, GpuFacts, Machine};

/// The machine's properties, as far as the system reports them.
pub fn describe(device: &Device) -> Machine {
    let mut system = System::new();
    system.refresh_memory();
    system.refresh_cpu_all();
    let processor = system.cpus().first().map_or("", |processor| processor.brand().trim());
    let name = [System::name(), System::os_version()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let kernel = System::kernel_version().map(|version| format!(", kernel {version}")).unwrap_or_default();
    Machine {
        processor: if processor.is_empty() {
            format!("a processor of type {}", std::env::consts::ARCH)
        } else {
            processor.to_owned()
        },
        instruction_set: InstructionSet::detect().name().to_owned(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
        memory: Some(system.total_memory()).filter(|bytes| *bytes > 0),
        system: format!("{name}{kernel}"),
        compiler: env!("COMPILER").to_owned(),
        gpu: gpu_line(device),
    }
}

/// The data and unified caches of the first logical processor, from Linux's sysfs. Empty on other
/// systems.
fn caches(directory: &Path) -> Vec<Cache> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut caches: Vec<Cache> = entries.flatten().filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(directory: &Path) -> Option<Cache> {
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).ok().map(|text| text.trim().to_owned());
    if read("type")? == "Instruction" {
        return None;
    }
    let kibibytes: u64 = read("size")?.strip_suffix('K')?.parse().ok()?;
    let shared_by = read("shared_cpu_list").map_or(1, |list| processors(&list));
    Some(Cache { level: read("level")?.parse().ok()?, bytes: kibibytes << 10, shared_by })
}

/// Number of processors in a list such as "0-3,8".
fn processors(list: &str) -> usize {
    let count = |part: &str| match part.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
            last.checked_sub(first)?.checked_add(1)
        }
        None => part.trim().parse::<usize>().ok().map(|_| 1),
    };
    list.split(',').filter_map(count).sum::<usize>().max(1)
}

fn gpu_line(device: &Device) -> String {
    match facts_of(device) {
        Some(facts) => {
            let driver = facts.driver.map(|version| format!(", driver {version}")).unwrap_or_default();
            let capability =
                facts.compute_capability.map(|number| format!(", compute capability {number}")).unwrap_or_default();
            let memory = facts.memory.map(|count| format!(", {}", crate::words::bytes(count))).unwrap_or_default();
            format!("{}{memory}{capability}{driver}", facts.name)
        }
        None => why_no_gpu(device),
    }
}

/// The reason why there is no GPU, without the hint after the colon.
pub(crate) fn why_no_gpu(device: &Device) -> String {
    let reason = device.why_not_cuda().map_or_else(|| "the simulator was asked for".to_owned(), ToString::to_string);
    reason.split(": ").next().unwrap_or_default().to_owned()
}

/// The GPU's properties. `None` if the device is not a GPU.
pub(crate) fn facts_of(device: &Device) -> Option<GpuFacts> {
    if !device.is_gpu() {
        return None;
    }
    let mut fields = nvidia_smi().unwrap_or_default().into_iter();
    let driver = fields.next();
    let clock = fields.next().and_then(|megahertz| megahertz.parse::<f64>().ok()).map(|megahertz| megahertz * 1e6);
    Some(GpuFacts {
        name: device.name().to_owned(),
        driver,
        compute_capability: device.compute_capability().map(|(major, minor)| format!("{major}.{minor}")),
        memory: device.total_memory().map(|bytes| bytes as u64),
        clock,
    })
}

/// The first GPU's driver version and maximum clock frequency in megahertz, from `nvidia-smi`.
fn nvidia_smi() -> Option<Vec<String>> {
    let query = ["--query-gpu=driver_version,clocks.max.sm", "--format=csv,noheader,nounits"];
    let output = Command::new("nvidia-smi").args(query).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.lines().next()?.split(',').map(|field| field.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!(["0", "0-3", "0-3,8", "0,2,4-5", ""].map(processors), [1, 4, 5, 4, 1]);
    }

    #[test]
    fn data_caches_are_listed_by_ascending_level() {
        let folder = tempfile::tempdir().unwrap();
        for (name, level, kind, size, shared) in [
            ("index3", "3", "Unified", "32768K", "0-1"),
            ("index1", "1", "Instruction", "32K", "0"),
            ("index0", "1", "Data", "48K", "0"),
        ] {
            let cache = folder.path().join(name);
            std::fs::create_dir(&cache).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)] {
                std::fs::write(cache.join(file), format!("{text}\n")).unwrap();
            }
        }
        let expected =
            [Cache { level: 1, bytes: 48 << 10, shared_by: 1 }, Cache { level: 3, bytes: 32 << 20, shared_by: 2 }];
        assert_eq!(caches(folder.path()), expected);
        assert!(caches(&folder.path().join("nowhere")).is_empty());
    }
}
