//! Starts the separate program that downloads MNIST. A first build then compiles no TLS library.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The workspace in which this program was built.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");

/// Downloads MNIST's four files to the directory. The other program prints its progress and any error.
pub(super) fn download(directory: &Path, mirrors: &[String]) -> Result<()> {
    let by_hand = format!("put MNIST's four files into {} by hand, and leave --download out", directory.display());
    if !Path::new(MANIFEST).is_file() {
        bail!("--download runs another program of the workspace, which is no longer at {MANIFEST}: {by_hand}");
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--manifest-path", MANIFEST, "--package", "mnist_download", "--"]);
    command.args(mirrors.iter().flat_map(|mirror| ["--mirror", mirror])).arg("--").arg(directory);
    let status = command.status().with_context(|| format!("cannot start cargo, which --download needs: {by_hand}"))?;
    if !status.success() {
        bail!("MNIST was not downloaded: see the line above, or {by_hand}");
    }
    Ok(())
}
