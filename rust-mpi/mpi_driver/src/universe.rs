//! The initialized MPI library.

#![allow(unsafe_code, reason = "a call of the MPI library")]

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::communicator::{Backend, Communicator};
use crate::error::Unavailable;
use crate::launcher::{Launcher, launcher};
use crate::library::Mpi;
use crate::mpi::MpiCommunicator;
use crate::signals::end_with_launcher;

/// The initialized MPI library. It is finalized when this and all communicators are dropped. If a
/// panic causes that, all ranks are ended, since the others might wait for this one.
#[derive(Debug)]
pub struct Universe {
    world: Communicator,
    mpi: &'static Mpi,
}

impl Universe {
    /// Opens the MPI library and initializes it for use by this thread. On Linux, a rank then ends
    /// when the launcher's process that started it ends for any reason.
    ///
    /// # Errors
    /// If there is no library, it was already initialized, or it fails.
    pub fn initialize() -> Result<Self, Unavailable> {
        static INITIALISED: AtomicBool = AtomicBool::new(false);
        let mpi = Mpi::open()?;
        if INITIALISED.swap(true, Ordering::Relaxed) {
            return Err(Unavailable::Again);
        }
        if launcher().is_some() {
            end_with_launcher();
        }
        let mut provided = 0;
        let level = mpi.constants.thread_funneled;
        // SAFETY: this is the first call in the process. The program passes no arguments on.
        let code = unsafe { (mpi.functions.init_thread)(ptr::null_mut(), ptr::null_mut(), level, &raw mut provided) };
        mpi.check(code, "MPI_Init_thread", None)?;
        let world = MpiCommunicator::world(mpi)?;
        let (seen, library) = (world.size(), mpi.name.clone());
        match launcher() {
            Some(launcher) if launcher.processes != seen => {
                let Launcher { processes: started, is_open_mpi } = launcher;
                Err(Unavailable::OtherLauncher { started, is_open_mpi, seen, library })
            }
            _ => Ok(Self { world: Communicator::new(Backend::Mpi(world)), mpi }),
        }
    }

    /// All ranks: `MPI_COMM_WORLD`.
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// The library's version string.
    pub fn version(&self) -> String {
        self.mpi.version()
    }

    /// The library that [`Self::initialize`] would use, with its version, without initializing it.
    ///
    /// # Errors
    /// If there is none.
    pub fn available() -> Result<(&'static str, String), Unavailable> {
        let mpi = Mpi::open()?;
        Ok((&mpi.name, mpi.version()))
    }
}
