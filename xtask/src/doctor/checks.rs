use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use neural_net::data::{Dataset, find_mnist};

use mpi_driver::{Unavailable, Universe, mpiexec};

use super::{Finding, State};
use crate::capture::stdout_of;

/// All checks, Rust first.
pub(super) fn all() -> Vec<Finding> {
    vec![
        Finding { name: "Rust", used_for: "everything", state: rust() },
        Finding { name: "MNIST", used_for: "training on real digits", state: mnist() },
        Finding { name: "PTX toolchain", used_for: "changing a GPU kernel", state: ptx_toolchain() },
        Finding { name: "ptxas", used_for: "assembling PTX: registers and spills", state: assembler() },
        Finding { name: "NVIDIA driver", used_for: "running on an NVIDIA GPU", state: driver() },
        Finding { name: "NVIDIA GPU", used_for: "running on an NVIDIA GPU", state: nvidia_gpu() },
        Finding { name: "Vulkan", used_for: "portable compute shaders", state: vulkan() },
        Finding { name: "MPI", used_for: "ranks that are processes", state: mpi() },
        Finding { name: "NumPy", used_for: "cargo xtask peers", state: numpy() },
    ]
}

fn rust() -> State {
    let fix = "install it from https://rustup.rs";
    of_command(Command::new("rustc").arg("--version"), |version| Some(version.trim().to_owned()), fix)
}

fn mnist() -> State {
    let fix = "run: cargo run -p mnist_download";
    let Some(directory) = find_mnist(None) else { return missing("not found", fix) };
    match Dataset::read(&directory) {
        Ok(dataset) => {
            let (train, test) = (dataset.train.len(), dataset.test.len());
            State::Found(format!("{train} training and {test} test images in {}", directory.display()))
        }
        Err(error) => missing(&error.to_string(), fix),
    }
}

fn ptx_toolchain() -> State {
    let directory = crate::workspace_root();
    match cuda_builder::find_toolchain(&cuda_builder::toolchain_candidates(), cuda_builder::Arch::Sm75, directory) {
        Ok(toolchain) => State::Found(format!("{} ({})", toolchain.compiler, toolchain.rustc.display())),
        Err(rejections) => {
            let reasons: Vec<String> = rejections.iter().map(ToString::to_string).collect();
            let fix = match cfg!(target_os = "linux") {
                true => {
                    "on Debian 12 run: apt-get install rustc-web cargo-web rust-web-src; elsewhere: rustup component \
                         add rust-src"
                }
                false => "run: rustup component add rust-src",
            };
            missing(&reasons.join("; ").replace('\n', " "), fix)
        }
    }
}

fn assembler() -> State {
    match cuda_builder::find_ptxas() {
        Some(path) => State::Found(path.display().to_string()),
        None if cfg!(target_os = "macos") => missing("not found", "NVIDIA makes it for Linux and Windows only"),
        None => {
            let python = command_line::python();
            let fix =
                format!("run: {} -m pip install nvidia-cuda-nvcc, and set PTXAS to the program", python.display());
            missing("not found", &fix)
        }
    }
}

fn driver() -> State {
    match cuda_driver::availability() {
        Ok(version) => {
            let library = cuda_driver::library_path().map(|path| format!(", {}", path.display()));
            State::Found(format!("for CUDA {version}{}", library.unwrap_or_default()))
        }
        Err(reason) => {
            let reason = reason.to_string();
            // The message has the form `problem: fix`.
            let (what, fix) = reason.split_once(": ").unwrap_or((&reason, "see NVIDIA's installation guide"));
            missing(what, fix)
        }
    }
}

fn nvidia_gpu() -> State {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]);
    let describe = |lines: &str| {
        let describe = |line: &str| {
            let mut fields = line.split(", ");
            let (name, capability, driver) = (fields.next()?, fields.next()?, fields.next()?);
            Some(format!("{name}, compute capability {capability}, driver {driver}"))
        };
        let gpus: Vec<String> = lines.lines().filter_map(describe).collect();
        (!gpus.is_empty()).then(|| gpus.join("; "))
    };
    of_command(&mut command, describe, "install NVIDIA's driver on a machine with an NVIDIA GPU and Linux or Windows")
}

