//! What the stand-in cannot show: that a real driver takes the kernels, runs them, times them and tells of their errors.
//! Skipped where there is no GPU, unless GPU_TESTS=require.

mod support;

use gpu::{Device, DeviceChoice, Error, LaunchConfig, OpenError, PtxVariant, require_gpu};
use support::{PTX, in_own_process, overrun, scale, vector_max};

#[test]
fn kernels_run_and_are_timed() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    let values: Vec<f32> = (0..100_000).map(|i| i as f32).collect();
    let a = device.buffer_from_slice(&values).unwrap();
    let b = device.buffer_from_slice(&vec![50_000.0; values.len()]).unwrap();
    let mut out = device.uninitialized(values.len()).unwrap();
    let config = LaunchConfig::for_elements(values.len(), 256);
    let (_, seconds) = device.time(|| device.launch(&vector_max, config, (&a, &b, &mut out))).unwrap();
    assert!(seconds.unwrap() > 0.0);
    let stream = device.stream().unwrap();
    stream.launch(&scale, config, (&mut out, 2.0, 3)).unwrap();
    stream.synchronize().unwrap();
    let mut pinned = device.pinned(values.len()).unwrap();
    out.copy_to(&mut pinned).unwrap();
    for (i, (out, value)) in pinned.iter().zip(&values).enumerate() {
        assert_eq!(*out, value.max(50_000.0) * if i < 3 { 1.0 } else { 2.0 }, "{i}");
    }
    assert!(device.zeroed::<f64>(1000).unwrap().to_vec().unwrap().iter().all(|&zero| zero == 0.0));
}

#[test]
fn too_large_a_buffer_is_refused() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    let too_many = device.total_memory().unwrap();
    let error = device.uninitialized::<f64>(too_many).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { element_bytes: 8, .. }), "{error}");
}

#[test]
fn the_compilers_log_is_in_the_error() {
    static WRONG: &[PtxVariant] = &[PtxVariant {
        compute_capability: (7, 5),
        text: ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k() { no_such_instruction; }\n",
    }];
    if !require_gpu() {
        return;
    }
    let error = Device::open(DeviceChoice::Auto, WRONG).unwrap_err();
    assert!(matches!(&error, OpenError::Ptx { log, .. } if log.contains("no_such_instruction")), "{error}");
}

#[test]
fn a_failed_launch_is_named() {
    if !require_gpu() {
        return;
    }
    // Afterwards the GPU is of no use to the process.
    in_own_process("a_failed_launch_is_named", || {
        let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
        let mut x = device.zeroed(4).unwrap();
        device.launch(&overrun, LaunchConfig::new(1, 1), (&mut x,)).unwrap();
        for _ in 0..2 {
            let error = x.to_vec().unwrap_err();
            let names_it = matches!(&error, Error::Queued { launches, .. } if launches[0].kernel == "overrun");
            assert!(names_it, "{error}");
        }
    });
}
