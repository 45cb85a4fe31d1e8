//! The cores on which threads run, where the operating system tells.

/// The core that the calling thread runs on.
#[cfg(target_os = "linux")]
pub(crate) fn current() -> usize {
    rustix::thread::sched_getcpu()
}

/// Moves the calling thread to the core that is `distance` allowed cores after `core`. It is not bound to that core: the
/// scheduler may move it again. On an error it stays where it is, which costs time only.
#[cfg(target_os = "linux")]
pub(crate) fn move_from(core: usize, distance: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let Some(place) = cores.iter().position(|&other| other == core) else { return };
    let mut target = CpuSet::new();
    target.set(cores[(place + distance) % cores.len()]);
    if sched_setaffinity(None, &target).is_ok() {
        // The second call cannot fail where the first did not: these cores were allowed.
        let _ = sched_setaffinity(None, &allowed);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn current() -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn move_from(_core: usize, _distance: usize) {}
