//! Copies of the buffers that a launch writes, so that it can run again in another order.

use std::any::Any;

use super::Saved;

/// Calls a function with each buffer that a launch may write.
pub(super) type EachMutable<'a> = &'a dyn Fn(&mut dyn FnMut(&dyn Saved));

/// Copies of all buffers that a launch writes.
pub(super) struct Copies(Vec<Box<dyn Any>>);

impl Copies {
    pub(super) fn of(buffers: EachMutable<'_>) -> Self {
        let mut copies = Vec::new();
        buffers(&mut |buffer| copies.push(buffer.save()));
        Self(copies)
    }

    pub(super) fn restore(&self, buffers: EachMutable<'_>) {
        let mut copies = self.0.iter();
        buffers(&mut |buffer| buffer.restore(&**copies.next().expect("a copy of each buffer")));
    }
}
