//! Training on distorted images.

use std::ops::ControlFlow;

use augmentation::Distortion;
use digits::builtin_digits;
use ndarray::ArcArray2;
use neural_net::augmented::AugmentedEngine;
use neural_net::data::{LabelledImages, ToSamples};
use neural_net::engine::{CpuEngine, Engine, Parameters};
use neural_net::preset::Preset;
use neural_net::training::{Optimizer, initial_parameters};
use neural_net::{Activation, Architecture, Hyperparameters, Samples};

const COUNT: usize = 5000;

/// Images of digits, as bytes.
fn digits() -> Samples {
    let (pixels, labels) = builtin_digits::draw(COUNT, 3);
    let pixels = ArcArray2::from_shape_vec((COUNT, 784), pixels).unwrap();
    LabelledImages { pixels, labels, shape: (28, 28) }.samples(0, COUNT)
}

fn start(optimizer: Optimizer) -> (Parameters, Hyperparameters) {
    let hyperparameters = Hyperparameters {
        optimizer,
        learning_rate: 0.002,
        momentum: 0.5,
        batch_size: Some(48),
        ..Preset::Homework.hyperparameters()
    };
    let architecture = Architecture::new(vec![784, 12, 10], Activation::Sigmoid, Activation::Sigmoid).unwrap();
    (initial_parameters(architecture, &hyperparameters), hyperparameters)
}

fn order() -> Vec<u32> {
    (0..COUNT as u32).rev().collect()
}

/// Trains two epochs. Returns the parameters and the losses of all steps.
fn train(engine: &mut impl Engine) -> (Parameters, Vec<f64>) {
    let mut losses = vec![];
    for epoch in 0..2 {
        engine.start_epoch(0.002 / (epoch + 1) as f64, epoch * COUNT.div_ceil(48));
        let mut observe = |step, loss| {
            assert_eq!(epoch * COUNT.div_ceil(48) + step, losses.len());
            losses.push(loss);
            ControlFlow::Continue(())
        };
        engine.train(&order(), 0, &mut observe).unwrap();
    }
    (engine.parameters().unwrap(), losses)
}

#[test]
fn part1_without_distortion_the_bits_are_those_of_the_cpu_engine() {
    let samples = digits();
    let none = Distortion { degrees: 0.0, pixels: 0.0, tilt: 0.0, noise: 0.0 };
    for optimizer in Optimizer::ALL {
        let (parameters, hyperparameters) = start(optimizer);
        let expected = train(&mut CpuEngine::new(&samples, &parameters, &hyperparameters));
        let mut engine = AugmentedEngine::new(&samples, &parameters, &hyperparameters, none, 2);
        assert!(train(&mut engine) == expected, "{optimizer}");
        let evaluation = CpuEngine::new(&samples, &expected.0, &hyperparameters).evaluate_training_samples().unwrap();
        assert_eq!(engine.evaluate_training_samples().unwrap(), evaluation);
    }
}

#[test]
fn part1_augmented_weights_do_not_depend_on_the_workers_nor_on_interruptions() {
    let samples = digits();
    let (parameters, hyperparameters) = start(Optimizer::Sgd);
    let engine = |parameters: &Parameters, workers| {
        AugmentedEngine::new(&samples, parameters, &hyperparameters, Distortion::default(), workers)
    };
    let expected = train(&mut engine(&parameters, 0));
    for workers in [1, 2, 5] {
        assert!(train(&mut engine(&parameters, workers)) == expected, "{workers} workers");
    }
    // The second epoch's distortions differ from the first's.
    let plain = train(&mut CpuEngine::new(&samples, &parameters, &hyperparameters));
    assert_ne!(expected.1[0], plain.1[0]);

    let steps = COUNT.div_ceil(48);
    let mut resumed = engine(&parameters, 1);
    let mut losses = vec![];
    for epoch in 0..2 {
        let mut step = 0;
        while step < steps {
            resumed = engine(&resumed.parameters().unwrap(), 1);
            resumed.start_epoch(0.002 / (epoch + 1) as f64, epoch * steps);
            let (first, end) = (step, step + 37);
            let mut observe = |at, loss| {
                assert_eq!(at, step);
                losses.push(loss);
                step += 1;
                if step == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            resumed.train(&order(), first, &mut observe).unwrap();
        }
    }
    assert!((resumed.parameters().unwrap(), losses) == expected);
}
