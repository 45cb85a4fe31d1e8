//! Signals of a process that has started ranks: it passes them on, and no rank outlives it.

/// What ranks do when the process that started them is asked to end, by Ctrl-C or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// `mpiexec` ends them.
    Ends,
    /// They end by themselves, soon after the flag of [`set_when_interrupted`] is set; when asked again, `mpiexec` ends
    /// them.
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
    /// If the system refuses the handler.
    pub fn set_when_interrupted(flag: &Arc<AtomicBool>) -> io::Result<()> {
        // Open MPI and MPICH pass this one on to the ranks; Open MPI ends them on others.
        signal_hook::flag::register(SIGUSR1, Arc::clone(flag)).map(drop)
    }

    /// Runs `mpiexec` to its end, and passes signals on to it; returns its status, and the first of the signals.
    pub(crate) fn run(mpiexec: &mut Command, interruption: Interruption) -> io::Result<(ExitStatus, Option<i32>)> {
        // From before the start, so that none is missed. Under nohup, SIGHUP ends nothing.
        let passed_on = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
        let mut signals = Signals::new(passed_on.chain([SIGCHLD]))?;
        // Ctrl-C reaches every process of the terminal's group. In a group of its own, mpiexec gets each signal once, from
        // here; it cannot read from the terminal, which no rank does.
        let mut child = mpiexec.process_group(0).stdin(Stdio::null()).spawn()?;
        let id = Pid::from_child(&child);
        let mut first = None;
        loop {
            for signal in signals.wait() {
                // An ended child keeps its id until here.
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

    /// Whether the process that started this one has made it ignore the signal.
    fn is_ignored(signal: i32) -> bool {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action, the call only writes the present one to the place that it gets.
        let code = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
        // SAFETY: zeros are a valid action; a call without an error has written another one.
        let action = unsafe { action.assume_init() };
        code == 0 && action.sa_sigaction == libc::SIG_IGN
    }

    /// Makes `mpiexec` end its ranks, and itself, when this process ends, even if it is killed.
    #[cfg(target_os = "linux")]
    pub(crate) fn end_with_this_process(mpiexec: &mut Command) {
        use rustix::process::{getpid, getppid, set_parent_process_death_signal};

        let this = getpid();
        let set = move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            // This process may have ended before the call.
            if getppid() == Some(this) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        };
        // SAFETY: between fork and exec, `set` makes system calls only: it takes no lock and allocates nothing.
        unsafe { mpiexec.pre_exec(set) };
    }

    /// Makes the system end this rank when the process of the launcher that started it ends, even if that is killed.
    #[cfg(target_os = "linux")]
    pub(crate) fn end_with_launcher() {
        use rustix::process::{getppid, set_parent_process_death_signal};

        let parent = getppid();
        // A failure leaves it as on other systems: MPI notices the loss of the launcher at the next message, or not.
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

    /// Sets `flag` when the process that started this rank is asked to end. On this system, Ctrl-C reaches the ranks
    /// themselves.
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
