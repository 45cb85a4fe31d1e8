//! The network's activation functions match known values.

use kernels_cpu::InstructionSet;
use kernels_cpu::activation::sigmoid_in_place;
use kernels_cpu::tanh::tanh_in_place;

/// x, σ(x) and tanh x, computed with 50 digits.
const KNOWN: [(f64, f64, f64); 6] = [
    (-20.0, 2.0611536181902037e-09, -1.0),
    (-3.0, 0.04742587317756678, -0.9950547536867305),
    (-0.5, 0.37754066879814546, -0.46211715726000974),
    (0.0, 0.5, 0.0),
    (0.25, 0.5621765008857981, 0.24491866240370913),
    (7.0, 0.9990889488055994, 0.9999983369439447),
];

/// Checks both functions against the known values, with a relative error of at most `tolerance`.
fn check(tolerance: f64) {
    let x: Vec<f32> = KNOWN.iter().map(|&(x, _, _)| (x) as f32).collect();
    let (mut sigmoid, mut tanh) = (x.clone(), x.clone());
    sigmoid_in_place(InstructionSet::detect(), &mut sigmoid);
    tanh_in_place(InstructionSet::detect(), &mut tanh);
    for (((x, expected_sigmoid, expected_tanh), sigmoid), tanh) in KNOWN.into_iter().zip(sigmoid).zip(tanh) {
        let is_close = |got: f32, expected: f64| {
            let got = f64::from(got);
            (got - expected).abs() <= tolerance * expected.abs()
        };
        assert!(is_close(sigmoid, expected_sigmoid), "σ({x}) is {expected_sigmoid}, not {sigmoid:?}");
        assert!(is_close(tanh, expected_tanh), "tanh {x} is {expected_tanh}, not {tanh:?}");
    }
}

#[test]
fn sigmoid_and_tanh_have_the_known_values() {
    check(3e-7);
}
