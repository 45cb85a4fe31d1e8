//! The PTX interpreter supports everything that other devices do: buffers, launches, replays, names
//! and errors.

use crate::interpreters::device;
use crate::support::{PTX, absent, changed, checked_buffers, overrun, scale, vector_max};
use cuda_std::simulator::max_cooperative_blocks;
use gpu::{Device, DeviceChoice, Error, InterpreterOptions, LaunchConfig, OpenError, PtxVariant};
use gpu_testing::fresh_ptx;
use ptx_interpreter::memory::{AccessError, MemoryError};
use ptx_interpreter::{FaultKind, LaunchError};
use test_kernels::grid_sums;
use test_kernels::stepping::grid_barriers;

/// The interpreter with the kernels of `support`.
fn open() -> Device {
    Device::open(DeviceChoice::Ptx, PTX).unwrap()
}

#[test]
fn loads_the_newest_variant() {
    let device = open();
    assert_eq!(device.name(), "PTX interpreter, sm_75");
    assert_eq!(device.remark(), " (PTX interpreter, sm_75)");
    assert_eq!(device.compute_capability(), Some((7, 5)));
    assert!(!device.is_gpu() && !device.is_simulator());
    assert!(device.why_not_cuda().is_none());
    assert_eq!(device.why_not_timed(), "CUDA: not timed: the PTX interpreter was asked for");
    assert_eq!((device.total_memory(), device.multiprocessors()), (None, None));
    assert_eq!(device.max_shared_bytes(), 227 * 1024);

    if !gpu_testing::require_ptx(&test_kernels::PTX) {
        return;
    }
    assert_eq!(Device::open(DeviceChoice::Ptx, &test_kernels::PTX).unwrap().name(), "PTX interpreter, sm_90");
    let oldest = Device::interpreter(&test_kernels::PTX[0], InterpreterOptions::default()).unwrap();
    assert_eq!(oldest.name(), "PTX interpreter, sm_75");
}

