//! In headless Chromium, the page recognizes digits drawn with a mouse, a pen and a finger, shows
//! patterns of units, and trains the network by steps.

use draw::network::{Network, Weights};
use draw::reading::{self, Verdict};
use serde::Deserialize;
use serde_json::json;

use crate::module::{page, run_in_node};
use crate::node::chromium;
use crate::strokes::hundred_digits;
use crate::training::reference_step;
use crate::{Answer, network_of, predictor, require_same};

/// What the page shows after a drawing.
#[derive(Deserialize)]
struct Shown {
    /// The text next to the field.
    text: String,
    /// The pixels that the network sees.
    image: Vec<u8>,
    outputs: Vec<f32>,
    /// The text after pressing Clear.
    cleared: String,
}

/// What the script prints.
#[derive(Deserialize)]
struct Report {
    /// The text before anything is drawn.
    text: String,
    shown: Vec<Shown>,
    /// The URLs that the page loaded, including itself.
    loaded: Vec<String>,
    /// Messages of uncaught errors.
    errors: Vec<String>,
    /// The rules by which an intruder's image, its handler, script and request are blocked, and what has run of them.
    blocked: Vec<String>,
}

#[test]
fn drawn_digits_are_read_as_by_the_predictor() {
    let Some(chromium) = chromium() else { return };
    let digits = hundred_digits();
    // A dot, and lines across the whole field.
    let scribble: Vec<[f64; 2]> = (0..40)
        .map(|line| [f64::from(line % 2), f64::from(line) / 40.0])
        .map(|[x, y]| [0.1 + 0.8 * x, 0.1 + 0.8 * y])
        .collect();
    let no_digits = [json!([[[0.5, 0.5]]]), json!([scribble])];
    let no_digits = no_digits.map(|strokes| json!({ "pointer": "mouse", "strokes": strokes }));
    let drawings: Vec<_> = digits
        .iter()
        .zip(["mouse", "pen", "touch"].into_iter().cycle())
        .map(|((_, strokes), pointer)| json!({ "pointer": pointer, "strokes": strokes }))
        .chain(no_digits)
        .collect();
    let input = serde_json::to_vec(&drawings).unwrap();
    let Some(output) = run_in_node("browser.mjs", &[&chromium, page()], &input) else { return };
    let report: Report = serde_json::from_str(&output).unwrap();
    assert_eq!((report.text.as_str(), report.errors), ("Nothing drawn", vec![]));
    assert!(report.loaded.len() == 1 && report.loaded[0].ends_with("/docs/draw/index.html"), "{:?}", report.loaded);
    assert_eq!(
        report.blocked,
        ["connect-src", "img-src", "script-src-attr", "script-src-elem", "nothing has run"],
        "the page's policy"
    );
    assert_eq!(report.shown.len(), digits.len() + 2);
    for shown in &report.shown[digits.len()..] {
        assert_eq!(shown.text, "This does not look like any digit");
    }
    let (mut predictor, mut right) = (predictor(), 0);
    for (shown, (drawn, _)) in report.shown.into_iter().zip(digits) {
        let (digit, text) = expected_answer(&Network::new(Weights::Trained), &shown.image);
        assert_eq!(shown.text, text);
        require_same(&mut predictor, &shown.image, &Answer { digit, outputs: shown.outputs });
        assert_eq!(shown.cleared, "Nothing drawn");
        right += usize::from(digit == drawn);
    }
    assert!(right >= 90, "{right} of 100 are right");
}

/// The digit that a network predicts for an image, and what the page says about it.
fn expected_answer(network: &Network, image: &[u8]) -> (usize, String) {
    let image = image.try_into().unwrap();
    let (activations, nearest) = (network.predict(image), reading::nearest(image));
    let digit = activations.digit();
    let text = match reading::verdict(&activations, &nearest) {
        Verdict::NoDigit => "This does not look like any digit".to_owned(),
        Verdict::NotSure if digit == nearest.digit => format!("Not sure, perhaps {digit}"),
        Verdict::NotSure => format!("Not sure, {digit} or {}", nearest.digit),
        Verdict::Digit => format!("Looks most like {digit}"),
    };
    (digit, text)
}

/// What the page shows of the network's units, and the element with the focus.
#[derive(Debug, Deserialize)]
struct Inside {
    answer: String,
    distance: String,
    taught: String,
    name: String,
    unit: String,
    focus: String,
    /// The smaller of the focused element's width and height in CSS pixels.
    side: f64,
    image: Vec<u8>,
    outputs: Vec<f32>,
    /// Opacities, 0 to 255; negative for the color of negative values.
    pattern: Vec<i32>,
    change: Vec<i32>,
}

/// What inside.mjs prints.
#[derive(Deserialize)]
struct InsideReport {
    examples: Vec<Inside>,
    steps: Vec<Inside>,
    undo: Inside,
    undone: Inside,
    units: Vec<Inside>,
    left: Inside,
    untrained: Inside,
    /// How many pixels the page is wider than the window, for a wide and two narrow windows.
    overflows: Vec<i32>,
    errors: Vec<String>,
}

