//! The CUDA backend makes the right driver calls, and its errors name the cause. A stand-in
//! replaces the driver.

use std::num::NonZeroUsize;

use crate::support::{PTX, absent, calls, changed, checked_buffers, open, overrun, scale, vector_max, with_stand_in};
use cuda_std::kernel;
use gpu::{Device, DeviceChoice, Error, LaunchConfig, PtxVariant};

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
        // A kernel makes a reference from it, and may read quads from it.
        assert!(address(&empty) != 0 && address(&empty).is_multiple_of(16));
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
        let calls = calls().into_iter().filter(|call| call.starts_with("load") || call.starts_with("look up"));
        assert_eq!(
            calls.collect::<Vec<_>>(),
            ["load changed", "load vector_max", "look up vector_max", "load scale", "look up scale"],
            "each kernel is loaded and looked up once, with its lines, after the shortest"
        );
    });
}

#[test]
fn time_is_between_two_events_around_the_launch() {
    with_stand_in("cuda::time_is_between_two_events_around_the_launch", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        assert_eq!(device.clock_rate().unwrap(), None);
        let before = calls().len();
        let (report, seconds) =
            device.time(|| device.launch(&scale, LaunchConfig::new(1, 2), (&mut x, 2.0, 0))).unwrap();
        assert_eq!((report, seconds), (None, Some(0.0015)));
        let calls: Vec<String> = calls().split_off(before);
        let verbs: Vec<&str> = calls.iter().map(|call| call.split(" grid").next().unwrap()).collect();
        assert_eq!(
            verbs,
            [
                "load wait_nanoseconds",
                "look up wait_nanoseconds",
                "wait 1000000 stream 1",
                "record stream 1",
                "load scale",
                "look up scale",
                "launch scale",
                "record stream 1",
                "synchronize stream 1"
            ]
        );
        assert_eq!(device.clock_rate().unwrap(), Some(2e9));
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
        let expected =
            ["load changed", "synchronize stream 1", "free", "destroy stream 1", "unload module", "release context"];
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

#[test]
fn two_gpus_of_one_thread_keep_apart() {
    with_stand_in("cuda::two_gpus_of_one_thread_keep_apart", &["DEVICES=2"], &[], || {
        let open = |index| Device::open_one(DeviceChoice::Cuda, PTX, index).unwrap();
        let devices = [open(0), open(1)];
        let config = LaunchConfig::new(1, 32);
        let mut buffers = devices.each_ref().map(|device| device.buffer_from_slice(&[1.0, 2.0]).unwrap());
        let pinned = devices.each_ref().map(|device| device.pinned::<f32>(2).unwrap());
        for round in 0..2 {
            for (device, buffer) in devices.iter().zip(&mut buffers) {
                device.launch(&scale, config, (&mut *buffer, 2.0, 0)).unwrap();
                device.synchronize().unwrap();
                device.replay(1, |recorder| recorder.launch(&scale, config, (&mut *buffer, 2.0, 0))).unwrap();
                device.time(|| device.launch(&scale, config, (&mut *buffer, 2.0, 0))).unwrap();
                device.clock_rate().unwrap();
                assert!(device.max_cooperative_blocks(&scale, 32, 0).unwrap() > 0);
                assert_eq!(buffer.to_vec().unwrap()[0], [8.0, 64.0][round]);
                assert_eq!(device.zeroed::<f32>(3).unwrap().to_vec().unwrap(), [0.0; 3]);
            }
        }
        // Work on another GPU within the timed work.
        let [first, second] = &devices;
        first.time(|| second.launch(&scale, config, (&mut buffers[1], 2.0, 0))).unwrap();
        let [first_buffer, second_buffer] = buffers;
        drop((first_buffer, pinned, devices));
        assert_eq!(second_buffer.to_vec().unwrap()[0], 128.0);
        drop(second_buffer);
        let wrong: Vec<String> =
            calls().into_iter().filter(|call| call.contains("context") && call != "release context").collect();
        assert_eq!(wrong, [""; 0]);
        assert_eq!(calls().iter().filter(|call| *call == "release context").count(), 2);
    });
}

/// A kernel compiled for clusters of 12 blocks.
#[kernel]
pub fn in_clusters_of_12() {}

/// A kernel compiled for clusters of 16 blocks.
#[kernel]
pub fn in_clusters_of_16() {}

/// A device with the two kernels above.
fn open_with_clusters() -> Device {
    const TEXT: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .global .align 1 .b8 in_clusters_of_12__signature[2] = {40, 41};
.visible .global .align 1 .b8 in_clusters_of_16__signature[2] = {40, 41};
.visible .entry in_clusters_of_12() .reqnctapercluster 12, 1, 1
{
    ret;
}
.visible .entry in_clusters_of_16() .reqnctapercluster 16, 1, 1
{
    ret;
}
";
    // SAFETY: handwritten to match the kernels above.
    #[allow(unsafe_code)]
    static CLUSTERS: &[PtxVariant] = unsafe { &[PtxVariant::new((9, 0), TEXT)] };
    Device::open(DeviceChoice::Cuda, CLUSTERS).unwrap()
}

/// Whether the error comes from a cluster query and has this code.
fn is_of_clusters(error: &Error, expected: u32) -> bool {
    matches!(error, Error::Driver { operation: "querying the occupancy of clusters", error } if error.code == expected)
}

#[test]
fn only_a_gpu_without_such_clusters_has_none() {
    let clusters = |blocks| LaunchConfig::new(blocks, 32).clusters_of(blocks);
    with_stand_in("cuda::only_a_gpu_without_such_clusters_has_none", &["MAJOR=9", "CLUSTER=12"], &[], || {
        let device = open_with_clusters();
        assert_eq!(device.max_clusters(&in_clusters_of_12, clusters(12)).unwrap(), 3);
        // 912, CUDA_ERROR_INVALID_CLUSTER_SIZE.
        assert_eq!(device.max_clusters(&in_clusters_of_16, clusters(16)).unwrap(), 0);
        assert_eq!(device.max_clusters(&in_clusters_of_16, clusters(12)).unwrap(), 0, "it is compiled for 16");
        assert_eq!(device.max_clusters(&absent, clusters(16)).unwrap(), 0);
        assert!(calls().contains(&"allow in_clusters_of_16 1 for clusters".to_owned()));
    });
}

#[test]
fn another_error_of_clusters_is_an_error() {
    let test = "cuda::another_error_of_clusters_is_an_error";
    with_stand_in(test, &["MAJOR=9", "CLUSTER=12", "CLUSTER_RESULT=1"], &[], || {
        let config = LaunchConfig::new(16, 32).clusters_of(16);
        let error = open_with_clusters().max_clusters(&in_clusters_of_16, config).unwrap_err();
        assert!(is_of_clusters(&error, 1), "{error}");
    });
}

#[test]
fn an_error_that_is_newer_than_the_bindings_keeps_its_code_and_name() {
    let test = "cuda::an_error_that_is_newer_than_the_bindings_keeps_its_code_and_name";
    with_stand_in(test, &["LAUNCH_RESULT=912"], &[], || {
        let device = open();
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(1, 32), (&mut x, 2.0, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the launch of scale (grid (1, 1, 1), block (32, 1, 1)) failed: invalid cluster size (CUDA error 912)"
        );
    });
}

#[test]
fn a_kernel_that_the_driver_rejects_is_named_with_the_compilers_log() {
    // SAFETY: nothing is launched.
    #[allow(unsafe_code)]
    static WRONG: &[PtxVariant] = unsafe {
        let text = ".entry scale(.param .u64 x)\n{\n    wrong;\n    ret;\n}\n.entry short()\n{\n}\n\
                    .global .b8 scale__signature[8] = {40, 119, 102, 115, 102, 115, 98, 41};\n";
        &[PtxVariant::new((7, 5), text)]
    };
    with_stand_in("cuda::a_kernel_that_the_driver_rejects_is_named_with_the_compilers_log", &[], &[], || {
        let device = Device::open(DeviceChoice::Cuda, WRONG).unwrap();
        let mut x = device.zeroed(2).unwrap();
        let error = device.launch(&scale, LaunchConfig::new(1, 32), (&mut x, 2.0, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the driver rejects the PTX of kernel scale: invalid PTX (CUDA error 218)\n\
             ptxas application ptx input, line 2; error : wrong\ninformation about it"
        );
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
fn every_repeat_is_timed_after_two_calls_to_warm_up() {
    with_stand_in("cuda::every_repeat_is_timed_after_two_calls_to_warm_up", &[], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0, 2.0]).unwrap();
        let mut numbers = Vec::new();
        let seconds = device.time_repeats(NonZeroUsize::new(3).unwrap(), |number| {
            numbers.push(number);
            device.launch(&scale, LaunchConfig::new(1, 2), (&mut x, 2.0, 0)).map(drop)
        });
        assert_eq!(seconds.unwrap(), Some(vec![0.0015; 3]));
        // The first two calls warm up and show whether a call is short.
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert_eq!(x.to_vec().unwrap(), [32.0, 64.0]);
        assert_eq!((device.l2_bytes(), device.sets_beyond_cache(30)), (Some(1000), 67));
        assert_eq!((device.sets_beyond_cache(0), device.sets_beyond_cache(5000)), (2000, 2));
    });
}

#[test]
fn short_calls_are_timed_ten_in_a_row() {
    with_stand_in("cuda::short_calls_are_timed_ten_in_a_row", &["EVENT=0.0078125f"], &[], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        let mut numbers = Vec::new();
        let seconds = device.time_repeats(NonZeroUsize::new(2).unwrap(), |number| {
            numbers.push(number);
            device.launch(&scale, LaunchConfig::new(1, 2), (&mut x, 2.0, 0)).map(drop)
        });
        assert_eq!(seconds.unwrap(), Some(vec![0.000_000_781_25; 2]));
        assert_eq!(numbers, (0..22).collect::<Vec<_>>());
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
