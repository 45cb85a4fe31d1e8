//! Allocation counts.

use std::alloc::System;

use stats_alloc::{Region, StatsAlloc};

/// A counting allocator. Threads that allocate concurrently contend for its counters, so only
/// programs that count allocations use it.
pub type CountingAllocator = StatsAlloc<System>;

/// The global allocator required by [`allocations_of`]: `#[global_allocator] static ALLOCATOR:
/// &grader::CountingAllocator = &grader::COUNTING_ALLOCATOR;`.
pub use stats_alloc::INSTRUMENTED_SYSTEM as COUNTING_ALLOCATOR;

/// Returns the result of `run` and the number of allocations and reallocations that all threads
/// made during it.
///
/// # Panics
/// If [`COUNTING_ALLOCATOR`] is not the program's global allocator.
pub fn allocations_of<R>(run: impl FnOnce() -> R) -> (R, u64) {
    assert!(COUNTING_ALLOCATOR.stats().allocations > 0, "the program's allocator does not count");
    let region = Region::new(&COUNTING_ALLOCATOR);
    let result = run();
    let change = region.change();
    (result, (change.allocations + change.reallocations) as u64)
}
