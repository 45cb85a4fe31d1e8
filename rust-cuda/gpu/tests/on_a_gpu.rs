//! A real driver loads the kernels, runs them, times them and reports their errors. The stand-in
//! cannot show this. Skipped without a GPU, unless GPU_TESTS=require.

mod support;

use gpu::{Device, DeviceChoice, Error, LaunchConfig, OpenError, PtxVariant, is_emulated};
use gpu_testing::require_gpu;
use support::{PTX, overrun, scale, vector_max};
use test_kernels::grid_sums;
use test_kernels::speaking::{panics, says};
use test_support::in_own_process;

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
    assert_eq!(seconds.map(|seconds| seconds > 0.0), device.is_gpu().then_some(true));
    device.launch(&scale, config, (&mut out, 2.0, 3)).unwrap();
    device.synchronize().unwrap();
    let mut pinned = device.pinned(values.len()).unwrap();
    out.copy_to(&mut pinned).unwrap();
    for (i, (out, value)) in pinned.iter().zip(&values).enumerate() {
        assert_eq!(*out, value.max(50_000.0) * if i < 3 { 1.0 } else { 2.0 }, "{i}");
    }
    assert!(device.zeroed::<f64>(1000).unwrap().to_vec().unwrap().iter().all(|&zero| zero == 0.0));
}

/// Copies with several page-locked chunks, launches in between, and memory that is freed while they
/// are queued.
#[test]
fn large_copies_keep_their_order() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    let length = (9 << 20) / 4 + 3;
    let config = LaunchConfig::for_elements(1000, 125);
    for round in 0..4_u32 {
        let values: Vec<f32> = (0..length as u32).map(|i| (i % 1_000_003 + round) as f32).collect();
        let mut first = device.buffer_from_slice(&values).unwrap();
        device.launch(&scale, config, (&mut first, 2.0, 0)).unwrap();
        let mut second = device.uninitialized(length).unwrap();
        device.launch(&vector_max, config, (&first, &first, &mut second)).unwrap();
        // The launches above may not have run yet.
        drop(first);
        let mut third = device.buffer_from_slice(&vec![-1.0; length]).unwrap();
        device.launch(&scale, config, (&mut third, 3.0, 1)).unwrap();
        let expected = |i: usize| if (1..1000).contains(&i) { -3.0 } else { -1.0 };
        assert!(third.to_vec().unwrap().iter().enumerate().all(|(i, &got)| got == expected(i)), "{round}");
        assert!(
            second.to_vec_at(0..1000).unwrap().iter().zip(&values).all(|(got, value)| *got == 2.0 * value),
            "{round}"
        );
    }
}

#[test]
fn blocks_wait_for_each_other() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    // An emulated GPU runs blocks that wait for each other on one host thread.
    let (length, repeats) = if device.is_gpu() { (100_003, 50) } else { (1003, 2) };
    let x: Vec<f32> = (0..length).map(|i| (i % 7) as f32 - 3.0).collect();
    let sum = x.iter().sum::<f32>();
    let x = device.buffer_from_slice(&x).unwrap();
    let (mut values, mut barrier) = (device.uninitialized(length).unwrap(), device.zeroed(1).unwrap());
    let max_blocks = device.max_cooperative_blocks(&grid_sums, 256, 0).unwrap();
    let many_blocks = if device.is_gpu() { max_blocks } else { max_blocks.min(8) };
    // One barrier state serves launches of different sizes, including a replayed one.
    for blocks in [many_blocks, 1, 2, many_blocks.div_ceil(3)] {
        let mut sums = device.uninitialized(repeats).unwrap();
        let config = LaunchConfig::new(blocks, 256).cooperative();
        let arguments = (&x, repeats as u32, &mut values, &mut barrier, &mut sums);
        device.launch(&grid_sums, config, arguments).unwrap();
        assert_eq!(sums.to_vec().unwrap(), vec![sum; repeats], "{blocks} blocks");
        device
            .replay(3, |recorder| {
                let arguments = (&x, repeats as u32, &mut values, &mut barrier, &mut sums);
                recorder.launch(&grid_sums, config, arguments)
            })
            .unwrap();
        assert_eq!(sums.to_vec().unwrap(), vec![sum; repeats], "{blocks} blocks, replayed");
    }
    let mut sums = device.uninitialized(1).unwrap();
    let config = LaunchConfig::new(max_blocks + 1, 256).cooperative();
    let error = device.launch(&grid_sums, config, (&x, 1, &mut values, &mut barrier, &mut sums)).unwrap_err();
    assert!(matches!(error, Error::TooManyBlocks { .. }), "{error}");
}

