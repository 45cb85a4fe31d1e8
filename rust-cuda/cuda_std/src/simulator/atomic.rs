//! Operations that no other thread can interrupt.

use std::marker::PhantomData;

use super::current;
use crate::AtomicElement;

/// An element of global or shared memory, for atomic operations.
pub struct Atomic<'a, T: AtomicElement, const IS_SHARED: bool> {
    cell: &'a T::Cell,
    element: PhantomData<T>,
}

impl<'a, T: AtomicElement, const IS_SHARED: bool> Atomic<'a, T, IS_SHARED> {
    pub(super) fn new(cell: &'a T::Cell) -> Self {
        Self { cell, element: PhantomData }
    }

    /// Adds `value` and returns what was there before. Integers wrap around.
    #[inline]
    pub fn fetch_add(self, value: T) -> T {
        current::count(|current| &current.atomics);
        T::fetch_add(self.cell, value)
    }

    /// Puts the larger of `value` and what is there, and returns what was there before. A NaN changes nothing.
    #[inline]
    pub fn fetch_max(self, value: T) -> T {
        current::count(|current| &current.atomics);
        T::fetch_max(self.cell, value)
    }
}
