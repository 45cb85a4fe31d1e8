//! On the simulator, buffers hold the values copied to them, and launches have results, counters
//! and errors.

use std::num::NonZeroUsize;

use crate::support::{checked_buffers, overrun, scale, vector_max};
use cuda_std::simulator::FaultKind;
use gpu::{Device, Error, LaunchConfig, SimulatorOptions};

#[test]
fn buffers_hold_the_values_copied_to_them() {
    let device = Device::simulator();
    checked_buffers(&device);
    assert_eq!(device.zeroed::<f64>(2).unwrap().to_vec().unwrap(), [0.0, 0.0]);
    assert!(device.uninitialized::<f32>(0).unwrap().is_empty());
}

#[test]
fn other_lengths_are_rejected() {
    let device = Device::simulator();
    let mut buffer = device.buffer_from_slice(&[1_u32, 2, 3]).unwrap();
    let error = buffer.copy_from(&[1, 2]).unwrap_err();
    assert_eq!(error.to_string(), "copy_from: the buffer has 3 elements, the slice 2");
    let error = buffer.copy_to(&mut [0; 4]).unwrap_err();
    assert!(matches!(error, Error::Length { operation: "copy_to", buffer: 3, slice: 4 }), "{error}");
}

#[test]
fn a_launch_has_results_and_counters() {
    let device = Device::simulator();
    let a = device.buffer_from_slice(&[1.0, 5.0, 3.0]).unwrap();
    let b = device.buffer_from_slice(&[4.0, 2.0, 6.0]).unwrap();
    let mut out = device.uninitialized(3).unwrap();
    let report = device.launch(&vector_max, LaunchConfig::new(2, 2), (&a, &b, &mut out)).unwrap().unwrap();
    assert_eq!(out.to_vec().unwrap(), [4.0, 5.0, 6.0]);
    assert_eq!((report.blocks, report.threads, report.global_loads, report.global_stores), (2, 4, 6, 3));

    let report = device.launch(&scale, LaunchConfig::new(1, 32), (&mut out, 2.0, 1)).unwrap().unwrap();
    assert_eq!(out.to_vec().unwrap(), [4.0, 10.0, 12.0]);
    assert_eq!((report.global_loads, report.global_stores), (2, 2));
}

#[test]
fn elements_that_no_kernel_wrote_are_an_error_when_they_are_read_back() {
    let device = Device::simulator();
    let x = device.buffer_from_slice(&[1.0; 5]).unwrap();
    let mut out = device.uninitialized(5).unwrap();
    let error = |out: &gpu::Buffer<f32>| out.to_vec().unwrap_err().to_string();
    assert_eq!(error(&out), "element 0 of a buffer was never written, nor was any other");
    device.launch(&vector_max, LaunchConfig::new(1, 2), (&x, &x, &mut out)).unwrap();
    assert_eq!(error(&out), "element 2 of `out` was never written by `vector_max` (3 of 5 elements)");
    let error = out.to_vec_at(2..5).unwrap_err();
    assert_eq!(error.to_string(), "element 2 of `out` was never written by `vector_max`, nor was any other");
    // Only the written part, and a copy of all elements.
    assert_eq!(out.to_vec_at(0..2).unwrap(), [1.0; 2]);
    let mut values = [0.0; 5];
    out.copy_to(&mut values).unwrap();
    assert!(values[1] == 1.0 && values[2].is_nan());
    out.copy_from_at(2, &[7.0; 3]).unwrap();
    assert_eq!(out.to_vec().unwrap(), [1.0, 1.0, 7.0, 7.0, 7.0]);
}

#[test]
fn it_is_never_timed() {
    let device = Device::simulator();
    let mut x = device.buffer_from_slice(&[1.0]).unwrap();
    let (report, seconds) = device.time(|| device.launch(&scale, LaunchConfig::new(1, 1), (&mut x, 2.0, 0))).unwrap();
    assert_eq!((report.unwrap().threads, seconds), (1, None));
}

#[test]
fn a_fault_has_its_kernel_and_kind() {
    let device = Device::simulator_with(SimulatorOptions { check_races: false, ..SimulatorOptions::default() });
    let mut x = device.zeroed(4).unwrap();
    let error = device.launch(&overrun, LaunchConfig::new(1, 1), (&mut x,)).unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kernel, "overrun");
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { index: 4, length: 4, .. }), "{fault}");
}

#[test]
fn a_block_that_is_too_large_is_rejected() {
    let device = Device::simulator();
    let mut x = device.zeroed(4).unwrap();
    let error = device.launch(&scale, LaunchConfig::new(1, 2048), (&mut x, 2.0, 0)).unwrap_err();
    assert!(matches!(error, Error::Limit { kernel: "scale", .. }), "{error}");
}

#[test]
fn repetitions_are_not_timed() {
    let device = Device::simulator();
    let mut x = device.buffer_from_slice(&[1.0]).unwrap();
    let seconds = device.time_repeats(NonZeroUsize::new(2).unwrap(), |_| {
        device.launch(&scale, LaunchConfig::new(1, 1), (&mut x, 2.0, 0)).map(drop)
    });
    assert_eq!(seconds.unwrap(), None);
    assert!(x.to_vec().unwrap()[0] > 1.0, "the work has run");
}
