//! Detects a network that predicts one class, and whether a saturated layer is the reason.

use ndarray::{Array1, Array2};
use neural_net::one_class::OneClass;
use neural_net::{Activation, Architecture, Loss, Network, Samples};

/// A 2-2-3 network with these biases and weights of ±`weight`.
fn network(output: Activation, weight: f32, hidden_bias: f32, biases: [f32; 3]) -> Network {
    let hidden = if hidden_bias < -1000.0 { Activation::Relu } else { Activation::Sigmoid };
    let architecture = Architecture::new(vec![2, 2, 3], hidden, output).unwrap();
    let sign = |(row, column): (usize, usize)| if (row + column).is_multiple_of(2) { weight } else { -weight };
    let weights = vec![Array2::from_shape_fn((2, 2), sign), Array2::from_shape_fn((2, 3), sign)];
    Network::new(architecture, weights, vec![Array1::from_elem(2, hidden_bias), Array1::from(biases.to_vec())]).unwrap()
}

/// 200 samples. Every `period`-th one has class 0, the others class 2.
fn samples(period: usize) -> Samples {
    let inputs = Array2::from_shape_fn((200, 2), |(row, column)| ((row + 3 * column) % 7) as f32 / 7.0);
    let class = |row: usize| if row.is_multiple_of(period) { 0 } else { 2 };
    let targets = Array2::from_shape_fn((200, 3), |(row, column)| f32::from(u8::from(class(row) == column)));
    Samples::new(inputs, targets).unwrap()
}

fn find(network: &Network, loss: Loss) -> Option<OneClass> {
    OneClass::find(network, loss, &samples(2))
}

#[test]
fn part1_outputs_that_are_all_nearly_zero_are_a_saturated_layer() {
    let saturated = network(Activation::Sigmoid, 0.1, 0.0, [-20.0, -19.0, -21.0]);
    let expected = OneClass { class: 1, assigned: 200, count: 200, saturated_layer: Some(2) };
    assert_eq!(find(&saturated, Loss::SquaredError), Some(expected));
    // The deltas of cross-entropy do not contain the outputs' derivative, so the network still learns.
    let still_learns = OneClass { saturated_layer: None, ..expected };
    assert_eq!(find(&saturated, Loss::CrossEntropy), Some(still_learns));
    let beginning = network(Activation::Sigmoid, 0.1, 0.0, [-2.0, -1.9, -2.1]);
    assert_eq!(find(&beginning, Loss::SquaredError), Some(still_learns));
}

#[test]
fn part1_hidden_units_that_are_all_zero_or_one_are_a_saturated_layer() {
    for bias in [30.0, -30.0, -2000.0] {
        let found = find(&network(Activation::Softmax, 0.1, bias, [0.0, 0.0, 1.0]), Loss::CrossEntropy);
        assert_eq!(found, Some(OneClass { class: 2, assigned: 200, count: 200, saturated_layer: Some(1) }), "{bias}");
    }
}

#[test]
fn part1_several_classes_and_samples_of_one_class_are_not_found() {
    let several = network(Activation::Sigmoid, 100.0, 0.0, [0.0; 3]);
    assert_eq!(find(&several, Loss::SquaredError), None);
    let of_one_class = network(Activation::Sigmoid, 0.1, 0.0, [-21.0, -20.0, -19.0]);
    assert!(find(&of_one_class, Loss::SquaredError).is_some());
    assert_eq!(OneClass::find(&of_one_class, Loss::SquaredError, &samples(100)), None);
}
