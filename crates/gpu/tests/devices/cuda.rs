//! The CUDA backend makes the right driver calls, and its errors name the cause. A stand-in replaces the driver.

use std::num::NonZeroUsize;

use crate::support::{PTX, absent, calls, changed, checked_buffers, overrun, scale, vector_max, with_stand_in};
use gpu::{Device, DeviceChoice, Error, LaunchConfig};

fn open() -> Device {
    Device::open(DeviceChoice::Cuda, PTX).unwrap()
}

/// The driver calls that are launches.
fn launches() -> Vec<String> {
    calls().into_iter().filter(|call| call.starts_with("launch")).collect()
}

#[test]
fn buffers_hold_the_values_copied_to_them() {
    with_stand_in("cuda::buffers_hold_the_values_copied_to_them", &[], &[], || {
        let device = open();
        let (mut buffer, mut back) = checked_buffers(&device);
        back[0] = 7;
        buffer.copy_from(&back).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [7, 5, 6]);
        assert_eq!(device.zeroed::<f64>(2).unwrap().to_vec().unwrap(), [0.0, 0.0]);
        assert_eq!(device.uninitialized::<u8>(2).unwrap().to_vec().unwrap(), [0xEE, 0xEE]);
        let empty = device.buffer_from_slice::<f32>(&[]).unwrap();
        assert_eq!(empty.to_vec().unwrap(), [0.0; 0]);
        assert_ne!(address(&empty), 0);
        assert_eq!(device.zeroed::<f32>(0).unwrap().len(), 0);
        assert!(calls().contains(&"lock 12 bytes".to_owned()));
    });
}

#[test]
fn other_lengths_are_rejected() {
    with_stand_in("cuda::other_lengths_are_rejected", &[], &[], || {
        let mut buffer = open().buffer_from_slice(&[1_u32, 2, 3]).unwrap();
        let error = buffer.copy_from(&[1, 2]).unwrap_err();
        assert!(matches!(error, Error::Length { operation: "copy_from", buffer: 3, slice: 2 }), "{error}");
        let error = buffer.copy_to(&mut [0; 4]).unwrap_err();
        assert!(matches!(error, Error::Length { operation: "copy_to", buffer: 3, slice: 4 }), "{error}");
    });
}

#[test]
fn too_large_a_buffer_is_rejected() {
    with_stand_in("cuda::too_large_a_buffer_is_rejected", &[], &[], || {
        let device = open();
        let held = device.zeroed::<f32>(200_000).unwrap();
        let error = device.zeroed::<f32>(100_000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the GPU has no memory for a buffer of 100000 × 4 bytes: 248576 of its 1048576 bytes are free"
        );
        drop(held);
        device.zeroed::<f32>(100_000).unwrap();
        let error = device.uninitialized::<f64>(usize::MAX / 4).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { element_bytes: 8, free: 1_048_576, .. }), "{error}");
    });
}

#[test]
fn a_launch_passes_its_shape_and_parameters_to_the_driver() {
    with_stand_in("cuda::a_launch_passes_its_shape_and_parameters_to_the_driver", &[], &[], || {
        let device = open();
        let a = device.buffer_from_slice(&[1.0, 5.0, 3.0]).unwrap();
        let b = device.buffer_from_slice(&[4.0, 2.0, 6.0]).unwrap();
        let mut out = device.uninitialized(3).unwrap();
        let config = LaunchConfig::new((1, 2, 3), (32, 4, 2)).with_dynamic_shared(64);
        assert_eq!(device.launch(&vector_max, config, (&a, &b, &mut out)).unwrap(), None);
        assert_eq!(out.to_vec().unwrap(), [4.0, 5.0, 6.0]);
        device.launch(&scale, LaunchConfig::for_elements(3, 128), (&mut out, 2.5, 1)).unwrap();
        device.launch(&scale, LaunchConfig::for_elements(3, 128), (&mut out, 2.0, 2)).unwrap();
        device.synchronize().unwrap();
        assert_eq!(out.to_vec().unwrap(), [4.0, 12.5, 30.0]);

        let [a, b, out] = [&a, &b, &out].map(address);
        assert_eq!(
            launches(),
            [
                format!("launch vector_max grid 1 2 3 block 32 4 2 shared 64 stream 1: {a} 3 {b} 3 {out} 3"),
                format!("launch scale grid 1 1 1 block 128 1 1 shared 0 stream 1: {out} 3 2.5 1"),
                format!("launch scale grid 1 1 1 block 128 1 1 shared 0 stream 1: {out} 3 2 2"),
            ]
        );
        let looked_up = calls().into_iter().filter(|call| call.starts_with("look up")).count();
        assert_eq!(looked_up, 2, "each kernel is looked up once");
    });
}

