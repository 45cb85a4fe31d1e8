//! Detects from the environment which launcher started this process, and which one can start others.

use std::path::PathBuf;

/// The launcher that started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Number of processes that it started.
    pub processes: usize,
    /// Whether it is Open MPI's.
    pub is_open_mpi: bool,
}

/// The launcher that started this process: any implementation's `mpiexec`, or Slurm's `srun`.
/// `None` if the process was started directly.
pub fn launcher() -> Option<Launcher> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    if let Some(processes) = number("OMPI_COMM_WORLD_SIZE") {
        return Some(Launcher { processes, is_open_mpi: true });
    }
    // The steps of a Slurm job have the rank. The job itself does not, and a program may be started
    // in its shell.
    let of_slurm = || std::env::var_os("SLURM_PROCID").and_then(|_| number("SLURM_STEP_NUM_TASKS"));
    let processes = number("PMI_SIZE").or_else(of_slurm)?;
    Some(Launcher { processes, is_open_mpi: false })
}

/// The `mpiexec` on the path.
pub fn mpiexec() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("mpiexec{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|program| program.is_file())
}
