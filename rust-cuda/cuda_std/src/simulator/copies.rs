//! Copies of the buffers that a launch writes, so that it can run again in another order.

use std::any::Any;

use crate::Kernel;

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
