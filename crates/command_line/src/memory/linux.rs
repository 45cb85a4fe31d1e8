//! Free memory according to Linux's files. A container or a hardened system hides some of them.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

pub(super) fn available_memory() -> Option<u64> {
    let free = free_memory().unwrap_or_else(total_memory);
    let limits = [Some(free), free_address_space(), free_in_control_groups()];
    limits.into_iter().flatten().min()
}

fn free_memory() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

fn total_memory() -> u64 {
    let information = rustix::system::sysinfo();
    u64::from(information.mem_unit).saturating_mul(information.totalram)
}

fn free_address_space() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Some(limit.saturating_sub(kibibytes(&status, "VmSize:").unwrap_or(0)))
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
    fn without_proc_all_of_the_memory_counts() {
        assert!(total_memory() > 1 << 20);
        assert!(free_memory().is_none_or(|free| free <= total_memory()));
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
