//! A slow, simple network in f64 as a reference for the engine.

use kernels_cpu::product::PaddedMatrix;
use ndarray::{Array2, ArrayView2};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::dropout::Mask;
use crate::encoder::Encoder;
use crate::parameters::{ADAPTERS, HEAD_BIASES, HEADS, INDICATORS, OFFSETS, PIECES, SLOPES, biases, weights};
use crate::{InputKind, Options, TableNetwork, Training};

/// Parameters as rows of columns.
type Parameters = Vec<Vec<Vec<f64>>>;

fn in_f64(parameters: &[PaddedMatrix<f32>]) -> Parameters {
    let row = |row: &[f32]| row.iter().map(|&value| f64::from(value)).collect();
    parameters.iter().map(|matrix| (0..matrix.rows()).map(|at| row(matrix.row(at))).collect()).collect()
}

/// The embedded values of a row of inputs. Handles the pieces one after the other.
fn embedded(encoder: &Encoder, indicator_width: usize, parameters: &Parameters, inputs: &[f32]) -> Vec<f64> {
    let (mut numbers, mut indicators) = (Vec::new(), vec![0.0; indicator_width]);
    let (mut number, mut indicator, mut row_of_pieces) = (0, 0, 0);
    for (kind, &input) in encoder.kinds.iter().zip(inputs) {
        match kind {
            InputKind::Number => {
                let scale = encoder.scales[number];
                let z = (f64::from(input) - f64::from(scale.centre)) * f64::from(scale.factor);
                let z = z / (1.0 + (z / 3.0).powi(2)).sqrt();
                for (value, slope) in parameters[SLOPES][number].iter().enumerate() {
                    let mut sum = z * slope + parameters[OFFSETS][number][value];
                    for (piece, ends) in encoder.bins[number].edges.windows(2).enumerate() {
                        let (low, high) = (f64::from(ends[0]), f64::from(ends[1]));
                        let part = ((z - low) / (high - low)).clamp(0.0, 1.0);
                        sum += part * parameters[PIECES][row_of_pieces + piece][value];
                    }
                    numbers.push(sum);
                }
                row_of_pieces += encoder.bins[number].count();
                number += 1;
            }
            InputKind::Indicator => {
                let is_active = f64::from(u8::from(input > encoder.thresholds[indicator]));
                for (value, sum) in indicators.iter_mut().enumerate() {
                    let of_indicator = match parameters[INDICATORS].get(indicator) {
                        Some(embedding) => embedding[value],
                        None => f64::from(u8::from(value == indicator)),
                    };
                    *sum += is_active * of_indicator;
                }
                indicator += 1;
            }
        }
    }
    numbers.extend(indicators);
    numbers
}

/// The output of a member for a row of inputs; `mask` gives the factor for a layer and unit.
fn output(
    network: &TableNetwork,
    parameters: &Parameters,
    inputs: &[f32],
    member: usize,
    mask: &dyn Fn(usize, usize) -> f64,
) -> f64 {
    let layout = &network.layout;
    let mut values = embedded(&network.encoder, layout.indicator_width, parameters, inputs);
    for (value, factor) in values.iter_mut().zip(&parameters[ADAPTERS][member]) {
        *value *= factor;
    }
    for layer in 0..layout.hidden.len() {
        let mut sums = parameters[biases(layer)][0].clone();
        for (value, weights) in values.iter().zip(&parameters[weights(layer)]) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += value * weight;
            }
        }
        values = sums.iter().enumerate().map(|(unit, sum)| sum.max(0.0) * mask(layer, unit)).collect();
    }
    let products = values.iter().zip(&parameters[HEADS][member]).map(|(value, weight)| value * weight);
    products.sum::<f64>() + parameters[HEAD_BIASES][0][member]
}

/// The mean of (output − target)² over the rows in `order` and the members, in step `step`.
fn loss(
    training: &Training,
    parameters: &Parameters,
    rows: (&Array2<f32>, &Array2<f32>),
    order: &[u32],
    step: u64,
) -> f64 {
    let (network, options) = (&training.network, &training.options);
    let members = options.members;
    let mut sum = 0.0;
    for (place, &row) in order.iter().enumerate() {
        let inputs = rows.0.row(row as usize).to_vec();
        for member in 0..members {
            let mask = |layer: usize, unit: usize| {
                let stride = PaddedMatrix::<f32>::zeros(1, options.hidden[layer]).stride();
                let element = ((place * members + member) * stride + unit) as u32;
                Mask::new(options.dropout, options.seed, step, layer)
                    .map_or(1.0, |mask| f64::from(mask.factor(element)))
            };
            let output = output(network, parameters, &inputs, member, &mask);
            sum += (output - f64::from(rows.1[[row as usize, 0]])).powi(2);
        }
    }
    sum / (order.len() * members) as f64
}

/// Random inputs and targets. Every third number has repeated values, and the last is constant.
fn rows(kinds: &[InputKind], count: usize, seed: u64) -> (Array2<f32>, Array2<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let inputs = Array2::from_shape_fn((count, kinds.len()), |(_, column)| match kinds[column] {
        InputKind::Number if column % 3 == 2 => rng.random_range(0..3) as f32,
        InputKind::Number => rng.random_range(-2.0..2.0),
        InputKind::Indicator => f32::from(u8::from(rng.random_bool(0.4))) * 2.5 - 0.5,
    });
    let targets = Array2::from_shape_fn((count, 1), |_| rng.random_range(-1.0..1.0));
    (inputs, targets)
}

/// A run with random values for all parameters.
fn randomised(options: Options, kinds: &[InputKind], rows: (ArrayView2<f32>, ArrayView2<f32>)) -> Training {
    let mut training = Training::new(options, kinds, rows.0, rows.1).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(99);
    for matrix in &mut training.network.parameters {
        for row in 0..matrix.rows() {
            matrix.row_mut(row).iter_mut().for_each(|value| *value = rng.random_range(-0.8..0.8));
        }
    }
    training.derive();
    training
}

