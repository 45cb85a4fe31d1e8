//! The folder that is copied to the machine with the GPU.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use timing::say;

use super::plan::{EXECUTABLES, SWEEP, TESTS};
use super::results::Made;
use super::{mnist, python};
use crate::capture::stdout_of;
use crate::cargo::build_executable;
use crate::workspace_root;

/// The file in the folder that says what it was made of; the results repeat it.
const MADE: &str = "made.json";

const SCRIPT: &str = "#!/bin/sh
# Checks and times the kernels on this machine's GPU. Writes gpu-check.json and gpu-check.log to this folder, and to the
# one that the variable OUT names. To run one phase: sh run.sh --only tests (or times, peers, sweep, sanitizer). A phase
# takes at most 9 minutes.
cd \"$(dirname \"$0\")\" && exec ./xtask gpu-check --run \"$@\"
";

/// Builds the tests and programs, and puts them into target/gpu-check and target/gpu-check.tar.gz.
pub(super) fn make() -> Result<ExitCode> {
    let folder = workspace_root().join("target/gpu-check");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for test in &TESTS {
        let executable = build(&["test", "--no-run", "--package", test.package, "--test", test.program], test.program)?;
        copy(&executable, &folder.join(test.executable()))?;
    }
    for name in EXECUTABLES {
        copy(&build(&["build", "--package", name, "--bin", name], name)?, &folder.join(name))?;
    }
    copy(&build(&["build", "--package", "neural-net", "--example", SWEEP], SWEEP)?, &folder.join(SWEEP))?;
    copy(&std::env::current_exe()?, &folder.join("xtask"))?;
    python::carry(&folder)?;
    let images = mnist::carry(&folder)?.to_owned();
    let made = Made { commit: commit(), ptx: ptx(), images };
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
    };
    write(MADE, &serde_json::to_string_pretty(&made)?)?;
    write("run.sh", SCRIPT)?;
    let packed = pack(&folder)?;
    let mebibytes = std::fs::metadata(&packed)?.len() as f64 / f64::from(1 << 20);
    say!("[*] {} holds the checks: copy it to a machine with an NVIDIA GPU and run: sh run.sh", folder.display());
    say!("[*] {} is the same, packed, {mebibytes:.1} MiB", packed.display());
    Ok(ExitCode::SUCCESS)
}

/// Reads what `folder` was made of.
///
/// # Errors
/// If its `made.json` is missing or invalid.
pub(super) fn made(folder: &Path) -> Result<Made> {
    let file = folder.join(MADE);
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}: make the folder with: cargo xtask gpu-check", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} does not say what the folder was made of", file.display()))
}

/// Packs the folder into a .tar.gz file beside it, and returns that file's path.
fn pack(folder: &Path) -> Result<PathBuf> {
    let (parent, name) = folder.parent().zip(folder.file_name()).context("the folder must have a parent and a name")?;
    let packed = folder.with_extension("tar.gz");
    let status = Command::new("tar").arg("-czf").arg(&packed).arg("-C").arg(parent).arg(name).status();
    let status = status.context("cannot start tar, which packs the folder")?;
    ensure!(status.success(), "tar could not pack {}: {status}", folder.display());
    Ok(packed)
}

/// Runs cargo and returns the executable of that name.
fn build(arguments: &[&str], name: &str) -> Result<PathBuf> {
    build_executable(arguments, name)?
        .with_context(|| format!("cargo {} built no executable {name}", arguments.join(" ")))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    // Without debug information a file has a third of its size. Where `strip` is missing, the file stays as it is.
    let _ = Command::new("strip").arg("--strip-debug").arg(to).stderr(Stdio::null()).status();
    Ok(())
}

/// The commit of the working tree, "unknown" outside a repository.
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
