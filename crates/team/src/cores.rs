//! The cores on which threads run, on operating systems that report them.

/// The core that the calling thread runs on.
#[cfg(target_os = "linux")]
pub(crate) fn current() -> usize {
    rustix::thread::sched_getcpu()
}

/// Moves the calling thread to the core that is `distance` allowed cores after `core`. It is not
/// pinned there: the scheduler may move it again. On an error it stays where it is, which costs
/// only time.
#[cfg(target_os = "linux")]
pub(crate) fn move_from(core: usize, distance: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let Some(place) = cores.iter().position(|&other| other == core) else { return };
    let mut target = CpuSet::new();
    target.set(cores[(place + distance) % cores.len()]);
    if sched_setaffinity(None, &target).is_ok() {
        // The second call cannot fail if the first succeeded: these cores were allowed.
        let _ = sched_setaffinity(None, &allowed);
    }
}

/// The number of cores that no other thread of any process uses right now, including the calling
/// thread's. `None` if the operating system does not report it. Takes about 20 µs.
#[cfg(target_os = "linux")]
pub fn idle_cores() -> Option<usize> {
    // The fourth field is the number of runnable threads, a slash, and the number of all threads.
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let running = load.split_ascii_whitespace().nth(3)?.split('/').next()?.parse::<usize>().ok()?;
    let online = online_cores(&std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?)?;
    Some((online + 1).saturating_sub(running.max(1)))
}

/// The number of cores in a list such as `0-3,6`.
#[cfg(target_os = "linux")]
fn online_cores(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        (first <= last).then(|| last - first + 1)
    };
    list.trim().split(',').map(count).sum()
}

/// Returns `None`: this system does not report how many cores are idle.
#[cfg(not(target_os = "linux"))]
pub fn idle_cores() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn current() -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn move_from(_core: usize, _distance: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_in_lists_of_ranges() {
        for (list, count) in [("0\n", Some(1)), ("0-1\n", Some(2)), ("0-3,6,8-9", Some(7)), ("", None), ("3-1", None)] {
            assert_eq!(online_cores(list), count, "{list:?}");
        }
    }

    #[test]
    fn no_more_cores_are_idle_than_there_are() {
        match std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|list| online_cores(&list)) {
            Some(online) => assert!(idle_cores().is_none_or(|idle| idle <= online)),
            None => assert_eq!(idle_cores(), None),
        }
    }
}
