//! The GPU versions agree with double precision, on the simulator and on a GPU if there is one.

use activation_functions::*;
use gpu::{Device, DeviceChoice};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn random_input(number: usize) -> (Vec<f32>, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(number as u64));
    let values = (0..number).map(|_| f32::from(rng.random::<u8>())).collect();
    (values, (0..number).map(|_| rng.random_range(-1.5..1.5)).collect())
}

fn check(device: &Device) {
    for number in [0, 1, 2, 3, 4, 5, 7, 1023, 1024, 1025, 70_001] {
        let (values, weights) = random_input(number);
        let mut work = ActivationGpu::new(device, number).unwrap();
        // Twice, since the buffers are reusable.
        for _ in 0..2 {
            work.upload(&values, &weights).unwrap();
            work.launch(Version::ThreeLaunches).unwrap();
            for step in Step::ALL {
                work.copy_to_host_and_back(step).unwrap();
                let outcome = verify(step, &work.result(step).unwrap(), &values, &weights, TOLERANCE);
                assert!(outcome.is_ok(), "{step:?} of {number} values: {outcome:?}");
            }
        }
        for (version, tolerance) in [(Version::Fused, TOLERANCE), (Version::FusedFast, TOLERANCE_FAST)] {
            work.launch(version).unwrap();
            let results = work.result(Step::Activate).unwrap();
            let outcome = verify(Step::Activate, &results, &values, &weights, tolerance);
            assert!(outcome.is_ok(), "{version:?} of {number} values: {outcome:?}");
        }
        let outcome =
            verify(Step::Activate, &fused_gpu(device, &values, &weights).unwrap(), &values, &weights, TOLERANCE);
        assert!(outcome.is_ok(), "{number} values: {outcome:?}");
    }

    // Saturation, signed zeros, tiny values and NaN.
    let values = [f32::INFINITY, -2550.0, -0.0, 0.0, 1e-36, f32::NAN, 255.0, 2300.0];
    let fused = fused_gpu(device, &values, &[1.0; 8]).unwrap();
    // A GPU's tanh may be one unit in the last place below 1 where it saturates.
    let saturated = (1.0 - f32::EPSILON / 2.0)..=1.0;
    assert!(saturated.contains(&fused[0]) && saturated.contains(&-fused[1]), "{fused:?}");
    assert_eq!([fused[2], fused[3]].map(f32::to_bits), [-0.0_f32, 0.0].map(f32::to_bits));
    assert!((fused[4] / (1e-36 / 255.0) - 1.0).abs() < 1e-6 && fused[5].is_nan(), "{fused:?}");
    assert!((fused[6] - 0.761_594_2).abs() < 1e-6 && fused[7] <= 1.0 && fused[7] > 0.999_999, "{fused:?}");
}

#[test]
fn activation_gpu_is_right_on_the_simulator() {
    check(&Device::simulator());
}

#[test]
fn activation_gpu_is_right_on_a_gpu_if_there_is_one() {
    if gpu_testing::require_gpu() {
        check(&Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap());
    }
}

#[test]
fn activation_gpu_rejects_other_lengths() {
    let device = Device::simulator();
    let mut work = ActivationGpu::new(&device, 5).unwrap();
    let error = work.upload(&[1.0; 5], &[1.0; 4]).unwrap_err();
    assert_eq!(error.to_string(), LengthMismatch { values: 5, weights: 4 }.to_string());
    let error = work.upload(&[1.0; 6], &[1.0; 6]).unwrap_err();
    assert!(matches!(error, ActivationGpuError::OtherLength { length: 5, given: 6 }), "{error}");
    let error = ActivationGpu::new(&device, usize::MAX).unwrap_err();
    assert!(matches!(error, ActivationGpuError::TooMany { length: usize::MAX }), "{error}");
}

/// The simulator reports reads of uninitialized memory.
#[test]
fn activation_gpu_without_an_upload_is_a_fault_on_the_simulator() {
    let device = Device::simulator();
    let mut work = ActivationGpu::new(&device, 5).unwrap();
    assert!(work.launch(Version::Fused).unwrap_err().fault().is_some());
    work.upload(&[1.0; 5], &[1.0; 5]).unwrap();
    assert!(work.launch_step(Step::Weigh).unwrap_err().fault().is_some());
}
