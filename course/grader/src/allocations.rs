//! Counts of allocations.

use std::alloc::System;

use stats_alloc::{Region, StatsAlloc};

/// An allocator that counts. Threads that allocate at the same time wait for its counters: only a program that counts has it.
pub type CountingAllocator = StatsAlloc<System>;

/// The allocator that a program with [`allocations_of`] has: `#[global_allocator] static ALLOCATOR: &grader::CountingAllocator =
/// &grader::COUNTING_ALLOCATOR;`.
pub use stats_alloc::INSTRUMENTED_SYSTEM as COUNTING_ALLOCATOR;

/// The result of `run`, and how often any thread has allocated memory or resized it meanwhile.
///
/// # Panics
/// If the program does not have [`COUNTING_ALLOCATOR`].
pub fn allocations_of<R>(run: impl FnOnce() -> R) -> (R, u64) {
    assert!(COUNTING_ALLOCATOR.stats().allocations > 0, "the program's allocator does not count");
    let region = Region::new(&COUNTING_ALLOCATOR);
    let result = run();
    let change = region.change();
    (result, (change.allocations + change.reallocations) as u64)
}
