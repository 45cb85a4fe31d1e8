//! Atomic operations on global and shared memory, and fences.

use std::marker::PhantomData;
use std::panic::Location;
pub use std::sync::atomic::Ordering;

pub use crate::order::Scope;

use super::fault::{self, FaultKind};
use super::{current, synchronization, watchdog};
use crate::order::{Operation, acquires, of_load, of_store, releases};
use crate::{AtomicElement, AtomicInteger};

include!("../atomic_methods.rs");

/// Atomic access to an element of global or shared memory.
pub struct Atomic<'a, T: AtomicElement, const IS_SHARED: bool> {
    cell: &'a T::Cell,
    ordering: Ordering,
    scope: Scope,
    element: PhantomData<T>,
}

impl<T: AtomicElement, const IS_SHARED: bool> Clone for Atomic<'_, T, IS_SHARED> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: AtomicElement, const IS_SHARED: bool> Copy for Atomic<'_, T, IS_SHARED> {}

impl<'a, T: AtomicElement, const IS_SHARED: bool> Atomic<'a, T, IS_SHARED> {
    pub(super) fn new(cell: &'a T::Cell) -> Self {
        Self { cell, ordering: Ordering::Relaxed, scope: Scope::Device, element: PhantomData }
    }

    #[inline]
    #[track_caller]
    fn update(self, operation: Operation, value: T) -> T {
        self.ordered_by(self.ordering, Access::Both, |cell| T::update::<IS_SHARED>(cell, operation, value))
    }

    #[inline]
    #[track_caller]
    fn exchange_if(self, current: T, new: T) -> Result<T, T> {
        self.ordered_by(self.ordering, Access::Both, |cell| T::compare_exchange(cell, current, new))
    }

    /// The value.
    #[inline]
    #[track_caller]
    pub fn load(self) -> T {
        self.ordered_by(of_load(self.ordering), Access::Load, T::load)
    }

    /// Stores `value`.
    #[inline]
    #[track_caller]
    pub fn store(self, value: T) {
        self.ordered_by(of_store(self.ordering), Access::Store, |cell| value.store(cell));
    }

    #[inline]
    #[track_caller]
    fn ordered_by<R>(self, ordering: Ordering, access: Access, operation: impl FnOnce(&T::Cell) -> R) -> R {
        watchdog::check(Location::caller());
        watchdog::count_access(|current| &current.atomics);
        let place = std::ptr::from_ref(self.cell).addr();
        if access != Access::Load {
            synchronization::before_store(
                current::checked_accessor,
                place,
                self.scope,
                releases(ordering),
                access == Access::Both,
            );
        }
        // The cells are relaxed atomics: fences order those of blocks that run on several threads of the host.
        if releases(ordering) {
            std::sync::atomic::fence(Ordering::Release);
        }
        let result = operation(self.cell);
        if acquires(ordering) {
            std::sync::atomic::fence(Ordering::Acquire);
        }
        if access != Access::Store {
            synchronization::after_load(current::checked_accessor, place, self.scope, acquires(ordering));
        }
        result
    }
}

/// What an operation does with the element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Load,
    Store,
    Both,
}

/// Orders the thread's accesses before it and those after it, as atomic operations of this ordering beside it would. A relaxed one
/// is a fault.
#[track_caller]
pub fn fence(ordering: Ordering, _: Scope) {
    if ordering == Ordering::Relaxed {
        return fault::raise_first(FaultKind::RelaxedFence, Location::caller());
    }
    std::sync::atomic::fence(ordering);
    synchronization::fence(current::checked_accessor(), releases(ordering), acquires(ordering));
}
