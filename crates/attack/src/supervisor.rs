//! Supervisor of the workers on all cores: restarts a worker after the case that crashed it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::finding::{Finding, Kind};
use crate::system;
use crate::table::Counts;
use crate::targets::Target;
use crate::worker::{Done, TOO_LONG};

/// Limit of a worker's private memory, in KiB: the allocator's limit, plus room for the program and for the bytes held
/// before the case.
const MEMORY_KIBIBYTES: u64 = 1536 << 10;

/// The cases to run, and the time for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// One past the index of the last case.
    pub(crate) cases: u64,
    pub(crate) time: Duration,
}

/// A temporary folder, in memory if possible: each case is a file, and a disk would limit the rate.
pub(crate) fn scratch() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("attack-").tempdir_in(folder).context("cannot create a folder for the cases")
}

/// A command with a limit of private memory in KiB, run by a shell with this redirection.
pub(crate) fn limited(program: &Path, kibibytes: u64, redirection: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -c 0; ulimit -d {kibibytes}; exec \"$0\" \"$@\" {redirection}")]).arg(program);
    // Printing the backtrace of an out-of-memory error takes longer than a case's time limit.
    command.env("RUST_BACKTRACE", "0");
    command
}

/// Runs the cases of a target, and passes each finding to `found`.
///
/// # Errors
/// If a worker cannot be started, or ends before its first case.
pub(crate) fn run(target: Target, plan: Plan, found: &(dyn Fn(Finding) + Sync)) -> Result<Counts> {
    let workers = thread::available_parallelism().map_or(1, usize::from) as u64;
    let begin = Instant::now();
    let shares: Vec<Result<Counts>> = thread::scope(|scope| {
        let spawn = |worker| scope.spawn(move || run_share(target, plan, (worker, workers), found));
        let handles: Vec<_> = (0..workers).map(spawn).collect();
        handles.into_iter().map(|handle| handle.join().expect("a thread of the attack does not panic")).collect()
    });
    let mut counts = Counts::default();
    for share in shares {
        counts.add(&share?);
    }
    counts.seconds = begin.elapsed().as_secs_f64();
    Ok(counts)
}

