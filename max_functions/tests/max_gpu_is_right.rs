//! The GPU version agrees with the trivial version, on the simulator and on a GPU if there is one.

use gpu::{Device, DeviceChoice};
use max_functions::{ShapeMismatch, max_cpu, max_gpu};
use ndarray::{Array2, s};

fn matrix(rows: usize, columns: usize, factor: usize) -> Array2<i32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * columns + j) * factor % 256) as i32)
}

fn check(device: &Device) {
    for (rows, columns) in [(0, 0), (0, 7), (1, 1), (1, 1001), (33, 31), (250, 13)] {
        let (a, b) = (matrix(rows, columns, 7919), matrix(rows, columns, 104_729));
        assert_eq!(max_gpu(device, &a, &b).unwrap(), max_cpu(&a, &b).unwrap(), "{rows} × {columns}");
    }
    // Views with other strides.
    let (a, b) = (matrix(9, 20, 31), matrix(20, 9, 57));
    let (a, b) = (a.slice(s![.., ..;-1]), b.t());
    assert_eq!(max_gpu(device, &a, &b).unwrap(), max_cpu(&a, &b).unwrap());
    let error = max_gpu(device, &a, &b.t()).unwrap_err();
    assert_eq!(error.to_string(), ShapeMismatch { a: (9, 20), b: (20, 9) }.to_string());
}

#[test]
fn part2_max_gpu_is_right_on_the_simulator() {
    check(&Device::simulator());
}

#[test]
fn part2_max_gpu_is_right_on_a_gpu_if_there_is_one() {
    if gpu::require_gpu() {
        check(&Device::open(DeviceChoice::Cuda, gpu::KERNELS).unwrap());
    }
}
