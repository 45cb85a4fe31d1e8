//! Copies of the buffers that a launch writes, so that it can run again in another order.

use std::any::Any;
use std::sync::atomic::Ordering::Relaxed;

use super::global::GlobalMut;
use crate::{Element, Kernel};

/// A buffer whose contents can be saved and restored while no thread runs.
#[doc(hidden)]
pub trait Saved {
    /// A copy of the elements and of which are written.
    fn save(&self) -> Box<dyn Any>;

    /// Restores what [`save`](Self::save) returned.
    fn restore(&self, saved: &dyn Any);
}

impl<T: Element> Saved for GlobalMut<'_, T> {
    fn save(&self) -> Box<dyn Any> {
        let elements: Vec<T> = self.cells().iter().map(T::load).collect();
        let written =
            self.written().map(|written| written.iter().map(|flag| flag.load(Relaxed)).collect::<Vec<bool>>());
        Box::new((elements, written))
    }

    fn restore(&self, saved: &dyn Any) {
        let (elements, written): &(Vec<T>, Option<Vec<bool>>) = saved.downcast_ref().expect("a copy of this buffer");
        for (cell, element) in self.cells().iter().zip(elements) {
            element.store(cell);
        }
        for (flag, was) in self.written().into_iter().flatten().zip(written.iter().flatten()) {
            flag.store(*was, Relaxed);
        }
    }
}

/// Copies of all buffers that a launch writes.
pub(super) struct Copies(Vec<Box<dyn Any>>);

impl Copies {
    pub(super) fn of<K: Kernel>(parameters: &K::Parameters<'_>) -> Self {
        let mut copies = Vec::new();
        K::for_each_mutable(parameters, &mut |buffer| copies.push(buffer.save()));
        Self(copies)
    }

    pub(super) fn restore<K: Kernel>(&self, parameters: &K::Parameters<'_>) {
        let mut copies = self.0.iter();
        K::for_each_mutable(parameters, &mut |buffer| buffer.restore(&**copies.next().expect("a copy of each buffer")));
    }
}
