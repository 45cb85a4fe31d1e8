//! The correlations agree with SciPy's `convolve2d` with the kernel rotated by 180° and mode
//! 'same'. They are compared with recorded values and, if SciPy is installed, with new ones.
//!
//! `scipy_values.py`, which draws the same cases, recorded them:
//!
//!     python filters/tests/correlation/scipy_values.py integers 10000 > filters/tests/correlation/scipy_integers.txt
//!     python filters/tests/correlation/scipy_values.py reals 200 > filters/tests/correlation/scipy_reals.txt

use std::path::Path;
use std::process::Command;

use filters::{correlation_rayon, correlation_trivial};
use ndarray::Array2;

/// Number of cases with integers, and of cases with other values.
const INTEGERS: usize = 10_000;
const REALS: usize = 200;

/// Knuth's linear congruential generator (MMIX), implemented identically in Python.
struct Generator {
    state: u64,
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn side(&mut self, most: u64) -> usize {
        1 + self.below(most) as usize
    }

    fn matrix(&mut self, shape: (usize, usize), value: fn(&mut Self) -> f32) -> Array2<f32> {
        Array2::from_shape_simple_fn(shape, || value(self))
    }

    fn integer(&mut self) -> f32 {
        self.below(511) as f32 - 255.0
    }

    fn real(&mut self) -> f32 {
        (self.below(1 << 20) as f32 - (1 << 19) as f32) / (1 << 19) as f32
    }
}

/// The kernel and the image of a case.
fn case(number: usize, value: fn(&mut Generator) -> f32) -> (Array2<f32>, Array2<f32>) {
    let mut generator = Generator { state: number as u64 };
    let (mut rows, mut columns) = (generator.side(8), generator.side(8));
    match generator.below(8) {
        0 => rows = 1,
        1 => columns = 1,
        _ => {}
    }
    let kernel_shape = (generator.side(9), generator.side(9));
    let image = generator.matrix((rows, columns), value);
    (generator.matrix(kernel_shape, value), image)
}

fn checksum(result: &Array2<f32>) -> u32 {
    let step = |sum: u32, value: &f32| (sum ^ *value as i32 as u32).wrapping_mul(16_777_619);
    result.iter().fold(2_166_136_261, step)
}

fn hexadecimal(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|bits| u32::from_str_radix(bits, 16).unwrap()).collect()
}

/// Integers that f32 can represent must agree to the bit.
fn check_integers(recorded: &str, count: usize) {
    let sums = hexadecimal(recorded);
    assert_eq!(sums.len(), count);
    for (number, sum) in sums.into_iter().enumerate() {
        let (kernel, image) = case(number, Generator::integer);
        let shapes = (kernel.dim(), image.dim());
        assert_eq!(checksum(&correlation_trivial(&kernel, &image)), sum, "trivial, case {number}: {shapes:?}");
        assert_eq!(checksum(&correlation_rayon(&kernel, &image)), sum, "rayon, case {number}: {shapes:?}");
    }
}

/// Other values must be within n · ε times the sum of the terms' absolute values. SciPy's result
/// may account for half.
fn check_reals(recorded: &str, count: usize) {
    assert_eq!(recorded.lines().count(), count);
    for (number, line) in recorded.lines().enumerate() {
        let (kernel, image) = case(number, Generator::real);
        let absolute = correlation_trivial(&kernel.mapv(f32::abs), &image.mapv(f32::abs));
        let expected = Array2::from_shape_vec(image.dim(), hexadecimal(line)).unwrap().mapv(f32::from_bits);
        for (name, result) in
            [("trivial", correlation_trivial(&kernel, &image)), ("rayon", correlation_rayon(&kernel, &image))]
        {
            for (((at, &got), &expected), &absolute) in result.indexed_iter().zip(&expected).zip(&absolute) {
                let bound = kernel.len() as f32 * f32::EPSILON * absolute;
                assert!(
                    (got - expected).abs() <= bound,
                    "{name}, case {number} at {at:?}: {got} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn scipys_recorded_integers_are_ours() {
    check_integers(include_str!("scipy_integers.txt"), INTEGERS);
}

#[test]
fn scipys_recorded_reals_are_ours() {
    check_reals(include_str!("scipy_reals.txt"), REALS);
}

#[test]
fn scipys_results_are_ours() {
    let Some(python) = test_support::python_with_scipy() else { return };
    let run = |kind: &str, count: usize| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/correlation/scipy_values.py");
        let output = Command::new(&python).arg(script).arg(kind).arg(count.to_string()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    check_integers(&run("integers", INTEGERS), INTEGERS);
    check_reals(&run("reals", INTEGERS), INTEGERS);
}