/// Runs cases `first`, `first + step`, … in worker processes, one at a time.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_share(
    target: Target,
    plan: Plan,
    (mut first, step): (u64, u64),
    found: &(dyn Fn(Finding) + Sync),
) -> Result<Counts> {
    let (mut counts, begin) = (Counts::default(), Instant::now());
    loop {
        let left = plan.time.saturating_sub(begin.elapsed());
        if first >= plan.cases || left.is_zero() {
            return Ok(counts);
        }
        let folder = scratch()?;
        let stderr = folder.path().join("stderr");
        let mut command = limited(&std::env::current_exe()?, MEMORY_KIBIBYTES, "");
        command.arg("work").arg("--folder").arg(folder.path()).args(["--target", target.name()]);
        let options = [
            ("--seed", plan.seed),
            ("--first", first),
            ("--step", step),
            ("--end", plan.cases),
            ("--milliseconds", u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        ];
        command.args(options.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(&stderr)?);
        let mut child = command.spawn().context("cannot start a worker")?;
        let stdout = child.stdout.take().context("a worker has no stdout")?;
        for line in BufReader::new(stdout).lines() {
            let finding: Finding = serde_json::from_str(&line?).context("a worker's line is not a finding")?;
            counts.count(finding.kind);
            found(finding);
        }
        let status = child.wait()?;
        let done = Done::read(folder.path());
        counts.cases += done.cases;
        counts.rejected += done.rejected;
        counts.accepted += done.accepted;
        counts.peak_bytes = counts.peak_bytes.max(done.peak);
        if status.success() {
            return Ok(counts);
        }
        let message = fs::read(&stderr).unwrap_or_default();
        let message = String::from_utf8_lossy(&message);
        let Some(index) = done.begun.checked_sub(1) else {
            bail!("a worker for {} failed before its first case: {status}: {}", target.name(), message.trim());
        };
        let finding = death(index, status, &message);
        counts.cases += 1;
        counts.count(finding.kind);
        found(finding);
        first = index + step;
    }
}

/// The finding of a case that ended its worker.
fn death(index: u64, status: ExitStatus, stderr: &str) -> Finding {
    let last = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    let memory = stderr.lines().find(|line| line.contains("memory allocation of"));
    let overflow = stderr.lines().find(|line| line.contains("overflowed its stack"));
    let (kind, place, detail) = match (status.code(), system::signal(status)) {
        (Some(code), _) if code == i32::from(TOO_LONG) => {
            (Kind::Hang, "the time limit".to_owned(), "the case took longer".to_owned())
        }
        _ if overflow.is_some() => {
            (Kind::Panic, "a stack overflow".to_owned(), overflow.unwrap_or_default().to_owned())
        }
        _ if memory.is_some() => (Kind::Memory, "the memory limit".to_owned(), memory.unwrap_or_default().to_owned()),
        (_, Some(9)) => (Kind::Memory, "the memory limit".to_owned(), "killed by the system".to_owned()),
        (Some(code), _) => (Kind::Panic, format!("exit code {code}"), last),
        (None, signal) => (Kind::Panic, format!("signal {}", signal.unwrap_or(0)), last),
    };
    Finding { index, kind, place, detail }
}

/// A process that examines files one by one, and is restarted after a file that crashed it.
pub(crate) struct Examiner {
    target: Target,
    folder: TempDir,
    process: Option<(Child, ChildStdin, BufReader<ChildStdout>)>,
}

impl Examiner {
    /// An examiner for the files of a target.
    ///
    /// # Errors
    /// If its folder cannot be created.
    pub(crate) fn new(target: Target) -> Result<Self> {
        Ok(Self { target, folder: scratch()?, process: None })
    }

    /// The finding of a file; `None` if it shows no defect.
    ///
    /// # Errors
    /// If the process cannot be started or does not answer.
    pub(crate) fn examine(&mut self, name: &str, bytes: &[u8]) -> Result<Option<Finding>> {
        let (file, stderr) = (self.folder.path().join("examined"), self.folder.path().join("stderr"));
        fs::write(&file, bytes)?;
        if self.process.is_none() {
            let mut command = limited(&std::env::current_exe()?, MEMORY_KIBIBYTES, "");
            command.arg("serve").arg("--folder").arg(self.folder.path()).args(["--target", self.target.name()]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(fs::File::create(&stderr)?);
            let mut child = command.spawn().context("cannot start an examiner")?;
            let pipes = (child.stdin.take(), child.stdout.take());
            let (Some(stdin), Some(stdout)) = pipes else { bail!("the examiner has no pipes") };
            self.process = Some((child, stdin, BufReader::new(stdout)));
        }
        let Some((child, stdin, stdout)) = &mut self.process else { unreachable!("the process was started above") };
        // The write fails if the process has ended; its exit status is read below.
        let _written = writeln!(stdin, "{name}\t{}", file.display()).and_then(|()| stdin.flush());
        let mut line = String::new();
        if stdout.read_line(&mut line)? > 0 {
            return serde_json::from_str(&line).context("the answer is not a finding");
        }
        let status = child.wait()?;
        self.process = None;
        Ok(Some(death(0, status, &String::from_utf8_lossy(&fs::read(stderr).unwrap_or_default()))))
    }
}

impl Drop for Examiner {
    fn drop(&mut self) {
        if let Some((child, stdin, _)) = &mut self.process {
            // The process ends at the end of its input.
            let _ = stdin.flush();
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The folder for a target's kept cases.
pub(crate) fn kept_folder(target: &str) -> PathBuf {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two folders below it");
    let target_folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    target_folder.join("attack-found").join(target)
}
