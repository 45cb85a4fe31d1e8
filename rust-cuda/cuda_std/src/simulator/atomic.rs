//! Atomic operations on global and shared memory.

use std::marker::PhantomData;
use std::panic::Location;

use super::{current, watchdog};
use crate::AtomicElement;

/// Atomic access to an element of global or shared memory.
pub struct Atomic<'a, T: AtomicElement, const IS_SHARED: bool> {
    cell: &'a T::Cell,
    element: PhantomData<T>,
}

impl<'a, T: AtomicElement, const IS_SHARED: bool> Atomic<'a, T, IS_SHARED> {
    pub(super) fn new(cell: &'a T::Cell) -> Self {
        Self { cell, element: PhantomData }
    }

    /// Adds `value` and returns the old value. Integers wrap around; an f32 in global memory has no subnormal numbers, which
    /// count as zeros of their signs.
    #[inline]
    #[track_caller]
    pub fn fetch_add(self, value: T) -> T {
        watchdog::check(Location::caller());
        current::count_access(|current| &current.atomics);
        T::fetch_add::<IS_SHARED>(self.cell, value)
    }

    /// Stores the maximum of the old value and `value`, and returns the old value. A NaN changes nothing.
    #[inline]
    #[track_caller]
    pub fn fetch_max(self, value: T) -> T {
        watchdog::check(Location::caller());
        current::count_access(|current| &current.atomics);
        T::fetch_max(self.cell, value)
    }
}
