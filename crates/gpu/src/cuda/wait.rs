//! A kernel that keeps the GPU busy while the host queues the timed launches behind it.
//!
//! Without it, two events around a short kernel measure the launch overhead: the GPU is idle when the first event
//! reaches it, and waits for the host's next call.

use cust::sys::{self, CUstream};

use super::module::Module;
use super::succeed;
use crate::{DriverError, OpenError, PtxVariant};

/// The duration of the wait: far longer than the host needs to queue a few launches.
const NANOSECONDS: u64 = 1_000_000;
const NAME: &str = "wait_nanoseconds";

// SAFETY: the kernel below accesses no memory.
#[allow(unsafe_code)]
static PTX: PtxVariant = unsafe { PtxVariant::new((7, 5), TEXT) };

/// Handwritten PTX, because every program that times needs the kernel, whichever crate of kernels it uses.
const TEXT: &str = "\
.version 6.3
.target sm_75
.address_size 64
.visible .entry wait_nanoseconds(.param .u64 duration)
{
    .reg .pred %p1;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [duration];
    mov.u64 %rd2, %globaltimer;
$wait:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra $wait;
    ret;
}
";

/// The wait kernel, loaded on the GPU.
#[derive(Debug)]
pub(super) struct WaitKernel {
    module: Module,
}

impl WaitKernel {
    /// Loads the kernel on the GPU called `device`, whose context is current.
    pub(super) fn load(device: &str) -> Result<Self, DriverError> {
        match Module::load(&PTX, device) {
            Ok(module) => Ok(Self { module }),
            Err(OpenError::Ptx { error, .. }) => Err(error),
            Err(error) => unreachable!("loading a module fails for its PTX only: {error}"),
        }
    }

    /// Queues the kernel in `stream`.
    #[allow(unsafe_code)]
    pub(super) fn queue(&self, stream: CUstream) -> Result<(), DriverError> {
        let function = self.module.function(NAME)?.expect("the PTX above has the kernel");
        let mut duration = NANOSECONDS;
        let mut parameters = [(&raw mut duration).cast()];
        let (handle, extra) = (function.handle, std::ptr::null_mut());
        // SAFETY: the function belongs to a module of the stream's context and has one parameter of 8 bytes, which the
        // driver copies before it returns. The kernel accesses no memory.
        succeed(unsafe { sys::cuLaunchKernel(handle, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), extra) })
    }
}
