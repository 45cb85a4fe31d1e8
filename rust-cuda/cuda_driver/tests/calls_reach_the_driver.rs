//! Calls of cust and `cust::sys` reach the driver's library, with their arguments.

mod support;

use std::ffi::c_void;

use cuda_driver as _;
use cust::error::CudaError;
use cust::memory::CopyDestination;
use cust::prelude::*;
use cust::sys::{self, CUresult};
use support::with_stand_in;

const PTX: &str = ".version 7.0\n.target sm_75\n.address_size 64\n";

#[test]
fn a_devices_name_and_attributes_can_be_queried() {
    with_stand_in("a_devices_name_and_attributes_can_be_queried", &["DEVICES=3"], || {
        cust::init(CudaFlags::empty()).unwrap();
        assert_eq!(Device::num_devices().unwrap(), 3);
        let device = Device::get_device(2).unwrap();
        assert_eq!(device.name().unwrap(), "Stand-in 2");
        // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT is 16.
        assert_eq!(device.get_attribute(cust::device::DeviceAttribute::MultiprocessorCount).unwrap(), 2016);
        assert_eq!(Device::get_device(3).unwrap_err(), CudaError::InvalidDevice);
    });
}

#[test]
#[allow(unsafe_code)]
fn a_kernel_runs_on_copied_data() {
    with_stand_in("a_kernel_runs_on_copied_data", &[], || {
        let (_context, stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        assert_eq!(module.get_function("other").unwrap_err(), CudaError::NotFound);
        let data = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0]).unwrap();
        let (start, end) = (Event::new(EventFlags::DEFAULT).unwrap(), Event::new(EventFlags::DEFAULT).unwrap());
        start.record(&stream).unwrap();
        // SAFETY: these are the arguments of the stand-in's kernel `scale`.
        unsafe { launch!(scale<<<1, 32, 0, stream>>>(data.as_device_ptr(), data.len(), 10.0_f32)) }.unwrap();
        end.record(&stream).unwrap();
        stream.synchronize().unwrap();
        let mut result = [0.0; 3];
        data.copy_to(&mut result).unwrap();
        assert_eq!(result, [10.0, 20.0, 30.0]);
        assert_eq!(end.elapsed_time_f32(&start).unwrap(), 1.5);
    });
}

#[test]
#[allow(unsafe_code)]
fn a_captured_launch_runs_when_its_graph_does() {
    with_stand_in("a_captured_launch_runs_when_its_graph_does", &[], || {
        let (_context, stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        let data = DeviceBuffer::from_slice(&[1.0_f32]).unwrap();
        let (raw_stream, mode) = (stream.as_inner(), sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        let no_log = std::ptr::null_mut();

        // SAFETY: the stream is alive.
        succeed(unsafe { sys::cuStreamBeginCapture_v2(raw_stream, mode) });
        // SAFETY: these are the arguments of the stand-in's kernel `scale`.
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
#[allow(unsafe_code)]
fn a_cooperative_launch_has_its_arguments() {
    with_stand_in("a_cooperative_launch_has_its_arguments", &[], || {
        let (_context, stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        let data = DeviceBuffer::from_slice(&[1.0_f32, 2.0]).unwrap();
        let (mut pointer, mut length, mut factor) = (data.as_device_ptr(), data.len(), 5.0_f32);
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut pointer).cast(), (&raw mut length).cast(), (&raw mut factor).cast()];
        // SAFETY: the arguments are those of the stand-in's kernel `scale`, and outlive the call.
        succeed(unsafe {
            let arguments = arguments.as_mut_ptr();
            sys::cuLaunchCooperativeKernel(scale.to_raw(), 2, 1, 1, 1, 1, 1, 0, stream.as_inner(), arguments)
        });
        assert_eq!(data.as_host_vec().unwrap(), [5.0, 10.0]);
    });
}

#[test]
#[allow(unsafe_code)]
fn clusters_are_permitted_and_counted() {
    with_stand_in("clusters_are_permitted_and_counted", &[], || {
        let (_context, _stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        // SAFETY: the function belongs to the module.
        succeed(unsafe { cuda_driver::allow_large_clusters(scale.to_raw()) });
        // SAFETY: as above.
        let count = unsafe { cuda_driver::max_active_clusters(scale.to_raw(), [5, 4, 3], [32, 2, 1], 7) };
        assert_eq!(count, Ok(71_232_345));
    });
}

#[test]
#[allow(unsafe_code)]
fn a_driver_without_clusters_is_an_error() {
    with_stand_in("a_driver_without_clusters_is_an_error", &["NO_CLUSTERS"], || {
        let (_context, _stream, module) = set_up();
        let scale = module.get_function("scale").unwrap();
        // SAFETY: the function belongs to the module.
        let count = unsafe { cuda_driver::max_active_clusters(scale.to_raw(), [1, 1, 1], [1, 1, 1], 0) };
        assert_eq!(count, Err(CUresult::CUDA_ERROR_NOT_FOUND));
        assert_eq!(cuda_driver::missing_symbols(), ["cuOccupancyMaxActiveClusters"]);
    });
}

#[test]
#[allow(unsafe_code)]
fn the_jit_compiler_writes_its_log() {
    with_stand_in("the_jit_compiler_writes_its_log", &[], || {
        let mut log = [0_u8; 64];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is a C string; the two options have a value each, a buffer and its size.
        let result = unsafe { sys::cuModuleLoadDataEx(&raw mut module, c"broken".as_ptr().cast(), 2, options, values) };
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
        assert!(log.starts_with(b"ptxas: line 1 is broken\0"), "{log:?}");
    });
}

#[test]
#[allow(unsafe_code)]
fn page_locked_memory_is_allocated_with_flags() {
    with_stand_in("page_locked_memory_is_allocated_with_flags", &[], || {
        let mut memory = std::ptr::null_mut();
        // SAFETY: `memory` is a valid out-pointer.
        succeed(unsafe { sys::cuMemHostAlloc(&raw mut memory, 16, sys::CU_MEMHOSTALLOC_WRITECOMBINED) });
        // SAFETY: the stand-in allocated these bytes and filled them with the flags.
        assert_eq!(unsafe { *memory.cast::<[u8; 16]>() }, [4; 16]);
        // SAFETY: nothing uses the memory any more.
        succeed(unsafe { sys::cuMemFreeHost(memory) });
    });
}

#[test]
fn a_result_that_cuda_11_did_not_have_is_unknown() {
    with_stand_in("a_result_that_cuda_11_did_not_have_is_unknown", &["ATTRIBUTE_RESULT=913"], || {
        let device = Device::get_device(0).unwrap();
        let error = device.get_attribute(cust::device::DeviceAttribute::WarpSize).unwrap_err();
        assert_eq!(error, CudaError::UnknownError);
    });
}

fn set_up() -> (Context, Stream, Module) {
    cust::init(CudaFlags::empty()).unwrap();
    let context = Context::new(Device::get_device(0).unwrap()).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    (context, stream, Module::from_ptx(PTX, &[]).unwrap())
}

fn succeed(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}
