//! What the environment says of the launcher that started this process, and of the one that can start others.

use std::path::PathBuf;

/// The launcher that started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Number of processes that it started.
    pub processes: usize,
    /// Whether it is Open MPI's.
    pub is_open_mpi: bool,
}

/// The launcher that started this process: `mpiexec` of any implementation, or Slurm's `srun`. None if the process was
/// started by itself.
pub fn launcher() -> Option<Launcher> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    if let Some(processes) = number("OMPI_COMM_WORLD_SIZE") {
        return Some(Launcher { processes, is_open_mpi: true });
    }
    // A Slurm job's steps have the rank; the job itself, in whose shell a program may be started, has not.
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
