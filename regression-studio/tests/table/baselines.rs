//! Linear least squares: optimality, exact fits, rank-deficient inputs, and reproducibility.

use ndarray::{Array1, Array2};
use neural_net::Samples;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::prepared::Baselines;

/// Squared error of a linear model, and its gradient with respect to the coefficients and the
/// intercept.
fn error_and_gradient(samples: &Samples, linear: &[f64]) -> (f64, Vec<f64>) {
    let (constant, coefficients) = linear.split_last().unwrap();
    let (mut error, mut gradient) = (0.0, vec![0.0; linear.len()]);
    for index in 0..samples.len() {
        let row: Vec<f64> = samples.input(index).iter().map(|&x| f64::from(x)).collect();
        let output: f64 = constant + row.iter().zip(coefficients).map(|(x, c)| x * c).sum::<f64>();
        let difference = output - f64::from(samples.target(index)[0]);
        error += difference * difference;
        row.iter().chain([&1.0]).zip(&mut gradient).for_each(|(x, g)| *g += difference * x);
    }
    (error, gradient)
}

fn random(rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> Array2<f32> {
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

#[test]
fn the_gradient_vanishes_at_the_solution() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    for (rows, columns) in [(5000, 8), (33, 30), (2, 1), (17, 1), (2100, 40), (10, 20), (1, 3)] {
        let inputs = random(rows, columns, &mut rng);
        let samples = Samples::new(inputs, random(rows, 1, &mut rng)).unwrap();
        let baselines = Baselines::fit(&samples);
        assert_eq!(baselines.linear.len(), columns + 1);
        let (_, gradient) = error_and_gradient(&samples, &baselines.linear);
        let largest = gradient.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
        assert!(largest < 1e-8 * rows as f64, "{rows} × {columns}: {largest}");
    }
}

#[test]
fn a_linear_relation_is_found_exactly() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(2));
    let inputs = random(1000, 3, &mut rng);
    let targets = inputs.dot(&Array1::from(vec![2.0_f32, -0.5, 0.25])) + 3.0;
    let samples = Samples::new(inputs, targets.insert_axis(ndarray::Axis(1))).unwrap();
    for (got, expected) in Baselines::fit(&samples).linear.iter().zip([2.0, -0.5, 0.25, 3.0]) {
        assert!((got - expected).abs() < 1e-6, "{got} {expected}");
    }
}

#[test]
fn linearly_dependent_columns_do_not_change_the_error() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let (inputs, targets) = (random(500, 3, &mut rng), random(500, 1, &mut rng));
    let repeated = ndarray::concatenate![
        ndarray::Axis(1),
        inputs,
        inputs,
        Array2::<f32>::zeros((500, 1)),
        Array2::<f32>::ones((500, 2)),
        inputs.mapv(|x| -2.0 * x)
    ];
    let (few, many) = (Samples::new(inputs, targets.clone()).unwrap(), Samples::new(repeated, targets).unwrap());
    let (few, many) = ((Baselines::fit(&few), few), (Baselines::fit(&many), many));
    assert!(many.0.linear.iter().all(|c| c.is_finite() && c.abs() < 100.0), "{:?}", many.0);
    let (expected, _) = error_and_gradient(&few.1, &few.0.linear);
    let (got, _) = error_and_gradient(&many.1, &many.0.linear);
    assert!((got - expected).abs() < 1e-9 * expected, "{got} {expected}");
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(4));
    let samples = Samples::new(random(20_000, 8, &mut rng), random(20_000, 1, &mut rng)).unwrap();
    let fit = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Baselines::fit(&samples))
    };
    let expected = fit(1);
    for threads in [2, 3, 8] {
        assert_eq!(fit(threads), expected);
    }
}
