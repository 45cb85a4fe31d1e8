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

/// The panic handler that the target requires. `cuda_builder` puts a trap in place of each call that would end here.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    trap_because("")
}

/// Ends the kernel with a trap. `cuda_builder` finds the literal reason in the source, and writes it beside the trap: it is no argument of
/// a function in the PTX, as that of a panic may be, so that a check costs a comparison and a branch.
#[inline(always)]
fn trap_because(_reason: &str) -> ! {
    // SAFETY: a trap ends the launch and accesses nothing.
    unsafe { core::arch::nvptx::trap() }
}

/// Ends the kernel: an index is beyond the end of a buffer. To the reason, which `cuda_builder` knows, the interpreter adds the index.
#[cold]
fn out_of_bounds() -> ! {
    trap_because("an index is outside of a buffer")
}

/// As [`out_of_bounds`], of an array in shared memory.
#[cold]
fn out_of_shared_array() -> ! {
    trap_because("an index is outside of the shared array")
}

#[cold]
fn misaligned() -> ! {
    trap_because("an access to several elements begins at an element that is no multiple of their number")
}

#[cold]
fn wrong_quad() -> ! {
    trap_because("an access to 4 elements is out of bounds, or begins at an element that is no multiple of 4")
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
