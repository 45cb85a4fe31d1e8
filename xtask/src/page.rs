//! Single-file pages, committed with a fingerprint of themselves and all their inputs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use command_line::{CHECK_FAILED, say};
use cuda_builder::Fingerprint;
use neural_net::files;

use crate::wasm::{PROFILE, TARGET};
use crate::workspace_root;

/// A page, `docs/NAME/index.html`, that `cargo xtask NAME` makes.
pub(crate) struct Page<'a> {
    pub(crate) name: &'a str,
    /// The folders that it is made from, in words.
    pub(crate) origin: &'a str,
    /// Compiler flags of its module.
    pub(crate) flags: &'a [&'a str],
    /// The files and folders it is made from, below the workspace's root.
    pub(crate) inputs: &'a [&'a str],
}

impl Page<'_> {
    /// Reports whether the committed page matches its inputs.
    ///
    /// # Errors
    /// If it or an input cannot be read.
    pub(crate) fn check(&self) -> Result<ExitCode> {
        let page = read(&self.path())?;
        let body = page.splitn(3, '\n').nth(2).unwrap_or_default();
        let (is_fresh, name) = (page == self.with_fingerprint(body)?, self.name);
        match is_fresh {
            true => say!("[+] docs/{name}/index.html matches its sources"),
            false => say!("[-] docs/{name}/index.html is stale or edited: run cargo xtask {name}"),
        }
        Ok(if is_fresh { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
    }

    /// Writes the page, which includes its fingerprint.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, page: &str) -> Result<()> {
        let path = self.path();
        files::write_atomically(&path, page.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    }

    fn path(&self) -> PathBuf {
        workspace_root().join(format!("docs/{}/index.html", self.name))
    }

    /// The page: two lines, the second with the fingerprint, and then the body.
    ///
    /// # Errors
    /// If an input cannot be read.
    pub(crate) fn with_fingerprint(&self, body: &str) -> Result<String> {
        let Self { name, origin, flags, inputs } = self;
        let inputs: Vec<PathBuf> = inputs.iter().map(|input| workspace_root().join(input)).collect();
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let settings = format!("{TARGET} {flags:?} {PROFILE:?}");
        let fingerprint = Fingerprint::of(&[("settings", &settings), ("body", body)], &inputs)?;
        let origin = format!("Do not edit: `cargo xtask {name}` makes this page from {origin}. {fingerprint}");
        Ok(format!("<!doctype html>\n<!-- {origin} -->\n{body}"))
    }
}

/// Reads a text file with line feeds as line endings.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.replace("\r\n", "\n"))
}
