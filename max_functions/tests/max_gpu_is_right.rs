//! The GPU version computes the maximum, on the simulator and on a GPU if there is one.

use gpu::{Device, DeviceChoice};
use max_functions::{MaxGpu, MaxGpuError, ShapeMismatch, max_gpu, verify};
use ndarray::{Array2, ArrayRef2, s};
use teaching_tests::{Failure, check};

fn matrix(rows: usize, columns: usize, factor: usize) -> Array2<i32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * columns + j) * factor % 256) as i32)
}

/// Checks `max_gpu` and the kernel with four elements per thread on these matrices. An error
/// reported by the simulator is a failure too.
fn is_right(device: &Device, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<(), Failure> {
    let maximum = max_gpu(device, a, b).map_err(|error| format!("max_gpu: {error}"))?;
    check("max_gpu", verify(&maximum, a, b))?;
    let quads = || {
        let mut work = MaxGpu::new(device, a, b)?;
        work.launch_quads()?;
        Ok(work.result()?)
    };
    let maximum = quads().map_err(|error: MaxGpuError| format!("launch_quads: {error}"))?;
    check("launch_quads", verify(&maximum, a, b))
}

/// A million elements take 250 blocks. A GPU with 125 multiprocessors can hold all of them at once.
#[test]
fn part2_quads_take_a_quarter_of_the_threads() {
    let device = Device::simulator();
    let mut work = MaxGpu::new(&device, &matrix(1000, 1000, 7919), &matrix(1000, 1000, 104_729)).unwrap();
    device.take_simulator_reports();
    work.launch_quads().unwrap();
    let [(kernel, report)] = device.take_simulator_reports()[..] else { panic!("there was one launch") };
    assert_eq!((kernel, report.threads, report.global_loads), ("max_quads_kernel", 250_000, 2_000_000));
}

fn check_on(device: &Device) -> Result<(), Failure> {
    for (rows, columns) in [(0, 0), (0, 7), (1, 1), (1, 2), (1, 4), (1, 1001), (33, 31), (250, 13)] {
        is_right(device, &matrix(rows, columns, 7919), &matrix(rows, columns, 104_729))?;
    }
    // Views with other strides.
    let (a, b) = (matrix(9, 20, 31), matrix(20, 9, 57));
    let (a, b) = (a.slice(s![.., ..;-1]), b.t());
    is_right(device, &a, &b)?;
    let error = max_gpu(device, &a, &b.t()).unwrap_err();
    assert_eq!(error.to_string(), ShapeMismatch { a: (9, 20), b: (20, 9) }.to_string());
    Ok(())
}

#[test]
fn part2_max_gpu_is_right_on_the_simulator() -> Result<(), Failure> {
    check_on(&Device::simulator())
}

#[test]
fn part2_max_gpu_is_right_on_a_gpu_if_there_is_one() -> Result<(), Failure> {
    match gpu_testing::require_gpu() {
        true => check_on(&Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap()),
        false => Ok(()),
    }
}
