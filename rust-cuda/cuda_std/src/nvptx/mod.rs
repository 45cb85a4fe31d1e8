//! The implementation for a GPU: every function becomes the instruction that it names.

#![allow(unsafe_code)]

pub mod async_copy;
pub mod atomic;
#[cfg(target_feature = "sm_90")]
pub mod cluster;
mod functions;
mod global;
pub mod grid;
#[cfg(target_feature = "sm_90")]
pub mod mbarrier;
mod record;
mod shared;
pub mod thread;
pub mod warp;

pub use global::{Global, GlobalMut, GlobalQuads};
pub use record::Record;
pub use shared::{DynamicShared, SharedArray, SharedArray2d, SharedView, dynamic_shared};

/// The panic handler that the target requires. With `-Cpanic=immediate-abort` it is never called: a panic traps, and
/// the launch reports an error.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// Ends the kernel with a trap: an index is out of bounds.
#[cold]
fn out_of_bounds() -> ! {
    panic!()
}
