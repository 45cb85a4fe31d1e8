//! Rust programs that use only cust, which calls the driver through `cuda_driver`. Each test runs
//! in its own process with the emulator as the driver.

#![allow(unsafe_code, reason = "launches, and calls of the driver's functions that cust has no safe ones for")]

use std::ffi::c_void;
use std::process::Command;

use cuda_driver as _;
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use cust::memory::CopyDestination;
use cust::prelude::*;
use cust::sys::{self, CUresult};

use crate::text;

/// Variable that is set in the process that runs a test's body.
const IN_CHILD: &str = "CUDA_EMULATOR_TEST_IN_CHILD";

const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 values, .param .u64 length, .param .f32 factor)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [values];
    ld.param.u64 %rd2, [length];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r1;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 ret;
    cvta.to.global.u64 %rd1, %rd1;
    shl.b64 %rd4, %rd3, 2;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd5], %f3;
    ret;
}
";

/// Runs `body`, the body of the test `test`, in a process with the emulator as its driver and these
/// options. Returns the output of that process and of the emulator, or None in that process itself.
fn emulated(test: &str, options: &[&str], body: impl FnOnce()) -> Option<String> {
    emulated_in(test, options, &[], body)
}

/// Like `emulated`, in a process with these environment variables.
fn emulated_in(test: &str, options: &[&str], variables: &[(&str, &str)], body: impl FnOnce()) -> Option<String> {
    if std::env::var_os(IN_CHILD).is_some() {
        body();
        return None;
    }
    let mut runner = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
    runner
        .arg("run")
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .env(IN_CHILD, "1")
        .envs(variables.iter().copied());
    let output = runner.args(["--exact", &format!("rust::{test}"), "--nocapture"]).output().unwrap();
    let said = text(&output);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    Some(said)
}

fn set_up() -> (Context, Stream, Module) {
    let context = cust::quick_init().unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    (context, stream, Module::from_ptx(PTX, &[]).unwrap())
}