#[test]
fn time_is_between_two_events_around_the_launch() {
    with_stand_in("cuda::time_is_between_two_events_around_the_launch", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        let before = calls().len();
        let (report, seconds) =
            device.time(|| device.launch(&scale, LaunchConfig::new(1, 2), (&mut x, 2.0, 0))).unwrap();
        assert_eq!((report, seconds), (None, Some(0.0015)));
        let calls: Vec<String> = calls().split_off(before);
        let verbs: Vec<&str> = calls.iter().map(|call| call.split(" grid").next().unwrap()).collect();
        assert_eq!(
            verbs,
            [
                "look up wait_nanoseconds",
                "wait 1000000 stream 1",
                "record stream 1",
                "look up scale",
                "launch scale",
                "record stream 1",
                "synchronize stream 1"
            ]
        );
    });
}

#[test]
fn a_failed_launch_is_reported_at_the_next_synchronisation() {
    with_stand_in("cuda::a_failed_launch_is_reported_at_the_next_synchronisation", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        let config = LaunchConfig::new(1, 32);
        device.launch(&vector_max, config, (&device.zeroed(2).unwrap(), &device.zeroed(2).unwrap(), &mut x)).unwrap();
        device.synchronize().unwrap();
        for _ in 0..2 {
            device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
        }
        device.launch(&overrun, config, (&mut x,)).unwrap();
        let text = "illegal address (CUDA error 700), in one of the launches since the last synchronisation: \
                    scale (grid (1, 1, 1), block (32, 1, 1)) × 2, overrun (grid (1, 1, 1), block (32, 1, 1)) \
                    (set GPU_LAUNCH_BLOCKING=1 to find out which)";
        assert_eq!(x.to_vec().unwrap_err().to_string(), text);
        // The error is sticky: every later call repeats it.
        assert_eq!(device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap_err().to_string(), text);
        assert_eq!(device.synchronize().unwrap_err().to_string(), text);
        assert_eq!(device.zeroed::<f32>(1).unwrap_err().to_string(), text);
    });
}

#[test]
fn blocking_launches_name_the_failed_one() {
    with_stand_in("cuda::blocking_launches_name_the_failed_one", &[], &[("GPU_LAUNCH_BLOCKING", "1")], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        let config = LaunchConfig::new(1, 32);
        device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
        let error = device.launch(&overrun, config, (&mut x,)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "illegal address (CUDA error 700), in the launch of overrun (grid (1, 1, 1), block (32, 1, 1))"
        );
    });
}

#[test]
fn a_launch_that_the_driver_rejects_is_named() {
    with_stand_in("cuda::a_launch_that_the_driver_rejects_is_named", &["LAUNCH_RESULT=701"], &[], || {
        let device = open();
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(3, 1024), (&mut x, 2.0, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the launch of scale (grid (3, 1, 1), block (1024, 1, 1)) failed: some error (CUDA error 701)"
        );
        device.synchronize().unwrap();
    });
}

