//! Starts a program's ranks.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use crate::communicator::{Backend, Communicator};
use crate::error::Unavailable;
use crate::launcher::{launcher, mpiexec};
use crate::signals::{self, Interruption};
use crate::threads::{ThreadCommunicator, World};
use crate::universe::Universe;

/// The possible forms of a program's ranks.
#[derive(Debug)]
pub enum Ranks {
    /// This process is a rank that a launcher has started.
    Started(Universe),
    /// Processes started by this `mpiexec`: see [`run_again_as_ranks`].
    ByMpiexec(PathBuf),
    /// Threads of this process, for the given reason: see [`threads`].
    Threads(String),
}

impl Ranks {
    /// Finds out which form is available in this process on this machine.
    ///
    /// # Errors
    /// If a launcher has started this process, but MPI cannot be initialized.
    pub fn find() -> Result<Self, Unavailable> {
        if launcher().is_some() {
            return Universe::initialize().map(Self::Started);
        }
        Ok(match (Universe::available(), mpiexec()) {
            (Ok(_), Some(mpiexec)) => Self::ByMpiexec(mpiexec),
            (Ok(_), None) => Self::Threads("there is no mpiexec".to_owned()),
            (Err(reason), _) => Self::Threads(reason.to_string()),
        })
    }
}

/// Creates a command that starts `ranks` ranks with `mpiexec`. The program and its arguments must
/// still be added. Ranks may outnumber cores. The root user may start them too, which Open MPI
/// rejects by default: in a container, every user is root. On Linux, `mpiexec` ends its ranks and
/// itself when the thread that starts it ends.
pub fn ranks_by(mpiexec: &Path, ranks: usize) -> Command {
    let mut command = Command::new(mpiexec);
    command.args(["-n", &ranks.to_string()]);
    // For Open MPI 4 and 5. Other launchers allow it and ignore these variables.
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    signals::end_with_this_process(&mut command);
    command
}

/// Runs this program again, with its own arguments, as `ranks` ranks of `mpiexec`, and returns its
/// exit code. Forwards Ctrl-C and the signals that ask this process to end. The exit code is then
/// 128 plus the signal's number, as in shells, unless the ranks succeed anyway.
///
/// # Errors
/// If the program's path is unknown, or `mpiexec` cannot be started.
pub fn run_again_as_ranks(mpiexec: &Path, ranks: usize, interruption: Interruption) -> io::Result<ExitCode> {
    let mut command = ranks_by(mpiexec, ranks);
    command.arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    let (status, signal) = signals::run(&mut command, interruption)?;
    let code = match signal {
        Some(signal) if !status.success() => Some(128 + signal),
        _ => status.code(),
    };
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Runs `body` on `ranks` threads, each with its communicator for all of them. Returns the results
/// in rank order. A send does not wait for its receiver. A receive fails if its message can no
/// longer come, because its source has ended or every rank is waiting for a message.
///
/// # Panics
/// If `body` panics on a rank, after all ranks have ended. Operations of other ranks that need that
/// rank fail. Also if `ranks` is 0.
pub fn threads<R: Send>(ranks: usize, body: impl Fn(&Communicator) -> R + Sync) -> Vec<R> {
    assert!(ranks > 0, "a world needs a rank");
    let world = Arc::new(World::new(ranks));
    let run = |rank: usize| {
        let communicator = Communicator::new(Backend::Threads(ThreadCommunicator::world(&world, rank)));
        let result = catch_unwind(AssertUnwindSafe(|| body(&communicator)));
        world.end(rank, result.is_err());
        result
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks)
            .map(|rank| {
                let thread = std::thread::Builder::new().name(format!("rank {rank}"));
                let run = &run;
                thread.spawn_scoped(scope, move || run(rank)).expect("a thread can be started")
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank catches its panic")).collect()
    });
    let first = world.first_panicked();
    let mut ended = Vec::with_capacity(ranks);
    let mut panic = None;
    for (rank, result) in results.into_iter().enumerate() {
        match result {
            Ok(result) => ended.push(result),
            // Later panics may be consequences of the first one.
            Err(payload) if rank == first || panic.is_none() => panic = Some(payload),
            Err(_) => {}
        }
    }
    match panic {
        Some(payload) => resume_unwind(payload),
        None => ended,
    }
}