fn succeed(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

#[test]
fn a_program_on_cust_runs() {
    let said = emulated("a_program_on_cust_runs", &[], || {
        let (_context, stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        assert_eq!(module.get_function("other").unwrap_err(), CudaError::NotFound);
        let values: Vec<f32> = (0..1000).map(|value| value as f32).collect();
        let buffer = DeviceBuffer::from_slice(&values).unwrap();
        let (blocks, threads) = scale.suggested_launch_configuration(0, 0.into()).unwrap();
        assert!(blocks > 0 && threads == 1024);
        let (start, end) = (Event::new(EventFlags::DEFAULT).unwrap(), Event::new(EventFlags::DEFAULT).unwrap());
        start.record(&stream).unwrap();
        for _ in 0..2 {
            // SAFETY: these are the kernel's parameters, and it checks its index against the
            // length.
            unsafe { launch!(scale<<<8, 128, 0, stream>>>(buffer.as_device_ptr(), buffer.len(), 3.0_f32)) }.unwrap();
        }
        end.record(&stream).unwrap();
        stream.synchronize().unwrap();
        assert!(end.elapsed_time_f32(&start).unwrap() > 0.0);
        let mut result = vec![0.0; values.len()];
        buffer.copy_to(&mut result).unwrap();
        assert!(result.iter().zip(&values).all(|(result, value)| *result == 9.0 * value));
        let mut unified = UnifiedBuffer::new(&1.5_f32, 10).unwrap();
        // SAFETY: as above; host and kernel do not access the buffer at the same time.
        unsafe { launch!(scale<<<1, 32, 0, stream>>>(unified.as_unified_ptr(), unified.len(), 2.0_f32)) }.unwrap();
        stream.synchronize().unwrap();
        assert_eq!(unified[..], [3.0; 10]);
    });
    if let Some(said) = said {
        assert!(said.contains("CUDA emulator: 1 kernel, 3 launches, "), "{said}");
    }
}

#[test]
fn a_devices_name_and_attributes_can_be_queried() {
    emulated("a_devices_name_and_attributes_can_be_queried", &["--devices", "sm_90,sm_75"], || {
        cust::init(CudaFlags::empty()).unwrap();
        assert_eq!(Device::num_devices().unwrap(), 2);
        for (ordinal, name, major) in [(0, "CUDA emulator (sm_90", 9), (1, "CUDA emulator (sm_75", 7)] {
            let device = Device::get_device(ordinal).unwrap();
            assert!(device.name().unwrap().starts_with(name));
            assert_eq!(device.get_attribute(DeviceAttribute::ComputeCapabilityMajor).unwrap(), major);
        }
        assert_eq!(Device::get_device(2).unwrap_err(), CudaError::InvalidDevice);
    });
}

#[test]
fn a_program_sees_the_devices_of_cuda_visible_devices() {
    let (test, options) = ("a_program_sees_the_devices_of_cuda_visible_devices", &["--devices", "sm_90,sm_75,sm_80"]);
    let variable = "CUDA_VISIBLE_DEVICES";
    let list = std::env::var(variable).unwrap_or_default();
    let body = || {
        let result = cust::init(CudaFlags::empty());
        if list.is_empty() {
            return assert_eq!(result.unwrap_err(), CudaError::NoDevice);
        }
        result.unwrap();
        assert_eq!(Device::num_devices().unwrap(), 1);
        let device = Device::get_device(0).unwrap();
        assert!(device.name().unwrap().starts_with("CUDA emulator (sm_75"));
        assert_eq!(device.get_attribute(DeviceAttribute::PciBusId).unwrap(), 1);
        let _context = Context::new(device).unwrap();
        let ordinal = cust::context::CurrentContext::get_device().unwrap();
        assert_eq!(ordinal.as_raw(), 0);
    };
    for visible in ["1", "GPU-43554441-2065-6d75-6c61-746f72200001", ""] {
        if emulated_in(test, options, &[(variable, visible)], body).is_none() {
            return;
        }
    }
}

#[test]
fn a_captured_launch_runs_when_its_graph_does() {
    emulated("a_captured_launch_runs_when_its_graph_does", &[], || {
        let (_context, stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        let data = DeviceBuffer::from_slice(&[1.0_f32]).unwrap();
        let (raw_stream, mode) = (stream.as_inner(), sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        let no_log = std::ptr::null_mut();

        // SAFETY: the stream is alive.
        succeed(unsafe { sys::cuStreamBeginCapture_v2(raw_stream, mode) });
        // SAFETY: these are the kernel's parameters, and it checks its index against the length.
        unsafe { launch!(scale<<<1, 32, 0, stream>>>(data.as_device_ptr(), data.len(), 3.0_f32)) }.unwrap();
        // SAFETY: the stream is being captured.
        succeed(unsafe { sys::cuStreamEndCapture(raw_stream, &raw mut graph) });
        // SAFETY: the graph was created above; with a log size of zero the pointers may be null.
        succeed(unsafe { sys::cuGraphInstantiate_v2(&raw mut executable, graph, std::ptr::null_mut(), no_log, 0) });
        assert_eq!(data.as_host_vec().unwrap(), [1.0]);
        for expected in [3.0, 9.0] {
            // SAFETY: executable graph, stream and the buffer that the graph writes to are alive.
            succeed(unsafe { sys::cuGraphLaunch(executable, raw_stream) });
            assert_eq!(data.as_host_vec().unwrap(), [expected]);
        }
        // SAFETY: nothing uses the executable graph any more.
        succeed(unsafe { sys::cuGraphExecDestroy(executable) });
        // SAFETY: nothing uses the graph any more.
        succeed(unsafe { sys::cuGraphDestroy(graph) });
    });
}

#[test]
fn a_cooperative_launch_has_its_arguments() {
    emulated("a_cooperative_launch_has_its_arguments", &[], || {
        let (_context, stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        let data = DeviceBuffer::from_slice(&[1.0_f32, 2.0]).unwrap();
        let (mut pointer, mut length, mut factor) = (data.as_device_ptr(), data.len(), 5.0_f32);
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut pointer).cast(), (&raw mut length).cast(), (&raw mut factor).cast()];
        // SAFETY: these are the kernel's parameters, which outlive the call.
        succeed(unsafe {
            let arguments = arguments.as_mut_ptr();
            sys::cuLaunchCooperativeKernel(scale.to_raw(), 2, 1, 1, 1, 1, 1, 0, stream.as_inner(), arguments)
        });
        assert_eq!(data.as_host_vec().unwrap(), [5.0, 10.0]);
    });
}

#[test]
fn the_jit_compiler_writes_its_log() {
    emulated("the_jit_compiler_writes_its_log", &[], || {
        let _context = cust::quick_init().unwrap();
        let mut log = [0_u8; 64];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        let mut module = std::ptr::null_mut();
        let image = c".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { nonsense; }".as_ptr().cast();
        // SAFETY: the image is a C string; the two options have one value each: a buffer and its
        // size.
        let result = unsafe { sys::cuModuleLoadDataEx(&raw mut module, image, 2, options, values) };
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
        let log = std::ffi::CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
        assert!(log.contains("nonsense"), "{log}");
    });
}

#[test]
fn page_locked_memory_is_allocated_with_flags() {
    emulated("page_locked_memory_is_allocated_with_flags", &[], || {
        let _context = cust::quick_init().unwrap();
        let (mut memory, mut flags) = (std::ptr::null_mut(), 0);
        // SAFETY: `memory` is a valid out-pointer.
        succeed(unsafe { sys::cuMemHostAlloc(&raw mut memory, 16, sys::CU_MEMHOSTALLOC_WRITECOMBINED) });
        // SAFETY: `flags` is a valid out-pointer.
        succeed(unsafe { sys::cuMemHostGetFlags(&raw mut flags, memory) });
        assert_eq!(flags & sys::CU_MEMHOSTALLOC_WRITECOMBINED, sys::CU_MEMHOSTALLOC_WRITECOMBINED);
        // SAFETY: nothing uses the memory any more.
        succeed(unsafe { sys::cuMemFreeHost(memory) });
    });
}
