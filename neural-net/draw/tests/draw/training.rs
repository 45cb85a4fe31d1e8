//! The weights before training, and a training step, match the homework's network.

use draw::drawing::PIXELS;
use draw::network::{LEARNING_RATE, Network, Weights};
use draw::redrawn::redraw;
use ndarray::Array2;
use perceptron::preset::Preset;
use perceptron::reference::{self, State};
use perceptron::training::{Hyperparameters, initial_parameters};
use perceptron::{Loss, Samples};

use crate::{builtin_digits, mnist, network_of, require_documented};

/// The page's step, computed by the reference.
pub(crate) fn reference_step(
    network: &perceptron::Network<f64>,
    image: &[u8],
    digit: usize,
) -> perceptron::Network<f64> {
    let inputs = Array2::from_shape_fn((1, PIXELS), |(_, at)| f64::from(f32::from(image[at]) / 255.0));
    let targets = Array2::from_shape_fn((1, 10), |(_, at)| f64::from(u8::from(at == digit)));
    let hyperparameters = Hyperparameters {
        loss: Loss::CrossEntropy,
        learning_rate: LEARNING_RATE.into(),
        ..Preset::Homework.hyperparameters()
    };
    reference::step(network, &mut State::new(network), &Samples::new(inputs, targets).unwrap(), &hyperparameters)
}

#[test]
fn a_step_changes_every_weight_as_the_reference_does() {
    let (images, labels) = builtin_digits();
    for weights in [Weights::Trained, Weights::Untrained] {
        let mut network = Network::new(weights);
        let mut expected = network_of::<f64>(&network);
        // Only the first digit is the image's label: the deltas are small once and then large.
        for (index, (image, &label)) in images.as_chunks::<PIXELS>().0.iter().zip(&labels).take(6).enumerate() {
            let digit = (usize::from(label) + index) % 10;
            let before = network_of::<f64>(&network);
            network.step(image, digit);
            expected = reference_step(&expected, image, digit);
            let after = network_of::<f64>(&network);
            for layer in 0..3 {
                let gap = (&after.weights()[layer] - &expected.weights()[layer]).mapv(f64::abs);
                let gap = gap.into_iter().chain((&after.biases()[layer] - &expected.biases()[layer]).mapv(f64::abs));
                let gap = gap.fold(0.0, f64::max);
                assert!(gap < 1e-6, "{weights:?}, step {index}, layer {layer}: {gap}");
                let moved = (&after.weights()[layer] - &before.weights()[layer]).mapv(f64::abs);
                assert!(moved.into_iter().fold(0.0, f64::max) > gap, "step {index} does not move layer {layer}");
            }
        }
    }
}

#[test]
fn the_weights_before_training_are_those_that_the_training_run_starts_from() {
    let homework = Preset::Homework;
    let expected = initial_parameters(homework.architecture().unwrap(), &homework.hyperparameters());
    assert_eq!(network_of::<f32>(&Network::new(Weights::Untrained)), expected.network);
}

/// The pixels in the corners are 0 in all of MNIST's images: training never changes their weights.
#[test]
fn the_trained_weights_come_from_those_before_training() {
    let (trained, untrained) = (Network::new(Weights::Trained), Network::new(Weights::Untrained));
    for unit in 0..128 {
        let (trained, untrained) = (trained.pattern(0, unit), untrained.pattern(0, unit));
        let half_step = trained.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs())) / 254.0;
        for corner in [0, 27, 756, 783] {
            let gap = (trained[corner] - untrained[corner]).abs();
            assert!(gap <= half_step * 1.001, "unit {unit}, pixel {corner}: {gap}, half a step is {half_step}");
        }
    }
}

#[test]
fn a_pattern_is_the_sum_of_the_patterns_before_it_times_their_weights() {
    let page = Network::new(Weights::Trained);
    let network = network_of::<f64>(&page);
    let [first, second, third] = [0, 1, 2].map(|layer| &network.weights()[layer]);
    let expected = [first.clone(), first.dot(second), first.dot(second).dot(third)];
    for (layer, expected) in expected.iter().enumerate() {
        for (unit, column) in expected.columns().into_iter().enumerate() {
            let pattern = page.pattern(layer, unit);
            let gap = column.iter().zip(pattern).map(|(one, other)| (one - f64::from(other)).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-4, "layer {layer}, unit {unit}: {gap}");
        }
    }
}

#[test]
fn loading_undoes_all_steps() {
    let (images, labels) = builtin_digits();
    let mut network = Network::new(Weights::Trained);
    let before = network_of::<f32>(&network);
    network.step(images[..PIXELS].try_into().unwrap(), 9 - usize::from(labels[0]));
    assert_ne!(network_of::<f32>(&network), before);
    network.load(Weights::Trained);
    assert_eq!(network_of::<f32>(&network), before);
}

/// The figures in docs/network.md. For every tenth of MNIST's test images, it is redrawn with the
/// page's pen; if the network misreads it, one step is taken on it.
#[test]
fn a_step_raises_the_output_of_a_misread_digit_and_hardly_changes_the_accuracy() {
    let Some((images, labels)) = mnist() else { return };
    let images = images.as_chunks::<PIXELS>().0;
    let mut network = Network::new(Weights::Trained);
    let right = |network: &Network| {
        let read =
            images.iter().zip(&labels).filter(|(image, label)| network.predict(image).digit() == usize::from(**label));
        100.0 * read.count() as f64 / images.len() as f64
    };
    let redrawn = images.iter().map(redraw).zip(&labels).map(|(image, &label)| (image, usize::from(label)));
    let misread: Vec<_> = redrawn.filter(|(image, label)| network.predict(image).digit() != *label).collect();
    let accuracy = right(&network);
    let (mut outputs, mut drops, mut fixed) = (vec![], vec![], 0);
    for (image, label) in misread.iter().step_by(10) {
        let before = network.predict(image).outputs[*label];
        network.step(image, *label);
        let after = network.predict(image);
        outputs.push((before, after.outputs[*label]));
        drops.push(accuracy - right(&network));
        fixed += usize::from(after.digit() == *label);
        assert!(after.outputs[*label] > before);
        network.load(Weights::Trained);
    }
    let median = |mut values: Vec<f32>| {
        values.sort_by(f32::total_cmp);
        values[values.len() / 2]
    };
    let (before, after): (Vec<f32>, Vec<f32>) = outputs.into_iter().unzip();
    let (count, mean) = (drops.len(), drops.iter().sum::<f64>() / drops.len() as f64);
    let worst = drops.into_iter().fold(0.0, f64::max);
    require_documented(&format!(
        "{:.1} % of the same digits when they are redrawn",
        100.0 - misread.len() as f64 / 100.0
    ));
    require_documented(&format!("from {:.2} to {:.2} in the median", median(before), median(after)));
    require_documented(&format!("{fixed} of {count}"));
    require_documented(&format!("by {mean:.2} percentage points on average, at most by {worst:.2}"));
}
