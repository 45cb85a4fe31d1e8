//! Copies from global to shared memory that a thread does not wait for, in groups: the arrays' `copy_async` begins a copy, [`commit`]
//! ends a group, and [`wait`] waits for groups. From sm_80 on `cp.async`, which needs no register for the data; before, a load and a
//! store.

/// Makes a group of this thread's copies since the last call; there may be none.
#[inline(always)]
pub fn commit() {
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the instruction accesses no memory. Without `nomem`, LLVM keeps the copies before it.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
}

/// Waits until at most the last `PENDING` groups of this thread are in flight. What the others have copied is then visible to this thread,
/// and to the other threads after a barrier.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("cp.async.wait_group {0};", const PENDING, options(nostack, preserves_flags));
    }
}
