//! Starting a program's ranks.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The `mpiexec` on the path.
pub fn mpiexec() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|program| program.is_file())
}

/// A command that starts `ranks` ranks by `mpiexec`, with the program and its arguments still to be added. Ranks may
/// outnumber cores. A user who is root may start them, which Open MPI refuses by default: in a container every user is.
pub fn ranks_by(mpiexec: &Path, ranks: usize) -> Command {
    let mut command = Command::new(mpiexec);
    command.args(["-n", &ranks.to_string()]);
    // Open MPI 4 and 5; other launchers allow it, and ignore these.
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}
