//! `cargo xtask draw`: builds the page `docs/draw/index.html`, or checks that it is fresh.
//!
//! The page is one file: the template in `neural-net/draw/page`, with the crate `draw` compiled to WebAssembly by the
//! toolchain that compiles PTX. It is committed with a fingerprint of itself, the crate and the compiler flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use command_line::CHECK_FAILED;
use command_line::say;
use cuda_builder::{Arch, Fingerprint, find_toolchain, toolchain_candidates};
use neural_net::data::convention::Convention;
use neural_net::model_file::Model;
use neural_net::preset::Preset;
use neural_net::{files, model_file};

use crate::capture::stdout_of;
use crate::workspace_root;

const TARGET: &str = "wasm32-unknown-unknown";
/// Compiler flags: a panic is a trap, and nothing in the module depends on the machine that compiles it.
const FLAGS: [&str; 4] = ["-Zunstable-options", "-Cpanic=immediate-abort", "-Zlocation-detail=none", "-Cstrip=symbols"];
/// Environment variables that set the cargo profile.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "true"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
];

/// Options of `cargo xtask draw`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change nothing; exit with 1 if the page does not match its sources. Needs no toolchain
    #[arg(long, conflicts_with = "model")]
    check: bool,
    /// A network with the homework's layers, saved by neural-net --save, that replaces the page's
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
}

/// Rewrites the page, or checks it.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let path = workspace_root().join("docs/draw/index.html");
    if options.check {
        let page = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let page = page.replace("\r\n", "\n");
        let body = page.splitn(3, '\n').nth(2).unwrap_or_default();
        let is_fresh = page == with_fingerprint(body)?;
        match is_fresh {
            true => say!("[+] docs/draw/index.html matches its sources"),
            false => say!("[-] docs/draw/index.html is stale or edited: run cargo xtask draw"),
        }
        return Ok(if is_fresh { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) });
    }
    if let Some(model) = &options.model {
        write_parameters(model)?;
    }
    let module = compile()?;
    let page = with_fingerprint(&template()?.replace("{{WASM}}", &BASE64_STANDARD.encode(&module)))?;
    files::write_atomically(&path, page.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    say!("[*] docs/draw/index.html: {} bytes, with a module of {} bytes", page.len(), module.len());
    Ok(ExitCode::SUCCESS)
}

fn folder() -> PathBuf {
    workspace_root().join("neural-net/draw")
}

fn template() -> Result<String> {
    let path = folder().join("page/index.html");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.replace("\r\n", "\n"))
}

/// The page: two lines, the second with the fingerprint, and the body.
fn with_fingerprint(body: &str) -> Result<String> {
    let folder = folder();
    let inputs = ["Cargo.toml", "page", "src"].map(|name| folder.join(name));
    let settings = format!("{TARGET} {FLAGS:?} {PROFILE:?}");
    let fingerprint =
        Fingerprint::of(&[("settings", &settings), ("body", body)], &inputs.each_ref().map(PathBuf::as_path))?;
    let origin = format!("Do not edit: `cargo xtask draw` makes this page from neural-net/draw. {fingerprint}");
    Ok(format!("<!doctype html>\n<!-- {origin} -->\n{body}"))
}

/// Quantises a saved network into the crate's parameters.
fn write_parameters(model: &Path) -> Result<()> {
    let Model { network, convention, .. } = model_file::load(model)?;
    ensure!(
        convention == Convention::default(),
        "{}: the page needs a network trained on images like MNIST's, and these were {convention}",
        model.display()
    );
    ensure!(
        *network.architecture() == Preset::Homework.architecture()?,
        "{}: the page needs the homework's network, 784-128-64-10 with sigmoid units",
        model.display()
    );
    let layers = network.weights().iter().zip(network.biases());
    let layers = layers.map(|(weights, biases)| {
        let weights: Vec<f32> = weights.iter().copied().collect();
        draw::quantised::encode(&weights, &biases.to_vec())
    });
    let path = folder().join("src/parameters.bin");
    files::write_atomically(&path, &layers.collect::<Vec<_>>().concat())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The crate as a WebAssembly module.
fn compile() -> Result<Vec<u8>> {
    let toolchain = find_toolchain(&toolchain_candidates(), Arch::Sm75, workspace_root()).map_err(|rejected| {
        let reasons: Vec<String> = rejected.iter().map(ToString::to_string).collect();
        anyhow!("no toolchain for WebAssembly: {}; cargo xtask doctor names a fix", reasons.join("; "))
    })?;
    let target_directory = workspace_root().join("target/wasm");
    let mut cargo = toolchain.cargo_command();
    cargo
        .current_dir(folder())
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?)
        .envs(PROFILE)
        .args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "cdylib", "--locked"])
        .args(["--target", TARGET, "-Zbuild-std=core", "--target-dir"])
        .arg(&target_directory);
    let output = cargo.output().with_context(|| format!("cannot start {}", toolchain.cargo.display()))?;
    ensure!(
        output.status.success(),
        "{} does not compile the page's module:\n{}",
        toolchain.compiler,
        String::from_utf8_lossy(&output.stderr)
    );
    let path = target_directory.join(TARGET).join("release/draw.wasm");
    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The linker that the workspace's toolchain contains, since a system's compiler may have none for WebAssembly; else
/// LLVM's, which Debian's package lld installs.
fn linker() -> Result<PathBuf> {
    let libraries = stdout_of(Command::new("rustc").args(["--print", "target-libdir"]).current_dir(workspace_root()))?;
    let own = Path::new(libraries.trim_end()).with_file_name("bin");
    let own = own.join(format!("rust-lld{}", std::env::consts::EXE_SUFFIX));
    Ok(if own.is_file() { own } else { "wasm-ld".into() })
}
