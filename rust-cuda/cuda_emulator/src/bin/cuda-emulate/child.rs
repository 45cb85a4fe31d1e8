//! The program's process: signals that would end the runner end the program instead, and the runner
//! prints its summary afterwards.

use std::io;
use std::process::{Command, ExitStatus};

/// Runs a command to its end. SIGTERM and SIGHUP are forwarded to it and do not end the runner.
/// SIGINT does not end the runner either: a terminal sends it to both processes.
#[cfg(unix)]
pub(crate) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Register before the start, so no signal can end the runner alone.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let (handle, mut child) = (signals.handle(), command.spawn()?);
    let process = child.id().cast_signed();
    let passing_on = std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGINT) {
            send(process, signal);
        }
    });
    let status = child.wait();
    // From here on, another process may have this process id.
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
