//! Every rung of the GPU version agrees with double precision, on the simulator and on a GPU if there is one.

use gpu::{Device, DeviceChoice, InterpreterOptions};
use matmul_functions::{MatmulElement, MatmulGpu, MatmulGpuError, Reference, Rung, matmul_transpose_gpu};
use ndarray::Array2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, check};

fn rungs_are_right<F: MatmulElement>(device: &Device, from_f64: impl Fn(f64) -> F) -> Result<(), Failure> {
    let failed = |name: &str, error: MatmulGpuError| format!("{name}: {error}");
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    for (rows, columns) in [(0, 5), (1, 1), (5, 0), (31, 33), (64, 17), (130, 9), (150, 40)] {
        let x = Array2::from_shape_simple_fn((rows, columns), || from_f64(rng.random_range(-1.0..1.0)));
        let reference = Reference::of(&x);
        let mut work = MatmulGpu::new(device, &x).map_err(|error| failed("MatmulGpu::new", error))?;
        for rung in work.rungs() {
            let name = format!("rung {}, X of {rows} × {columns}", rung.name());
            work.launch(rung).map_err(|error| failed(&name, error))?;
            let product = work.result().map_err(|error| failed(&name, error.into()))?;
            check(&name, reference.verify(&product))?;
        }
        let product = matmul_transpose_gpu(device, &x).map_err(|error| failed("matmul_transpose_gpu", error))?;
        check("matmul_transpose_gpu", reference.verify(&product))?;
    }
    Ok(())
}

fn both_types_are_right(device: &Device) -> Result<(), Failure> {
    rungs_are_right(device, |value| value as f32)?;
    rungs_are_right(device, |value| value)
}

#[test]
fn part3_matmul_gpu_is_right_on_the_simulator() -> Result<(), Failure> {
    both_types_are_right(&Device::simulator())
}

#[test]
fn part3_matmul_gpu_is_right_on_a_gpu_if_there_is_one() -> Result<(), Failure> {
    match gpu_testing::require_gpu() {
        true => both_types_are_right(&Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap()),
        false => Ok(()),
    }
}

#[test]
fn part3_two_rungs_are_for_single_precision_and_some_for_rows_that_fit_into_shared_memory() {
    let device = Device::simulator();
    let single = Array2::<f32>::zeros((50, 40));
    assert_eq!(MatmulGpu::new(&device, &single).unwrap().rungs(), Rung::ALL);
    // 16 columns of 3000 rows take more than 227 KiB.
    let (long, double) = (Array2::<f32>::zeros((3000, 40)), Array2::<f64>::zeros((50, 40)));
    let mut long = MatmulGpu::new(&device, &long).unwrap();
    let mut double = MatmulGpu::new(&device, &double).unwrap();
    let rungs_but =
        |left_out: [Rung; 2]| -> Vec<Rung> { Rung::ALL.into_iter().filter(|rung| !left_out.contains(rung)).collect() };
    let (of_resident, of_single) = ([Rung::Resident, Rung::OneBlockTensor], [Rung::Resident, Rung::Grid]);
    assert_eq!((long.rungs(), long.fastest()), (rungs_but(of_resident), Rung::Buffered));
    assert_eq!((double.rungs(), double.fastest()), (rungs_but(of_single), Rung::Buffered));
    let on_double = of_single.map(|rung| (double.launch(rung), rung));
    for (result, rung) in of_resident.map(|rung| (long.launch(rung), rung)).into_iter().chain(on_double) {
        let error = result.unwrap_err();
        assert!(matches!(error, MatmulGpuError::NoKernel { rung: found, .. } if found == rung), "{error}");
    }
}

/// PTX for sm_75 has no kernels for tensor cores.
#[test]
fn part3_the_rungs_with_tensor_cores_are_left_out_where_the_ptx_lacks_it() {
    let [oldest, ..] = gpu_testing::fresh_ptx(&kernels_gpu::PTX) else { return };
    let device = Device::interpreter(oldest, InterpreterOptions::default()).unwrap();
    let x = Array2::<f32>::zeros((5, 4));
    let mut work = MatmulGpu::new(&device, &x).unwrap();
    assert_eq!(work.rungs(), Rung::ALL[..7]);
    for rung in [Rung::TensorCores, Rung::OneBlockTensor] {
        let error = work.launch(rung).unwrap_err();
        assert!(matches!(error, MatmulGpuError::NoKernel { rung: found, rows: 5 } if found == rung), "{error}");
    }
}

#[test]
fn part3_matmul_gpu_rejects_sizes_beyond_32_bit_indices() {
    let x = Array2::<f32>::zeros((70_000, 0));
    let error = MatmulGpu::new(&Device::simulator(), &x).unwrap_err();
    assert!(matches!(error, MatmulGpuError::TooLarge { rows: 70_000, columns: 0 }), "{error}");
}
