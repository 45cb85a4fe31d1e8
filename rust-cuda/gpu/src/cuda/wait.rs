//! A kernel that keeps the GPU busy while the host queues the timed launches behind it. It also
//! measures the clock rate.
//!
//! Without it, two events around a short kernel would measure the launch overhead: the GPU is idle
//! when it reaches the first event, and waits for the host's next call.

use std::ffi::c_void;

use cust::sys::{self, CUdeviceptr, CUstream};

use super::module::{Function, LoadError, Module};
use super::status::succeed;
use crate::DriverError;
use crate::ptx::Entry;

/// The duration of the wait: far longer than the host needs to queue a few launches.
const NANOSECONDS: u64 = 1_000_000;
const NAME: &str = "wait_nanoseconds";

/// Handwritten PTX, because every program that measures time needs the kernel, no matter which
/// kernel crate it uses. It stores the elapsed cycles of its multiprocessor and the elapsed
/// nanoseconds.
const TEXT: &str = "\
.version 6.3
.target sm_75
.address_size 64
.visible .entry wait_nanoseconds(.param .u64 duration, .param .u64 elapsed)
{
    .reg .pred %p1;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [duration];
    ld.param.u64 %rd5, [elapsed];
    cvta.to.global.u64 %rd5, %rd5;
    mov.u64 %rd2, %globaltimer;
    mov.u64 %rd6, %clock64;
$wait:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra $wait;
    mov.u64 %rd7, %clock64;
    sub.u64 %rd7, %rd7, %rd6;
    st.global.v2.u64 [%rd5], {%rd7, %rd4};
    ret;
}
";

/// The wait kernel, loaded on the GPU.
#[derive(Debug)]
pub(super) struct WaitKernel {
    function: Function,
    /// The address in GPU memory of the last wait's elapsed cycles and nanoseconds.
    elapsed: CUdeviceptr,
    /// Keeps the function loaded.
    _module: Module,
}

impl WaitKernel {
    /// Loads the kernel on the GPU of the current context.
    #[allow(unsafe_code)]
    pub(super) fn load() -> Result<Self, DriverError> {
        let module = Module::load(TEXT).map_err(|LoadError { error, .. }| error)?;
        let entry = Entry::find(TEXT, NAME).expect("the PTX above has the kernel");
        let function = module.function(NAME, entry)?.expect("the module has what its PTX has");
        let (mut elapsed, bytes) = (0, size_of::<[u64; 2]>());
        // SAFETY: `elapsed` is a valid out-pointer; the size is not zero.
        succeed(unsafe { sys::cuMemAlloc_v2(&raw mut elapsed, bytes) })?;
        let wait = Self { function, elapsed, _module: module };
        // SAFETY: the allocation has this size.
        succeed(unsafe { sys::cuMemsetD8_v2(elapsed, 0, bytes) })?;
        Ok(wait)
    }

    /// Queues the kernel in `stream`.
    #[allow(unsafe_code)]
    pub(super) fn queue(&self, stream: CUstream) -> Result<(), DriverError> {
        let (mut duration, mut elapsed) = (NANOSECONDS, self.elapsed);
        let mut parameters: [*mut c_void; 2] = [(&raw mut duration).cast(), (&raw mut elapsed).cast()];
        let (handle, extra) = (self.function.handle, std::ptr::null_mut());
        // SAFETY: the function belongs to a module of the stream's context and has two parameters
        // of 8 bytes, which the driver copies before it returns. The kernel writes 16 bytes to its
        // own allocation.
        succeed(unsafe { sys::cuLaunchKernel(handle, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), extra) })
    }

    /// Cycles per second of the multiprocessor during the last wait; None before the first wait.
    #[allow(unsafe_code)]
    pub(super) fn clock_rate(&self) -> Result<Option<f64>, DriverError> {
        let mut elapsed = [0_u64; 2];
        let to: *mut c_void = (&raw mut elapsed).cast();
        // SAFETY: both allocations have the size of two u64, and any bit pattern is a valid u64.
        succeed(unsafe { sys::cuMemcpyDtoH_v2(to, self.elapsed, size_of_val(&elapsed)) })?;
        let [cycles, nanoseconds] = elapsed.map(|value| value as f64);
        Ok((nanoseconds > 0.0).then(|| cycles / (nanoseconds * 1e-9)))
    }
}

impl Drop for WaitKernel {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: `load` allocated it, and only this call frees it. The driver waits for kernels that use it.
        let _ = unsafe { sys::cuMemFree_v2(self.elapsed) };
    }
}
