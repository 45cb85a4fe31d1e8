//! Compares Adam with its definition, written out for one weight and one bias, over several epochs.

use std::ops::ControlFlow;

use gpu::Device;
use ndarray::array;
use neural_net::engine::{CpuEngine, Engine, GpuEngine, GpuOptions, Parameters};
use neural_net::preset::Preset;
use neural_net::training::{GradientScale, Optimizer};
use neural_net::{Activation, Architecture, Hyperparameters, Network, Samples};

const EPOCHS: usize = 4;
const FACTOR: f64 = 0.36;

/// Hyperparameters with the learning rate factor [`FACTOR`] for the only layer.
fn hyperparameters() -> Hyperparameters {
    Hyperparameters {
        optimizer: Optimizer::Adam,
        learning_rate: 0.05,
        learning_rate_factors: vec![FACTOR],
        momentum: 0.8,
        weight_decay: 0.1,
        batch_size: Some(2),
        gradient: GradientScale::Mean,
        epochs: EPOCHS,
        ..Preset::Homework.hyperparameters()
    }
}

/// Inputs and targets of y = w · x + b. The last batch has one sample.
const SAMPLES: [(f64, f64); 5] = [(0.5, 1.0), (-1.0, 0.25), (2.0, -0.5), (0.0, 0.75), (1.5, 2.0)];
/// The order of the samples in each epoch.
const ORDER: [u32; 5] = [3, 0, 4, 1, 2];

/// Algorithm 2 of "Decoupled Weight Decay Regularization" with η = 1, on w / s and b / s, where s = √factor.
fn by_definition(start: (f64, f64), factor: f64) -> (f64, f64) {
    let Hyperparameters { learning_rate, momentum, weight_decay, .. } = hyperparameters();
    let s = factor.sqrt();
    let mut parameters = [start.0 / s, start.1 / s];
    let (mut m, mut v, mut t) = ([0.0; 2], [0.0; 2], 0);
    for _ in 0..EPOCHS {
        for batch in ORDER.chunks(2) {
            let [w, b] = parameters.map(|p| s * p);
            let mut gradient = [0.0; 2];
            for &index in batch {
                let (x, y) = SAMPLES[index as usize];
                let error = (w * x + b - y) / batch.len() as f64;
                gradient = [gradient[0] + s * error * x, gradient[1] + s * error];
            }
            t += 1;
            for i in 0..2 {
                m[i] = momentum * m[i] + (1.0 - momentum) * gradient[i];
                v[i] = 0.999 * v[i] + (1.0 - 0.999) * gradient[i] * gradient[i];
                let m_hat = m[i] / (1.0 - momentum.powi(t));
                let v_hat: f64 = v[i] / (1.0 - 0.999_f64.powi(t));
                let decay = if i == 0 { weight_decay } else { 0.0 };
                parameters[i] -= learning_rate * (m_hat / (v_hat.sqrt() + 1e-8) + decay * parameters[i]);
            }
        }
    }
    (s * parameters[0], s * parameters[1])
}

fn samples() -> Samples {
    let column = |of: fn(&(f64, f64)) -> f64| {
        let values = SAMPLES.iter().map(|sample| of(sample) as f32).collect();
        ndarray::Array2::from_shape_vec((SAMPLES.len(), 1), values).unwrap()
    };
    Samples::new(column(|sample| sample.0), column(|sample| sample.1)).unwrap()
}

fn parameters() -> Parameters {
    let architecture = Architecture::new(vec![1, 1], Activation::Tanh, Activation::Identity).unwrap();
    let (weight, bias) = (0.3, -0.2);
    Parameters::new(Network::new(architecture, vec![array![[weight]]], vec![array![bias]]).unwrap())
}

/// Trains all epochs. With `replace`, a new engine takes over the parameters after each epoch.
fn train<E: Engine>(mut make: impl FnMut(&Parameters) -> E, replace: bool) -> (f64, f64) {
    let mut engine = make(&parameters());
    for epoch in 0..EPOCHS {
        if replace {
            engine = make(&engine.parameters().unwrap());
        }
        engine.start_epoch(0.05, epoch * ORDER.len().div_ceil(2));
        engine.train(&ORDER, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
    }
    let network = engine.parameters().unwrap().network;
    (f64::from(network.weights()[0][[0, 0]]), f64::from(network.biases()[0][0]))
}

fn assert_near(got: (f64, f64), factor: f64, tolerance: f64) {
    let expected = by_definition((0.3, -0.2), factor);
    let is_near = |got: f64, expected: f64| (got - expected).abs() <= tolerance;
    assert!(is_near(got.0, expected.0) && is_near(got.1, expected.1), "{got:?} instead of {expected:?}");
}

#[test]
fn part1_adam_on_the_cpu_agrees_with_its_definition() {
    for replace in [false, true] {
        let samples = samples();
        let make = |parameters: &Parameters| CpuEngine::new(&samples, parameters, &hyperparameters());
        assert_near(train(make, replace), FACTOR, 1e-6);
    }
}

#[test]
fn part1_adam_on_the_gpu_agrees_with_its_definition() {
    let (device, samples) = (Device::simulator(), samples());
    for replace in [false, true] {
        let make = |parameters: &Parameters| {
            GpuEngine::new(&device, &samples, parameters, &hyperparameters(), &GpuOptions::default()).unwrap()
        };
        assert_near(train(make, replace), FACTOR, 1e-6);
    }
}
