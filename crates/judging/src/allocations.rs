//! Counts of allocations.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The result of `run`, and how often any thread has allocated memory or resized it meanwhile.
pub fn allocations_of<R>(run: impl FnOnce() -> R) -> (R, u64) {
    let region = Region::new(ALLOCATOR);
    let result = run();
    let change = region.change();
    (result, (change.allocations + change.reallocations) as u64)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn each_allocation_of_any_thread_is_counted() {
        let (sum, count) = allocations_of(|| {
            let boxes =
                std::thread::scope(|scope| scope.spawn(|| (0..1000).map(Box::new).collect::<Vec<Box<u32>>>()).join());
            black_box(boxes.unwrap()).iter().map(|number| **number).sum::<u32>()
        });
        assert_eq!(sum, 499_500);
        // The list and the thread take some more, as may other tests at the same time.
        assert!(count > 1000, "{count}");
    }
}