/// Checks that a picture shows the values, with the largest one in full color.
fn require_picture(shown: &[i32], values: &[f32], what: &str) {
    let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    for (at, (&shown, value)) in shown.iter().zip(values).enumerate() {
        let expected = value / largest * 255.0;
        // The colors of faint pixels are rounded to none.
        let is_right_sign = expected.abs() < 16.0 || (shown < 0) == (expected < 0.0);
        let is_right = (shown.abs() as f32 - expected.abs()).abs() < 3.0 && is_right_sign;
        assert!(is_right, "{what}, pixel {at}: {shown}, expected {expected}");
    }
}

fn require_near(shown: &[f32], expected: &[f64], what: &str) {
    let gap = shown.iter().zip(expected).map(|(one, other)| (f64::from(*one) - other).abs()).fold(0.0, f64::max);
    assert!(gap < 1e-4, "{what}: {shown:?}, expected {expected:?}");
}

fn require_examples(examples: &[Inside]) {
    let network = Network::new(Weights::Trained);
    for (index, shown) in examples.iter().enumerate() {
        let (digit, text) = expected_answer(&network, &shown.image);
        assert_eq!(shown.answer, text);
        assert!(shown.side >= 24.0, "{} is {} pixels wide", shown.focus, shown.side);
        if index < 20 {
            assert_eq!(shown.focus, format!("{digit}, example {} of 2", index % 2 + 1));
            assert_eq!((digit, text), (index / 2, format!("Looks most like {digit}")));
        } else {
            assert_eq!(text, "This does not look like any digit", "{}", shown.focus);
            assert!(shown.distance.contains("beyond the limit of 1. The nearest is a "), "{}", shown.distance);
        }
    }
    let others: Vec<&str> = examples[20..].iter().map(|shown| &*shown.focus).collect();
    assert_eq!(others, ["A smiley, no digit", "The letter A, no digit", "12, two digits"]);
}

/// Checks three steps that turn the first example of a 2 into a 3.
fn require_steps(steps: &[Inside], example: &Inside) {
    let start = Network::new(Weights::Trained);
    let (mut page, mut reference) = (Network::new(Weights::Trained), network_of::<f64>(&start));
    let mut before = f64::from(example.outputs[3]);
    for (index, shown) in steps.iter().enumerate() {
        assert_eq!((&shown.image, &*shown.focus), (&example.image, "It is a 3"));
        reference = reference_step(&reference, &shown.image, 3);
        page.step(shown.image[..].try_into().unwrap(), 3);
        let inputs: Vec<f64> = shown.image.iter().map(|&pixel| f64::from(pixel) / 255.0).collect();
        let expected = reference.predict(&inputs);
        require_near(&shown.outputs, &expected, "outputs after a step");
        let output = |value: f64| if value < 0.01 { format!("{value:.4}") } else { format!("{value:.2}") };
        let taught = format!(
            "Step {}, “it is a 3”: the output for 3 went from {} to {}. ",
            index + 1,
            output(before),
            output(expected[3])
        );
        assert!(shown.taught.starts_with(&taught), "{} instead of {taught}", shown.taught);
        assert!(shown.taught.ends_with(" of the 20 examples."), "{}", shown.taught);
        assert!(expected[3] > before);
        before = expected[3];
        let (now, then) = (page.pattern(0, 12), start.pattern(0, 12));
        let change: Vec<f32> = now.iter().zip(then).map(|(now, then)| now - then).collect();
        require_picture(&shown.change, &change, "change");
    }
}

#[test]
fn examples_units_and_steps_are_used_by_keyboard_mouse_and_finger() {
    let Some(chromium) = chromium() else { return };
    let Some(output) = run_in_node("inside.mjs", &[&chromium, page()], b"") else { return };
    let report: InsideReport = serde_json::from_str(&output).unwrap();
    assert_eq!((report.errors, report.overflows), (vec![], vec![0; 3]));
    require_examples(&report.examples);
    let example = &report.examples[4];
    require_steps(&report.steps, example);
    assert_eq!(report.undo.focus, "Undo all steps");
    assert_eq!((&*report.undone.taught, &report.undone.outputs), ("", &example.outputs));
    assert_eq!(report.undone.focus, "It is a 3");
    assert!(report.undone.change.iter().all(|value| *value == 0));

    let network = Network::new(Weights::Trained);
    let names = ["Pattern of unit 20", "Pattern of unit 10", "Pattern of output 2"];
    let layers = ["First hidden layer, unit 20, at ", "Second hidden layer, unit 10, at ", "Output, digit 2, at "];
    for ((layer, shown), unit) in report.units.iter().enumerate().zip([19, 9, 2]) {
        assert_eq!(shown.name, names[layer]);
        assert!(shown.unit.starts_with(layers[layer]), "{}", shown.unit);
        require_picture(&shown.pattern, &network.pattern(layer, unit), &shown.name);
    }
    assert_eq!(report.left.name, "Pattern of unit 13");
    require_picture(&report.left.pattern, &network.pattern(0, 12), "the chosen unit");

    let untrained = Network::new(Weights::Untrained);
    let shown = report.untrained;
    let (digit, _) = expected_answer(&untrained, &shown.image);
    assert_eq!(shown.answer, format!("Without training, it guesses {digit}"));
    require_picture(&shown.pattern, &untrained.pattern(2, 2), "a pattern before training");
    let expected = untrained.predict(shown.image[..].try_into().unwrap()).outputs.map(f64::from);
    require_near(&shown.outputs, &expected, "outputs before training");
}
