//! Makes the folder that is copied to the machine with the GPU.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use command_line::say;
use sha2::{Digest, Sha256};

use super::plan::{EXECUTABLES, SWEEP, TESTS, Test};
use super::results::Made;
use super::{mnist, python};
use crate::capture::stdout_of;
use crate::cargo::{Executables, build_executables};
use crate::workspace::Workspace;
use crate::{workspace_root, zipped};

/// The file in the folder that records its inputs. The results repeat it.
const MADE: &str = "made.json";

/// The program that runs the checks, which is this one.
const RUNNER: &str = "xtask";

/// Maximum size in bytes of the packed folder for Linux.
const MAX_PACKED: u64 = 27 << 20;

/// Maximum size in bytes of everything sent to a borrowed machine, and the room to leave within it.
#[cfg(test)]
const MAX_SENT: u64 = 64 << 20;
#[cfg(test)]
const ROOM: u64 = 1 << 18;

const SCRIPT: &str = "#!/bin/sh
# Checks and times the kernels on this machine's GPU. Writes gpu-check.json and gpu-check.log to this folder, and to the
# one that the variable OUT names. sh run.sh --within 480 stops after 480 seconds and lists the items left;
# sh run.sh --resume runs them.
cd \"$(dirname \"$0\")\" && exec ./xtask gpu-check --run \"$@\"
";

/// A file for the command interpreter: Windows starts PowerShell scripts only if the user has allowed it.
const WINDOWS_SCRIPT: &str = "@echo off\r
rem Checks and times the kernels on this machine's GPU. Writes gpu-check.json and gpu-check.log to this folder, and to\r
rem the one that the variable OUT names. .\\run.cmd --within 480 stops after 480 seconds and lists the items left;\r
rem .\\run.cmd --resume runs them.\r
cd /d \"%~dp0\"\r
.\\xtask.exe gpu-check --run %*\r
";

/// Where to make the folder.
pub(super) fn path() -> PathBuf {
    workspace_root().join("target/gpu-check")
}

/// The system that the folder is made for.
struct Host<'a> {
    /// Its name in rustc; `None` for this system.
    target: Option<&'a str>,
    is_windows: bool,
}

impl<'a> Host<'a> {
    fn of(target: Option<&'a str>) -> Self {
        Self { target, is_windows: target.map_or(cfg!(windows), |target| target.contains("windows")) }
    }

    /// Builds executables for the system.
    fn build(&self, workspace: Workspace, arguments: &[&str]) -> Result<Executables> {
        let target: Vec<&str> = self.target.into_iter().flat_map(|target| ["--target", target]).collect();
        build_executables(workspace, &[arguments, &target].concat())
    }

    fn file_name(&self, program: &str) -> String {
        format!("{program}{}", if self.is_windows { ".exe" } else { "" })
    }

    fn script(&self) -> (&'static str, &'static str) {
        if self.is_windows { ("run.cmd", WINDOWS_SCRIPT) } else { ("run.sh", SCRIPT) }
    }

    /// The command that runs the script in the folder.
    fn command(&self) -> &'static str {
        if self.is_windows { ".\\run.cmd" } else { "sh run.sh" }
    }
}

/// Builds the tests and programs into target/gpu-check, and packs them into target/gpu-check.tar.xz
/// (target/gpu-check.zip for Windows).
///
/// # Errors
/// If one does not build, the tests do not have the names that the plan selects, or the packed
/// folder is too large.
pub(super) fn make(target: Option<&str>) -> Result<()> {
    let host = Host::of(target);
    let folder = path();
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // One build with the features of the whole workspace, which its tests also have: nothing is
    // compiled twice.
    for workspace in [Workspace::Homework, Workspace::Toolchain] {
        let tests = || TESTS.iter().filter(|test| test.workspace == workspace);
        let programs: Vec<&str> = tests().flat_map(|test| ["--test", test.program]).collect();
        let arguments = [&["test", "--no-run", "--workspace"], &programs[..]].concat();
        let built = host.build(workspace, &arguments)?;
        for test in tests() {
            let executable = built.get(test.package, test.program)?;
            // Another system's tests do not run here, but they have the same names.
            if target.is_none() {
                check_names(test, executable)?;
            }
            copy(executable, &folder.join(host.file_name(&test.executable())))?;
        }
    }
    let programs: Vec<&str> = EXECUTABLES.iter().flat_map(|name| ["--bin", name]).collect();
    // Windows cannot replace the file of a running program.
    let runner: &[&str] = if target.is_some() { &["--bin", RUNNER] } else { &[] };
    let arguments = [&["build", "--workspace", "--example", SWEEP], &programs[..], runner].concat();
    let built = host.build(Workspace::Homework, &arguments)?;
    for name in EXECUTABLES {
        copy(built.get(name, name)?, &folder.join(host.file_name(name)))?;
    }
    let this = std::env::current_exe()?;
    copy(if target.is_some() { built.get(RUNNER, RUNNER)? } else { &this }, &folder.join(host.file_name(RUNNER)))?;
    copy(built.get("neural-net", SWEEP)?, &folder.join(host.file_name(SWEEP)))?;
    python::carry(&folder)?;
    let images = mnist::carry(&folder)?;
    let made = Made { commit: commit(), ptx: ptx(), images };
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
    };
    write(MADE, &serde_json::to_string_pretty(&made)?)?;
    let (script, text) = host.script();
    write(script, text)?;
    let packed = if host.is_windows {
        let packed = folder.with_extension("zip");
        zipped::zip(&folder, &packed)?;
        packed
    } else {
        pack(&folder)?
    };
    let bytes = std::fs::metadata(&packed)?.len();
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let command = host.command();
    say!("[*] {} holds the checks: copy it to a machine with an NVIDIA GPU and run: {command}", folder.display());
    say!("[*] {} is the same, packed, {:.1} MiB", packed.display(), mebibytes(bytes));
    ensure!(
        host.is_windows || bytes <= MAX_PACKED,
        "{} has {:.1} MiB; it must not exceed {:.0}",
        packed.display(),
        mebibytes(bytes),
        mebibytes(MAX_PACKED)
    );
    Ok(())
}

