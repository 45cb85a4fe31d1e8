//! Every rung of the GPU version agrees with double precision, on the simulator and on a GPU if there is one.

use gpu::{Device, DeviceChoice};
use matmul_functions::{Element, MatmulGpu, MatmulGpuError, Reference, Rung, matmul_transpose_gpu};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn check<F: Element>(device: &Device, from_f64: impl Fn(f64) -> F) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (rows, columns) in [(0, 5), (1, 1), (5, 0), (31, 33), (64, 17), (130, 9), (150, 40)] {
        let x = Array2::from_shape_simple_fn((rows, columns), || from_f64(rng.random_range(-1.0..1.0)));
        let reference = Reference::of(&x);
        for rung in Rung::ALL {
            let mut work = MatmulGpu::new(device, &x).unwrap();
            work.launch(rung).unwrap();
            let outcome = reference.verify(&work.result().unwrap());
            assert_eq!(outcome, Ok(()), "rung {}, {rows} × {columns}", rung.name());
        }
        assert_eq!(reference.verify(&matmul_transpose_gpu(device, &x).unwrap()), Ok(()), "{rows} × {columns}");
    }
}

fn check_both_types(device: &Device) {
    check(device, |value| value as f32);
    check(device, |value| value);
}

#[test]
fn part3_matmul_gpu_is_right_on_the_simulator() {
    check_both_types(&Device::simulator());
}

#[test]
fn part3_matmul_gpu_is_right_on_a_gpu_if_there_is_one() {
    if gpu::require_gpu() {
        check_both_types(&Device::open(DeviceChoice::Cuda, gpu::KERNELS).unwrap());
    }
}

#[test]
fn part3_matmul_gpu_rejects_sizes_beyond_32_bit_indices() {
    let x = Array2::<f32>::zeros((70_000, 0));
    let error = MatmulGpu::new(&Device::simulator(), &x).unwrap_err();
    assert!(matches!(error, MatmulGpuError::TooLarge { rows: 70_000, columns: 0 }), "{error}");
}
