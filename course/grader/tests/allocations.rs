//! Allocations are counted in a program that uses the counting allocator.

#![cfg(unix)]

use std::hint::black_box;

use grader::{COUNTING_ALLOCATOR, CountingAllocator, allocations_of};

#[global_allocator]
static ALLOCATOR: &CountingAllocator = &COUNTING_ALLOCATOR;

#[test]
fn each_allocation_of_any_thread_is_counted() {
    let (sum, count) = allocations_of(|| {
        let boxes =
            std::thread::scope(|scope| scope.spawn(|| (0..1000).map(Box::new).collect::<Vec<Box<u32>>>()).join());
        black_box(boxes.unwrap()).iter().map(|number| **number).sum::<u32>()
    });
    assert_eq!(sum, 499_500);
    // The list and the thread need a few more allocations.
    assert!((1001..1100).contains(&count), "{count}");
    assert!(allocations_of(|| black_box([1; 100])).1 < 10);
}