/// The total size of files that git tracks or does not ignore. A borrowed machine receives them
/// with the packed folder.
#[cfg(test)]
fn bytes_of_tree() -> Result<u64> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = stdout_of(Command::new("git").args(arguments).current_dir(workspace_root()))?;
    let files = listed.split('\0').filter(|file| !file.is_empty()).map(|file| workspace_root().join(file));
    Ok(files.filter_map(|file| Some(std::fs::symlink_metadata(file).ok()?.len())).sum())
}

/// Checks that the plan's filter selects tests of the program.
fn check_names(test: &Test, executable: &Path) -> Result<()> {
    let listed = stdout_of(Command::new(executable).args(test.arguments()).arg("--list"))?;
    let selected = listed.lines().filter(|line| line.ends_with(": test")).count();
    ensure!(selected > 0, "{}: no test has \"{}\" in its name", test.program, test.filter);
    Ok(())
}

/// Reads which inputs `folder` was made from.
///
/// # Errors
/// If its `made.json` is missing or invalid.
pub(super) fn made(folder: &Path) -> Result<Made> {
    let file = folder.join(MADE);
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}: make the folder with: cargo xtask gpu-check", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} does not say what the folder was made of", file.display()))
}

/// Packs the folder into a .tar.xz file next to it, and returns that file's path.
///
/// The compression window is larger than the folder. Each program contains the same PTX, and the
/// packed file needs it only once.
fn pack(folder: &Path) -> Result<PathBuf> {
    let (parent, name) = folder.parent().zip(folder.file_name()).context("the folder must have a parent and a name")?;
    let packed = folder.with_extension("tar.xz");
    let file = File::create(&packed).with_context(|| format!("cannot write {}", packed.display()))?;
    let start = |program: &str, arguments: &[&OsStr], from: Stdio, to: Stdio| {
        let mut command = Command::new(program);
        let child = command.args(arguments).stdin(from).stdout(to).spawn();
        child.with_context(|| format!("cannot start {program}, which packs the folder: install it"))
    };
    let arguments = [OsStr::new("-cf"), "-".as_ref(), "-C".as_ref(), parent.as_os_str(), name];
    let mut tar = start("tar", &arguments, Stdio::null(), Stdio::piped())?;
    let archive = tar.stdout.take().context("tar has an output")?;
    let mut xz = start("xz", &["--lzma2=preset=1,dict=192MiB".as_ref()], archive.into(), file.into())?;
    for (name, status) in [("tar", tar.wait()), ("xz", xz.wait())] {
        let status = status.with_context(|| format!("cannot wait for {name}"))?;
        ensure!(status.success(), "{name} could not pack {}: {status}", folder.display());
    }
    Ok(packed)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    // Without symbols, a file has less than a third of its size. If `strip` is missing, the file
    // stays as it is.
    let _ = Command::new("strip").arg(to).stderr(Stdio::null()).status();
    Ok(())
}

/// The commit of the working tree, or "unknown" outside a repository.
fn commit() -> String {
    let git = |arguments: &[&str]| stdout_of(Command::new("git").args(arguments).current_dir(workspace_root()));
    let Ok(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    let is_clean = git(&["status", "--porcelain"]).is_ok_and(|changes| changes.is_empty());
    format!("{}{}", commit.trim(), if is_clean { "" } else { "-dirty" })
}

/// The SHA-256 of each architecture's PTX of the workspace's kernels.
fn ptx() -> BTreeMap<String, String> {
    let entry = |ptx: &cuda_std::PtxVariant| {
        let (major, minor) = ptx.compute_capability();
        (format!("sm_{major}{minor}"), hex::encode(Sha256::digest(ptx.text())))
    };
    kernels_gpu::PTX.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_checks_folder_and_the_repository_fit_into_what_a_lent_machine_takes() {
        let tree = bytes_of_tree().unwrap();
        let mebibytes = |bytes: u64| bytes >> 20;
        assert!(tree > 10 << 20, "the repository has {} MiB: git lists less than it has", mebibytes(tree));
        assert!(
            tree + MAX_PACKED + ROOM <= MAX_SENT,
            "the repository has {} MiB, and gpu-check's folder {} at most, of {} with {} to spare",
            mebibytes(tree),
            mebibytes(MAX_PACKED),
            mebibytes(MAX_SENT),
            mebibytes(ROOM)
        );
    }
}
