//! Compiles a student's kernel to PTX. The kernel's file, and the files it uses, go into a separate
//! crate, since the student's crate is built for the host.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use cuda_builder::{Arch, BuilderError, CudaBuilder};
use cuda_std::PtxVariant;

use crate::Kernel;

const LIBRARY: &str =
    "#![no_std]\n#![cfg(target_arch = \"nvptx64\")]\n#![feature(abi_ptx, asm_experimental_arch)]\n#![allow(unused)]\n";

/// Compiles a kernel of the workspace at `root`.
///
/// # Errors
/// If the kernel is not yet written, no toolchain compiles PTX, or the kernel does not compile.
pub(crate) fn compile(root: &Path, kernel: &Kernel) -> Result<PtxVariant> {
    let workspace = root.join("target/kernels");
    let folder = workspace.join(kernel.package);
    let modules = modules(&root.join(kernel.package).join("src"), kernel)?;
    let sources = folder.join("src");
    if sources.exists() {
        std::fs::remove_dir_all(&sources).with_context(|| format!("cannot remove {}", sources.display()))?;
    }
    let library: String = modules.keys().map(|module| format!("pub mod {module};\n")).collect();
    write(&sources.join("lib.rs"), &format!("{LIBRARY}{library}"))?;
    for (module, text) in &modules {
        write(&sources.join(format!("{module}.rs")), text)?;
    }
    write(&folder.join("Cargo.toml"), &manifest(&read(&root.join("Cargo.toml"))?, kernel.package)?)?;
    // The crate is in its own workspace: the compiler's file names then begin with the package's
    // name, and differ from the names of dependencies' files.
    write(
        &workspace.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = [\"{}\"]\n", kernel.package),
    )?;
    lock(root, &workspace)?;
    eprintln!("compiling {} to PTX …", kernel.name);
    let builder = CudaBuilder::new(&folder).arch(Arch::Sm75).ptx_version(7, 0);
    let rebuilt = builder.target_dir(workspace.join("nvptx")).rebuild().map_err(|error| match error {
        BuilderError::NoToolchain { .. } => anyhow::anyhow!(
            "no toolchain on this machine compiles kernels to PTX: run `rustup component add rust-src`, or step through the simulator \
             by rust-gdb, as README.md says ({})",
            error.to_string().replace('\n', "; ")
        ),
        error => error.into(),
    })?;
    let file = folder.join(format!("{}.ptx", kernel.package));
    rebuilt.write_to(&file)?;
    let names = file.with_extension("debug").to_str().map(str::to_owned);
    let (text, names) = (rebuilt.text().leak(), names.context("the workspace's path is not UTF-8")?.leak());
    // SAFETY: only the interpreter runs the PTX, and it checks each access.
    #[allow(unsafe_code, reason = "as in grader: PTX that was compiled now has no other way to a device")]
    let variant = unsafe { PtxVariant::new((7, 5), text) };
    Ok(variant.with_debug_file(names))
}

/// Locks the dependencies of the workspace in `folder` to the versions that the workspace at `root`
/// uses, which are already on this machine.
fn lock(root: &Path, folder: &Path) -> Result<()> {
    write(&folder.join("Cargo.lock"), &read(&root.join("Cargo.lock"))?)?;
    // Drops packages that the kernels do not depend on: the compilation uses the file as it is.
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo).args(["metadata", "--format-version=1", "--offline"]).current_dir(folder).output();
    let output = output.context("cannot start cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(())
}

/// The kernel's file and the files it uses through `crate::FILE` or `super::FILE`, by their names
/// without `.rs`.
fn modules(sources: &Path, kernel: &Kernel) -> Result<BTreeMap<String, String>> {
    let (mut modules, mut next) = (BTreeMap::new(), vec![kernel.module.to_owned()]);
    while let Some(module) = next.pop() {
        let file = sources.join(format!("{module}.rs"));
        if modules.contains_key(&module) || !file.exists() && module != kernel.module {
            continue;
        }
        let text = read(&file)?;
        if let Some((_, rest)) = text.split_once("not_written!(\"") {
            bail!("not written yet: {}", rest.split('"').next().unwrap_or_default());
        }
        next.extend(used(&text));
        modules.insert(module, text);
    }
    Ok(modules)
}

/// Names after `crate::` and `super::`, including names in braces.
fn used(text: &str) -> Vec<String> {
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut names = Vec::new();
    for path in ["crate::", "super::"] {
        for rest in text.split(path).skip(1) {
            let all = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
                None => vec![rest],
            };
            names
                .extend(all.into_iter().map(|name| name.trim_start().chars().take_while(|c| is_of_name(*c)).collect()));
        }
    }
    names
}

/// Manifest of the kernels' crate, which is three folders below the workspace. It has the
/// workspace's dependency on `cuda_std`.
fn manifest(workspace: &str, package: &str) -> Result<String> {
    let dependency = workspace.lines().find(|line| line.starts_with("cuda_std = "));
    let dependency = dependency.context("Cargo.toml: there is no line `cuda_std = …` in [workspace.dependencies]")?;
    let is_in_workspace = |path: &str| Path::new(path).is_relative();
    let dependency = match dependency.split_once("path = \"") {
        Some((before, path)) if is_in_workspace(path) => format!("{before}path = \"../../../{path}"),
        _ => dependency.to_owned(),
    };
    Ok(format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n\
         [lib]\ntest = false\ndoctest = false\n"
    ))
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().with_context(|| format!("{} is in no folder", file.display()))?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_comes_with_the_files_that_it_uses() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("kernel.rs", "use crate::{tile::side, rows};\nfn f() { super::rows::g() }"),
            ("tile.rs", "use cuda_std::thread;"),
            ("rows.rs", "use crate::tile::side; use crate::max_kernel;"),
            ("parallel.rs", "use rayon::prelude::*;"),
            ("unwritten.rs", "use crate::later;"),
            ("later.rs", "teaching_tests::not_written!(\"later\");"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let kernel = |module| Kernel { name: "k", package: "p", module, launch: "", run: |_| Ok(()) };
        let found = modules(folder.path(), &kernel("kernel")).unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["kernel", "rows", "tile"]);
        let error = modules(folder.path(), &kernel("unwritten")).unwrap_err();
        assert_eq!(error.to_string(), "not written yet: later");
        assert!(modules(folder.path(), &kernel("missing")).unwrap_err().to_string().starts_with("cannot read "));
    }

    #[test]
    fn the_crate_of_kernels_depends_on_the_workspaces_cuda_std() {
        let absolute = std::env::temp_dir().display().to_string().replace('\\', "/");
        for (path, expected) in [("vendor/cuda_std", "../../../vendor/cuda_std"), (&absolute, &*absolute)] {
            let workspace = format!("[workspace.dependencies]\ncuda_std = {{ path = \"{path}\" }}\n");
            let text = manifest(&workspace, "max_functions").unwrap();
            assert!(text.contains(&format!("\n[dependencies]\ncuda_std = {{ path = \"{expected}\" }}\n")), "{text}");
        }
        assert!(manifest("[workspace]\n", "max_functions").is_err());
    }
}
