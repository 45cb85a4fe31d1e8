//! A CUDA driver for machines without a GPU.
//!
//! The library exports the functions of NVIDIA's libcuda, and programs load it under that name.
//! Kernels run in the [PTX interpreter](ptx_interpreter), which checks them for data races,
//! out-of-bounds accesses, uninitialized reads and barrier divergence. A launch with an error
//! returns the matching CUDA error. A message on stderr names the kernel, the block, the thread and
//! the source line.
//!
//! # What programs see
//!
//! The devices have names that say they are emulated, and the architectures from
//! [`options::DEVICES`]. Everything runs when it is queued, on the thread that queues it: streams
//! are in order, events are host times, and each run of a program has the same order. With
//! [`options::ASYNC_ORDER`] work waits in its stream, and a seed chooses when it runs. A module is
//! PTX, alone or in a fat binary; the linker API joins modules as text.
//!
//! An unsupported function returns `CUDA_ERROR_NOT_SUPPORTED` and is reported once on stderr.
//! [`UNSUPPORTED`] lists these functions.
//!
//! # Layers
//!
//! `exports` has the functions that C calls and converts their pointers to the types in `abi`. The
//! other modules are safe code, except access to host memory (`host`, `memory::pages`). All state
//! is in `driver` behind one lock, which is never held during a launch or a call of the caller's
//! functions. Handles are looked up and device addresses belong to the interpreter, so an invalid
//! one is an error.

mod abi;
mod architecture;
mod capture;
mod driver;
mod error;
mod exports;
mod fault;
mod handles;
mod host;
mod image;
mod jit;
mod journal;
mod names;
pub mod options;
mod report;
mod runtime;
mod shape;
mod source;
mod work;

pub use abi::{RUNTIME_SIZES, SIZES};
pub use architecture::{Architecture, NAME_PREFIX, UnknownArchitecture};
pub use error::{Error, RESULTS};
pub use exports::{Exported, IMPLEMENTED, RUNTIME_IMPLEMENTED, RUNTIME_UNSUPPORTED, UNSUPPORTED, address_of, exported};
pub use report::{FaultReport, KernelReport, PlaceReport, Report};
pub use runtime::error::RUNTIME_RESULTS;
pub use runtime::properties;
