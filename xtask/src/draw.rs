//! `cargo xtask draw`: builds the page `docs/draw/index.html`, or checks that it is fresh.
//!
//! The page is one file: the template in `neural-net/draw/page`, with the crate `draw` compiled to WebAssembly by the
//! toolchain that compiles PTX. It is committed with a fingerprint of itself, the crate and the compiler flags.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use command_line::say;
use neural_net::data::convention::Convention;
use neural_net::model_file::Model;
use neural_net::preset::Preset;
use neural_net::{files, model_file};

use crate::page::{self, Page};
use crate::{wasm, workspace_root};

/// Compiler flags: a panic is a trap, and nothing in the module depends on the machine that compiles it.
const FLAGS: [&str; 4] = ["-Zunstable-options", "-Cpanic=immediate-abort", "-Zlocation-detail=none", "-Cstrip=symbols"];

/// The page, and what it is made of.
const PAGE: Page<'_> = Page {
    name: "draw",
    origin: "neural-net/draw",
    flags: &FLAGS,
    inputs: &["neural-net/draw/Cargo.toml", "neural-net/draw/page", "neural-net/draw/src"],
};

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
    if options.check {
        return PAGE.check();
    }
    if let Some(model) = &options.model {
        write_parameters(model)?;
    }
    let module = wasm::compile(&folder(), "draw", &FLAGS, "core")?;
    let page = PAGE.with_fingerprint(&template()?.replace("{{WASM}}", &BASE64_STANDARD.encode(&module)))?;
    PAGE.write(&page)?;
    say!("[*] docs/draw/index.html: {} bytes, with a module of {} bytes", page.len(), module.len());
    Ok(ExitCode::SUCCESS)
}

fn folder() -> PathBuf {
    workspace_root().join("neural-net/draw")
}

fn template() -> Result<String> {
    page::read(&folder().join("page/index.html"))
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
