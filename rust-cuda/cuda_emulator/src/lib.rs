//! A CUDA driver for machines without a GPU.
//!
//! The library exports the functions of NVIDIA's libcuda, under whose name programs load it, and runs their kernels in the
//! [PTX interpreter](ptx_interpreter), which checks them: races, accesses out of bounds or of uninitialised memory, barriers that not
//! all threads reach. A launch with such a fault returns the error of CUDA that fits, and stderr names the kernel, the block, the
//! thread and the line of its source.
//!
//! # What a program finds
//!
//! Devices whose name says that they are emulated, of the architectures that [`options::DEVICES`] lists. Everything runs when it is
//! queued, on the thread that queues it: streams are in order, events are times of the host, and each run of a program has the same
//! order. With [`options::ASYNC_ORDER`] work waits in its stream, and a seed chooses when it runs. A module is PTX, alone or in a fat binary; the linker's calls join modules as texts.
//!
//! A function that is missing returns `CUDA_ERROR_NOT_SUPPORTED`, and is named once on stderr: [`UNSUPPORTED`] lists them.
//!
//! # Layers
//!
//! `exports` has the functions as C calls them, whose pointers become the types of `abi`; the other modules are safe code, apart from
//! the memory of the host (`host`, `memory::pages`). All state is in `driver`, behind one lock, which no launch and no function of the
//! caller holds. Handles are numbers that are looked up, and addresses of devices are the interpreter's: a wrong one is an error.

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
