//! Benchmarks of the homework's and the notebook's networks on the CPU, on all of rayon's threads,
//! and of the kernels for their activations.
//!
//! The images are the built-in digits. As in MNIST, about four pixels out of five are zero.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use kernels_cpu::{InstructionSet, activation, tanh};
use ndarray::Array2;
use neural_net::data::{LabelledImages, ToSamples, builtin_digits};
use neural_net::preset::Preset;
use neural_net::training::{Hyperparameters, initial_parameters};
use neural_net::{CpuEngine, Engine, Predictor, Samples};

/// Number of images in the measured slice of an epoch.
const SLICE: usize = 2_048;
/// Number of images in the notebook's batch.
const NOTEBOOK: usize = 10_000;
/// Number of inputs of an activation kernel. They stay in L1.
const VALUES: usize = 4_096;

/// The first `count` built-in digits.
fn digits(count: usize) -> Samples {
    let (pixels, labels) = builtin_digits::draw(count, 0);
    let side = builtin_digits::SIDE;
    let pixels = Array2::from_shape_vec((count, side * side), pixels).expect("draw returns count × side² pixels");
    LabelledImages { pixels: pixels.into(), labels, shape: (side, side) }.samples(0, count)
}

/// Trains a preset's network. Each call of the returned closure is one pass over the samples.
fn pass<'a>(preset: Preset, samples: &'a Samples, batch_size: Option<usize>) -> impl FnMut() + 'a {
    // The gradients of the homework's batches are summed, so a larger batch needs a smaller rate.
    let learning_rate = batch_size.map_or(0.1, |size| 0.1_f64.min(1.6 / size as f64));
    pass_at(preset, samples, batch_size, learning_rate)
}

/// [`pass`] with the given learning rate.
fn pass_at<'a>(
    preset: Preset,
    samples: &'a Samples,
    batch_size: Option<usize>,
    learning_rate: f64,
) -> impl FnMut() + 'a {
    let hyperparameters = Hyperparameters { batch_size, learning_rate, ..preset.hyperparameters() };
    let architecture = preset.architecture().expect("both presets are networks");
    let parameters = initial_parameters(architecture, &hyperparameters);
    let mut engine = CpuEngine::new(samples, &parameters, &hyperparameters);
    let order: Vec<u32> = (0..).take(samples.len()).collect();
    move || {
        engine.train(black_box(&order), 0, &mut |_, _| ControlFlow::Continue(())).expect("the loss stays finite");
    }
}

fn homework(criterion: &mut Criterion) {
    let samples = digits(SLICE);
    let mut group = criterion.benchmark_group("homework");
    group.throughput(Throughput::Elements(SLICE as u64)).sampling_mode(SamplingMode::Flat);
    for batch in [1, 4, 16, 64, 256, 1024] {
        let mut pass = pass(Preset::Homework, &samples, Some(batch));
        group.bench_function(BenchmarkId::new("batch", batch), |bencher| bencher.iter(&mut pass));
    }
    group.finish();
}

/// At the default learning rate, larger batches saturate the network in the first passes. Its tiny
/// deltas and activations must not make a pass slower.
fn saturated(criterion: &mut Criterion) {
    let samples = digits(SLICE);
    let mut group = criterion.benchmark_group("saturated homework");
    group.throughput(Throughput::Elements(SLICE as u64)).sampling_mode(SamplingMode::Flat);
    for batch in [128, 256, 1024] {
        let mut pass = pass_at(Preset::Homework, &samples, Some(batch), 0.1);
        group.bench_function(BenchmarkId::new("batch", batch), |bencher| bencher.iter(&mut pass));
    }
    group.finish();
}

fn notebook(criterion: &mut Criterion) {
    let samples = digits(NOTEBOOK);
    let mut pass = pass(Preset::Notebook, &samples, None);
    let mut group = criterion.benchmark_group("notebook");
    group.throughput(Throughput::Elements(NOTEBOOK as u64)).sampling_mode(SamplingMode::Flat);
    group.bench_function("iteration", |bencher| bencher.iter(&mut pass));
    group.finish();
}

fn prediction(criterion: &mut Criterion) {
    let samples = digits(1);
    let preset = Preset::Notebook;
    let architecture = preset.architecture().expect("both presets are networks");
    let network = initial_parameters(architecture, &preset.hyperparameters()).network;
    criterion.bench_function("one prediction 784-10-10", |bencher| {
        let mut predictor = Predictor::new(&network);
        bencher.iter(|| black_box(predictor.predict(black_box(samples.input(0))))[0]);
    });
}

fn activations(criterion: &mut Criterion) {
    let set = InstructionSet::detect();
    let input: Vec<f32> = (0..VALUES).map(|index| (index as f32 / VALUES as f32 - 0.5) * 16.0).collect();
    let mut group = criterion.benchmark_group("activation kernels");
    group.throughput(Throughput::Elements(VALUES as u64));
    let mut values = input.clone();
    group.bench_function("sigmoid", |bencher| {
        // In place: the values are soon between 0.5 and 0.74, and the time does not depend on them.
        bencher.iter(|| activation::sigmoid_in_place(set, black_box(&mut values)));
    });
    let mut out = vec![MaybeUninit::uninit(); VALUES];
    group.bench_function("tanh", |bencher| bencher.iter(|| tanh::tanh(set, black_box(&input), black_box(&mut out))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .nresamples(20_000);
    targets = homework, saturated, notebook, prediction, activations
}
criterion_main!(benches);
