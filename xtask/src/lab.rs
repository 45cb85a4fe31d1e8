//! `cargo xtask lab`: builds the kernel lab, `docs/lab/index.html`, or checks that it is fresh.
//!
//! The page is one file: the template in `learn/lab`, with the crate `rust-cuda/lab` compiled to WebAssembly, and the
//! puzzles of `learn`, their sources, data and expected results. It is committed with a fingerprint of itself and of all of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use command_line::say;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use learn::host::puzzles::{PUZZLES, Puzzle};
use serde_json::{Value, json};

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
        ("{{own-html}}", own, "own.html"),
        ("{{worker}}", own, "worker.js"),
        ("{{base}}", views, "base.js"),
        ("{{texts}}", own, "texts.js"),
        ("{{book}}", own, "book.js"),
        ("{{engine}}", own, "engine.js"),
        ("{{editor}}", own, "editor.js"),
        ("{{picture}}", own, "picture.js"),
        ("{{page}}", own, "page.js"),
        ("{{own}}", own, "own.js"),
        ("{{begin}}", own, "begin.js"),
    ] {
        page = page.replace(placeholder, part(folder, name)?.trim_end());
    }
    Ok(page.replace("{{module}}", &packed(module)?).replace("{{kernels}}", &packed(puzzles()?.as_bytes())?))
}

/// The puzzles: sources, launches with data and results, why each can go wrong, and the same kernels in other languages.
fn puzzles() -> Result<String> {
    let root = workspace_root();
    let mut sources = BTreeMap::new();
    for name in ["learn/src/puzzles.rs", "learn/src/bugs.rs"] {
        sources.insert(name, read(&root.join(name))?);
    }
    let mut forms = BTreeMap::new();
    for puzzle in PUZZLES {
        let form = |extension: &str| read(&root.join(format!("learn/lab/forms/{}.{extension}", puzzle.kernel.name)));
        forms.insert(puzzle.kernel.name, json!({ "cuda": form("cu")?, "numba": form("py")? }));
    }
    let why = read(&root.join("learn/lab/why.json"))?;
    let why: Value = serde_json::from_str(&why).context("learn/lab/why.json")?;
    let puzzles = PUZZLES.iter().map(puzzle_fields).collect::<Result<Vec<_>>>()?;
    Ok(json!({ "sources": sources, "puzzles": puzzles, "why": why, "forms": forms }).to_string())
}

fn puzzle_fields(puzzle: &Puzzle) -> Result<Value> {
    let bugs = puzzle.bugs.iter().map(|bug| json!({ "name": bug.kernel.name, "kind": bug.kind }));
    let cases = puzzle.sizes.iter().map(|&size| Ok(serde_json::from_str(&(puzzle.case)(size).to_string())?));
    let cases = cases.collect::<Result<Vec<Value>>>()?;
    Ok(json!({ "name": puzzle.kernel.name, "bugs": bugs.collect::<Vec<_>>(), "cases": cases }))
}

/// Bytes compressed by zlib, in base64.
fn packed(bytes: &[u8]) -> Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(encoder.finish()?))
}
