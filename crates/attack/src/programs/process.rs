//! A process with a time limit and a record of its peak memory.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Defect;
use crate::finding::Kind;
use crate::system;
use crate::targets::Target;

/// Exit status, output and peak memory of a process that has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Peak resident memory that was sampled, in bytes.
    pub(super) peak: u64,
    /// Whether it was killed at the time limit.
    pub(super) is_late: bool,
}

/// A running process.
pub(super) struct Running {
    child: Child,
    begin: Instant,
    peak: u64,
    /// Files of its stdout and stderr.
    outputs: [std::path::PathBuf; 2],
}

impl Running {
    /// Starts a command, with stdout and stderr redirected to `NAME.stdout` and `NAME.stderr` in `folder`.
    pub(super) fn start(command: &mut Command, folder: &Path, name: &str) -> Result<Self> {
        let outputs = ["stdout", "stderr"].map(|output| folder.join(format!("{name}.{output}")));
        let [stdout, stderr] = &outputs;
        command.stdin(Stdio::null()).stdout(File::create(stdout)?).stderr(File::create(stderr)?);
        let program = command.get_program().to_owned();
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { child, begin: Instant::now(), peak: 0, outputs })
    }

    /// The process's id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends, or kills it after `time_limit`.
    pub(super) fn wait(mut self, time_limit: Duration) -> Result<Ended> {
        let status = format!("/proc/{}/status", self.child.id());
        let mut pause = Duration::from_micros(200);
        let (status, is_late) = loop {
            self.peak = self.peak.max(peak_of(&status));
            if let Some(status) = self.child.try_wait()? {
                break (status, false);
            }
            if self.begin.elapsed() >= time_limit {
                self.child.kill()?;
                break (self.child.wait()?, true);
            }
            std::thread::sleep(pause.min(time_limit.saturating_sub(self.begin.elapsed())));
            pause = (2 * pause).min(Duration::from_millis(5));
        };
        let [stdout, stderr] = self.outputs.map(|output| fs::read(output).unwrap_or_default());
        Ok(Ended { status, stdout, stderr, peak: self.peak, is_late })
    }

    /// Waits until it ends, up to the time limit of all programs.
    pub(super) fn end(self) -> Result<Ended> {
        self.wait(Target::Cli.time_limit())
    }
}

/// Peak resident memory of a process so far, in bytes; 0 if the system does not report it.
fn peak_of(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    1024 * kibibytes.unwrap_or(0)
}

impl Ended {
    /// Its exit code; `None` if a signal ended it.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Its stderr as text.
    pub(super) fn messages(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The defect of a program that crashed, hung, ran out of memory or returned an undocumented exit code.
    pub(super) fn crash(&self, what: &str) -> Option<Defect> {
        let messages = self.messages();
        let detail = format!("{what}: {}: {}", self.status, messages.trim());
        let panic = messages.lines().find_map(|line| line.split_once(" panicked at ")).map(|(_, place)| place);
        let (kind, place) = match (self.code(), system::signal(self.status)) {
            _ if self.is_late => (Kind::Hang, "the time limit".to_owned()),
            _ if messages.contains("memory allocation of") => (Kind::Memory, "the memory limit".to_owned()),
            _ if panic.is_some() => (Kind::Panic, panic.unwrap_or_default().trim_end_matches(':').to_owned()),
            (None, signal) => (Kind::Panic, format!("signal {}", signal.unwrap_or(0))),
            (Some(0 | 1 | 2 | 130), _) => return None,
            (Some(code), _) => (Kind::Wrong, format!("exit code {code}")),
        };
        Some(Defect { kind, place, detail })
    }

    /// The single error line of a program that rejects its input, remarks excluded; `Err` has all of stderr.
    pub(super) fn error_line(&self) -> Result<String, String> {
        let messages = self.messages();
        let remarks = ["warning: ", "note: ", "no checkpoint in "];
        let is_remark = |line: &&str| line.is_empty() || remarks.iter().any(|remark| line.starts_with(remark));
        let mut lines = messages.lines().filter(|line| !is_remark(line));
        match (lines.next(), lines.next()) {
            (Some(line), None) if line.starts_with("error: ") => Ok(line.to_owned()),
            _ => Err(messages),
        }
    }
}
