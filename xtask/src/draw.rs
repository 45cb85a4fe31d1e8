//! `cargo xtask draw`: builds the digit recognizer, `docs/draw/index.html`, or checks that it is up
//! to date.
//!
//! The page is one file: the template in `neural-net/draw/page`, with the crate `draw` compiled to
//! WebAssembly by the toolchain that compiles PTX. It is committed with a fingerprint of itself,
//! the crate and the compiler flags.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use command_line::say;
use draw::drawing::PIXELS;
use draw::prototypes;
use neural_net::data::convention::Convention;
use neural_net::data::{builtin_digits, idx};
use neural_net::model_file::Model;
use neural_net::preset::Preset;
use neural_net::{files, model_file};
use sha2::{Digest, Sha256};

use crate::page::{self, Page};
use crate::{wasm, workspace_root};

/// Compiler flags: a panic becomes a trap, and nothing in the module depends on the machine that
/// compiles it.
const FLAGS: [&str; 4] = ["-Zunstable-options", "-Cpanic=immediate-abort", "-Zlocation-detail=none", "-Cstrip=symbols"];

/// The page and its inputs.
const PAGE: Page<'_> = Page {
    name: "draw",
    origin: "neural-net/draw",
    flags: &FLAGS,
    inputs: &[
        "neural-net/digits/src/builtin_digits",
        "neural-net/digits/src/builtin_digits.rs",
        "neural-net/draw/Cargo.toml",
        "neural-net/draw/page",
        "neural-net/draw/src",
    ],
};
/// Number of images that the network trains on. The images after them are held out.
const TRAINING_IMAGES: usize = 50_000;

/// Options of `cargo xtask draw`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change nothing; exit with 1 if the page does not match its sources. Needs no toolchain
    #[arg(long, conflicts_with_all = ["model", "digits"])]
    check: bool,
    /// A network with the homework's layers, saved by neural-net --save, that replaces the page's
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// A folder with MNIST's files: averages of its training images replace those that the page compares drawings with
    #[arg(long, value_name = "DIR")]
    digits: Option<PathBuf>,
}

/// Rewrites the page, or checks it.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.check {
        return PAGE.check();
    }
    if let Some(model) = &options.model {
        write_parameters(model)?;
    }
    if let Some(digits) = &options.digits {
        write_prototypes(digits)?;
    }
    let module = wasm::compile(&folder(), "draw", &FLAGS, "core")?;
    let body = template()?.replace("{{EXAMPLES}}", &examples()?).replace("{{WASM}}", &BASE64_STANDARD.encode(&module));
    let body = body.replace("{{SCRIPT}}", &script_hash(&body)?);
    let page = PAGE.with_fingerprint(&body)?;
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

/// The SHA-256 of a page's only script, in the form of a Content-Security-Policy. The page's module is in another element, as text.
fn script_hash(page: &str) -> Result<String> {
    let scripts: Vec<&str> = page.split("<script>").skip(1).collect();
    let [script] = scripts[..] else { bail!("the page has {} scripts, and its policy allows one", scripts.len()) };
    let (script, _) = script.split_once("</script>").context("the page's script has no end")?;
    Ok(BASE64_STANDARD.encode(Sha256::digest(script)))
}

/// The page's examples as JSON: the first and the last shape of each built-in digit, in order. Each
/// is a list of strokes, and a stroke is the list x, y, x, y … of its points' coordinates in
/// hundredths.
fn examples() -> Result<String> {
    let hundredths = |stroke: &Vec<[f32; 2]>| -> Vec<i32> {
        stroke.as_flattened().iter().map(|coordinate| (coordinate * 100.0).round() as i32).collect()
    };
    let examples = (0..10).flat_map(|digit| {
        let shapes = builtin_digits::strokes(digit);
        [shapes.first(), shapes.last()].map(|shape| shape.into_iter().flatten().map(hundredths).collect::<Vec<_>>())
    });
    Ok(serde_json::to_string(&examples.collect::<Vec<_>>())?)
}

/// Quantizes a saved network into the crate's parameters.
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
    write("src/parameters.bin", &layers.collect::<Vec<_>>().concat())
}

/// Averages MNIST's training images into the crate's prototypes.
fn write_prototypes(directory: &Path) -> Result<()> {
    let images = idx::read_labelled_images(directory, "train")?;
    ensure!(images.len() > TRAINING_IMAGES, "{}: {} images are not MNIST's", directory.display(), images.len());
    let pixels: Vec<u8> = images.pixels.iter().copied().collect();
    let (training, held_out) = pixels.as_chunks::<PIXELS>().0.split_at(TRAINING_IMAGES);
    write("src/prototypes.bin", &prototypes::encode((training, &images.labels[..TRAINING_IMAGES]), held_out))
}

/// Writes a file of the crate.
fn write(name: &str, content: &[u8]) -> Result<()> {
    let path = folder().join(name);
    files::write_atomically(&path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_the_page_allows_its_script_and_no_other() {
        let page = page::read(&workspace_root().join("docs/draw/index.html")).unwrap();
        let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split('"').next().unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        let allowed = policy.split("; ").find_map(|rule| rule.strip_prefix("script-src ")).unwrap();
        assert_eq!(allowed, format!("'sha256-{}' 'wasm-unsafe-eval'", script_hash(&page).unwrap()));
        assert!(script_hash(&format!("{page}<script>alert(1)</script>")).is_err());
    }
}
