use std::panic::AssertUnwindSafe;

use compute_shader::{Path, ShaderNetwork};
use ndarray::{Array2, array, s};
use neural_net::Activation::{self, Identity, Relu, Sigmoid, Softmax, Tanh};
use neural_net::{Architecture, Network};

use crate::{assert_close, expected, gpu, inputs, network};

const ACTIVATIONS: [(Activation, Activation); 6] =
    [(Relu, Softmax), (Sigmoid, Sigmoid), (Tanh, Identity), (Identity, Tanh), (Sigmoid, Relu), (Tanh, Softmax)];

#[test]
fn shader_predicts_as_plain_loops_do() {
    let Some(gpu) = gpu() else { return };
    let shapes: [&[usize]; 6] =
        [&[784, 10, 10], &[1, 1], &[3, 17, 1, 65], &[300, 65, 300], &[65, 257, 3], &[16, 64, 16, 16]];
    for (index, sizes) in shapes.into_iter().enumerate() {
        for (hidden, output) in ACTIVATIONS {
            let network = network(sizes, hidden, output, index as u64);
            let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
            for rows in [1, 2, 63, 64, 65, 130] {
                let inputs = inputs(rows, sizes[0], rows as u64);
                let what = format!("{sizes:?}, {hidden:?}, {output:?}, {rows} rows");
                assert_close(&shader.predict(inputs.view()).unwrap(), &expected(&network, &inputs), &what);
            }
        }
    }
}

#[test]
fn shader_predicts_one_sample_by_either_path() {
    let Some(gpu) = gpu() else { return };
    for sizes in [&[784, 10, 10][..], &[5, 1], &[7, 300, 2, 513, 9], &[1000, 256, 4]] {
        for (hidden, output) in ACTIVATIONS {
            let network = network(sizes, hidden, output, 7);
            let inputs = inputs(3, sizes[0], 8);
            let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
            assert_eq!((shader.path_for(1), shader.path_for(2)), (Path::Single, Path::Batch));
            for path in [Path::Single, Path::Batch] {
                let what = format!("{sizes:?}, {hidden:?}, {output:?}, {path:?}");
                assert_close(&shader.predict_by(path, inputs.view()).unwrap(), &expected(&network, &inputs), &what);
            }
        }
    }
}

#[test]
fn shader_splits_batches_that_are_too_large() {
    let Some(gpu) = gpu() else { return };
    let network = network(&[20, 30, 4], Tanh, Softmax, 1);
    let inputs = inputs(1000, 20, 2);
    let whole = ShaderNetwork::new(&gpu, &network).unwrap().predict(inputs.view()).unwrap();
    assert_close(&whole, &expected(&network, &inputs), "at once");
    for rows in [1, 63, 64, 333, 999, 1000] {
        let mut shader = ShaderNetwork::new(&gpu, &network).unwrap().with_largest_batch(rows.try_into().unwrap());
        assert_eq!(shader.largest_batch(), rows);
        assert_eq!(shader.predict(inputs.view()).unwrap(), whole, "{rows} at a time");
        let phases = shader.time_phases(inputs.view()).unwrap();
        assert!(phases.upload > 0.0 && phases.read_back > 0.0, "{phases:?}");
        assert_eq!(phases.compute.is_some(), gpu.has_timestamps());
    }
}

#[test]
fn shader_predicts_batches_of_varying_sizes() {
    let Some(gpu) = gpu() else { return };
    let network = network(&[12, 40, 5], Relu, Softmax, 3);
    let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
    let inputs = inputs(300, 12, 4);
    let all = expected(&network, &inputs);
    for (first, rows) in [(0, 300), (5, 1), (10, 0), (200, 100), (299, 1), (0, 65), (3, 2)] {
        let part = inputs.slice(s![first..first + rows, ..]);
        let outputs = shader.predict(part).unwrap();
        assert_close(
            &outputs,
            &all.slice(s![first..first + rows, ..]).to_owned(),
            &format!("{rows} rows from {first}"),
        );
    }
    // A column-major copy of the inputs.
    let transposed = inputs.t().as_standard_layout().into_owned();
    assert_close(&shader.predict(transposed.t()).unwrap(), &all, "column-major");
}

#[test]
fn shader_activations_do_not_overflow() {
    let Some(gpu) = gpu() else { return };
    let sums = Array2::from_shape_vec((2, 5), vec![-1e4, -90.0, 0.0, 90.0, 1e4, 1e4, 1e4, -1e4, 9999.0, 0.0]).unwrap();
    let identity = Array2::from_diag(&array![1.0, 1.0, 1.0, 1.0, 1.0]);
    for activation in [Identity, Relu, Sigmoid, Tanh, Softmax] {
        let architecture = Architecture::new(vec![5, 5], Identity, activation).unwrap();
        let network =
            Network::new(architecture, vec![identity.clone()], vec![array![0.0, 0.0, 0.0, 0.0, 0.0]]).unwrap();
        let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
        for path in [Path::Single, Path::Batch] {
            let found = shader.predict_by(path, sums.view()).unwrap();
            assert_close(&found, &expected(&network, &sums), &format!("{activation:?}, {path:?}"));
        }
    }
}

#[test]
fn shader_panics_on_a_wrong_number_of_inputs() {
    let Some(gpu) = gpu() else { return };
    let mut shader = ShaderNetwork::new(&gpu, &network(&[4, 2], Relu, Identity, 0)).unwrap();
    for columns in [3, 5] {
        let inputs = inputs(2, columns, 0);
        let predict = AssertUnwindSafe(|| shader.predict(inputs.view()));
        let panic = std::panic::catch_unwind(predict).expect_err("rows of a wrong length panic");
        let message = panic.downcast_ref::<String>().expect("the panic has a formatted message");
        assert!(message.contains("one column per network input"), "{columns} columns: {message}");
    }
}
