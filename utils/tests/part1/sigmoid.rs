//! The logistic function has known values, is symmetric and does not overflow, in arrays of any dimension.

use ndarray::{Array, Array2, Array3, Dimension, arr0, array, s};
use proptest::prelude::any;
use teaching_tests::{Failure, for_any};
use utils::{sigmoid, sigmoid_prime, sigmoid_prime_scalar, sigmoid_scalar};

use crate::{close, equal, holds};

/// x, 1 / (1 + e⁻ˣ) and its derivative, each rounded to a double from 40 decimal digits.
const KNOWN: [(f64, f64, f64); 5] = [
    (0.0, 0.5, 0.25),
    (1.0, 0.731_058_578_630_004_9, 0.196_611_933_241_481_85),
    (2.0, 0.880_797_077_977_882_4, 0.104_993_585_403_506_52),
    (-5.0, 0.006_692_850_924_284_855_4, 0.006_648_056_670_790_155),
    (-40.0, 4.248_354_255_291_589e-18, 4.248_354_255_291_589e-18),
];

#[test]
fn part1_sigmoid_and_its_derivative_have_known_values() -> Result<(), Failure> {
    for (x, value, derivative) in KNOWN {
        let (double, single) = (4.0 * f64::EPSILON, 4.0 * f64::from(f32::EPSILON));
        close(&format!("sigmoid_scalar({x})"), sigmoid_scalar(x), value, double * value)?;
        close(&format!("sigmoid_prime_scalar({x})"), sigmoid_prime_scalar(x), derivative, double * derivative)?;
        let (value, derivative) = (f64::from(value as f32), f64::from(derivative as f32));
        close(&format!("sigmoid_scalar({x}_f32)"), sigmoid_scalar(x as f32).into(), value, single * value)?;
        let found = sigmoid_prime_scalar(x as f32).into();
        close(&format!("sigmoid_prime_scalar({x}_f32)"), found, derivative, single * derivative)?;
    }
    Ok(())
}

#[test]
fn part1_sigmoid_is_finite_at_extremes() -> Result<(), Failure> {
    let x = array![1e4, f64::MAX, f64::INFINITY];
    equal("sigmoid: for 10⁴, the largest double and ∞, it", sigmoid(&x), array![1.0, 1.0, 1.0])?;
    equal("sigmoid: for −10⁴, the smallest double and −∞, it", sigmoid(&-&x), array![0.0, 0.0, 0.0])?;
    let x = array![1e4, f32::MAX, f32::INFINITY];
    equal("sigmoid: for 10⁴, the largest float and ∞, it", sigmoid(&x), array![1.0, 1.0, 1.0])?;
    equal("sigmoid: for −10⁴, the smallest float and −∞, it", sigmoid(&-&x), array![0.0, 0.0, 0.0])
}

#[test]
fn part1_sigmoid_prime_is_zero_at_extremes() -> Result<(), Failure> {
    let x = array![1e4, -1e4, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
    equal("sigmoid_prime: for ±10⁴, the largest doubles and ±∞, it", sigmoid_prime(&x), Array::zeros(6))?;
    let found = sigmoid_prime(&x.mapv(|value| value as f32));
    equal("sigmoid_prime: for ±10⁴ and ±∞ as floats, it", found, Array::<f32, _>::zeros(6))
}

#[test]
fn part1_nan_stays_nan() -> Result<(), Failure> {
    let found = sigmoid(&array![f32::NAN, 0.0]);
    holds(found[0].is_nan() && found[1] == 0.5, || {
        format!("sigmoid: for [NaN, 0], it is {found}, expected [NaN, 0.5]")
    })?;
    let found = sigmoid_prime(&array![0.0, f64::NAN]);
    holds(found[0] == 0.25 && found[1].is_nan(), || {
        format!("sigmoid_prime: for [0, NaN], it is {found}, expected [0.25, NaN]")
    })
}

/// Both functions preserve the shape of `x` and agree with the scalar functions at each index.
fn is_elementwise<D: Dimension>(x: &Array<f64, D>) -> Result<(), Failure> {
    let shape = x.shape();
    equal(&format!("sigmoid: of an array of shape {shape:?}, it"), sigmoid(x), x.map(|&x| sigmoid_scalar(x)))?;
    let expected = x.map(|&x| sigmoid_prime_scalar(x));
    equal(&format!("sigmoid_prime: of an array of shape {shape:?}, it"), sigmoid_prime(x), expected)
}

#[test]
fn part1_sigmoid_works_in_every_dimension() -> Result<(), Failure> {
    let x = Array3::from_shape_fn((3, 4, 5), |(i, j, k)| i as f64 - 0.5 * j as f64 + 0.1 * k as f64);
    is_elementwise(&x)?;
    is_elementwise(&x.clone().into_dyn())?;
    is_elementwise(&arr0(0.3))?;
    is_elementwise(&array![0.3, -0.7])?;
    is_elementwise(&Array2::zeros((0, 5)))?;
    is_elementwise(&x.reversed_axes())
}

#[test]
fn part1_sigmoid_takes_views() -> Result<(), Failure> {
    let x = array![[0.0, 1.0], [2.0, 3.0]];
    let found = sigmoid(&x.slice(s![.., ..;-1]));
    let expected = array![sigmoid_scalar(3.0), sigmoid_scalar(2.0)];
    equal("sigmoid: of the reversed row [3, 2], it", found.row(1).to_owned(), expected)
}

#[test]
fn part1_sigmoid_is_symmetric() -> Result<(), Failure> {
    for_any(256, -50.0..50.0_f64, |x| {
        let sum = sigmoid_scalar(x) + sigmoid_scalar(-x);
        close(&format!("sigmoid_scalar: σ({x}) + σ(-{x})"), sum, 1.0, 2.0 * f64::EPSILON)?;
        equal(&format!("sigmoid_prime_scalar({x})"), sigmoid_prime_scalar(x), sigmoid_prime_scalar(-x))
    })
}

#[test]
fn part1_sigmoid_stays_in_its_range() -> Result<(), Failure> {
    for_any(256, any::<f32>(), |x| {
        let (value, derivative) = (sigmoid_scalar(x), sigmoid_prime_scalar(x));
        holds((0.0..=1.0).contains(&value), || format!("sigmoid_scalar({x}) is {value}, expected 0 to 1"))?;
        // Near 0, four roundings may raise the derivative above its maximum, 1/4.
        holds((0.0..=0.25 * (1.0 + 2.0 * f32::EPSILON)).contains(&derivative), || {
            format!("sigmoid_prime_scalar({x}) is {derivative}, expected 0 to 0.25")
        })
    })
}
