//! Devices that run kernels: a CUDA GPU, the simulator, or the PTX interpreter.
//!
//! A program opens a [`Device`], allocates [`Buffer`]s on it and launches kernels. The calls are the same for every
//! device; only the time of a kernel, [`Device::time`], exists for a GPU alone.
//!
//! ```
//! use cuda_std::{GlobalMut, kernel, thread};
//! use gpu::{Device, DeviceChoice, LaunchConfig, PtxVariant};
//!
//! /// x[i] = factor · x[i].
//! #[kernel]
//! pub fn scale(x: GlobalMut<f32>, factor: f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < x.len() {
//!         x.set(i, factor * x.get(i));
//!     }
//! }
//!
//! // In a crate of compiled kernels, this has their PTX, once for each architecture.
//! static PTX: &[PtxVariant] = &[];
//!
//! let device = Device::open(DeviceChoice::Auto, PTX)?;
//! if let Some(reason) = device.why_not_cuda() {
//!     println!("on the simulator: {reason}");
//! }
//! let mut x = device.buffer_from_slice(&[1.0_f32, 2.0, 3.0])?;
//! device.launch(&scale, LaunchConfig::for_elements(x.len(), 128), (&mut x, 2.0))?;
//! assert_eq!(x.to_vec()?, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Asynchronous errors
//!
//! On the simulator a launch has finished when the call returns, and its error contains the
//! kernel's error and its place. On a GPU launches are asynchronous: an error is reported by a
//! later call that synchronizes, such as [`Buffer::to_vec`] or [`Device::synchronize`]. That error,
//! [`Error::Queued`], names all launches that may have caused it. With `GPU_LAUNCH_BLOCKING=1` in
//! the environment each launch synchronizes, and the error names just one. Either way the error is
//! sticky: every later call of the process repeats it.
//!
//! # Many small launches
//!
//! A step of many small kernels can avoid their launch overhead in two ways. [`Device::replay`]
//! records a step's launches once, as a CUDA graph, and queues them any number of times. A
//! [cooperative launch](LaunchConfig::cooperative) runs one kernel for the whole step. Its blocks
//! synchronize with `cuda_std::grid::sync`, and there are at most
//! [`Device::max_cooperative_blocks`] of them.
//!
//! # A launch in the debugger
//!
//! With `KERNEL_CAPTURE=/some/directory` in the environment, the PTX interpreter writes a program's
//! launch to files for `kernel-debugger` ([`Capture`]).
//!
//! # Which GPU
//!
//! The first GPU that the driver lists, as selected by `CUDA_VISIBLE_DEVICES`.

mod at_once;
mod backend;
mod buffer;
mod bytes;
mod capture;
mod choice;
mod cuda;
mod device;
mod entry_check;
mod erased;
mod error;
mod interpreter;
mod pinned;
mod ptx;
mod recorder;
mod recording;
mod source_line;
mod storage;

pub use at_once::AtOnce;
pub use buffer::{Buffer, DeviceMemory};
pub use capture::Capture;
pub use choice::DeviceChoice;
pub use cuda::is_emulated;
pub use device::Device;
pub use error::{DriverError, Error, Launch, OpenError, Unwritten};
pub use pinned::PinnedBuffer;
pub use recorder::Recorder;

pub use cuda_driver::Unavailable;
pub use cuda_std::simulator::{LaunchReport, Options as SimulatorOptions};
pub use cuda_std::{Dim3, Element, F32x4, Kernel, LaunchConfig, PtxVariant, Schedule, Search};
pub use ptx_interpreter::Options as InterpreterOptions;
