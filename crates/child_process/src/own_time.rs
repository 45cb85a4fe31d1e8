//! Elapsed time, minus the time that child processes spend waiting for a processor on a busy machine.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval at which process delays are read.
const READ: Duration = Duration::from_secs(1);
/// Maximum ratio of elapsed time to own time. Threads of one child also wait for each other's processors.
const MAX_RATIO: u32 = 8;

/// A clock for [`run_by`](crate::run_by) that excludes the time in which this process's descendants
/// wait for a processor.
///
/// It returns the elapsed time since this call minus those waits, but at least an eighth of it. It
/// advances while a child sleeps or computes. On systems that do not report the waits, it is the
/// elapsed time.
pub fn own_time() -> impl Fn() -> Duration {
    let start = Instant::now();
    let state = std::cell::RefCell::new((start, Delays::default()));
    move || {
        let (read, delays) = &mut *state.borrow_mut();
        if read.elapsed() >= READ {
            delays.read(Path::new("/proc"), std::process::id());
            *read = Instant::now();
        }
        let elapsed = start.elapsed();
        elapsed.saturating_sub(delays.total).max(elapsed / MAX_RATIO)
    }
}

/// How long processes have waited.
#[derive(Default)]
struct Delays {
    /// Total over all processes, including those that have ended.
    total: Duration,
    /// Delay of each process at the last reading.
    last: HashMap<u32, Duration>,
}

impl Delays {
    /// Reads the delays of process `root`'s descendants from Linux's `/proc` folder.
    fn read(&mut self, processes: &Path, root: u32) {
        let now: HashMap<u32, Duration> =
            descendants(processes, root).into_iter().map(|process| (process, delay(processes, process))).collect();
        for (process, delay) in &now {
            // The sum shrinks when a thread ends and takes its delay with it.
            self.total += delay.saturating_sub(self.last.get(process).copied().unwrap_or_default());
        }
        self.last = now;
    }
}

fn descendants(processes: &Path, root: u32) -> HashSet<u32> {
    let numbered = fs::read_dir(processes).into_iter().flatten().flatten();
    let all: Vec<u32> = numbered.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parent = |process: &u32| {
        let text = fs::read_to_string(processes.join(format!("{process}/stat"))).ok()?;
        // The name in parentheses may contain any character. The state and the parent follow it.
        text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let parents: HashMap<u32, u32> = all.iter().filter_map(|process| Some((*process, parent(process)?))).collect();
    let is_below = |process: u32| {
        let above = std::iter::successors(parents.get(&process), |above| parents.get(above));
        // Bounded by the number of processes, even if the data form a cycle.
        above.take(parents.len()).any(|above| *above == root)
    };
    all.into_iter().filter(|process| is_below(*process)).collect()
}

/// The longest time that any thread of the process has waited for a processor.
fn delay(processes: &Path, process: u32) -> Duration {
    let threads = fs::read_dir(processes.join(format!("{process}/task"))).into_iter().flatten().flatten();
    let of_thread = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        // The fields are: nanoseconds on a processor, nanoseconds waiting for one, and a count.
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    });
    of_thread.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a process entry with the delays of its threads, in seconds.
    fn write(processes: &Path, process: u32, name: &str, parent: u32, delays: &[u64]) {
        let folder = processes.join(process.to_string());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), format!("{process} ({name}) S {parent} 7 7 0 -1")).unwrap();
        for (thread, seconds) in delays.iter().enumerate() {
            let folder = folder.join(format!("task/{thread}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("schedstat"), format!("5 {} 9\n", seconds * 1_000_000_000)).unwrap();
        }
    }

    #[test]
    fn delays_are_those_of_descendants_and_never_shrink() {
        let folder = tempfile::tempdir().unwrap();
        let processes = folder.path();
        fs::create_dir(processes.join("self")).unwrap();
        write(processes, 1, "init", 0, &[100]);
        write(processes, 10, "grader", 1, &[50]);
        write(processes, 11, "judge", 10, &[1]);
        write(processes, 12, "a) S 1 (b", 11, &[3, 4, 2]);
        write(processes, 20, "another", 1, &[70]);
        let mut delays = Delays::default();
        delays.read(processes, 10);
        assert_eq!(delays.total, Duration::from_secs(5));
        // One thread has ended, and a new process has reused the number of one that ended.
        write(processes, 12, "a", 11, &[3]);
        write(processes, 11, "judge", 10, &[2]);
        delays.read(processes, 10);
        assert_eq!(delays.total, Duration::from_secs(6));
        fs::remove_dir_all(processes.join("12")).unwrap();
        delays.read(processes, 10);
        assert_eq!(delays.total, Duration::from_secs(6));
        delays.read(&processes.join("none"), 10);
        assert_eq!(delays.total, Duration::from_secs(6));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_is_read_is_found_below_this_one() {
        use std::process::{Command, Stdio};
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(descendants(Path::new("/proc"), std::process::id()).contains(&child.id()));
        assert!(!descendants(Path::new("/proc"), child.id()).contains(&std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
