//! The logistic function has known values, is symmetric and does not overflow, in arrays of any dimension.

use approx::assert_relative_eq;
use ndarray::{Array, Array2, Array3, Dimension, arr0, array, s};
use proptest::prelude::*;
use utils::{sigmoid, sigmoid_prime, sigmoid_prime_scalar, sigmoid_scalar};

/// x, 1 / (1 + e⁻ˣ) and its derivative, each rounded to a double from 40 decimal digits.
const KNOWN: [(f64, f64, f64); 5] = [
    (0.0, 0.5, 0.25),
    (1.0, 0.731_058_578_630_004_9, 0.196_611_933_241_481_85),
    (2.0, 0.880_797_077_977_882_4, 0.104_993_585_403_506_52),
    (-5.0, 0.006_692_850_924_284_855_4, 0.006_648_056_670_790_155),
    (-40.0, 4.248_354_255_291_589e-18, 4.248_354_255_291_589e-18),
];

#[test]
fn part1_sigmoid_and_its_derivative_have_known_values() {
    for (x, value, derivative) in KNOWN {
        assert_relative_eq!(sigmoid_scalar(x), value, max_relative = 4.0 * f64::EPSILON);
        assert_relative_eq!(sigmoid_prime_scalar(x), derivative, max_relative = 4.0 * f64::EPSILON);
        assert_relative_eq!(sigmoid_scalar(x as f32), value as f32, max_relative = 4.0 * f32::EPSILON);
        assert_relative_eq!(sigmoid_prime_scalar(x as f32), derivative as f32, max_relative = 4.0 * f32::EPSILON);
    }
}

#[test]
fn part1_sigmoid_is_finite_at_extremes() {
    let x = array![1e4, f64::MAX, f64::INFINITY];
    assert_eq!(sigmoid(&x), array![1.0, 1.0, 1.0]);
    assert_eq!(sigmoid(&-&x), array![0.0, 0.0, 0.0]);
    let x = array![1e4, f32::MAX, f32::INFINITY];
    assert_eq!(sigmoid(&x), array![1.0, 1.0, 1.0]);
    assert_eq!(sigmoid(&-&x), array![0.0, 0.0, 0.0]);
}

#[test]
fn part1_sigmoid_prime_is_zero_at_extremes() {
    let x = array![1e4, -1e4, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(sigmoid_prime(&x), Array::zeros(6));
    assert_eq!(sigmoid_prime(&x.mapv(|value| value as f32)), Array::<f32, _>::zeros(6));
}

#[test]
fn part1_nan_stays_nan() {
    let found = sigmoid(&array![f32::NAN, 0.0]);
    assert!(found[0].is_nan() && found[1] == 0.5);
    let found = sigmoid_prime(&array![0.0, f64::NAN]);
    assert!(found[0] == 0.25 && found[1].is_nan());
}

/// Whether both functions preserve the shape of `x` and agree with the scalar functions at each index.
fn is_elementwise<D: Dimension>(x: &Array<f64, D>) -> bool {
    sigmoid(x) == x.map(|&x| sigmoid_scalar(x)) && sigmoid_prime(x) == x.map(|&x| sigmoid_prime_scalar(x))
}

#[test]
fn part1_sigmoid_works_in_every_dimension() {
    let x = Array3::from_shape_fn((3, 4, 5), |(i, j, k)| i as f64 - 0.5 * j as f64 + 0.1 * k as f64);
    assert!(is_elementwise(&x));
    assert!(is_elementwise(&x.clone().into_dyn()));
    assert!(is_elementwise(&arr0(0.3)));
    assert!(is_elementwise(&array![0.3, -0.7]));
    assert!(is_elementwise(&Array2::zeros((0, 5))));
    assert!(is_elementwise(&x.reversed_axes()));
}

#[test]
fn part1_sigmoid_takes_views() {
    let x = array![[0.0, 1.0], [2.0, 3.0]];
    assert_eq!(sigmoid(&x.slice(s![.., ..;-1])).row(1), array![sigmoid_scalar(3.0), sigmoid_scalar(2.0)]);
}

proptest! {
    #[test]
    fn part1_sigmoid_is_symmetric(x in -50.0..50.0_f64) {
        let sum = sigmoid_scalar(x) + sigmoid_scalar(-x);
        prop_assert!((sum - 1.0).abs() <= 2.0 * f64::EPSILON, "σ({x}) + σ(-{x}) = {sum}");
        prop_assert_eq!(sigmoid_prime_scalar(x), sigmoid_prime_scalar(-x));
    }

    #[test]
    fn part1_sigmoid_stays_in_its_range(x: f32) {
        prop_assert!((0.0..=1.0).contains(&sigmoid_scalar(x)));
        // Near 0 four roundings may raise the derivative above its maximum, 1/4.
        prop_assert!((0.0..=0.25 * (1.0 + 2.0 * f32::EPSILON)).contains(&sigmoid_prime_scalar(x)));
    }
}
