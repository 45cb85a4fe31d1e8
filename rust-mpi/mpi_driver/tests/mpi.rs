//! Runs the checks on each MPI of this machine. This program starts itself with `mpiexec`.

mod checks;

use std::path::PathBuf;

use mpi_driver::{Universe, launcher, mpiexec, ranks_by};
use test_support::{Need, skip};

/// The installation folders to test, with `bin/mpiexec` and `lib`: `MPI_HOMES`, separated by
/// colons. Without it, the installation of the `mpiexec` on the path. Empty if the variable is
/// empty.
fn homes() -> Vec<PathBuf> {
    if let Some(homes) = std::env::var_os("MPI_HOMES") {
        return std::env::split_paths(&homes).filter(|home| !home.as_os_str().is_empty()).collect();
    }
    let found = mpiexec();
    found.iter().filter_map(|program| Some(program.parent()?.parent()?.to_owned())).collect()
}

#[test]
fn every_check_passes_on_each_mpi() {
    let homes = homes();
    if homes.is_empty() {
        return skip(Need::Mpi, &format!("there is no mpiexec: {}", mpi_driver::INSTALL));
    }
    for home in homes {
        for ranks in [1, 2, 4] {
            let mut mpiexec = ranks_by(&home.join("bin/mpiexec"), ranks);
            mpiexec.arg(std::env::current_exe().expect("this program has a path"));
            mpiexec.args(["--exact", "a_rank_of_mpiexec", "--ignored", "--nocapture", "--test-threads=1"]);
            // Open MPI keeps memory until its process ends. The address sanitizer would report it.
            mpiexec.env("ASAN_OPTIONS", "detect_leaks=0");
            let lib = home.join("lib");
            if lib.join("libmpi.so").exists() {
                mpiexec.env("LD_LIBRARY_PATH", lib);
            }
            let output = mpiexec.output().expect("mpiexec starts");
            let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}, {ranks} ranks: {text}", home.display());
            let passed = text.matches("1 passed").count();
            assert_eq!(passed, ranks, "{}, {ranks} ranks: {text}", home.display());
        }
    }
}

/// MPICH has the same functions in both of its libraries, with other handles.
#[cfg(target_os = "linux")]
#[test]
fn a_library_under_another_name_is_used_with_its_own_handles() {
    for home in homes() {
        let lib = home.join("lib");
        for (library, other) in [("libmpi_abi.so.1", "libmpich.so.0"), ("libmpi.so.12", "libmpi_abi.so.0")] {
            if !lib.join(library).exists() {
                continue;
            }
            // It finds those that it needs beside itself.
            let folder = tempfile::tempdir().unwrap();
            for entry in std::fs::read_dir(&lib).unwrap() {
                let entry = entry.unwrap();
                std::os::unix::fs::symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
            }
            let named = folder.path().join(other);
            std::fs::copy(lib.join(library), &named).unwrap();
            let mut mpiexec = ranks_by(&home.join("bin/mpiexec"), 2);
            mpiexec.arg(std::env::current_exe().expect("this program has a path"));
            mpiexec.args(["--exact", "a_rank_of_mpiexec", "--ignored", "--nocapture", "--test-threads=1"]);
            let output = mpiexec.env("LD_LIBRARY_PATH", &lib).env("MPI_LIBRARY", named).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.matches("1 passed").count() == 2, "{library}: {text}");
        }
    }
}

#[test]
#[ignore = "it is a rank of every_check_passes_on_each_mpi"]
fn a_rank_of_mpiexec() {
    let universe = Universe::initialize().unwrap();
    let started = launcher().map_or(1, |launcher| launcher.processes);
    assert_eq!(universe.world().size(), started);
    assert!(!universe.version().is_empty());
    assert!(Universe::initialize().is_err(), "it is initialised once only");
    checks::run(universe.world()).unwrap();
}
