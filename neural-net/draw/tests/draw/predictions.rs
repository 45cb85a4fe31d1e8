//! The network predicts like the CPU's predictor.

use draw::drawing::PIXELS;
use draw::network::{Activations, Network, Weights};
use draw::quantised::encode;

use crate::{Answer, builtin_digits, mnist, require_all_same};

fn answers(images: &[u8]) -> Vec<Answer> {
    let images = images.as_chunks::<PIXELS>().0.iter();
    let answer = |activations: Activations| Answer { digit: activations.digit(), outputs: activations.outputs.into() };
    let network = Network::new(Weights::Trained);
    images.map(|image| answer(network.predict(image))).collect()
}

#[test]
fn builtin_digits_are_read_as_by_the_predictor() {
    let (images, labels) = builtin_digits();
    require_all_same(&images, &labels, &answers(&images));
}

/// The page states this accuracy.
#[test]
fn mnist_is_read_as_by_the_predictor_with_the_accuracy_that_the_page_states() {
    let Some((images, labels)) = mnist() else { return };
    let right = require_all_same(&images, &labels, &answers(&images));
    let accuracy = format!("{:.1} %", right as f64 / labels.len() as f64 * 100.0);
    assert!(include_str!("../../page/index.html").contains(&accuracy), "{right} of {} are right", labels.len());
}

#[test]
fn a_quantised_weight_is_off_by_at_most_half_a_step_of_its_unit() {
    let weights = [1.0, -0.4, 0.0, -127.0, 0.003, 0.0];
    let bytes = encode(&weights, &[0.5, -2.0, 7.0]);
    let (steps, biases) = bytes[6..].split_at(12);
    let floats = |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect() };
    let steps = floats(steps);
    assert_eq!((steps[0], steps[2], floats(biases)), (1.0, 0.0, vec![0.5, -2.0, 7.0]));
    for (at, weight) in weights.iter().enumerate() {
        let step = steps[at % 3];
        assert!((f32::from(bytes[at].cast_signed()) * step - weight).abs() <= step / 2.0, "weight {at}");
    }
}
