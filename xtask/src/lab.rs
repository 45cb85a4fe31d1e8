//! `cargo xtask lab`: builds the laboratory, `docs/lab/index.html`, or checks that it is fresh.
//!
//! The page is one file: the template in `learn/lab`, with the crate `rust-cuda/lab` compiled to WebAssembly, and the
//! sources and the PTX of the kernels of `learn`. It is committed with a fingerprint of itself and of all of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use command_line::say;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use crate::page::{Page, read};
use crate::{wasm, workspace_root};

/// Compiler flags: a panic is a trap, nothing in the module depends on the machine that compiles it, and lanes are
/// vectors. The parser of PTX is recursive, and needs a larger stack than the target has.
const FLAGS: [&str; 6] = [
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Zlocation-detail=none",
    "-Cstrip=symbols",
    "-Ctarget-feature=+simd128",
    "-Clink-arg=-zstack-size=8388608",
];
/// Maximum size of the page in bytes.
const MAX_BYTES: usize = 1_800_000;
/// The page, and what it is made of.
const PAGE: Page<'_> = Page {
    name: "lab",
    origin: "learn/lab and rust-cuda/lab",
    flags: &FLAGS,
    inputs: &[
        "learn/lab",
        "learn/ptx",
        "learn/src",
        "rust-cuda/cuda_launch/Cargo.toml",
        "rust-cuda/cuda_launch/src",
        "rust-cuda/kernel-check/Cargo.toml",
        "rust-cuda/kernel-check/src",
        "rust-cuda/kernel-debugger/Cargo.toml",
        "rust-cuda/kernel-debugger/src",
        "rust-cuda/kernel-launch/Cargo.toml",
        "rust-cuda/kernel-launch/src",
        "rust-cuda/kernel-language/Cargo.toml",
        "rust-cuda/kernel-language/src",
        "rust-cuda/lab/Cargo.toml",
        "rust-cuda/lab/src",
        "rust-cuda/ptx-interpreter/Cargo.toml",
        "rust-cuda/ptx-interpreter/src",
        "rust-cuda/Cargo.toml",
        "xtask/src/lab.rs",
    ],
};

/// Options of `cargo xtask lab`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change nothing; exit with 1 if the page does not match its sources. Needs no toolchain
    #[arg(long)]
    check: bool,
}

/// Builds the page, or checks it.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.check {
        return PAGE.check();
    }
    let module = wasm::compile(&workspace_root().join("rust-cuda/lab"), "lab", &FLAGS, "std,panic_abort")?;
    let page = PAGE.with_fingerprint(&body(&module)?)?;
    ensure!(page.len() <= MAX_BYTES, "the page has {} bytes, more than {MAX_BYTES}", page.len());
    PAGE.write(&page)?;
    say!("[*] docs/lab/index.html: {} bytes, with a module of {} bytes", page.len(), module.len());
    Ok(ExitCode::SUCCESS)
}

/// The template with its parts, of which it shares some with the recorded page. Text in base64 is inserted last: it cannot contain a placeholder.
fn body(module: &[u8]) -> Result<String> {
    let (own, views) = ("learn/lab", "rust-cuda/kernel-debugger/src/record/views");
    let part = |folder: &str, name: &str| read(&workspace_root().join(folder).join(name));
    let mut page = part(own, "index.html")?;
    for (placeholder, folder, name) in [
        ("{{base-style}}", views, "base.css"),
        ("{{style}}", own, "style.css"),
        ("{{own-style}}", own, "own.css"),
        ("{{worker}}", own, "worker.js"),
        ("{{base}}", views, "base.js"),
        ("{{lessons}}", own, "lessons.js"),
        ("{{engine}}", own, "engine.js"),
        ("{{page}}", own, "page.js"),
        ("{{own-html}}", own, "own.html"),
        ("{{own}}", own, "own.js"),
        ("{{begin}}", own, "begin.js"),
    ] {
        page = page.replace(placeholder, part(folder, name)?.trim_end());
    }
    Ok(page.replace("{{module}}", &packed(module)?).replace("{{kernels}}", &packed(kernels()?.as_bytes())?))
}

/// The PTX of `learn`, the names beside it and the sources, by the names that the PTX gives them.
fn kernels() -> Result<String> {
    let root = workspace_root();
    let mut sources = BTreeMap::new();
    let folder = root.join("learn/src");
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            sources.insert(format!("learn/src/{name}"), read(&path)?);
        }
    }
    let compiled = |extension: &str| read(&root.join("learn/ptx").join(format!("learn.sm_75.{extension}")));
    Ok(json!({ "ptx": compiled("ptx")?, "names": compiled("debug")?, "sources": sources }).to_string())
}

/// Bytes compressed by zlib, in base64.
fn packed(bytes: &[u8]) -> Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(encoder.finish()?))
}
