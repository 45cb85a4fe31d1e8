//! A child process with a time limit, whose output goes to a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the child's status is polled.
const POLL: Duration = Duration::from_millis(10);
/// Maximum wait for a killed child to exit: one that is blocked in the driver exits late, or never.
const GRACE: Duration = Duration::from_secs(5);

/// The error of [`run`].
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// A file of the child's output.
    #[error("cannot {action} {}", path.display())]
    File {
        /// "write", "read" or "remove".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The child's status cannot be read.
    #[error("cannot tell whether a child process has ended")]
    Status(#[source] io::Error),
}

impl ChildError {
    fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_path_buf(), source }
    }
}

/// How a child ended, and its output.
#[derive(Debug)]
pub struct Finished {
    /// None if it was killed at the time limit.
    pub status: Option<ExitStatus>,
    /// From its start to its end.
    pub elapsed: Duration,
    /// Its standard output, with invalid UTF-8 replaced.
    pub stdout: String,
    /// Its standard error, likewise.
    pub stderr: String,
}

impl Finished {
    /// Whether it ended in time with exit code 0.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// How it ended: "exit status: 1", or that it exceeded its limit.
    pub fn ending(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => format!("killed at its time limit, after {:.0} s", self.elapsed.as_secs_f64()),
        }
    }
}

/// Runs `command` to its end or to `limit`, and appends its output to `log` under `title`.
///
/// At the limit the whole process group is killed, so that a wrapper's child does not occupy the GPU.
///
/// The inner error says why the command could not be started.
///
/// # Errors
/// If a file cannot be written, read or removed, or the child's status cannot be read.
pub fn run(
    command: &mut Command,
    limit: Duration,
    title: &str,
    log: &Path,
) -> Result<Result<Finished, String>, ChildError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let streams = [log.with_extension("stdout"), log.with_extension("stderr")];
    let create = |path: &Path| File::create(path).map_err(ChildError::file("write", path));
    command.stdin(Stdio::null()).stdout(create(&streams[0])?).stderr(create(&streams[1])?);
    own_group(command);
    let start = Instant::now();
    let status = match command.spawn() {
        Ok(child) => wait(child, start + limit)?,
        Err(error) => {
            streams.iter().try_for_each(|path| remove(path))?;
            return Ok(Err(format!("cannot start {name}: {error}")));
        }
    };
    let elapsed = start.elapsed();
    let read = |path: &Path| {
        let bytes = std::fs::read(path).map_err(ChildError::file("read", path))?;
        remove(path)?;
        Ok::<_, ChildError>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let finished = Finished { status, elapsed, stdout: read(&streams[0])?, stderr: read(&streams[1])? };
    let append = || File::options().create(true).append(true).open(log);
    let (ending, seconds) = (finished.ending(), elapsed.as_secs_f64());
    let entry = format!("=== {title}: {ending}, {seconds:.1} s\n{}{}\n", finished.stdout, finished.stderr);
    append().and_then(|mut file| file.write_all(entry.as_bytes())).map_err(ChildError::file("write", log))?;
    Ok(Ok(finished))
}

fn remove(path: &Path) -> Result<(), ChildError> {
    std::fs::remove_file(path).map_err(ChildError::file("remove", path))
}

/// The status of the child, or None if it had to be killed.
fn wait(mut child: Child, deadline: Instant) -> Result<Option<ExitStatus>, ChildError> {
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().map_err(ChildError::Status)? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    kill_group(&mut child);
    let killed = Instant::now();
    while child.try_wait().map_err(ChildError::Status)?.is_none() && killed.elapsed() < GRACE {
        thread::sleep(POLL);
    }
    Ok(None)
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // A failure means that the group has ended.
    let _ = Pid::from_raw(child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    // A failure means that the child has ended.
    let _ = child.kill();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration, log: &Path) -> Finished {
        run(Command::new("sh").args(["-c", script]), limit, "shell", log).unwrap().unwrap()
    }

    #[test]
    fn gpu_check_kills_a_child_and_its_children_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (log, mark) = (folder.path().join("log"), folder.path().join("mark"));
        let script = format!("echo begun; (sleep 1; touch {}) & sleep 60", mark.display());
        let finished = shell(&script, Duration::from_millis(300), &log);
        assert!(finished.status.is_none() && finished.elapsed < Duration::from_secs(30));
        assert_eq!(finished.stdout, "begun\n");
        thread::sleep(Duration::from_millis(1500));
        assert!(!mark.exists(), "the child's own child was not killed");
        assert!(std::fs::read_to_string(&log).unwrap().starts_with("=== shell: killed at its time limit"));
    }

    #[test]
    fn gpu_check_appends_the_output_of_each_child_to_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let seconds = Duration::from_secs(60);
        assert!(shell("echo one; echo two >&2", seconds, &log).is_success());
        assert_eq!(shell("exit 3", seconds, &log).ending(), "exit status: 3");
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.contains("one\ntwo\n") && text.contains("=== shell: exit status: 3"), "{text}");
        let reason = run(&mut Command::new("/nonexistent"), seconds, "nothing", &log).unwrap().unwrap_err();
        assert!(reason.starts_with("cannot start /nonexistent: "), "{reason}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the log stays");
    }
}
