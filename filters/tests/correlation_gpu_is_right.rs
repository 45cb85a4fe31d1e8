//! The GPU versions agree with double precision, on the simulator and on a GPU if there is one.

use filters::{CorrelationGpu, CorrelationGpuError, Reference, Rung, correlation_gpu, correlation_rayon};
use gpu::{Device, DeviceChoice};
use ndarray::{Array2, array};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn random(shape: (usize, usize), seed: u64) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(seed));
    Array2::from_shape_simple_fn(shape, || rng.random_range(-1.0..1.0))
}

/// Images and kernels: near the tiles of each rung, even and large kernels, single rows and
/// columns, and empty ones.
const SHAPES: [[(usize, usize); 2]; 18] = [
    [(1, 1), (1, 1)],
    [(8, 32), (3, 3)],
    [(1, 4), (3, 3)],
    [(2, 4), (7, 7)],
    [(33, 132), (5, 5)],
    [(35, 128), (7, 7)],
    [(70, 260), (3, 3)],
    [(9, 126), (5, 5)],
    [(9, 33), (2, 4)],
    [(64, 31), (7, 7)],
    [(65, 64), (5, 3)],
    [(1, 100), (3, 3)],
    [(100, 1), (6, 1)],
    [(3, 2), (16, 16)],
    [(20, 40), (17, 33)],
    [(0, 5), (3, 3)],
    [(5, 0), (3, 3)],
    [(4, 7), (0, 3)],
];

fn check(device: &Device) {
    for [image, kernel] in SHAPES {
        let (kernel, image) = (random(kernel, 1), random(image, 2));
        let reference = Reference::of(&kernel, &image);
        let mut work = CorrelationGpu::new(device, &kernel, &image).unwrap();
        for rung in Rung::ALL {
            work.launch(rung).unwrap();
            let outcome = reference.verify(&work.result().unwrap());
            assert_eq!(outcome, Ok(()), "{rung:?}, {:?} by {:?}", image.dim(), kernel.dim());
        }
        let turned = correlation_gpu(device, &kernel, &image.t()).unwrap();
        assert_eq!(Reference::of(&kernel, &image.t()).verify(&turned), Ok(()));
    }
    let mut image = random((20, 40), 3);
    (image[[3, 5]], image[[12, 30]], image[[0, 39]]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    for kernel in [filters::SOBEL.kernel().to_owned(), random((5, 5), 4)] {
        let result = correlation_gpu(device, &kernel, &image).unwrap();
        assert_eq!(Reference::of(&kernel, &image).verify(&result), Ok(()));
    }
    // An infinite coefficient multiplied by a zero outside the image is NaN.
    let mut infinite = random((3, 3), 5);
    infinite[[0, 0]] = f32::INFINITY;
    let image = random((9, 12), 6);
    let result = correlation_gpu(device, &infinite, &image).unwrap();
    assert_eq!(Reference::of(&infinite, &image).verify(&result), Ok(()));
}

/// With integer pixels and coefficients, there is no rounding.
fn check_filters(device: &Device) {
    let image = filters::picture::drawing(70, 90);
    for filter in filters::EDGES.into_iter().chain([filters::NEIGHBOURS]) {
        let kernel = filter.kernel();
        assert_eq!(
            correlation_gpu(device, &kernel, &image).unwrap(),
            correlation_rayon(&kernel, &image),
            "{}",
            filter.name
        );
    }
}

#[test]
fn correlation_gpu_is_right_on_the_simulator() {
    check(&Device::simulator());
    check_filters(&Device::simulator());
}

#[test]
fn correlation_gpu_is_right_on_a_gpu_if_there_is_one() {
    if gpu_testing::require_gpu() {
        let device = Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap();
        check(&device);
        check_filters(&device);
    }
}

/// The fixed-size kernels apply to images with whole quads.
#[test]
fn fixed_sizes_are_of_images_with_whole_quads() {
    let device = Device::simulator();
    for ([rows, columns], kernel, expected) in [
        ([4, 8], (3, 3), ("correlation_fixed__3", Rung::FixedSize)),
        ([4, 8], (5, 5), ("correlation_fixed__5", Rung::FixedSize)),
        ([4, 8], (7, 7), ("correlation_fixed__7", Rung::FixedSize)),
        ([8, 9], (3, 3), ("correlation_registers", Rung::Registers)),
        ([4, 8], (3, 5), ("correlation_registers", Rung::Registers)),
        ([4, 8], (4, 4), ("correlation_registers", Rung::Registers)),
    ] {
        let mut work = CorrelationGpu::new(&device, &random(kernel, 1), &random((rows, columns), 2)).unwrap();
        device.take_simulator_reports();
        work.launch(Rung::FixedSize).unwrap();
        let launched: Vec<&str> = device.take_simulator_reports().into_iter().map(|(kernel, _)| kernel).collect();
        assert_eq!((launched, work.fastest()), (vec![expected.0], expected.1), "{kernel:?} on {rows} × {columns}");
        assert_eq!(work.rungs().last(), Some(&expected.1));
    }
}

#[test]
fn correlation_gpu_rejects_what_its_indices_do_not_reach() {
    // One repeated pixel, which takes no memory.
    let pixel = array![[1_u8]];
    let image = pixel.broadcast((1 << 16, 1 << 15)).unwrap();
    let error = CorrelationGpu::new(&Device::simulator(), &array![[1.0]], &image).unwrap_err();
    assert!(matches!(error, CorrelationGpuError::TooLarge { rows: 65_536, columns: 32_768 }), "{error}");
}