#[test]
fn invalid_launches_do_not_reach_the_driver() {
    with_stand_in("cuda::invalid_launches_do_not_reach_the_driver", &[], &[], || {
        let (device, config) = (open(), LaunchConfig::new(1, 32));
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(0, 32), (&mut x, 2.0, 0)).unwrap_err();
        assert_eq!(error.to_string(), "kernel scale: the grid (0, 1, 1) has no blocks");
        let error = device.launch(&absent, config, (&mut x,)).unwrap_err();
        assert!(matches!(error, Error::NoSuchKernel { kernel: "absent" }), "{error}");
        let error = device.launch(&changed, config, (&mut x,)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel changed is changed(GlobalMut<f32>, f32) in the PTX and changed(GlobalMut<f32>) in the program: \
             the PTX was compiled from another kernel of this name"
        );

        let simulator = Device::simulator();
        let error = simulator.launch(&scale, config, (&mut x, 2.0, 0)).unwrap_err();
        assert!(error.to_string().contains("`x` is on a GPU; the launch is on the simulator"), "{error}");
        let mut simulated = simulator.zeroed(2).unwrap();
        let error = device.launch(&scale, config, (&mut simulated, 2.0, 0)).unwrap_err();
        assert!(error.to_string().contains("`x` is in the simulator; the launch is on a GPU"), "{error}");
        assert_eq!(launches(), [""; 0]);
    });
}

#[test]
fn the_context_is_released_last() {
    with_stand_in("cuda::the_context_is_released_last", &[], &[], || {
        let device = open();
        let buffer = device.zeroed::<f32>(2).unwrap();
        drop(device);
        assert_eq!(buffer.to_vec().unwrap(), [0.0, 0.0], "a buffer keeps its device open");
        drop(buffer);
        let expected = ["free", "synchronize stream 1", "destroy stream 1", "unload module", "release context"];
        assert_eq!(calls(), expected);
    });
}

#[test]
fn a_device_outlives_another_of_the_same_stand_in() {
    with_stand_in("cuda::a_device_outlives_another_of_the_same_stand_in", &[], &[], || {
        let (first, second) = (open(), open());
        let buffer = first.buffer_from_slice(&[1_i32]).unwrap();
        drop(first);
        assert_eq!(second.zeroed::<i32>(1).unwrap().to_vec().unwrap(), [0]);
        assert_eq!(buffer.to_vec().unwrap(), [1]);
        drop((buffer, second));
        assert_eq!(open().zeroed::<i32>(1).unwrap().to_vec().unwrap(), [0]);
    });
}

/// The buffer's address in the GPU's memory.
fn address(buffer: &gpu::Buffer<f32>) -> u64 {
    match <gpu::DeviceMemory as cuda_std::Memory>::buffer_ref(buffer) {
        cuda_std::BufferRef::Device { address, .. } => address,
        cuda_std::BufferRef::Simulator(_) => panic!("the buffer is in the simulator"),
    }
}

#[test]
fn every_repeat_is_timed_after_one_warm_up() {
    with_stand_in("cuda::every_repeat_is_timed_after_one_warm_up", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        let seconds = device.time_repeats(NonZeroUsize::new(3).unwrap(), || {
            device.launch(&scale, LaunchConfig::new(1, 2), (&mut x, 2.0, 0)).map(drop)
        });
        assert_eq!(seconds.unwrap(), Some(vec![0.0015; 3]));
        assert_eq!(x.to_vec().unwrap(), [16.0, 32.0]);
    });
}

#[test]
fn a_kernel_that_the_driver_does_not_find_is_named() {
    with_stand_in("cuda::a_kernel_that_the_driver_does_not_find_is_named", &["LOOK_UP_RESULT=500"], &[], || {
        let device = open();
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(1, 32), (&mut x, 2.0, 0)).unwrap_err();
        assert!(matches!(error, Error::NoSuchKernel { kernel: "scale" }), "{error}");
    });
}

#[test]
fn other_lookup_errors_show_the_drivers_error() {
    with_stand_in("cuda::other_lookup_errors_show_the_drivers_error", &["LOOK_UP_RESULT=2"], &[], || {
        let device = open();
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(1, 32), (&mut x, 2.0, 0)).unwrap_err();
        assert_eq!(error.to_string(), "looking for a kernel failed: some error (CUDA error 2)");
    });
}