/// The driver calls of an upload, a launch and a download, which the emulated driver lists.
#[test]
fn a_repeated_round_locks_and_fills_no_memory() {
    const CALLS: &str = "CUDA_EMULATOR_CALLS";
    if !require_gpu() {
        return;
    }
    if !is_emulated(Device::open(DeviceChoice::Cuda, PTX).unwrap().name()) {
        return println!("only the emulated driver lists its calls");
    }
    let list = tempfile::NamedTempFile::new().unwrap();
    in_own_process(
        "a_repeated_round_locks_and_fills_no_memory",
        |child| {
            child.env(CALLS, list.path());
        },
        || {
            let list = std::env::var_os(CALLS).unwrap();
            let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
            let round = |factor| {
                let before = std::fs::read_to_string(&list).unwrap().len();
                let mut x = device.buffer_from_slice(&vec![factor; (9 << 20) / 4]).unwrap();
                device.launch(&scale, LaunchConfig::for_elements(1000, 125), (&mut x, 3.0, 0)).unwrap();
                assert!(
                    x.to_vec()
                        .unwrap()
                        .iter()
                        .enumerate()
                        .all(|(i, &x)| x == if i < 1000 { 3.0 } else { 1.0 } * factor)
                );
                drop(x);
                std::fs::read_to_string(&list).unwrap()[before..].lines().map(str::to_owned).collect::<Vec<_>>()
            };
            let of_memory = |calls: &[String]| {
                let of_memory =
                    calls.iter().filter(|call| ["Alloc", "Free", "Memset"].iter().any(|part| call.contains(part)));
                of_memory.cloned().collect::<Vec<_>>()
            };
            let first = round(1.0);
            assert!(of_memory(&first).contains(&"cuMemAllocHost_v2".to_owned()), "{first:?}");
            let second = round(2.0);
            // Here the buffer gets new memory, and the calls show it. A GPU reuses the first round's memory.
            assert_eq!(of_memory(&second), ["cuMemAlloc_v2", "cuMemFree_v2"], "{second:?}");
            let launch = second.iter().position(|call| call.starts_with("cuLaunchKernel")).unwrap();
            let copies = |calls: &[String], kind| calls.iter().filter(|call| call.starts_with(kind)).count();
            let (before, after) = second.split_at(launch);
            assert_eq!((copies(before, "cuMemcpyHtoD"), copies(before, "cuMemcpyDtoH")), (9, 0), "{before:?}");
            assert_eq!((copies(after, "cuMemcpyHtoD"), copies(after, "cuMemcpyDtoH")), (0, 9), "{after:?}");
            assert_eq!(round(3.0), second);
        },
    );
}

#[test]
fn launches_are_replayed() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    let mut x = device.buffer_from_slice(&[1.0_f32; 1000]).unwrap();
    let config = LaunchConfig::for_elements(1000, 128);
    for _ in 0..20 {
        device
            .replay(10, |recorder| {
                recorder.launch(&scale, config, (&mut x, 2.0, 0))?;
                recorder.launch(&scale, config, (&mut x, 0.5, 1))
            })
            .unwrap();
        device.launch(&scale, config, (&mut x, 0.5_f32.powi(10), 0)).unwrap();
        device.launch(&scale, config, (&mut x, 2.0_f32.powi(10), 1)).unwrap();
    }
    assert_eq!(x.to_vec().unwrap(), vec![1.0; 1000]);
}

#[test]
fn a_launch_may_use_all_of_a_blocks_shared_memory() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    let mut x = device.buffer_from_slice(&[1.0_f32]).unwrap();
    let config = LaunchConfig::new(1, 32).with_dynamic_shared(device.max_shared_bytes());
    device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
    assert_eq!(x.to_vec().unwrap(), [2.0]);
}

