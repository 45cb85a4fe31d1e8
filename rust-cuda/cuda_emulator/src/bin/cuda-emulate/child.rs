//! The program's process: a signal that would end the runner ends it, and the runner sums up after it.

use std::io;
use std::process::{Command, ExitStatus};

/// Runs a command to its end. SIGTERM and SIGHUP are passed on to it, and do not end the runner; nor does SIGINT, which a terminal sends to
/// both.
#[cfg(unix)]
pub(crate) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Before the start, so that no signal ends the runner alone.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let (handle, mut child) = (signals.handle(), command.spawn()?);
    let process = child.id().cast_signed();
    let passing_on = std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            send(process, signal);
        }
    });
    let status = child.wait();
    // From here on the process's id may be another's.
    handle.close();
    passing_on.join().expect("the thread does not panic");
    status
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "a call of the C library")]
fn send(process: i32, signal: i32) {
    // SAFETY: the function reads and writes no memory of this process.
    let _has_ended = unsafe { libc::kill(process, signal) };
}

/// Runs a command to its end.
#[cfg(not(unix))]
pub(crate) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}
