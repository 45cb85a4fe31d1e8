//! Signal handling in a process that has started ranks. It forwards signals, and no rank outlives it.

/// What the ranks do when the process that started them is asked to end, by Ctrl-C or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// `mpiexec` ends them.
    Ends,
    /// They end by themselves soon after the flag of [`set_when_interrupted`] is set. On a second
    /// request, `mpiexec` ends them.
    SetsFlag,
}

#[cfg(unix)]
mod imp {
    #![allow(unsafe_code, reason = "a call between fork and exec, and one that asks how a signal is handled")]

    use std::io;
    use std::mem::MaybeUninit;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitStatus, Stdio};
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use rustix::process::{Pid, Signal, kill_process};
    use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
    use signal_hook::iterator::Signals;

    use super::Interruption;

    /// Sets `flag` when the process that started this rank is asked to end.
    ///
    /// # Errors
    /// If the system rejects the handler.
    pub fn set_when_interrupted(flag: &Arc<AtomicBool>) -> io::Result<()> {
        // Open MPI and MPICH forward this signal to the ranks. On other signals, Open MPI ends them.
        signal_hook::flag::register(SIGUSR1, Arc::clone(flag)).map(drop)
    }

    /// Runs `mpiexec` to its end and forwards signals to it. Returns its status and the first signal.
    pub(crate) fn run(mpiexec: &mut Command, interruption: Interruption) -> io::Result<(ExitStatus, Option<i32>)> {
        // Registered before the start, so no signal is missed. Under nohup, SIGHUP is ignored.
        let passed_on = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
        let mut signals = Signals::new(passed_on.chain([SIGCHLD]))?;
        // Ctrl-C reaches every process in the terminal's group. In a separate group, mpiexec
        // receives each signal once, from here. It cannot read from the terminal, but no rank does.
        let mut child = mpiexec.process_group(0).stdin(Stdio::null()).spawn()?;
        let id = Pid::from_child(&child);
        let mut first = None;
        loop {
            for signal in signals.wait() {
                // A child that has ended keeps its id until this call.
                if let Some(status) = child.try_wait()? {
                    return Ok((status, first));
                }
                let passed = match (signal, first) {
                    (SIGCHLD, _) => continue,
                    (_, None) if interruption == Interruption::SetsFlag => Signal::USR1,
                    _ => Signal::TERM,
                };
                first = first.or(Some(signal));
                kill_process(id, passed)?;
            }
        }
    }

    /// Whether this process's parent has made it ignore the signal.
    fn is_ignored(signal: i32) -> bool {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action, the call only writes the current one to the given location.
        let code = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
        // SAFETY: zeros are a valid action, and a call without an error has written another valid one.
        let action = unsafe { action.assume_init() };
        code == 0 && action.sa_sigaction == libc::SIG_IGN
    }

    /// Makes `mpiexec` end its ranks and itself when this process ends, even if this process is killed.
    #[cfg(target_os = "linux")]
    pub(crate) fn end_with_this_process(mpiexec: &mut Command) {
        use rustix::process::{getpid, getppid, set_parent_process_death_signal};

        let this = getpid();
        let set = move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            // This process may have ended before the call.
            if getppid() == Some(this) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        };
        // SAFETY: between fork and exec, `set` makes only system calls: it takes no lock and
        // allocates nothing.
        unsafe { mpiexec.pre_exec(set) };
    }

    /// Makes the system end this rank when the launcher process that started it ends, even if that
    /// process is killed.
    #[cfg(target_os = "linux")]
    pub(crate) fn end_with_launcher() {
        use rustix::process::{getppid, set_parent_process_death_signal};

        let parent = getppid();
        // On failure, this system behaves like others: MPI may notice the loss of the launcher at
        // the next message, or not.
        let is_set = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
        if is_set && getppid() != parent {
            std::process::exit(1);
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn end_with_this_process(_: &mut Command) {}

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn end_with_launcher() {}
}

#[cfg(not(unix))]
mod imp {
    use std::io;
    use std::process::{Command, ExitStatus};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::Interruption;

    /// Sets `flag` when the process that started this rank is asked to end. On this system, Ctrl-C
    /// reaches the ranks directly.
    ///
    /// # Errors
    /// None.
    pub fn set_when_interrupted(_: &Arc<AtomicBool>) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn run(mpiexec: &mut Command, _: Interruption) -> io::Result<(ExitStatus, Option<i32>)> {
        mpiexec.status().map(|status| (status, None))
    }

    pub(crate) fn end_with_this_process(_: &mut Command) {}

    pub(crate) fn end_with_launcher() {}
}

pub use imp::set_when_interrupted;
pub(crate) use imp::{end_with_launcher, end_with_this_process, run};
