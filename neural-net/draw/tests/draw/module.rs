//! In Node, the committed page's WebAssembly module predicts like the CPU's predictor and otherwise
//! behaves like the crate.

use std::path::Path;

use draw::drawing::PIXELS;
use draw::network::{Network, Weights};
use draw::reading;
use serde::Deserialize;

use crate::{Answer, builtin_digits, mnist, node, require_all_same};

/// What the script prints for an image.
#[derive(Deserialize)]
struct Printed {
    #[serde(flatten)]
    answer: Answer,
    nearest: usize,
    distance: f32,
    verdict: usize,
    /// The outputs after a training step towards 9 minus the predicted digit.
    stepped: Vec<f32>,
}

/// The committed page.
pub(crate) fn page() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/draw/index.html"))
}

/// Runs a script of this folder in Node and returns its output. Without Node, the calling test is
/// skipped.
#[track_caller]
pub(crate) fn run_in_node(script: &str, arguments: &[&Path], input: &[u8]) -> Option<String> {
    node::run_in_node(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/draw").join(script), arguments, input)
}

#[track_caller]
fn printed(images: &[u8]) -> Option<Vec<Printed>> {
    let output = run_in_node("module.mjs", &[page()], images)?;
    Some(serde_json::from_str(&output).unwrap())
}

fn answers(printed: Vec<Printed>) -> Vec<Answer> {
    printed.into_iter().map(|printed| printed.answer).collect()
}

#[test]
fn builtin_digits_are_read_as_by_the_predictor() {
    let (images, labels) = builtin_digits();
    let Some(printed) = printed(&images) else { return };
    require_all_same(&images, &labels, &answers(printed));
}

#[test]
fn mnist_is_read_as_by_the_predictor() {
    let Some((images, labels)) = mnist() else { return };
    let Some(printed) = printed(&images) else { return };
    let right = require_all_same(&images, &labels, &answers(printed));
    assert!((9_500..9_950).contains(&right), "{right} of 10,000 are right");
}

#[test]
fn distances_verdicts_and_steps_are_the_crates() {
    let (images, _) = builtin_digits();
    let Some(printed) = printed(&images) else { return };
    let mut network = Network::new(Weights::Trained);
    for (image, printed) in images.as_chunks::<PIXELS>().0.iter().zip(printed) {
        let (activations, nearest) = (network.predict(image), reading::nearest(image));
        assert_eq!((printed.nearest, printed.distance), (nearest.digit, nearest.distance));
        assert_eq!(printed.verdict, reading::verdict(&activations, &nearest) as usize);
        network.step(image, 9 - activations.digit());
        let stepped = network.predict(image).outputs;
        assert_ne!(stepped, activations.outputs);
        assert!(stepped.iter().zip(printed.stepped).all(|(one, other)| (one - other).abs() < 1e-5));
        network.load(Weights::Trained);
    }
}