#[test]
fn the_error_for_invalid_ptx_has_the_line() {
    // SAFETY: nothing is launched.
    #[allow(unsafe_code)]
    let variant = |text| unsafe { PtxVariant::new((8, 6), text) };
    let open = |text| Device::interpreter(&variant(text), InterpreterOptions::default()).unwrap_err();
    let error =
        open(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n.nonsense .u32 x;\n");
    assert!(matches!(error, OpenError::Interpreter { variant: (8, 6), .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("the interpreter cannot run the kernels' PTX for 8.6: "), "{text}");
    assert!(text.contains("line 5") && !text.contains('\n'), "{text}");
    assert!(matches!(open(""), OpenError::Interpreter { .. }));

    let error = Device::open(DeviceChoice::Ptx, &[]).unwrap_err();
    assert_eq!(error.to_string(), "there is no PTX of the kernels to interpret");
}

#[test]
fn buffers_hold_the_values_copied_to_them() {
    let device = open();
    let (mut buffer, _) = checked_buffers(&device);
    buffer.copy_from_at(1, &[50]).unwrap();
    assert_eq!(buffer.to_vec_at(0..2).unwrap(), [4, 50]);
    assert_eq!(device.zeroed::<f64>(2).unwrap().to_vec().unwrap(), [0.0, 0.0]);

    let error = buffer.copy_from(&[1, 2]).unwrap_err();
    assert_eq!(error.to_string(), "copy_from: the buffer has 3 elements, the slice 2");
    let error = buffer.to_vec_at(2..4).unwrap_err();
    assert!(matches!(error, Error::Range { operation: "to_vec_at", buffer: 3, start: 2, end: 4 }), "{error}");
}

#[test]
fn empty_buffers_can_be_used() {
    let device = open();
    let mut empty = device.uninitialized::<f32>(0).unwrap();
    assert!(empty.is_empty());
    empty.copy_from(&[]).unwrap();
    assert_eq!(empty.to_vec().unwrap(), [0.0; 0]);
    device.launch(&scale, LaunchConfig::new(1, 32), (&mut empty, 2.0, 0)).unwrap();
    assert!(device.zeroed::<f64>(0).unwrap().to_vec().unwrap().is_empty());
}

#[test]
fn elements_that_no_kernel_wrote_are_an_error_when_they_are_read_back() {
    let device = open();
    let x = device.buffer_from_slice(&[1.0; 5]).unwrap();
    let mut out = device.uninitialized::<f32>(5).unwrap();
    assert_eq!(out.to_vec().unwrap_err().to_string(), "element 0 of a buffer was never written, nor was any other");
    device.launch(&vector_max, LaunchConfig::new(1, 2), (&x, &x, &mut out)).unwrap();
    let error = out.to_vec().unwrap_err();
    assert_eq!(error.to_string(), "element 2 of a buffer was never written by `vector_max` (3 of 5 elements)");
    let error = out.to_vec_at(1..4).unwrap_err();
    assert_eq!(error.to_string(), "element 2 of a buffer was never written by `vector_max` (2 of 3 elements)");
    assert_eq!(out.to_vec_at(0..2).unwrap(), [1.0; 2]);
    out.copy_to(&mut [0.0; 5]).unwrap();
}

#[test]
fn reading_uninitialised_memory_is_a_fault() {
    let device = open();
    let mut x = device.uninitialized(4).unwrap();
    x.copy_from_at(0, &[1.0, 2.0]).unwrap();
    let error = device.launch(&scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 0)).unwrap_err();
    let Some(FaultKind::Access { error: AccessError::Uninitialised { first, .. }, .. }) =
        error.ptx_fault().map(|fault| &fault.kind)
    else {
        panic!("{error}")
    };
    assert_eq!(*first, 2 * 4);
    assert!(error.fault().is_none());

    // Writing it is not an error.
    let (a, mut out) = (device.buffer_from_slice(&[1.0, -2.0]).unwrap(), device.uninitialized(2).unwrap());
    device.launch(&vector_max, LaunchConfig::new(1, 2), (&a, &a, &mut out)).unwrap();
    assert_eq!(out.to_vec().unwrap(), [1.0, -2.0]);
}

#[test]
fn device_memory_is_limited() {
    let device = open();
    for length in [1 << 40, usize::MAX] {
        let error = device.uninitialized::<f64>(length).unwrap_err();
        assert!(matches!(error, Error::InterpreterMemory(MemoryError::OutOfMemory { .. })), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    // Freed memory is available again.
    for _ in 0..3 {
        drop(device.uninitialized::<u8>(1 << 20).unwrap());
    }
}

#[test]
fn launches_work_in_replays_too() {
    let device = open();
    let mut x = device.buffer_from_slice(&[1.0, 2.0, 3.0]).unwrap();
    let config = LaunchConfig::for_elements(3, 2);
    assert_eq!(device.launch(&scale, config, (&mut x, 2.0, 1)).unwrap(), None);
    assert_eq!(x.to_vec().unwrap(), [1.0, 4.0, 6.0]);

    device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
    device.synchronize().unwrap();
    assert_eq!(x.to_vec().unwrap(), [2.0, 8.0, 12.0]);

    device.replay(3, |recorder| recorder.launch(&scale, config, (&mut x, 2.0, 2))).unwrap();
    assert_eq!(x.to_vec().unwrap(), [2.0, 8.0, 96.0]);
    device.replay(0, |_| panic!("it is not recorded")).unwrap();
    let error = device.replay(1, |_| device.synchronize()).unwrap_err();
    assert!(matches!(error, Error::Recording { operation: "synchronize" }), "{error}");

    let (result, seconds) = device.time(|| device.launch(&scale, config, (&mut x, 0.5, 0))).unwrap();
    assert_eq!((result, seconds), (None, None));
}

#[test]
fn the_error_of_an_invalid_launch_has_its_kind() {
    let device = open();
    let mut x = device.zeroed(4).unwrap();
    let error = device.launch(&absent, LaunchConfig::new(1, 1), (&mut x,)).unwrap_err();
    assert!(matches!(error, Error::NoSuchKernel { kernel: "absent" }), "{error}");
    let error = device.launch(&changed, LaunchConfig::new(1, 1), (&mut x,)).unwrap_err();
    assert!(matches!(error, Error::Signature { kernel: "changed", .. }), "{error}");
    let error = device.launch(&scale, LaunchConfig::new(1, 2048), (&mut x, 2.0, 0)).unwrap_err();
    assert!(matches!(error, Error::Limit { kernel: "scale", .. }), "{error}");
    let config = LaunchConfig::new(1, 1).with_dynamic_shared(227 * 1024 + 1);
    let error = device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap_err();
    let is_typed = match &error {
        Error::Limit { kernel, .. } => *kernel == "scale",
        Error::Interpreter(error) => matches!(**error, LaunchError::SharedMemory { .. }),
        _ => false,
    };
    assert!(is_typed, "{error}");

    let mut simulated = Device::simulator().zeroed(4).unwrap();
    let error = device.launch(&scale, LaunchConfig::new(1, 4), (&mut simulated, 2.0, 0)).unwrap_err();
    assert!(matches!(error, Error::Argument { kernel: "scale", .. }), "{error}");
    let error = Device::simulator().launch(&scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 0)).unwrap_err();
    assert!(matches!(error, Error::Argument { kernel: "scale", .. }), "{error}");
    assert_eq!(x.to_vec().unwrap(), [0.0; 4]);
}

#[test]
fn a_fault_is_one_line_and_the_device_stays_usable() {
    let device = open();
    let mut x = device.zeroed(4).unwrap();
    let error = device.launch(&overrun, LaunchConfig::new(1, 1), (&mut x,)).unwrap_err();
    let line = PTX[0].text().lines().position(|line| line.contains(".entry overrun")).unwrap() + 1;
    let fault = error.ptx_fault().expect("a fault");
    assert!((line as u32..line as u32 + 12).contains(&fault.place.line), "{fault}");
    let text = error.to_string();
    // The PTX of `overrun` writes to address 0.
    let start = format!(
        "kernel overrun, block (0, 0, 0), thread (0, 0, 0), PTX line {} `{}`: writes 4 bytes at 0x0 of global memory",
        fault.place.line, fault.place.text
    );
    assert!(text.starts_with(&start) && !text.contains('\n'), "{text}");
    assert!(text.ends_with("a null pointer"), "{text}");

    device.launch(&scale, LaunchConfig::new(1, 4), (&mut x, 2.0, 0)).unwrap();
    assert_eq!(x.to_vec().unwrap(), [0.0; 4]);
}

#[test]
fn blocks_of_a_cooperative_launch_have_the_simulators_limit() {
    let device = crate::interpreters::device(&test_kernels::PTX[0], InterpreterOptions::default());
    let max_blocks = device.max_cooperative_blocks(&grid_sums, 1024, 0).unwrap();
    assert_eq!(max_blocks, max_cooperative_blocks(1024));
    let error = device.max_cooperative_blocks(&grid_sums, 2048, 0).unwrap_err();
    assert!(matches!(error, Error::Limit { kernel: "grid_sums", .. }), "{error}");
}

#[test]
fn reports_are_kept_after_the_first_request() {
    let device = open();
    let mut x = device.zeroed(64).unwrap();
    let config = LaunchConfig::for_elements(64, 32);
    device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
    assert!(device.take_ptx_reports().is_empty());
    device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
    device.launch(&scale, config, (&mut x, 3.0, 0)).unwrap();
    assert_eq!(device.take_ptx_reports().len(), 2);
    assert!(device.take_ptx_reports().is_empty());
    assert!(Device::simulator().take_ptx_reports().is_empty());
}

#[test]
fn stale_ptx_is_rejected_with_the_way_out() {
    static STALE: [PtxVariant; 1] = {
        // SAFETY: no code is launched.
        #[allow(unsafe_code)]
        unsafe {
            [PtxVariant::new((7, 5), "// stale: the sources have changed\n")]
        }
    };
    let rejected = [
        Device::interpreter(&STALE[0], InterpreterOptions::default()).unwrap_err(),
        Device::open(DeviceChoice::Ptx, &STALE).unwrap_err(),
    ];
    for error in rejected {
        assert!(matches!(error, OpenError::StalePtx { reason: "the sources have changed" }));
        let text = error.to_string();
        assert!(text.contains("only the simulator runs") && text.contains("`cargo xtask ptx`"), "{text}");
    }
}

/// Blocks of a cooperative launch wait for each other. They must not wait for a pool thread, since
/// all pool threads may be running launches.
#[test]
fn cooperative_launches_of_all_threads_of_a_pool_end() {
    // Only a launch that hangs reaches the limit, since a block also polls while the system keeps
    // another from running.
    let options = InterpreterOptions { check_races: false, block_instructions: 1 << 28, ..Default::default() };
    let launch = |ptx: &PtxVariant| {
        let device = device(ptx, options.clone());
        let mut barrier = device.zeroed(1).unwrap();
        device.launch(&grid_barriers, LaunchConfig::new(4, 4).cooperative(), (3, &mut barrier)).unwrap();
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for ptx in fresh_ptx(&test_kernels::PTX) {
        pool.install(|| rayon::join(|| launch(ptx), || launch(ptx)));
    }
}
