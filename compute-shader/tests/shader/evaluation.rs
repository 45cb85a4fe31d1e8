use compute_shader::ShaderNetwork;
use neural_net::Activation::{Identity, Relu, Softmax};
use neural_net::network::argmax;

use crate::{expected, gpu, inputs, network};

#[test]
fn shader_counts_correct_outputs_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let network = network(&[9, 12, 10], Relu, Softmax, 5);
    let inputs = inputs(777, 9, 6);
    let classes: Vec<u8> =
        expected(&network, &inputs).outer_iter().map(|row| argmax(row.as_slice().unwrap()) as u8).collect();
    // Every third label is wrong.
    let labels: Vec<u8> = classes
        .iter()
        .enumerate()
        .map(|(index, &class)| if index % 3 == 0 { (class + 1) % 10 } else { class })
        .collect();
    for rows in [1, 64, 100, 776, 777, 5000] {
        let mut shader = ShaderNetwork::new(&gpu, &network).unwrap().with_largest_batch(rows.try_into().unwrap());
        let resident = shader.place(inputs.view(), &labels).unwrap();
        assert_eq!(resident.len(), 777);
        // Twice: each evaluation resets the count.
        for _ in 0..2 {
            assert_eq!(shader.count_correct(&resident).unwrap(), 777 - 259, "{rows} rows at a time");
        }
        let all = shader.place(inputs.view(), &classes).unwrap();
        assert_eq!(shader.count_correct(&all).unwrap(), 777);
    }
}

#[test]
fn shader_classifies_by_the_first_of_equal_outputs() {
    let Some(gpu) = gpu() else { return };
    let mut network = network(&[2, 4], Identity, Identity, 0);
    let zero = |shape: (usize, usize)| ndarray::Array2::zeros(shape);
    network = neural_net::Network::new(
        network.architecture().clone(),
        vec![zero((2, 4))],
        vec![ndarray::array![0.0, 1.0, 1.0, 0.5]],
    )
    .unwrap();
    let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
    let resident = shader.place(inputs(4, 2, 1).view(), &[0, 1, 2, 1]).unwrap();
    assert_eq!(shader.count_correct(&resident).unwrap(), 2);
}

#[test]
fn shader_evaluates_an_empty_data_set() {
    let Some(gpu) = gpu() else { return };
    let network = network(&[3, 2], Relu, Identity, 0);
    let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
    let resident = shader.place(inputs(0, 3, 0).view(), &[]).unwrap();
    assert!(resident.is_empty());
    assert_eq!(shader.count_correct(&resident).unwrap(), 0);
    assert_eq!(shader.predict(inputs(0, 3, 0).view()).unwrap().dim(), (0, 2));
}
