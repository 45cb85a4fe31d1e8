//! What an atomic operation does, to whom, and in which order.

use core::sync::atomic::Ordering;

/// The threads among which an atomic operation is atomic and orders accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those of the block.
    Block,
    /// Those of the GPU.
    #[default]
    Device,
    /// Those of all GPUs and of the host.
    System,
}

/// An atomic operation that returns the old value.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Sub,
    Min,
    Max,
    And,
    Or,
    Xor,
    Swap,
}

/// Whether an operation of this ordering orders what its thread accesses after it behind what a releasing thread accessed before.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn acquires(ordering: Ordering) -> bool {
    !matches!(ordering, Ordering::Relaxed | Ordering::Release)
}

/// Whether it orders what its thread accessed before it ahead of what an acquiring thread accesses after.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn releases(ordering: Ordering) -> bool {
    !matches!(ordering, Ordering::Relaxed | Ordering::Acquire)
}

/// The half of an ordering that a load has.
pub(crate) const fn of_load(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
        Ordering::SeqCst => Ordering::SeqCst,
        _ => Ordering::Acquire,
    }
}

/// The half of an ordering that a store has.
pub(crate) const fn of_store(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Relaxed | Ordering::Acquire => Ordering::Relaxed,
        Ordering::SeqCst => Ordering::SeqCst,
        _ => Ordering::Release,
    }
}