fn vulkan() -> State {
    if cfg!(windows) {
        return State::Found("not needed: shaders run by Direct3D 12".to_owned());
    }
    if cfg!(target_os = "macos") {
        return State::Found("not needed: shaders run by Metal".to_owned());
    }
    let describe = |summary: &str| {
        let names = summary.lines().filter_map(|line| line.trim().strip_prefix("deviceName"));
        let names: Vec<&str> = names.map(|name| name.trim_start_matches([' ', '=']).trim()).collect();
        (!names.is_empty()).then(|| names.join("; "))
    };
    let fix = "on Debian or Ubuntu run: apt-get install mesa-vulkan-drivers vulkan-tools";
    let devices = of_command(Command::new("vulkaninfo").arg("--summary"), describe, fix);
    // The tool itself is not needed: the loader finds the drivers through these files.
    let folders = ["/usr/share", "/usr/local/share", "/etc"].map(|folder| PathBuf::from(folder).join("vulkan/icd.d"));
    let drivers = vulkan_drivers(&folders);
    match devices {
        State::Missing { .. } if !drivers.is_empty() => {
            State::Found(format!("drivers {}; vulkaninfo, of vulkan-tools, names their devices", drivers.join(", ")))
        }
        devices => devices,
    }
}

/// The names of the Vulkan drivers with a manifest in one of the folders, sorted.
fn vulkan_drivers(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let manifests = entries.filter_map(Result::ok).map(|entry| entry.path());
    let manifests = manifests.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let names = manifests.filter_map(|path| Some(path.file_stem()?.to_string_lossy().split('_').next()?.to_owned()));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

fn mpi() -> State {
    match (Universe::available(), mpiexec()) {
        (Ok((library, version)), Some(mpiexec)) => State::Found(format!("{version}: {library}, {}", mpiexec.display())),
        (Ok((library, _)), None) => missing(&format!("{library} is there, but no mpiexec"), mpi_driver::INSTALL),
        (Err(Unavailable::NoLibrary { reason }), _) => {
            missing(&format!("no MPI library ({reason})"), mpi_driver::INSTALL)
        }
        (Err(Unavailable::NamedLibrary { library, reason }), _) => missing(
            &format!("MPI_LIBRARY names {library}, which cannot be used ({reason})"),
            "unset MPI_LIBRARY to use an MPI that is installed, or name the library of one",
        ),
        (Err(reason), _) => missing(&reason.to_string(), mpi_driver::INSTALL),
    }
}

fn numpy() -> State {
    let python = command_line::python();
    let mut command = Command::new(&python);
    command.args(["-c", "import numpy; print(numpy.__version__)"]);
    let fix = format!("run: {} -m pip install numpy numba scipy opencv-python-headless", python.to_string_lossy());
    of_command(&mut command, |version| Some(version.trim().to_owned()), &fix)
}

/// The command's output as summarized by `describe`; missing if the command fails or `describe` returns `None`.
fn of_command(command: &mut Command, describe: impl Fn(&str) -> Option<String>, fix: &str) -> State {
    match stdout_of(command) {
        Ok(output) => match describe(&output) {
            Some(what) => State::Found(what),
            None => missing("nothing found", fix),
        },
        Err(error) => {
            let reason = match error.downcast_ref::<std::io::Error>() {
                Some(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                    format!("no {} on this machine", command.get_program().to_string_lossy())
                }
                _ => format!("{error:#}"),
            };
            missing(&reason, fix)
        }
    }
}

fn missing(reason: &str, fix: &str) -> State {
    State::Missing { reason: reason.to_owned(), fix: fix.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vulkan_drivers_are_found_by_their_manifests() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lvp_icd.x86_64.json", "radeon_icd.json", "readme.txt"] {
            std::fs::write(folder.path().join(name), "{}").unwrap();
        }
        let folders = [folder.path().join("missing"), folder.path().to_path_buf()];
        assert_eq!(vulkan_drivers(&folders), ["lvp", "radeon"]);
    }
}
