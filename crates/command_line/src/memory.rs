//! Memory available to this process.

use std::fs;
use std::path::{Path, PathBuf};

/// Checks that `bytes` of working memory are available, where the operating system reports free memory (Linux).
///
/// # Errors
/// If less is available, or `bytes` is `None` because the size overflowed. The message names `what` and suggests a
/// smaller size.
pub fn require_memory(what: &str, bytes: Option<u64>) -> anyhow::Result<()> {
    const GIB: f64 = (1_u64 << 30) as f64;
    let Some(bytes) = bytes else {
        anyhow::bail!("{what} needs more memory than can be counted: choose a smaller size")
    };
    match available_memory() {
        Some(available) if bytes > available => anyhow::bail!(
            "{what} needs {:.1} GiB of memory and {:.1} GiB are free: choose a smaller size",
            bytes as f64 / GIB,
            available as f64 / GIB,
        ),
        _ => Ok(()),
    }
}

/// Bytes that this process can still allocate: the minimum of the machine's free memory, of the rest of the process's
/// address space (`ulimit -v`) and of the rest of its control groups' memory (version 2). `None` if the operating
/// system does not report them (not Linux).
pub fn available_memory() -> Option<u64> {
    let limits = [free_memory(), free_address_space(), free_in_control_groups()];
    limits.into_iter().flatten().min()
}

fn free_memory() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

fn free_address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let used = kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(address_space(&limits)?.saturating_sub(used))
}

/// The soft limit of the address space in `/proc/self/limits`, in bytes; `None` if unlimited.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The value of a line such as `MemAvailable:   16384 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn free_in_control_groups() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    free_below(Path::new("/sys/fs/cgroup"), Path::new(group))
}

/// Minimum of the free bytes of `group`, a path below `root`, and of its ancestors; `None` if none has a limit.
fn free_below(root: &Path, group: &Path) -> Option<u64> {
    group.ancestors().filter_map(|group| free_in(&root.join(group))).min()
}

/// Free bytes of one group; `None` if it has no limit. Inactive file pages count as free, since the kernel reclaims
/// them.
fn free_in(group: &Path) -> Option<u64> {
    let number = |name: PathBuf| fs::read_to_string(name).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number(group.join("memory.max"))?, number(group.join("memory.current"))?);
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let inactive = statistics.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let inactive = inactive.and_then(|bytes| bytes.trim().parse::<u64>().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(inactive)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_beyond_the_machine_is_rejected() {
        assert!(require_memory("a matrix", Some(1)).is_ok());
        assert!(require_memory("a matrix", None).unwrap_err().to_string().contains("smaller size"));
        if available_memory().is_some() {
            let error = require_memory("a matrix", Some(u64::MAX)).unwrap_err().to_string();
            assert!(error.starts_with("a matrix needs 17179869184.0 GiB"), "{error}");
        }
    }

    #[test]
    fn the_limit_of_the_address_space_is_read_in_bytes() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max resident set          unlimited            unlimited            bytes     \n\
                      Max address space         536870912            unlimited            bytes     \n";
        assert_eq!(address_space(limits), Some(512 << 20));
        assert_eq!(address_space(&limits.replace("536870912", "unlimited")), None);
    }

    #[test]
    fn a_control_group_has_the_tightest_limit_of_its_ancestors() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("user/run");
        fs::create_dir_all(&group).unwrap();
        let write = |folder: &str, files: [(&str, &str); 3]| {
            for (name, text) in files {
                fs::write(root.path().join(folder).join(name), text).unwrap();
            }
        };
        write("user/run", [("memory.max", "max\n"), ("memory.current", "900\n"), ("memory.stat", "")]);
        assert_eq!(free_below(root.path(), Path::new("user/run")), None);
        write(
            "user",
            [("memory.max", "1000\n"), ("memory.current", "700\n"), ("memory.stat", "anon 5\ninactive_file 100\n")],
        );
        assert_eq!(free_below(root.path(), Path::new("user/run")), Some(400));
        write("user/run", [("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", "anon 900\n")]);
        assert_eq!(free_below(root.path(), Path::new("user/run")), Some(100));
    }
}