const NUMBER: InputKind = InputKind::Number;
const INDICATOR: InputKind = InputKind::Indicator;

/// Options of odd sizes.
fn small(members: usize, hidden: &[usize]) -> Options {
    let hidden = hidden.to_vec();
    Options {
        members,
        hidden,
        bins: 4,
        embedding: 3,
        indicator_embedding: 2,
        batch_size: 64,
        dropout: 0.0,
        ..Options::for_table(10, &[])
    }
}

/// Kinds, options, number of rows.
fn cases() -> Vec<(Vec<InputKind>, Options, usize)> {
    vec![
        (vec![NUMBER, INDICATOR, NUMBER, INDICATOR, NUMBER], small(3, &[5, 4]), 50),
        // More indicators than the size of their embedding, and more rows than a chunk has.
        (vec![INDICATOR, NUMBER, INDICATOR, INDICATOR, INDICATOR], small(60, &[3]), 7),
        (vec![NUMBER], Options { dropout: 0.3, ..small(1, &[17, 3, 2]) }, 9),
        (vec![INDICATOR], small(2, &[4]), 5),
        (vec![NUMBER, NUMBER], Options { dropout: 0.5, ..small(2, &[18]) }, 1),
    ]
}

#[test]
fn predictions_are_those_of_the_reference() {
    for (case, (kinds, options, count)) in cases().into_iter().enumerate() {
        let (inputs, targets) = rows(&kinds, count, case as u64);
        let training = randomised(options, &kinds, (inputs.view(), targets.view()));
        let network = &training.network;
        let parameters = in_f64(&network.parameters);
        let (unseen, _) = rows(&kinds, 40, 1000);
        let unseen = unseen * 1.5;
        let (members, means) =
            (network.predict_members(unseen.view()).unwrap(), network.predict(unseen.view()).unwrap());
        assert_eq!(members.dim(), (40, network.members()));
        for (row, inputs) in unseen.outer_iter().enumerate() {
            let mut sum = 0.0;
            for member in 0..network.members() {
                let expected = output(network, &parameters, &inputs.to_vec(), member, &|_, _| 1.0);
                let got = f64::from(members[[row, member]]);
                assert!(
                    (got - expected).abs() < 1e-5,
                    "case {case}, row {row}, member {member}: {got}, not {expected}"
                );
                sum += expected;
            }
            let expected = sum / network.members() as f64;
            assert!((f64::from(means[row]) - expected).abs() < 1e-5, "case {case}, row {row}");
        }
    }
}

#[test]
fn gradients_are_finite_differences_of_the_reference() {
    for (case, (kinds, options, count)) in cases().into_iter().enumerate() {
        let (inputs, targets) = rows(&kinds, count, case as u64);
        let mut training = randomised(options, &kinds, (inputs.view(), targets.view()));
        let (order, step) = (training.order.clone(), 3);
        let squares = training.gradients_of(0..count, step);
        training.update(None);
        let mut parameters = in_f64(&training.network.parameters);
        let of = |parameters: &Parameters| loss(&training, parameters, (&inputs, &targets), &order, step);
        let expected_squares = of(&parameters) * (count * training.options.members) as f64;
        assert!((squares - expected_squares).abs() < 1e-4 * expected_squares, "case {case}: the loss");
        let names = training.network.layout.shapes();
        for parameter in 0..parameters.len() {
            for row in 0..parameters[parameter].len() {
                for column in 0..parameters[parameter][row].len() {
                    const STEP: f64 = 1e-6;
                    let value = parameters[parameter][row][column];
                    let mut at = |moved: f64| {
                        parameters[parameter][row][column] = moved;
                        of(&parameters)
                    };
                    let expected = (at(value + STEP) - at(value - STEP)) / (2.0 * STEP);
                    parameters[parameter][row][column] = value;
                    let got = f64::from(training.gradients[parameter].row(row)[column]);
                    let name = &names[parameter].0;
                    let is_near = (got - expected).abs() < 1e-5 + 1e-4 * expected.abs();
                    assert!(is_near, "case {case}, {name} ({row}, {column}): {got}, not {expected}");
                }
            }
        }
    }
}

/// The first step of AdamW moves each parameter by about the learning rate, against the sign of its gradient.
#[test]
fn the_first_step_is_that_of_adamw() {
    let kinds = [NUMBER, INDICATOR, NUMBER];
    let (inputs, targets) = rows(&kinds, 20, 5);
    let options = Options { batch_size: 20, weight_decay: 0.5, ..small(2, &[4, 3]) };
    let mut training = randomised(options, &kinds, (inputs.view(), targets.view()));
    let before = training.network.parameters.clone();
    training.train(1, &mut |_| std::ops::ControlFlow::Continue(()));
    let rule = crate::adam::Rule::of_step(&training.options, 0, 1);
    for (parameter, (name, rows, columns)) in training.network.layout.shapes().into_iter().enumerate() {
        let is_bias = name == "offsets" || name == "head_biases" || name.starts_with("biases");
        for row in 0..rows {
            for column in 0..columns {
                let (old, gradient) =
                    (before[parameter].row(row)[column], training.gradients[parameter].row(row)[column]);
                let decayed = if is_bias { old } else { old * (1.0 - rule.learning_rate * 0.5) };
                let expected = decayed - rule.learning_rate * gradient / (gradient.abs() + 1e-8);
                let got = training.network.parameters[parameter].row(row)[column];
                assert!((got - expected).abs() < 1e-5, "{name} ({row}, {column}): {got}, not {expected}");
            }
        }
    }
}
