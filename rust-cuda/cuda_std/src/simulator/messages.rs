//! Traits that no type has: their only purpose is the compiler's message where a kernel does what memory on a GPU does not allow.

use std::ops::{Index, IndexMut};

use super::atomic::Atomic;
use super::global::{Global, GlobalMut};
use super::shared::{DynamicShared, SharedArray};
use crate::{AtomicElement, Element};

/// What writing to a [`Global`] would need. No type has it: its only purpose is the compiler's message.
#[diagnostic::on_unimplemented(
    message = "the kernel only reads memory of a `&[T]`",
    label = "this is a write",
    note = "make the parameter `GlobalMut<T>`, pass `&mut buffer` at the launch, and write by `x.set(i, value)`"
)]
#[doc(hidden)]
pub trait WrittenThroughSlice {}

impl<T: Element> Global<'_, T> {
    /// For the compiler's message only.
    #[doc(hidden)]
    pub fn set(self, _: usize, _: T)
    where
        T: WrittenThroughSlice,
    {
        unreachable!("no type is WrittenThroughSlice")
    }

    /// For the compiler's message only.
    #[doc(hidden)]
    pub fn atomic(self, _: usize) -> Atomic<'static, T, false>
    where
        T: WrittenThroughSlice + AtomicElement,
    {
        unreachable!("no type is WrittenThroughSlice")
    }
}

/// What `x[i]` of a [`GlobalMut`] or of shared memory would need. No type has it: its only purpose is the compiler's message.
#[diagnostic::on_unimplemented(
    message = "memory that many threads write is accessed by `[…]` only in the body of a kernel",
    label = "use `get` or `set`",
    note = "read an element by `x.get(i)`, write it by `x.set(i, value)`, and add to it by `x.set(i, x.get(i) + value)`; a kernel's \
            body has `x[i]` of its parameters and of variables that it declares as shared memory"
)]
#[doc(hidden)]
pub trait IndexedByBrackets {}

/// Makes `x[i]` of a type an error with the message of [`IndexedByBrackets`].
macro_rules! not_indexed_by_brackets {
    ($type:ty $(, $size:ident)?) => {
        #[doc(hidden)]
        impl<T: Element + IndexedByBrackets, I $(, const $size: usize)?> Index<I> for $type {
            type Output = T;

            fn index(&self, _: I) -> &T {
                unreachable!("no type is IndexedByBrackets")
            }
        }

        #[doc(hidden)]
        impl<T: Element + IndexedByBrackets, I $(, const $size: usize)?> IndexMut<I> for $type {
            fn index_mut(&mut self, _: I) -> &mut T {
                unreachable!("no type is IndexedByBrackets")
            }
        }
    };
}

not_indexed_by_brackets!(GlobalMut<'_, T>);
not_indexed_by_brackets!(SharedArray<T, N>, N);
not_indexed_by_brackets!(DynamicShared<T>);

/// What a loop over a launch's memory would need. No type has it: its only purpose is the compiler's message.
#[diagnostic::on_unimplemented(
    message = "memory that many threads write is not iterated over",
    label = "take elements by their index",
    note = "`for i in 0..x.len()` visits all elements, in every thread; a thread's own is that of `thread::index_1d() as usize`"
)]
#[doc(hidden)]
pub trait Iterated {}

/// Gives a type methods whose only purpose is the message of [`Iterated`].
macro_rules! not_iterated {
    ($type:ident, $($method:ident)*) => {
        impl<T: Element> $type<'_, T> {
            $(
                /// For the compiler's message only.
                #[doc(hidden)]
                pub fn $method(self) -> std::iter::Empty<T>
                where
                    T: Iterated,
                {
                    unreachable!("no type is Iterated")
                }
            )*
        }
    };
}

not_iterated!(GlobalMut, iter iter_mut);