#[test]
fn too_large_a_buffer_is_rejected() {
    if !require_gpu() {
        return;
    }
    let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
    let too_many = device.total_memory().unwrap();
    let error = device.uninitialized::<f64>(too_many).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { element_bytes: 8, .. }), "{error}");
}

#[test]
fn the_error_has_the_compilers_log() {
    const TEXT: &str = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k() { no_such_instruction; }\n";
    // SAFETY: nothing is launched.
    #[allow(unsafe_code)]
    static WRONG: &[PtxVariant] = unsafe { &[PtxVariant::new((7, 5), TEXT)] };
    if !require_gpu() {
        return;
    }
    // The only kernel is loaded immediately.
    let error = Device::open(DeviceChoice::Auto, WRONG).unwrap_err();
    assert!(matches!(&error, OpenError::Ptx { log, .. } if log.contains("no_such_instruction")), "{error}");
}

#[test]
fn a_failed_launch_is_named() {
    if !require_gpu() {
        return;
    }
    // The error is sticky: the process cannot use the GPU afterwards.
    in_own_process(
        "a_failed_launch_is_named",
        |_| {},
        || {
            let device = Device::open(DeviceChoice::Cuda, PTX).unwrap();
            let mut x = device.zeroed(4).unwrap();
            device.launch(&overrun, LaunchConfig::new(1, 1), (&mut x,)).unwrap();
            for _ in 0..2 {
                let error = x.to_vec().unwrap_err();
                let names_it = matches!(&error, Error::Queued { launches, .. } if launches[0].kernel == "overrun");
                assert!(names_it, "{error}");
            }
        },
    );
}

#[test]
fn a_kernel_that_panics_says_why() {
    if !require_gpu() {
        return;
    }
    // The error is sticky, as above.
    in_own_process(
        "a_kernel_that_panics_says_why",
        |_| {},
        || {
            let device = Device::open(DeviceChoice::Cuda, &test_kernels::PTX).unwrap();
            let x = device.buffer_from_slice(&[0, 1, 2, 5]).unwrap();
            let mut out = device.zeroed(4).unwrap();
            let mut panic = |way| device.launch(&panics, LaunchConfig::new(2, 2), (way, &x, &mut out)).unwrap_err();
            for error in [panic(1), panic(2), device.synchronize().unwrap_err()] {
                let text = error.to_string();
                let expected = "kernel panics, block (1, 0, 0), thread (1, 0, 0), test_kernels/src/speaking.rs:";
                assert!(matches!(error, Error::Panic { .. }), "{text}");
                assert!(text.starts_with(expected) && text.ends_with(": panic: x[3] is 5"), "{text}");
            }
        },
    );
}

/// Set for the process that prints.
const PRINTS: &str = "ON_A_GPU_PRINTS";

#[test]
fn a_kernel_prints() {
    if !require_gpu() {
        return;
    }
    if std::env::var_os(PRINTS).is_some() {
        let device = Device::open(DeviceChoice::Cuda, &test_kernels::PTX).unwrap();
        let x = device.buffer_from_slice(&[1.5, f32::NAN]).unwrap();
        let mut doubled = device.zeroed(2).unwrap();
        println!("begin");
        device.launch(&says, LaunchConfig::new(2, 1), (&x, &mut doubled)).unwrap();
        println!("end");
        return;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_kernel_prints", "--nocapture"]).env(PRINTS, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let printed =
        text.split("begin\n").nth(1).and_then(|rest| rest.split("end\n").next()).unwrap_or_else(|| panic!("{text}"));
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let expected = [
        "block (0, 0, 0), thread (0, 0, 0): 0x0000 squared is 0e0, 0",
        "block (0, 0, 0), thread (0, 0, 0): twice: 3, true",
        "block (0, 0, 0), thread (0, 0, 0): x[0] =    1.500 {1.5}, [-3, 7], ä",
        "block (1, 0, 0), thread (0, 0, 0): 0x0001 squared is 1e0, 1267650600228229401496703205376",
        "block (1, 0, 0), thread (0, 0, 0): twice: NaN, false",
        "block (1, 0, 0), thread (0, 0, 0): x[1] =      NaN {NaN}, [-2, 7], ä",
    ];
    assert_eq!(lines, expected);
}
