//! Runs a child process with a time limit and captures its output in a file.

mod own_time;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use own_time::own_time;

/// Interval at which the child's status is polled.
const POLL: Duration = Duration::from_millis(10);
/// Maximum number of bytes read from each of a child's output streams.
const MAX_OUTPUT: u64 = 64 << 20;
/// Maximum wait for a killed child to exit. A child that is blocked in the driver exits late or never.
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
    /// Time from start to end.
    pub elapsed: Duration,
    /// The first 64 MiB of standard output, with invalid UTF-8 replaced.
    pub stdout: String,
    /// The first 64 MiB of standard error, with invalid UTF-8 replaced.
    pub stderr: String,
}

impl Finished {
    /// Whether it ended in time with exit code 0.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Describes how it ended: "exit status: 1", or that it exceeded its limit.
    pub fn ending(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => format!("killed at its time limit, after {:.0} s", self.elapsed.as_secs_f64()),
        }
    }
}

/// Runs `command` until it ends or reaches `limit`, and appends its output to `log` under `title`.
///
/// At the limit, the whole process group is killed, so a wrapper's child does not keep the GPU
/// busy.
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
    let start = Instant::now();
    run_by(&|| start.elapsed(), command, limit, title, log)
}

/// Runs a command like [`run`], but measures time with a clock that tests can control.
///
/// # Errors
/// As [`run`].
pub fn run_by(
    clock: &dyn Fn() -> Duration,
    command: &mut Command,
    limit: Duration,
    title: &str,
    log: &Path,
) -> Result<Result<Finished, String>, ChildError> {
    run_with_input(clock, command, Stdio::null(), limit, title, log)
}

/// [`run_by`] with a standard input.
///
/// # Errors
/// As [`run`].
pub fn run_with_input(
    clock: &dyn Fn() -> Duration,
    command: &mut Command,
    input: Stdio,
    limit: Duration,
    title: &str,
    log: &Path,
) -> Result<Result<Finished, String>, ChildError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let streams = [log.with_extension("stdout"), log.with_extension("stderr")];
    let create = |path: &Path| File::create(path).map_err(ChildError::file("write", path));
    command.stdin(input).stdout(create(&streams[0])?).stderr(create(&streams[1])?);
    own_group(command);
    let start = clock();
    let status = match command.spawn() {
        Ok(mut child) => {
            wait_or_kill(&mut child, || clock().saturating_sub(start) >= limit).map_err(ChildError::Status)?
        }
        Err(error) => {
            streams.iter().try_for_each(|path| remove(path))?;
            return Ok(Err(format!("cannot start {name}: {error}")));
        }
    };
    let elapsed = clock().saturating_sub(start);
    let read = |path: &Path| {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_OUTPUT).read_to_end(&mut bytes));
        read.map_err(ChildError::file("read", path))?;
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

/// Waits for a child and returns its status. Once `is_over` returns true, kills the child and the
/// process group it may lead, and returns `None`.
///
/// # Errors
/// If its status cannot be read.
pub fn wait_or_kill(child: &mut Child, is_over: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    loop {
        // Read before the status: a child that ended in time is never reported as killed, however
        // late this process runs.
        let is_over = is_over();
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if is_over {
            break;
        }
        thread::sleep(POLL);
    }
    // An error means that all processes have ended.
    let _ = child.kill();
    kill_group(child);
    let killed = Instant::now();
    while child.try_wait()?.is_none() && killed.elapsed() < GRACE {
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
fn kill_group(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let _ = Pid::from_raw(child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration, log: &Path) -> Finished {
        run(Command::new("sh").args(["-c", script]), limit, "shell", log).unwrap().unwrap()
    }

    #[test]
    fn gpu_check_kills_a_child_and_its_children_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (log, pipe) = (folder.path().join("log"), folder.path().join("pipe"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // The pipe closes when the last process that has it open ends.
        let script = r#"exec 3> "$0"; (sleep 60; echo survived >&3) & echo begun; sleep 60"#;
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&pipe);
        let printed = log.with_extension("stdout");
        let minute = Duration::from_secs(60);
        // The time limit passes once the child has printed its line.
        let has_begun = || std::fs::read_to_string(&printed).is_ok_and(|text| text == "begun\n");
        let clock = || if has_begun() { minute } else { Duration::ZERO };
        let finished = run_by(&clock, &mut command, minute, "shell", &log).unwrap().unwrap();
        assert_eq!((finished.status, finished.elapsed), (None, minute));
        assert_eq!(finished.stdout, "begun\n");
        assert_eq!(reader.join().unwrap(), "", "the child's own child was not killed");
        assert!(std::fs::read_to_string(&log).unwrap().starts_with("=== shell: killed at its time limit, after 60 s"));
        assert!(shell("exec sleep 60", Duration::ZERO, &log).status.is_none());
    }

    #[test]
    fn gpu_check_reads_the_beginning_of_an_endless_output() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("echo begun; head -c {MAX_OUTPUT} /dev/zero");
        let finished = shell(&script, Duration::from_secs(600), &folder.path().join("log"));
        assert!(finished.is_success() && finished.stdout.starts_with("begun\n"));
        assert_eq!(finished.stdout.len() as u64, MAX_OUTPUT);
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
