//! The one door to a device: a CUDA GPU, the simulator where there is none, or the interpreter of the PTX that a GPU gets.
//!
//! A program opens a [`Device`], makes [`Buffer`]s on it and launches kernels. It says the same thing for either device;
//! only the time that a kernel takes, [`Device::time`], exists for a GPU alone.
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
//! // Where the kernels are compiled, this has their PTX, once for each architecture.
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
//! # When an error comes
//!
//! On the simulator a launch is done when it returns, and its error says what the kernel did wrong and where. On a GPU
//! a launch is only queued. What goes wrong in it comes to light in a later call that waits for it, such as
//! [`Buffer::to_vec`] or [`Device::synchronize`]: the error, [`Error::Queued`], names all launches that it may belong to.
//! With `GPU_LAUNCH_BLOCKING=1` in the environment each launch is waited for, and the error names just one. Either way
//! the GPU is of no use to the process from then on: every later call repeats the error.
//!
//! # Many small launches
//!
//! Two ways spare a step of many small kernels the cost of a launch for each. [`Device::replay`] records a step's launches
//! once and queues them as often as is asked for. A [cooperative launch](LaunchConfig::cooperative) is one kernel for the
//! whole step, whose blocks wait for each other by `cuda_std::grid::sync`; it has at most
//! [`Device::max_cooperative_blocks`] blocks.
//!
//! # Which GPU
//!
//! The first that the driver lists. `CUDA_VISIBLE_DEVICES` changes which that is.

mod buffer;
mod choice;
mod cuda;
mod device;
mod entry_check;
mod error;
mod interpreter;
mod pinned;
mod ptx;
mod recorder;
mod recording;
mod testing;

pub use buffer::{Buffer, DeviceMemory};
pub use choice::DeviceChoice;
pub use device::Device;
pub use error::{DriverError, Error, Launch, OpenError};
pub use pinned::PinnedBuffer;
pub use ptx::KERNELS;
pub use recorder::Recorder;
pub use testing::require_gpu;

pub use cuda_driver::Unavailable;
pub use cuda_std::simulator::{LaunchReport, Options as SimulatorOptions};
pub use cuda_std::{Dim3, Element, F32x4, Kernel, LaunchConfig, PtxVariant};
pub use ptx_interpreter::Options as InterpreterOptions;
