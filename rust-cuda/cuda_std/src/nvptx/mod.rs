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

pub use global::{Global, GlobalMut, GlobalQuads, GlobalReadView, GlobalView};
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

/// The offset of an element of a strided view. An index that is not less than its dimension's size traps.
///
/// # Safety
/// The largest indices have an offset of less than 2³².
#[inline(always)]
unsafe fn offset_in_view<const N: usize>(indices: [u32; N], sizes: [u32; N], strides: [u32; N]) -> u32 {
    let mut offset = 0_u32;
    for dimension in 0..N {
        if indices[dimension] >= sizes[dimension] {
            out_of_bounds();
        }
        // SAFETY: each index is less than its size, and the offset of the largest indices has the largest terms.
        offset = unsafe { offset.unchecked_add(indices[dimension].unchecked_mul(strides[dimension])) };
    }
    offset
}
