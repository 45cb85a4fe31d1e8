//! Checks before timing that the shaders' outputs agree with the CPU's.

use anyhow::Result;
use compute_shader::{Path, ShaderNetwork};
use ndarray::{Array2, ArrayView2, s};
use neural_net::network::argmax;
use neural_net::{Network, Predictor};
use timing::Report;

use super::input::Input;

/// Maximum error of an output: absolute for magnitudes up to 1, relative above.
const TOLERANCE: f32 = 1e-5;
/// Number of samples that are also checked against naive loops, on both paths.
const PLAIN_SAMPLES: usize = 200;

pub(super) fn run(
    report: &mut Report,
    shader: &mut ShaderNetwork,
    predictor: &Predictor,
    input: &Input,
    batches: &[usize],
) -> Result<()> {
    let expected = predictor.predict_all(input.inputs.view());
    let mut outputs = Array2::zeros((0, 0));
    for &batch in batches {
        let samples = input.batch(batch);
        outputs = shader.predict(samples)?;
        let outcome = compare(outputs.view(), expected.slice(s![..samples.nrows(), ..]));
        report.check_on(&format!("shader_batch_{batch}"), &error_note(&outcome), outcome.map(|_| ()));
    }
    let samples = input.batch(PLAIN_SAMPLES);
    let plain = predict_by_plain_loops(&input.network, samples);
    for (name, path) in [("shader_single", Path::Single), ("shader_batch", Path::Batch)] {
        let outcome = compare(shader.predict_by(path, samples)?.view(), plain.view());
        report.check_on(&format!("{name}_against_plain_loops"), &error_note(&outcome), outcome.map(|_| ()));
    }
    // The last batch is the whole input.
    report.check("shader_same_predictions", same_predictions(&outputs, &expected));
    Ok(())
}

fn error_note(outcome: &Result<f32, String>) -> String {
    outcome.as_ref().map(|error| format!(" (largest error {error:.1e})")).unwrap_or_default()
}

fn predict_by_plain_loops(network: &Network, inputs: ArrayView2<f32>) -> Array2<f32> {
    let mut outputs = Array2::zeros((inputs.nrows(), network.architecture().outputs()));
    for (mut output, input) in outputs.outer_iter_mut().zip(inputs.outer_iter()) {
        output.assign(&ndarray::Array1::from(network.predict(&input.to_vec())));
    }
    outputs
}

/// The largest error, measured as for [`TOLERANCE`], or the first output that exceeds it.
fn compare(found: ArrayView2<f32>, expected: ArrayView2<f32>) -> Result<f32, String> {
    if found.dim() != expected.dim() {
        return Err(format!("{:?} outputs, expected {:?}", found.dim(), expected.dim()));
    }
    let mut largest = 0.0_f32;
    for ((place, &found), &expected) in found.indexed_iter().zip(&expected) {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        if error.is_nan() || error > TOLERANCE {
            let (sample, output) = place;
            return Err(format!("sample {sample}, output {output}: {found}, expected {expected}"));
        }
        largest = largest.max(error);
    }
    Ok(largest)
}

fn same_predictions(found: &Array2<f32>, expected: &Array2<f32>) -> Result<(), String> {
    let class = |row: ndarray::ArrayView1<f32>| argmax(&row.to_vec());
    let other =
        found.outer_iter().zip(expected.outer_iter()).position(|(found, expected)| class(found) != class(expected));
    other.map_or(Ok(()), |sample| {
        Err(format!("sample {sample} is class {}, expected {}", class(found.row(sample)), class(expected.row(sample))))
    })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn shader_check_finds_each_kind_of_difference() {
        let expected = array![[0.0, 1.0], [100.0, -1.0]];
        assert_eq!(compare(expected.view(), expected.view()), Ok(0.0));
        let close = array![[9e-6, 1.0], [100.0009, -1.0]];
        assert!(compare(close.view(), expected.view()).is_ok());
        for wrong in [array![[2e-5, 1.0], [100.0, -1.0]], array![[0.0, 1.0], [100.0, f32::NAN]]] {
            assert!(compare(wrong.view(), expected.view()).unwrap_err().starts_with("sample "), "{wrong}");
        }
        assert!(compare(expected.slice(s![..1, ..]), expected.view()).unwrap_err().contains("(1, 2) outputs"));
        assert_eq!(same_predictions(&close, &expected), Ok(()));
        let swapped = array![[1.0, 0.0], [100.0, -1.0]];
        assert_eq!(same_predictions(&swapped, &expected), Err("sample 0 is class 0, expected 1".to_owned()));
    }
}
