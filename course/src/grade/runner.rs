//! A submission's process. The judge neither starts nor ends it: each process is in its own
//! sandbox.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::points::Program;
use super::sandbox::Sandbox;

/// The judge's message about a program that has ended.
pub(super) const NO_RESULT: &str = "its program ends without a result";

/// Maximum time to wait for the end of a process that the judge has already seen end.
const ENDING: Duration = Duration::from_secs(5);

/// A submission's process, killed when this value is dropped.
pub(super) struct Runner {
    /// `None` for a test that calls no function.
    process: Option<Child>,
    channel: Option<UnixStream>,
    /// The file with the process's output.
    pub(super) printed: PathBuf,
}

impl Runner {
    /// Starts a submission's program for a test.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub(super) fn new(sandbox: &Sandbox, test: Program, program: &Path, folder: &Path) -> Result<Self> {
        let printed = folder.join("printed");
        let output = File::create(&printed).with_context(|| format!("cannot write {}", printed.display()))?;
        if test == Program::Ptx {
            return Ok(Self { process: None, channel: None, printed });
        }
        let (own, other) = UnixStream::pair().context("cannot open a socket")?;
        let input = other.try_clone().context("cannot open a socket")?;
        let mut command = sandbox.run(program);
        command.stdin(OwnedFd::from(input)).stdout(OwnedFd::from(other)).stderr(output).process_group(0);
        let process = command.spawn().context("cannot start the sandbox")?;
        Ok(Self { process: Some(process), channel: Some(own), printed })
    }

    pub(super) fn printed(&self) -> OsString {
        self.printed.clone().into_os_string()
    }

    /// Takes the judge's end of the socket; call it once.
    pub(super) fn channel(&mut self) -> Stdio {
        self.channel.take().map_or_else(Stdio::null, |channel| OwnedFd::from(channel).into())
    }

    /// Describes how the process ended on its own, in parentheses.
    ///
    /// # Errors
    /// If the process's exit status cannot be read.
    pub(super) fn ending(&mut self) -> Result<String> {
        let Some(process) = &mut self.process else { return Ok(String::new()) };
        let start = Instant::now();
        let status = child_process::wait_or_kill(process, || start.elapsed() > ENDING);
        let status = status.context("cannot tell whether a submission's process has ended")?;
        Ok(status.map_or_else(|| " (it was stopped)".to_owned(), |status| format!(" ({status})")))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            drop(child_process::wait_or_kill(process, || true));
        }
    }
}
