use compute_shader::{ShaderNetwork, notebook};
use neural_net::Predictor;
use neural_net::data::{Dataset, ToSamples};
use neural_net::network::argmax;

use crate::{assert_close, gpu};

#[test]
fn shader_classifies_all_test_images_as_the_cpu_does() {
    let Some(gpu) = gpu() else { return };
    let Some(directory) = test_support::path_in("MNIST_DIR", test_support::Need::Mnist) else { return };
    let dataset = Dataset::read(&directory).unwrap();
    let network = notebook::train(&dataset.train, 1000).unwrap();
    let test = dataset.test.samples(0, dataset.test.len());
    let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
    let found = shader.predict(test.inputs().view()).unwrap();
    let cpu = Predictor::new(&network).predict_all(test.inputs().view());
    assert_eq!(found.nrows(), 10_000);
    assert_close(&found, &cpu, "MNIST");
    let class = |row: ndarray::ArrayView1<f32>| argmax(row.to_slice().unwrap());
    let classes: Vec<usize> = found.outer_iter().map(class).collect();
    assert_eq!(classes, cpu.outer_iter().map(class).collect::<Vec<_>>());

    let correct =
        classes.iter().zip(&dataset.test.labels).filter(|(class, label)| **class == usize::from(**label)).count();
    // The notebook's network reaches about 91 %. A perfect score would mean that it was trained on
    // the test images.
    assert!((9000..9900).contains(&correct), "{correct}");
    let resident = shader.place(test.inputs().view(), &dataset.test.labels).unwrap();
    assert_eq!(shader.count_correct(&resident).unwrap(), correct);
}
