//! The GPU's side: every function is the instruction it names.

#![allow(unsafe_code)]

pub mod atomic;
mod global;
pub mod grid;
mod shared;
pub mod thread;
pub mod warp;

pub use global::{Global, GlobalMut};
pub use shared::{DynamicShared, SharedArray, dynamic_shared};

/// A panic ends the kernel; the launch then reports an error. With `-Cpanic=immediate-abort` this is never called.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// Ends the kernel by a trap: an index is outside of its array.
#[cold]
fn out_of_bounds() -> ! {
    panic!()
}
