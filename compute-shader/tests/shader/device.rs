use compute_shader::{Gpu, Path, ShaderError, ShaderNetwork};
use neural_net::Activation::{Relu, Softmax};

use crate::{gpu, inputs, network};

#[test]
fn shader_reports_a_lost_device() {
    let Some(gpu) = gpu() else { return };
    let network = network(&[10, 8, 4], Relu, Softmax, 0);
    let inputs = inputs(100, 10, 0);
    let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
    shader.predict(inputs.view()).unwrap();
    let resident = shader.place(inputs.view(), &[0; 100]).unwrap();
    gpu.lose();
    for path in [Path::Batch, Path::Single] {
        assert!(matches!(shader.predict_by(path, inputs.view()), Err(ShaderError::Lost { .. })), "{path:?}");
    }
    assert!(matches!(shader.count_correct(&resident), Err(ShaderError::Lost { .. })));
    assert!(matches!(shader.time_phases(inputs.view()), Err(ShaderError::Lost { .. })));
    assert!(matches!(shader.place(inputs.view(), &[0; 100]), Err(ShaderError::Lost { .. })));
    let error = ShaderNetwork::new(&gpu, &network).err().unwrap().to_string();
    assert!(error.contains("lost") && error.contains("--adapter") && error.lines().count() == 1, "{error}");
}

#[test]
fn shader_adapter_is_found_by_part_of_its_name() {
    let Some(gpu) = gpu() else { return };
    let name = gpu.name().to_uppercase();
    assert_eq!(Gpu::open(Some(&name)).unwrap().name(), gpu.name());
    let error = Gpu::open(Some("no such adapter")).err().unwrap().to_string();
    assert!(error.starts_with("no adapter matches \"no such adapter\"; available: "), "{error}");
    assert!(error.contains(gpu.name()), "{error}");
    if gpu.is_software() {
        assert!(gpu.description().contains("software, runs on the CPU"), "{}", gpu.description());
        assert!(Gpu::open(Some("software")).unwrap().is_software());
    }
}

#[test]
fn shader_phases_are_timed() {
    let Some(gpu) = gpu() else { return };
    let network = network(&[784, 10, 10], Relu, Softmax, 0);
    let mut shader = ShaderNetwork::new(&gpu, &network).unwrap();
    for rows in [1, 100] {
        let phases = shader.time_phases(inputs(rows, 784, 0).view()).unwrap();
        assert!(phases.upload > 0.0 && phases.read_back > 0.0, "{phases:?}");
        assert_eq!(phases.compute.is_some(), gpu.has_timestamps());
        // Zero is allowed: timestamps may be coarser than the pass.
        assert!(phases.compute.is_none_or(|seconds| (0.0..60.0).contains(&seconds)), "{phases:?}");
    }
}
