//! The page in headless Chromium reads digits that are drawn with a mouse, a pen and a finger.

use serde::Deserialize;
use serde_json::json;

use crate::module::{page, run_in_node};
use crate::node::chromium;
use crate::strokes::hundred_digits;
use crate::{Answer, predictor, require_same};

/// What the page shows after a drawing.
#[derive(Deserialize)]
struct Shown {
    /// The text beside the field.
    text: String,
    /// The pixels that the network sees.
    image: Vec<u8>,
    outputs: Vec<f32>,
    /// The text after Clear.
    cleared: String,
}

/// What the script prints.
#[derive(Deserialize)]
struct Report {
    /// The text before anything is drawn.
    text: String,
    shown: Vec<Shown>,
    /// The URLs that the page loaded, itself included.
    loaded: Vec<String>,
    /// Messages of uncaught errors.
    errors: Vec<String>,
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
    assert_eq!(report.shown.len(), digits.len() + 2);
    let texts: Vec<&str> = report.shown[digits.len()..].iter().map(|shown| &*shown.text).collect();
    let expected = ["little", "much"].map(|ink| format!("Not sure: no digit that it has seen has as {ink} ink"));
    assert_eq!(texts, expected);
    let (mut predictor, mut right) = (predictor(), 0);
    for (shown, (drawn, _)) in report.shown.into_iter().zip(digits) {
        let digit = shown.text.rsplit(' ').next().unwrap_or_default().parse().expect(&shown.text);
        let is_sure = shown.outputs.iter().any(|output| *output >= 0.5);
        assert_eq!(shown.text.starts_with("It reads "), is_sure, "{}", shown.text);
        require_same(&mut predictor, &shown.image, &Answer { digit, outputs: shown.outputs });
        assert_eq!(shown.cleared, "Nothing drawn");
        right += usize::from(digit == drawn);
    }
    assert!(right >= 90, "{right} of 100 are right");
}
